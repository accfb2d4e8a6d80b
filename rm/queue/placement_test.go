package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func groupsOf(user string) ([]string, error) {
	switch user {
	case "ann":
		return []string{"staff", "hidden", "ops"}, nil
	case "bob.x":
		return []string{"bob.x", "guests"}, nil
	case "lost":
		return nil, errors.New("no such user")
	}
	return nil, nil
}

// A rule that is a class of a site's own, as YARN allows, places applications elsewhere than Heddle's would: it is refused by its name.
func TestRulesThatAreClasses(t *testing.T) {
	for rules, want := range map[string]string{
		"": "", "user-group, App-Name": "", "org.apache.hadoop.yarn.server.resourcemanager.placement.UserGroupMappingPlacementRule": "",
		"user-group,com.example.LoomPlacementRule": "com.example.LoomPlacementRule", "nosuch": "nosuch",
	} {
		c := load(t, with())
		c.Set(placementEngines, rules)
		_, err := CapacityFromConf(c)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), placementEngines)) {
			t.Errorf("%q: %v", rules, err)
		}
	}
}

func TestMappings(t *testing.T) {
	base := with("queues=default,users,staff,ops", "default.capacity=10", "users.capacity=30", "staff.capacity=30", "ops.capacity=30",
		"users.queues=ann,bob_dot_x,batch", "users.ann.capacity=50", "users.bob_dot_x.capacity=50", "users.batch.capacity=0", "ops.state=STOPPED",
		"staff.queues=x", "staff.x.capacity=100")
	for _, c := range []struct {
		mappings, override string
		app                App
		want               string // a path, or part of the error
	}{
		{"", "", App{Queue: "x", User: "ann"}, "root.staff.x"},
		{"", "", App{User: "ann"}, "root.default"},
		{"", "", App{Queue: "nowhere", User: "ann", ID: "app_1"}, "Application app_1 submitted by user ann to unknown queue: nowhere"},
		{"", "", App{Queue: "users", User: "ann", ID: "app_1"}, "Application app_1 submitted by user : ann to non-leaf queue : users"},
		{"", "", App{Queue: "ops", User: "ann", ID: "app_1"}, "AccessControlException: Queue root.ops is STOPPED. Cannot accept submission of application: app_1"},
		{"u:ann:x", "", App{User: "ann"}, "root.staff.x"},
		{"u:ann:x", "", App{Queue: "default", User: "ann"}, "root.staff.x"},
		{"u:ann:x", "", App{Queue: "batch", User: "ann"}, "root.users.batch"},
		{"u:ann:x", "true", App{Queue: "batch", User: "ann"}, "root.staff.x"},
		{"u:ann:x", "true", App{Queue: "batch", User: "bob.x"}, "root.users.batch"},
		{"u:%user:users.%user", "", App{User: "bob.x"}, "root.users.bob_dot_x"},
		{"u:%user:%user", "", App{User: "ann"}, "root.users.ann"},
		{"u:%user:users.%user", "", App{User: "eve"}, "root.default"},
		{"g:ops:batch,u:%user:x", "", App{User: "ann"}, "root.users.batch"},
		{"g:ops:batch,u:%user:x", "", App{User: "eve"}, "root.staff.x"},
		{"g:ops:batch,u:%user:x", "", App{User: "lost"}, "root.staff.x"},
		{"u:%user:%primary_group", "", App{User: "bob.x"}, "root.users.bob_dot_x"},
		{"u:%user:%secondary_group", "", App{User: "ann", ID: "app_1"}, "Queue root.ops is STOPPED"},
		{"u:%user:%secondary_group", "", App{User: "eve"}, "root.default"},
		{"u:%user:users.%application", "", App{User: "eve", Name: "batch"}, "root.users.batch"},
	} {
		settings := with("/queue-mappings="+c.mappings, "/queue-mappings-override.enable="+c.override)
		for k, v := range base {
			settings[k] = v
		}
		tree, err := CapacityFromConf(load(t, settings))
		if err != nil {
			t.Errorf("%q: %v", c.mappings, err)
			continue
		}
		got, err := tree.Place(c.app, groupsOf)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && (strings.HasPrefix(c.want, "root.") || !strings.Contains(got, c.want)) {
			t.Errorf("%q, %+v: got %s, want %s", c.mappings, c.app, got, c.want)
		}
	}
}

func TestMappingsRefused(t *testing.T) {
	for mappings, want := range map[string]string{
		"u:ann":             "a mapping is",
		"x:ann:a":           "a mapping is",
		"u:ann:nowhere":     "Path root 'nowhere' does not exist. Path 'nowhere' is invalid",
		"u:ann:root":        "Target queue 'root' but it's not a leaf queue.",
		"u:ann:root.b":      "Mapping rule specified a parent queue 'root', but it is not a dynamic parent queue, and no queue exists with name 'b' under it.",
		"u:%user:a.%user":   "Queue path 'a.%user' is invalid because 'root.a' is a leaf queue, which can have no other queues under it.",
		"u:ann:a,g::a":      "a mapping is",
		"u:%user:no.%user":  "Path root 'no' does not exist. Path 'no' is invalid",
		"u:ann:root.a,u:b:": "a mapping is",
	} {
		_, err := CapacityFromConf(load(t, with("queues=a", "a.capacity=100", "/queue-mappings="+mappings)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "yarn.scheduler.capacity.queue-mappings") {
			t.Errorf("%q: got %v, want %q", mappings, err, want)
		}
	}
}

func TestFull(t *testing.T) {
	tree, err := CapacityFromConf(load(t, with("queues=a,b", "a.capacity=50", "b.capacity=50", "/maximum-applications=10", "a.user-limit-factor=0.4")))
	if err != nil {
		t.Fatal(err)
	}
	q, _ := tree.Find("a")
	share := tree.Effective([8]int64{1000, 10})[q.Index]
	app := App{ID: "app_1", User: "ann"}
	for _, c := range []struct {
		all, queue, user int
		want             string
	}{
		{9, 4, 1, ""},
		{10, 0, 0, "Maximum system application limit reached,cannot accept submission of application: app_1"},
		{9, 5, 0, "org.apache.hadoop.security.AccessControlException: Queue root.a already has 5 applications, cannot accept submission of application: app_1"},
		{9, 4, 2, "org.apache.hadoop.security.AccessControlException: Queue root.a already has 2 applications from user ann cannot accept submission of application: app_1"},
	} {
		got := ""
		if err := tree.Full(q, share, app, c.all, c.queue, c.user); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d, %d, %d: got %q", c.all, c.queue, c.user, got)
		}
	}
}

func TestFairPlacement(t *testing.T) {
	const queues = `<queue name="default"/><queue name="prod" type="parent"><queue name="ann"/></queue><queue name="ops"/><queue name="staff" type="parent"/>`
	for _, c := range []struct {
		policy, queue, user, want string
	}{
		{"", "", "bob.x", "root.bob_dot_x"},
		{"", "default", "ann", "root.ann"},
		{"", "prod.ann", "ann", "root.prod.ann"},
		{"", "new", "ann", "root.new"},
		{"", "prod", "ann", "root.prod is not a leaf queue"},
		{"", "ops.below", "ann", "is not a leaf queue"},
		{"", ".x", "ann", "illegal queue name '.x'"},
		{`<specified create="false"/><default queue="ops"/>`, "nowhere", "ann", "root.ops"},
		{`<specified create="false"/><reject/>`, "nowhere", "ann", "rejected by placement rules"},
		{`<specified/><primaryGroup/>`, "", "ann", "root.staff is not a leaf queue"},
		{`<primaryGroup create="false"/><default/>`, "", "bob.x", "root.default"},
		{`<secondaryGroupExistingQueue/><default/>`, "", "ann", "root.staff is not a leaf queue"},
		{`<nestedUserQueue><primaryGroup/></nestedUserQueue>`, "", "ann", "root.staff.ann"},
		{`<rule name="nestedUserQueue"><rule name="default" queue="prod"/></rule>`, "", "ann", "root.prod.ann"},
		{`<nestedUserQueue create="false"><default queue="prod"/></nestedUserQueue><default/>`, "", "bob.x", "root.default"},
		{`<nestedUserQueue><secondaryGroupExistingQueue/></nestedUserQueue><default/>`, "", "ann", "root.staff.ann"},
		{`<primaryGroup/>`, "", "eve", "No groups returned for user eve"},
		{`<primaryGroup/>`, "", "lost", "Group resolution failed"},
	} {
		policy := ""
		if c.policy != "" {
			policy = "<queuePlacementPolicy>" + c.policy + "</queuePlacementPolicy>"
		}
		tree, err := ParseFair([]byte("<allocations>" + queues + policy + "</allocations>"))
		if err != nil {
			t.Errorf("%s: %v", c.policy, err)
			continue
		}
		got, err := tree.Place(App{ID: "app_1", Queue: c.queue, User: c.user}, groupsOf)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s, %q of %s: got %s, want %s", c.policy, c.queue, c.user, got, c.want)
		}
	}
}

func TestFairPlacementRefused(t *testing.T) {
	for policy, want := range map[string]string{
		`<specified/>`:                     "must apply to every application",
		`<default/><specified/><default/>`: "this rule never applies",
		`<lottery/>`:                       `no rule "lottery"`,
		`<nestedUserQueue/>`:               "needs a rule inside it",
		`<default><user/></default>`:       "takes no rule within it",
		`<default queue="a..b"/>`:          "not a valid path of a queue",
		``:                                 "must apply",
		`<nestedUserQueue><reject/></nestedUserQueue>`:    "can't be within",
		`<default queue="root.p"/>`:                       "holds queues",
		`<user><primaryGroup/><default/></user><reject/>`: "no more than one rule",
	} {
		_, err := ParseFair([]byte(`<allocations><queue name="p" type="parent"/><queuePlacementPolicy>` + policy + `</queuePlacementPolicy></allocations>`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", policy, err)
		}
	}
}

func TestUpdate(t *testing.T) {
	tree := func(list ...string) *Tree {
		t.Helper()
		tree, err := CapacityFromConf(load(t, with(list...)))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	old := tree("queues=a,b,c", "a.capacity=50", "b.capacity=25", "c.capacity=25", "b.state=STOPPED", "c.queues=x", "c.x.capacity=100")
	for name, c := range map[string]struct {
		next  *Tree
		inUse map[string]int
		want  string
	}{
		"the same":                    {old, map[string]int{"root.a": 3}, ""},
		"a stopped queue goes":        {tree("queues=a,c", "a.capacity=50", "c.capacity=50", "c.queues=x", "c.x.capacity=100"), nil, ""},
		"a draining queue goes":       {tree("queues=a,c", "a.capacity=50", "c.capacity=50", "c.queues=x", "c.x.capacity=100"), map[string]int{"root.b": 1}, "Current State : DRAINING"},
		"a running queue goes":        {tree("queues=b,c", "b.capacity=50", "c.capacity=50", "c.queues=x", "c.x.capacity=100"), nil, "root.a cannot be deleted from the capacity scheduler configuration"},
		"a queue is stopped and goes": {tree("queues=b,c", "b.capacity=50", "c.capacity=50", "c.queues=x", "c.x.capacity=100", "a.state=STOPPED"), nil, ""},
		"it goes with applications in it": {
			tree("queues=b,c", "b.capacity=50", "c.capacity=50", "c.queues=x", "c.x.capacity=100", "a.state=STOPPED"),
			map[string]int{"root.a": 1},
			"root.a cannot be deleted",
		},
		"a leaf becomes a parent":   {tree("queues=a,b,c", "a.capacity=50", "b.capacity=25", "c.capacity=25", "c.queues=x", "c.x.capacity=100", "a.queues=y", "a.y.capacity=100"), nil, "Can not convert the leaf queue: root.a"},
		"a stopped leaf becomes it": {tree("queues=a,b,c", "a.capacity=50", "b.capacity=25", "c.capacity=25", "c.queues=x", "c.x.capacity=100", "b.queues=y", "b.y.capacity=100"), nil, ""},
		"a parent becomes a leaf":   {tree("queues=a,b,c", "a.capacity=50", "b.capacity=25", "c.capacity=25"), map[string]int{"root.c.x": 1}, "root.c.x cannot be deleted"},
		"another scheduler":         {Default(Fair), nil, "can't be changed"},
	} {
		err := old.CheckUpdate(c.next, c.inUse)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// Queues that were stopped with the queue above them stay stopped when that one starts, until each is started itself.
func TestQueuesStayStopped(t *testing.T) {
	tree := func(settings ...string) *Tree {
		t.Helper()
		all := append([]string{"queues=p", "p.capacity=100", "p.queues=x,y", "p.x.capacity=50", "p.y.capacity=50"}, settings...)
		tree, err := CapacityFromConf(load(t, with(all...)))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	held := tree()
	for _, step := range []struct {
		settings []string
		stopped  []string
	}{
		{[]string{"p.state=STOPPED"}, []string{"root.p", "root.p.x", "root.p.y"}},
		{[]string{"p.state=RUNNING"}, []string{"root.p.x", "root.p.y"}},
		{[]string{"p.state=RUNNING", "p.x.state=RUNNING"}, []string{"root.p.y"}},
		{[]string{"p.state=RUNNING", "p.x.state=RUNNING", "p.y.state=RUNNING"}, nil},
		{[]string{"p.state=RUNNING"}, nil},
	} {
		next := tree(step.settings...)
		next.KeepStopped(held)
		held = next
		var stopped []string
		for _, q := range held.Queues() {
			if q.Stopped {
				stopped = append(stopped, q.Path)
			}
		}
		if !slices.Equal(stopped, step.stopped) {
			t.Errorf("with %q stopped are %q, want %q", step.settings, stopped, step.stopped)
		}
	}
}

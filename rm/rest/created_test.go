package rest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/rm/leader"
	"heddle/rm/queue"
)

// creating are queues below which others are created. The template of root.users holds for queues below it, root.users.* for those below these.
func creating(more ...string) []string {
	var out []string
	for _, kv := range append([]string{
		"root.queues=default,users,static,e", "root.default.capacity=1w", "root.users.capacity=3w", "root.static.capacity=4w", "root.e.capacity=1w",
		"root.static.queues=x,y", "root.static.x.capacity=1w", "root.static.y.capacity=1w", "root.e.queues=p,q", "root.e.p.capacity=50", "root.e.q.capacity=50",
		"root.e.auto-queue-creation-v2.enabled=true", "root.users.auto-queue-creation-v2.enabled=true", "root.users.auto-queue-creation-v2.max-queues=3",
		"root.users.auto-queue-creation-v2.template.capacity=2w", "root.users.auto-queue-creation-v2.leaf-template.maximum-applications=7",
		"root.users.auto-queue-creation-v2.parent-template.max-parallel-apps=9", "root.users.*.auto-queue-creation-v2.template.capacity=5w",
	}, more...) {
		out = append(out, queue.Prefix+kv)
	}
	return out
}

// place submits an application of a user to a queue, and returns its queue, or why it is refused or has failed.
func (c *cluster) place(user, name, to string) string {
	c.t.Helper()
	me := c.leader()
	app, _ := at(c.ask(me, "POST", "/ws/v1/cluster/apps/new-application?user.name="+user, "").json(c.t), "application-id").(string)
	a := c.ask(me, "POST", "/ws/v1/cluster/apps?user.name="+user, `{"application-id":"`+app+`","application-name":"`+name+`","queue":"`+to+
		`","am-container-spec":{"commands":{"command":"true"}},"resource":{"memory":256,"vCores":1}}`)
	if a.status != 202 {
		text, _ := at(a.json(c.t), "RemoteException", "message").(string)
		return strings.ReplaceAll(text, app, "ID")
	}
	got := c.ask(me, "GET", "/ws/v1/cluster/apps/"+app+"?user.name="+user, "").json(c.t)
	if at(got, "app", "state") != "ACCEPTED" {
		text, _ := at(got, "app", "diagnostics").(string)
		return strings.ReplaceAll(text, app, "ID")
	}
	path, _ := at(got, "app", "queue").(string)
	return path
}

// queues are those that REST shows, by path, with what says how they came to be.
func (c *cluster) queues() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	var walk func(any)
	walk = func(v any) {
		list, _ := at(v, "queues", "queue").([]any)
		for _, q := range list {
			out[fmt.Sprint(at(q, "queuePath"))] = fmt.Sprint(at(q, "creationMethod"), " ", at(q, "autoCreationEligibility"), " ", at(q, "weight"), " ", at(q, "normalizedWeight"), " ",
				at(q, "absoluteCapacity"), " ", at(q, "maxApplications"), " ", at(q, "maxParallelApps"), " ", at(q, "userLimitFactor"), " ", at(q, "configuredMaxAMResourceLimit"))
			walk(q)
		}
	}
	walk(at(c.ask(c.leader(), "GET", "/ws/v1/cluster/scheduler", "").json(c.t), "scheduler", "schedulerInfo"))
	return out
}

// The words and the figures are those of a stock ResourceManager 3.4.2 with these queues.
func TestQueuesAreCreatedOnDemand(t *testing.T) {
	c := startIn(t, 1, "", creating(`mapping-rule-format=json`, `queue-mappings-override.enable=true`, `mapping-rule-json={"rules":[
		{"type":"application","matches":"mine","policy":"user","parentQueue":"root.users"},
		{"type":"application","matches":"deep","policy":"custom","customPlacement":"root.users.a.%user"}]}`)...)
	for _, step := range []struct{ user, name, queue, want string }{
		{"spec", "n", "root.users.q1", "root.users.q1"},
		{"spec", "n", "root.users.q1", "root.users.q1"},
		{"a.b", "mine", "y", "root.users.a_dot_b"},
		{"carl", "n", "users.p.q", "root.users.p.q"},
		{"carl", "deep", "y", "Application ID submission by user : carl to  queue : root.users.a.carl failed : Cannot auto create queue root.users.a. Max Child Queue limit exceeded which is configured as: 3 and number of child queues is: 3"},
		{"m2", "mine", "y", "Application ID submission by user : m2 to  queue : root.users.m2 failed : Cannot auto create queue root.users.m2. Max Child Queue limit exceeded which is configured as: 3 and number of child queues is: 3"},
		{"carl", "n", "root.users.q2", "Application ID submitted by user carl to unknown queue: root.users.q2"},
		{"carl", "n", "root.users.p.q.r.s", "Application ID submitted by user carl to unknown queue: root.users.p.q.r.s"},
		{"carl", "n", "root.users.q1.x", "Application ID submitted by user carl to unknown queue: root.users.q1.x"},
		{"carl", "n", "root.users.p", "Application ID submitted by user : carl to non-leaf queue : root.users.p"},
		{"carl", "n", "root.static.new", "Application ID submitted by user carl to unknown queue: root.static.new"},
		{"carl", "n", "root.e.new", "Application ID submitted by user carl to unknown queue: root.e.new"},
		{"carl", "n", "root..x", "Application ID submitted by user carl to unknown queue: root..x"},
		{"carl", "n", "nowhere", "Application ID submitted by user carl to unknown queue: nowhere"},
		{"carl", "n", "q", "Application ID submitted by user carl to ambiguous queue: q please use full queue path instead."},
		{"carl", "n", "root.users.p.ü *", "root.users.p.ü *"},
	} {
		if got := c.place(step.user, step.name, step.queue); got != step.want {
			t.Errorf("%s of %s in %s: %s\nwant %s", step.name, step.user, step.queue, got, step.want)
		}
	}
	got := c.queues()
	for path, want := range map[string]string{
		"root.users":     "static flexible 3 0.33333334 33.333336 <nil> 2.147483647e+09 <nil> <nil>",
		"root.users.q1":  "dynamicFlexible off 2 0.33333334 11.111112 7 2.147483647e+09 -1 1",
		"root.users.p":   "dynamicFlexible flexible 2 0.33333334 11.111112 <nil> 9 <nil> <nil>",
		"root.users.p.q": "dynamicFlexible off 5 0.5 5.555556 555 2.147483647e+09 -1 1",
	} {
		if got[path] != want {
			t.Errorf("%s: %s, want %s", path, got[path], want)
		}
	}
	if len(got) != 13 {
		t.Errorf("%d queues: %v", len(got), got)
	}
}

// Rights on a queue that doesn't exist are those of its template and of the queues above it, as with a stock ResourceManager 3.4.2.
func TestListsOfQueuesThatAreCreated(t *testing.T) {
	c := startIn(t, 1, "", append(creating("root.acl_submit_applications=adm", "root.acl_administer_queue=adm", "root.default.acl_submit_applications=*",
		"root.users.auto-queue-creation-v2.template.acl_submit_applications=carl", "root.users.auto-queue-creation-v2.leaf-template.acl_administer_queue=dora",
		"root.users.bob.acl_submit_applications=bob"), "yarn.acl.enable=true", "yarn.admin.acl=root")...)
	denied := func(user, queue string) string {
		return "org.apache.hadoop.security.AccessControlException: User " + user + " does not have permission to submit ID to queue " + queue
	}
	for _, step := range []struct{ user, queue, want string }{
		{"carl", "root.users.c1", "root.users.c1"},
		{"eve", "root.users.e1", denied("eve", "root.users.e1")},
		{"eve", "root.users.c1", denied("eve", "root.users.c1")},
		{"dora", "root.users.d1", "root.users.d1"},
		{"bob", "root.users.bob", denied("bob", "root.users.bob")}, // the template's list counts alone
		{"eve", "root.users", denied("eve", "root.users")},
		{"eve", "nowhere", "Application ID submitted by user eve to unknown queue: nowhere"},
		{"eve", "root.default.x", "Application ID submitted by user eve to unknown queue: root.default.x"},
		{"eve", "root.zz.x", "Application ID submitted by user eve to unknown queue: root.zz.x"},
		{"eve", "root.static.zz", denied("eve", "root.static.zz")},
		{"adm", "users.k1", denied("adm", "users.k1")}, // lists are found by whole paths
		{"adm", "root.users.q.r", "root.users.q.r"},
	} {
		if got := c.place(step.user, "n", step.queue); !strings.HasSuffix(got, step.want) {
			t.Errorf("%s in %s: %s\nwant %s", step.user, step.queue, got, step.want)
		}
	}
}

// A stock ResourceManager ends when somebody submits to a queue whose template is wrong. Here the application fails, and the queue isn't created.
func TestTemplatesThatAreWrong(t *testing.T) {
	for setting, want := range map[string]string{
		"template.capacity=50":             "have children queue used mixed of  weight mode, percentage and absolute mode",
		"template.capacity=[memory=1024]":  "have children queue used mixed of  weight mode, percentage and absolute mode",
		"template.ordering-policy=nothing": "ordering-policy",
		"template.maximum-capacity=x":      "For input string: \"x\"",
	} {
		name, value, _ := strings.Cut(setting, "=")
		c := startIn(t, 1, "", creating("root.users.auto-queue-creation-v2."+name+"="+value)...)
		if got := c.place("carl", "n", "root.users.q1"); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", setting, got, want)
		}
		if got := c.queues(); got["root.users.q1"] != "" {
			t.Errorf("%s: the queue was created", setting)
		}
	}
}

// As with a stock ResourceManager a queue that is stopped by its template is created, and the application fails.
func TestCreatedQueuesMayBeStopped(t *testing.T) {
	c := startIn(t, 1, "", creating("root.users.auto-queue-creation-v2.template.state=STOPPED")...)
	if got, want := c.place("carl", "n", "root.users.q1"), "Queue root.users.q1 is STOPPED. Cannot accept submission of application: ID"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := c.queues(); got["root.users.q1"] == "" {
		t.Errorf("the queue wasn't created: %v", got)
	}
}

// Created queues are in the log: the next leader has them, and creates others beside them. When applications have gone, it deletes them.
func TestCreatedQueuesSurviveTheirLeader(t *testing.T) {
	const policy = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy"
	c := start(t, 3, append(creating("auto-queue-creation-v2.queue-expiration-time=1", "root.users.keep.auto-queue-creation-v2.queue-auto-removal.enable=false",
		"root.queues=default,users,static,e,man", "root.man.capacity=1w", "root.man.auto-create-child-queue.enabled=true", "root.man.leaf-queue-template.capacity=40",
		"queue-mappings=u:%user:man.%user"),
		"yarn.resourcemanager.scheduler.monitor.enable=true", "yarn.resourcemanager.scheduler.monitor.policies="+policy)...)
	var l *leader.Leader
	expect := func(user, to, want string) {
		t.Helper()
		if got := c.place(user, "n", to); got != want {
			t.Errorf("%s in %s: %s", user, to, got)
		}
	}
	await.Until(t, "all members can read created queues", func() bool {
		l = c.rms[c.leader()].Leader()
		return l != nil && c.place("ann", "n", "root.users.a.b") == "root.users.a.b"
	})
	expect("bob", "root.users.keep", "root.users.keep")
	for _, user := range []string{"l1", "l2", "l3"} {
		expect(user, "default", "root.man."+user)
	}
	before := c.queues()
	if full, none := before["root.man.l2"], before["root.man.l3"]; !strings.HasPrefix(full, "dynamicLegacy off -1 0 4.0000005 400 ") || !strings.HasPrefix(none, "dynamicLegacy off -1 0 0 0 ") {
		t.Errorf("the second legacy leaf is %s, and the third %s", full, none)
	}
	was := c.leader()
	c.stop[was]()
	delete(c.stop, was)
	delete(c.rms, was)
	if after := c.queues(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the next leader has %v, not %v", after, before)
	}
	expect("carl", "root.users.a.c", "root.users.a.c")
	me := c.leader()
	list, _ := at(c.ask(me, "GET", "/ws/v1/cluster/apps?states=ACCEPTED", "").json(t), "apps", "app").([]any)
	for _, app := range list {
		if a := c.ask(me, "PUT", fmt.Sprint("/ws/v1/cluster/apps/", at(app, "id"), "/state?user.name=", at(app, "user")), `{"state":"KILLED"}`); a.status != 202 {
			t.Errorf("%v: %d %s", at(app, "id"), a.status, a.body)
		}
	}
	await.Until(t, "idle queues are deleted, the parents behind their children", func() bool {
		now := c.queues()
		return now["root.users.a"] == "" && now["root.users.a.b"] == ""
	})
	var left []string
	for path := range c.queues() {
		if strings.HasPrefix(path, "root.users.") {
			left = append(left, path)
		}
	}
	if !slices.Equal(left, []string{"root.users.keep"}) {
		t.Errorf("what is left: %q", left)
	}
	expect("dan", "root.users.a", "root.users.a") // what held queues may be a leaf now
}

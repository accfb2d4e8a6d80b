package queue

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/yarn/records"
)

func load(t *testing.T, settings map[string]string, site ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{Overrides: append([]string{
		"yarn.resource-types=yarn.io/gpu", "yarn.scheduler.maximum-allocation-mb=65536", "yarn.scheduler.maximum-allocation-vcores=64",
	}, site...)})
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range settings {
		c.Set(Prefix+key, v)
	}
	return c
}

// with lists settings as "key=value", below root.
func with(list ...string) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		k, v, _ := strings.Cut(kv, "=")
		if rest, ok := strings.CutPrefix(k, "/"); ok {
			out[rest] = v
		} else {
			out["root."+k] = v
		}
	}
	return out
}

func TestEffective(t *testing.T) {
	cluster := records.Resource{100000, 100, 8}
	for name, c := range map[string]struct {
		settings map[string]string
		want     []string // path min max, by index
	}{
		"percent": {
			with("queues=a,b", "a.capacity=30", "a.maximum-capacity=50", "a.queues=x,y", "a.x.capacity=10", "a.y.capacity=90", "b.capacity=70", "a.x.maximum-capacity=-1"),
			[]string{"a 30000 30 2 | 50000 50 4", "a.x 3000 3 0 | 50000 50 4", "a.y 27000 27 2 | 50000 50 4", "b 69999 69 5 | 100000 100 8"},
		},
		"weight": {
			with("queues=a,b", "a.capacity=1w", "b.capacity=3w", "b.queues=x,y", "b.x.capacity=50", "b.y.capacity=50", "b.maximum-capacity=80"),
			[]string{"a 25000 25 2 | 100000 100 8", "b 75000 75 6 | 80000 80 6", "b.x 37500 37 3 | 80000 80 6", "b.y 37500 37 3 | 80000 80 6"},
		},
		"amounts": {
			with("queues=a,b", "a.capacity=[memory=20Gi,vcores=20,yarn.io/gpu=2]", "a.maximum-capacity=[memory=40960,vcores=40,yarn.io/gpu=4]",
				"a.queues=x", "a.x.capacity=[memory=10Gi,vcores=10]", "b.capacity=[memory=10000,vcores=10]"),
			[]string{"a 20480 20 2 | 40960 40 4", "a.x 10240 10 0 | 40960 40 4", "b 10000 10 0 | 100000 100 8"},
		},
		"more than there is": {
			with("queues=a,b", "a.capacity=[memory=150000,vcores=50]", "b.capacity=[memory=50000,vcores=20]"),
			[]string{"a 75000 50 0 | 100000 100 8", "b 25000 20 0 | 100000 100 8"},
		},
		"mixed": {
			with("/legacy-queue-mode.enabled=false", "queues=a,b,c", "a.capacity=[memory=20000,vcores=50%,yarn.io/gpu=6]",
				"b.capacity=[memory=25%,vcores=1w,yarn.io/gpu=1w]", "c.capacity=[memory=1w,vcores=4w,yarn.io/gpu=1w]", "c.maximum-capacity=[memory=90%,vcores=30,yarn.io/gpu=1]"),
			[]string{"a 20000 50 6 | 100000 100 8", "b 20000 10 1 | 100000 100 8", "c 60000 30 1 | 90000 30 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := CapacityFromConf(load(t, c.settings))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			shares := tree.Effective(cluster)
			for i, q := range tree.Queues()[1:] {
				s := shares[i+1]
				if q.Index != i+1 {
					t.Errorf("%s has index %d", q.Path, q.Index)
				}
				got = append(got, fmt.Sprint(strings.TrimPrefix(q.Path, "root."), " ", s.Min[0], s.Min[1], s.Min[2], " | ", s.Max[0], s.Max[1], s.Max[2]))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Sums follow the table of Hadoop's AbstractParentQueue, and each refusal names key, value and reason.
func TestCapacitiesThatDontAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]string
		want     string // part of the error; "" is none
	}{
		"under":           {with("queues=a,b", "a.capacity=50", "b.capacity=40"), `root.a.capacity = "50": the capacities of the children of root add up to 90%`},
		"over":            {with("queues=a,b", "a.capacity=50", "b.capacity=60"), "add up to 110%"},
		"just":            {with("queues=a,b,c", "a.capacity=33.33", "b.capacity=33.33", "c.capacity=33.33"), ""},
		"none":            {with("queues=a,b"), "add up to 0"},
		"none allowed":    {with("queues=a,b", "allow-zero-capacity-sum=true"), ""},
		"below none":      {with("queues=a,b", "a.capacity=100", "b.capacity=0", "b.queues=x", "b.x.capacity=100"), "but it has none itself"},
		"none below none": {with("queues=a,b", "a.capacity=100", "b.capacity=0", "b.queues=x"), ""},
		"mixed":           {with("queues=a,b", "a.capacity=50", "b.capacity=2w"), "mix weights"},
		"vector":          {with("queues=a", "a.capacity=[memory=50%,vcores=2w]"), "legacy-queue-mode.enabled"},
		"weights":         {with("queues=a,b", "a.capacity=0.5w", "b.capacity=2w"), ""},
		"weight -1":       {with("queues=a,b", "a.capacity=-1w", "b.capacity=2w"), `root.a.capacity = "-1w": a weight can't be less than 0`},
		"capacity -1":     {with("queues=a", "a.capacity=-1"), "from 0 to 100"},
		"too much":        {with("queues=a", "a.capacity=100", "a.maximum-capacity=101"), ""}, // with a warning
		"maximum below":   {with("queues=a", "a.capacity=100", "a.maximum-capacity=50"), ""},
		"weight maximum":  {with("queues=a", "a.capacity=100", "a.maximum-capacity=2w"), "can't be a weight"},
		"amounts":         {with("queues=a", "a.capacity=[memory=10,vcores=1]", "a.queues=x", "a.x.capacity=[memory=11,vcores=1]"), "get <memory:11"},
		"amount below %":  {with("queues=a", "a.capacity=100", "a.queues=x", "a.x.capacity=[memory=11,vcores=1]"), "below root.a"},
		"% below amount":  {with("queues=a", "a.capacity=[memory=10,vcores=1]", "a.queues=x", "a.x.capacity=100"), "must be an amount"},
		"no such type":    {with("queues=a", "a.capacity=[memory=10,fpga=1]"), ""}, // with a warning
		"bracket":         {with("queues=a", "a.capacity=[memory=10"), "isn't closed"},
		"NaN":             {with("queues=a", "a.capacity=NaN"), "not a number"},
		"root":            {with("capacity=50", "queues=a", "a.capacity=100"), ""},
		"amount in zero":  {with("queues=a", "a.capacity=[memory=0,vcores=0]", "a.queues=x", "a.x.capacity=[memory=11,vcores=1]"), "below root.a"},
		"no weight":       {with("queues=a", "a.capacity=100", "a.user-settings.joe.weight=-1"), `root.a.user-settings.joe.weight = "-1": it must be a number, at least 0`},
		"heavy user":      {with("queues=a,b", "a.capacity=50", "b.capacity=50", "user-settings.joe.weight=2", "a.minimum-user-limit-percent=50"), `root.user-settings.joe.weight = "2": it must be no more than 100 / minimum-user-limit-percent, which is 1 in queue root.b`},
	} {
		_, err := CapacityFromConf(load(t, c.settings))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

const underused = "ordering-policy.priority-utilization.underutilized-preemption."

func TestLimits(t *testing.T) {
	tree, err := CapacityFromConf(load(t, with(
		"queues=a,b", "a.capacity=60", "b.capacity=40", "a.queues=x,y", "a.x.capacity=50", "a.y.capacity=50",
		"a.ordering-policy=priority-utilization", "a.x.ordering-policy=fair", "a.x.ordering-policy.fair.enable-size-based-weight=true",
		"a.maximum-allocation-mb=4096", "a.x.maximum-allocation=vcores=2", "b.maximum-allocation=memory-mb=8Gi,yarn.io/gpu=1",
		"a.user-settings.joe.weight=1.5", "a.y.minimum-user-limit-percent=50", "a.x.user-settings.ann.weight=2", "a.x.minimum-user-limit-percent=25",
		"a.maximum-application-lifetime=100", "a.default-application-lifetime=50", "a.y.default-application-lifetime=60",
		"a.disable_preemption=true", "a.y.disable_preemption=false", "b.intra-queue-preemption.disable_preemption=true", "b.priority=-3",
		"/lazy-preemption-enabled=true", "/"+underused+"enabled=true", "/"+underused+"reserved-container-delay-ms=70",
		"/"+underused+"allow-move-reservation=true", "b.default-application-priority=7",
		"/user.max-parallel-apps=3", "/user.joe.doe.max-parallel-apps=5", "/max-parallel-apps=9", "b.max-parallel-apps=2",
		"/maximum-applications=1000", "b.maximum-applications=70", "a.x.user-limit-factor=0.5", "/node-locality-delay=7",
	), "yarn.resourcemanager.scheduler.monitor.enable=true", "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round=0.4",
		"yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled=true"))
	if err != nil {
		t.Fatal(err)
	}
	find := func(path string) *Queue {
		q, ok := tree.Find("root." + path)
		if !ok {
			t.Fatalf("no %s", path)
		}
		return q
	}
	a, x, y, b := find("a"), find("a.x"), find("a.y"), find("b")
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("policy of a parent", a.OrderingPolicy, "priority-utilization")
	check("policy of a leaf", x.OrderingPolicy, "fair")
	check("size based", x.SizeBasedWeight, true)
	check("default policy", y.OrderingPolicy, "fifo")
	check("largest container of x", x.MaxAllocation, records.Resource{4096, 2})
	check("largest container of b", b.MaxAllocation, records.Resource{8192, 0, 1})
	check("weights", [4]float32{x.UserWeight("joe"), x.UserWeight("ann"), y.UserWeight("ann"), b.UserWeight("joe")}, [4]float32{1.5, 2, 1, 1})
	check("lifetimes of x", [2]int64{x.MaxLifetime, x.DefaultLifetime}, [2]int64{100, 50})
	check("lifetimes of y", [2]int64{y.MaxLifetime, y.DefaultLifetime}, [2]int64{100, 60})
	check("lifetimes of b", [2]int64{b.MaxLifetime, b.DefaultLifetime}, [2]int64{-1, -1})
	check("no preemption", [4]bool{a.NoPreemption, x.NoPreemption, y.NoPreemption, b.NoPreemption}, [4]bool{true, true, false, false})
	check("priorities", [2]int32{b.Priority, b.DefaultPriority}, [2]int32{-3, 7})
	check("parallel", [3]int32{x.MaxParallelApps, b.MaxParallelApps, tree.Settings.MaxParallel("ann")}, [3]int32{9, 2, 3})
	check("parallel of joe.doe", tree.Settings.MaxParallel("joe.doe"), int32(5))
	check("applications", [4]int32{x.MaxApplications, x.MaxApplicationsPerUser, b.MaxApplications, a.MaxApplications}, [4]int32{300, 37, 70, 600})
	check("delay", [2]int{tree.Settings.NodeLocalityDelay, tree.Settings.RackLocalityDelay}, [2]int{7, -1})
	check("no preemption inside, with preemption inside as a whole", [4]bool{a.NoIntraPreemption, x.NoIntraPreemption, y.NoIntraPreemption, b.NoIntraPreemption},
		[4]bool{true, true, false, true})
	check("lazy preemption", tree.Settings.Preemption.Lazy, true)
	check("preemption for priorities", tree.Settings.Preemption.Underused, UnderusedPreemption{Enabled: true, Delay: 70 * time.Millisecond, Move: true})
	check("preemption", [2]float64{tree.Settings.Preemption.PerRound, tree.Settings.Preemption.Ignored}, [2]float64{0.4, 0.1})
}

func TestLimitsRefused(t *testing.T) {
	for key, value := range map[string]string{
		"a.minimum-user-limit-percent": "101", "a.user-limit-factor": "-2", "a.max-parallel-apps": "-1", "a.priority": "high",
		"a.ordering-policy": "lottery", "ordering-policy": "fifo", "a.maximum-allocation-mb": "999999", "a.maximum-allocation": "memory-mb=lots",
		"a.user-settings.joe.weight": "1.5", "a.default-application-lifetime": "x", "a.state": "DRAINING",
		"/resource-calculator": "Abacus", "/maximum-applications": "1e3", "/node-locality-delay": "NaN", "queues": "a,b.c",
		"/maximum-am-resource-percent": "-0.1", "/" + underused + "reserved-container-delay-ms": "-1",
	} {
		settings := with("queues=a", "a.capacity=100")
		maps.Copy(settings, with(key+"="+value))
		full := Prefix + strings.TrimPrefix("root."+key, "root./")
		if _, err := CapacityFromConf(load(t, settings)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s = %q: ", full, value)) {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

// A leaf takes each order by its name and by YARN's class of it, and one that is refused is told all names.
func TestOrdersOfLeaves(t *testing.T) {
	orderOf := func(value string) (string, error) {
		tree, err := CapacityFromConf(load(t, with("queues=a", "a.capacity=100", "a.ordering-policy="+value)))
		if err != nil {
			return "", err
		}
		q, _ := tree.Find("root.a")
		return q.OrderingPolicy, nil
	}
	for class, want := range map[string]string{
		"FifoOrderingPolicy": "fifo", "FairOrderingPolicy": "fair", "FifoOrderingPolicyWithExclusivePartitions": "fifo-with-partitions",
		"FifoOrderingPolicyForPendingApps": "fifo-for-pending-apps",
	} {
		for _, value := range []string{want, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy." + class} {
			if got, err := orderOf(value); got != want || err != nil {
				t.Errorf("%s: %s, %v", value, got, err)
			}
		}
	}
	const all = "fair, fifo, fifo-for-pending-apps, fifo-with-partitions"
	for _, value := range []string{"lottery", "FairOrderingPolicy", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy." + "fair"} {
		if _, err := orderOf(value); err == nil || !strings.Contains(err.Error(), all) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// A mistake is reported with its file and line, and all mistakes at once.
func TestWhereMistakesAre(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("capacity-scheduler.xml", `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a,`+strings.Repeat("n", 10000)+`</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>lots</value></property>
</configuration>`)
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = FromConf(c)
	for _, want := range []string{"capacity-scheduler.xml:3: ", "capacity-scheduler.xml:2: ", "(10000 bytes)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err != nil && len(err.Error()) > 2000 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
	write("capacity-scheduler.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><configuration/>`)
	if _, err = FromConf(c); err == nil || !strings.Contains(err.Error(), "entities") {
		t.Errorf("entities: got %v", err)
	}
}

func TestWarnings(t *testing.T) {
	tree, err := CapacityFromConf(load(t, with(
		"queues=a", "a.capacity=100", "/frobnicate=1", "a.colour=blue", "b.capacity=3", "a.accessible-node-labels.gpu.capacity=100", "a.accessible-node-labels.gpu.capcity=1",
		"/mapping-rule-json={}", "/per-node-heartbeat.maximum-container-assignments=5", "/application.fail-fast=false", "a.maximum-capacity=[memory=5]",
		"a.heddle-stage-policy=none", "a.heddle-preemption=suspend", "a.heddle-preemption-unable=kill", "c.heddle-preemption=suspend",
	)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range tree.Problems {
		got = append(got, string(p.Severity)+" "+strings.TrimPrefix(p.Key, Prefix))
	}
	slices.Sort(got)
	want := []string{
		"info application.fail-fast", "warning frobnicate", "warning mapping-rule-json", "warning root.a.accessible-node-labels.gpu.capcity",
		"warning root.a.colour", "warning root.a.maximum-capacity", "warning root.b.capacity",
		"warning root.c.heddle-preemption",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A scheduler that Heddle doesn't have is refused: queues of another one would be read, and scheduled by other rules.
func TestScheduler(t *testing.T) {
	const classes = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
	for name, want := range map[string]Kind{
		classes + "capacity.CapacityScheduler": Capacity, classes + "fair.FairScheduler": Fair, classes + "fifo.FifoScheduler": FIFO,
		"capacity": Capacity, "fair": Fair, "fifo": FIFO,
	} {
		tree, err := FromConf(load(t, nil, SchedulerClass+"="+name))
		if err != nil || tree.Kind != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tree, err := FromConf(load(t, nil)); err != nil || tree.Kind != Capacity {
		t.Errorf("by default: %v", err)
	}
	for _, name := range []string{"com.example.FairScheduler", "hopper", "Fair"} {
		_, err := FromConf(load(t, nil, SchedulerClass+"="+name))
		for _, want := range []string{SchedulerClass, `"` + name + `"`, "capacity, fair, fifo, ", classes + "fifo.FifoScheduler"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
	}
}

// A queue showed root's list of node labels as its own. Root may use all of them, whatever its list says.
func TestRootMayUseAllNodeLabels(t *testing.T) {
	tree, err := ParseCapacity(map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.accessible-node-labels": "gpu", "root.b.accessible-node-labels": "ssd,*",
	})
	if err != nil {
		t.Fatal(err)
	}
	tree.Root.All(func(q *Queue) {
		if !slices.Equal(q.Labels, []string{"*"}) {
			t.Errorf("%s: %q", q.Path, q.Labels)
		}
	})
}

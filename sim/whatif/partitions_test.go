package whatif_test

import (
	"strings"
	"testing"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/gate"
	"heddle/sim/whatif/play"
	"heddle/yarn/records"
)

var slot = recordtest.Slot

// labelled are queues with shares of the label gpu; adhoc has nothing of it, and dev asks for it by default.
func labelled(t *testing.T) *eventlog.Source {
	t.Helper()
	return queues(t, preemption, "root.accessible-node-labels.gpu.capacity=100",
		"root.prod.accessible-node-labels=gpu", "root.prod.accessible-node-labels.gpu.capacity=50",
		"root.dev.accessible-node-labels=gpu", "root.dev.accessible-node-labels.gpu.capacity=50", "root.dev.default-node-label-expression=gpu",
		"root.adhoc.accessible-node-labels= ")
}

// inPartitions records jobs of a simulated cluster of which a quarter has a label.
func inPartitions(t *testing.T) string {
	t.Helper()
	source := labelled(t)
	d, file := recordtest.Recorder(t, source, 1)
	tree, _, err := source.Tree()
	if err != nil {
		t.Fatal(err)
	}
	nodes := sim.Nodes{Count: 20, Capacity: slot.Times(4), Labels: []sim.Label{{Name: "gpu", Exclusive: true, Nodes: 5}}}
	jobs := sim.Generate(sim.Workload{
		Tasks: 3000, PerJob: 20, Mean: 20e9, Load: 0.8, Slots: 80, Resource: slot, Queues: []string{"root.prod", "root.prod", "root.dev", "root.adhoc"}, Users: 6,
	}, 7)
	for i := range jobs {
		if jobs[i].AM, jobs[i].AMStart = slot, 3e9; i%4 == 0 {
			jobs[i].Label = "gpu"
			jobs[i].Queue = "root.prod"
		}
	}
	if err := sim.SetLabels(jobs, tree, nodes.Labels); err != nil {
		t.Fatal(err)
	}
	recordtest.Play(t, d, nodes, jobs)
	return file
}

// A record of a cluster with partitions is met partition by partition, and a change of one partition concerns that one.
func TestPartitions(t *testing.T) {
	l := open(t, inPartitions(t))
	r := answer(t, l, change.Request{Nodes: []string{"-2@gpu"}})
	if b := r.Backtest; b.Apps < 100 || b.Median > 0.017 || b.P95 > 0.1 {
		t.Errorf("%d applications, median error %.3f, p95 %.3f", b.Apps, b.Median, b.P95)
	}
	if len(r.Partitions) != 2 || r.Partitions[0].Name != "" || r.Partitions[1].Name != "gpu" {
		t.Fatalf("partitions: %+v", r.Partitions)
	}
	plain, gpu := &r.Partitions[0], &r.Partitions[1]
	t.Logf("gpu p90 wait: %.1f s recorded, %.1f before, %.1f after; share %.2f before, %.2f after; others %.1f, %.1f, %.1f", gpu.Then.Wait.P90, gpu.Before.Wait.P90, gpu.After.Wait.P90,
		gpu.Before.Share, gpu.After.Share, plain.Then.Wait.P90, plain.Before.Wait.P90, plain.After.Wait.P90)
	for _, p := range r.Partitions {
		if p.Then.Containers == 0 || p.Then.Containers != p.Before.Containers || p.Before.Share <= 0.2 || p.Before.Share > 1 ||
			p.Then.Wait.P90 < 0.9*p.Before.Wait.P90 || p.Then.Wait.P90 > 1.1*p.Before.Wait.P90+0.1 {
			t.Errorf("partition %q: %+v recorded, %+v played", p.Name, p.Then, p.Before)
		}
	}
	if plain.After.Wait != plain.Before.Wait || gpu.After.Wait.P90 <= gpu.Before.Wait.P90 {
		t.Errorf("waits: %+v and %+v without label; %+v and %+v with gpu", plain.Before.Wait, plain.After.Wait, gpu.Before.Wait, gpu.After.Wait)
	}
	if text := render(t, r); !strings.Contains(text, "partition gpu after") || !strings.Contains(text, "&lt;DEFAULT_PARTITION&gt;") || !strings.Contains(text, `"partitions"`) {
		t.Error("the answer doesn't show partitions")
	}
	rules, err := gate.ReadRules(strings.NewReader("p90 wait of partition gpu must not grow by more than 10 %\np90 wait of partition <DEFAULT_PARTITION> must not grow by more than 1 %\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := gate.Check(rules, r); err != nil || v[0].Passes || !v[1].Passes {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := gate.ReadRules(strings.NewReader("p90 time of partition gpu must not exceed 5 s")); err == nil {
		t.Error("a partition has no times of applications")
	}
}

// Jobs that are added get the default label of their queue, and are refused where they may not use theirs.
func TestAddedJobsInPartitions(t *testing.T) {
	l := open(t, inPartitions(t))
	job := sim.Job{Name: "new", Queue: "root.dev", User: "u", AM: slot, Stages: []sim.Stage{{Priority: 1, Resource: slot, Tasks: make([]sim.Task, 30)}}}
	for i := range job.Stages[0].Tasks {
		job.Stages[0].Tasks[i].Duration = 30e9
	}
	before := answer(t, l, change.Request{}).Partitions
	a, err := whatif.Answer(l, whatif.Ask{Options: play.Options{Add: change.Apps([]sim.Job{job}, l.Begin+60_000)}})
	if err != nil {
		t.Fatal(err)
	}
	if more := a.Partitions[1].After.Containers - before[1].After.Containers; more != 31 {
		t.Errorf("%d containers more run with the default label of root.dev", more)
	}
	refused := func(label, queue, want string) {
		j := job
		j.Label, j.Queue = label, queue
		if _, err := play.Run(l, play.Options{Add: change.Apps([]sim.Job{j}, l.Begin)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("label %s: %v", label, err)
		}
	}
	refused("gpu", "root.adhoc", "may not use")
	l.Queues = queues(t, "root.prod.accessible-node-labels=*")
	refused("fpga", "root.prod", "no node of the record")
}

// Attributes of nodes, tags and constraints hold when a record is played: also tags of containers that ran when it began, and attributes of added nodes.
func TestConstraintsArePlayed(t *testing.T) {
	d, file := recordtest.Recorder(t, queues(t), 1)
	now := int64(1000)
	app := func(seq int32, tags ...string) scheduler.AppHandle {
		id := records.ApplicationID{ClusterTimestamp: 7, ID: seq}
		a := eventlogtest.AddApp(d, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.prod", User: "ann", Seq: int64(seq)}, ID: id})
		d.Apply(&eventlog.Event{Op: eventlog.NameApp, App: a, Name: id.String(), Add: tags})
		return a
	}
	first := 0
	step := func(a scheduler.AppHandle) (got []scheduler.ContainerHandle) {
		for _, x := range d.Step(now) {
			if x.Kind == drive.Allocate {
				got = append(got, x.Container)
				first++
				d.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: int64(first), Containers: []scheduler.ContainerHandle{x.Container}})
			}
		}
		return got
	}
	ask := func(a scheduler.AppHandle, count int32, of *constraint.Constraint, tags ...string) {
		d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: slot, Count: count, RelaxLocality: true, Scheduling: &scheduler.SchedulingRequest{Tags: tags, Constraint: of}}}})
	}
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot.Times(8)})
	h2 := eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "h2", Rack: "/r", Capability: slot.Times(8)})
	d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h2", Attributes: map[string]string{"rm.yarn.io/gpu": "a100"}})
	old := app(1, "store")
	d.Apply(&eventlog.Event{Op: eventlog.SetTags, Container: eventlogtest.Restore(d, old, h2, slot, drive.Container{Attempt: 1, ID: 100, Priority: 1, Since: 1}), Add: []string{"zk"}})
	gpu := &constraint.Constraint{Op: constraint.Attribute, Name: "rm.yarn.io/gpu", Value: "a100"}
	away := &constraint.Constraint{Op: constraint.Count, Scope: constraint.Node, Tags: []string{"zk"}, Space: constraint.AppTag, App: "store"}
	both := &constraint.Constraint{Op: constraint.And, Of: []*constraint.Constraint{gpu, away}}
	waiting := app(2)
	ask(waiting, 2, both)
	if got := step(waiting); len(got) != 0 {
		t.Fatalf("%d containers are granted where none may be", len(got))
	}
	now = 11_000
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "h3", Rack: "/r", Capability: slot.Times(1)})
	d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h3", Attributes: map[string]string{"rm.yarn.io/gpu": "a100"}})
	got := step(waiting)
	if len(got) != 1 {
		t.Fatalf("%d containers are granted: one node of one slot fits", len(got))
	}
	now = 31_000
	d.Apply(&eventlog.Event{Op: eventlog.Free, Container: got[0]})
	if got = step(waiting); len(got) != 1 {
		t.Fatalf("%d containers are granted", len(got))
	}
	now = 51_000
	d.Apply(&eventlog.Event{Op: eventlog.Free, Container: got[0]})
	step(waiting)
	d.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: waiting})
	now = 52_000
	step(waiting)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	l := open(t, file)
	waits := func(o play.Options) []int32 {
		r, err := play.Run(l, o)
		if err != nil {
			t.Fatal(err)
		}
		return r.Apps[1].Waits
	}
	for name, c := range map[string]struct {
		got  []int32
		want [2]int32
	}{
		"as recorded":      {l.Apps[1].Then.Waits, [2]int32{10_000, 30_000}},
		"played":           {waits(play.Options{}), [2]int32{10_000, 30_000}},
		"another gpu node": {waits(play.Options{More: map[string]int{"": 1}}), [2]int32{10_000, 30_000}}, // like h1, which is no such node
	} {
		if len(c.got) != 2 || [2]int32(c.got) != c.want {
			t.Errorf("%s: waits are %v ms, not %v", name, c.got, c.want)
		}
	}
	cluster, _ := l.Cluster(l.End)
	if len(cluster) != 5 || cluster[4].Host != "h3" || cluster[3].Attributes["rm.yarn.io/gpu"] != "a100" {
		t.Errorf("the cluster at the end: %+v", cluster)
	}
	if s := l.Apps[0].Attempts[0].Running; len(s) != 1 || len(s[0].Tags) != 1 || l.Apps[0].Tags[0] != "store" {
		t.Errorf("what ran at the beginning: %+v of %v", s, l.Apps[0].Tags)
	}
}

// Jobs whose label the new queues give nothing of never start, and that is the answer: the scheduler asked for their ApplicationMasters for ever.
func TestJobsThatNothingAdmits(t *testing.T) {
	r, err := play.Run(open(t, inPartitions(t)), play.Options{Queues: queues(t)})
	if err != nil || r.Unfinished < 20 || r.Unfinished == len(r.Apps) {
		t.Errorf("%d of %d applications can't end; %v", r.Unfinished, len(r.Apps), err)
	}
}

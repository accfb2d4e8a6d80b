package anonymous_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/queue/nodesort"
	"heddle/rm/queue/template"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/anonymous"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

// secrets are all names of the record below.
var secrets = []string{
	"zebra", "yak", "xenon", "walrus", "vulture", "umbrella", "tango", "sierra", "romeo", "quebec", "papa", "oscar", "november", "1795969697874", "mike", "lima",
	"kilo", "juliett", "india", "hotel", "golf", "foxtrot", "echo", "delta", "charlie", "bravo",
}

func capacity() *eventlog.Source {
	keys := map[string]string{queue.SchedulerClass: "capacity"}
	for k, v := range map[string]string{
		"root.queues": "zebra, yak", "root.zebra.capacity": "60", "root.yak.capacity": "40", "root.yak.queues": "xenon", "root.yak.xenon.capacity": "1w",
		"root.zebra.acl_submit_applications": "walrus vulture", "queue-mappings": "u:umbrella:zebra", "root.zebra.user-settings.tango.weight": "1",
		"root.accessible-node-labels": "*", "root.accessible-node-labels.sierra.capacity": "100", "root.zebra.accessible-node-labels": "sierra",
		"root.zebra.accessible-node-labels.sierra.capacity": "100", "maximum-am-resource-percent": "0.5",
		nodesort.EnabledKey: "true", nodesort.NamesKey: "quebec", "root.zebra." + nodesort.PolicyKey: "quebec", nodesort.PolicyKey + ".quebec.sorting-interval.ms": "20",
		nodesort.PolicyKey + ".quebec.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy", nodesort.PolicyKey + ".class": "quebec",
	} {
		keys[queue.Prefix+k] = v
	}
	for k, v := range map[string]string{
		"heddle.scheduler.node-speeds": "lima=2,foxtrot-*=3", "heddle.scheduler.partition.task-times": "root.zebra=10m", "yarn.scheduler.fair.allocation.file": "/home/echo/fair.xml",
		"yarn.scheduler.delta.x": "1", "yarn.scheduler.x": "delta", "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "0.2", "yarn.resource-types": "yarn.io/gpu",
		queue.Prefix + "root.yak.auto-queue-creation-v2.enabled": "true", queue.Prefix + "root.yak.auto-queue-creation-v2.template.capacity": "1w",
		queue.Prefix + "root.yak.auto-queue-creation-v2.template.acl_submit_applications":                "charlie",
		queue.Prefix + "root.yak.auto-queue-creation-v2.template.accessible-node-labels.sierra.capacity": "1w",
		queue.Prefix + "root.yak.auto-queue-creation-v2.leaf-template.acl_administer_queue":              "charlie",
	} {
		keys[k] = v
	}
	return &eventlog.Source{Keys: keys, Created: []template.Created{{Path: "root.yak.bravo"}}}
}

func fair() *eventlog.Source {
	return &eventlog.Source{Keys: map[string]string{queue.SchedulerClass: "fair"}, Allocation: `<allocations><!-- romeo -->
<delta>echo</delta><queue name="zebra" of="foxtrot"><owner>bravo</owner><allowPreemptionFrom>charlie</allowPreemptionFrom> tango <weight>2</weight><aclSubmitApps>walrus vulture</aclSubmitApps></queue><queue name="yak"><queue name="xenon"/></queue>
<user name="umbrella"><maxRunningApps>5</maxRunningApps></user><queuePlacementPolicy><rule name="specified"/><rule name="default" queue="zebra"/></queuePlacementPolicy></allocations>`}
}

// record holds what a scheduler decides on some events whose names are all secret.
func record(t *testing.T, source *eventlog.Source) []byte {
	t.Helper()
	var b bytes.Buffer
	tree, types, err := source.Tree()
	if err != nil {
		t.Fatal(err)
	}
	d, err := eventlog.New(scheduler.Config{Tree: tree, Types: types, Minimum: records.NewResource(1024, 1)}, eventlog.NewWriter(&b), source, eventlog.Header{Heddle: "test", Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "quebec.example.com", Rack: "/papa/oscar", Capability: records.NewResource(8192, 8)})
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "lima", Rack: "/papa/oscar", Capability: records.NewResource(8192, 8), Label: "sierra"})
	for i, q := range []string{"root.zebra", "root.yak.xenon"} {
		a := eventlogtest.AddApp(d, drive.AppSpec{
			AppSpec: scheduler.AppSpec{Queue: q, User: "umbrella", Type: "november", Seq: int64(i)}, ID: records.ApplicationID{ClusterTimestamp: 1795969697874, ID: int32(i) + 1},
		})
		d.Apply(&eventlog.Event{Op: eventlog.Name, App: a, Name: "mike"})
		d.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: a, Add: []string{"lima"}})
		ask := scheduler.Ask{Name: scheduler.Any, Capability: records.NewResource(1024, 1), Count: 3, RelaxLocality: true}
		near := ask
		near.Name = "quebec.example.com"
		rack := ask
		rack.Name = "/papa/oscar"
		d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{ask, near, rack}})
		d.Apply(&eventlog.Event{Op: eventlog.NameApp, App: a, Name: records.ApplicationID{ClusterTimestamp: 1795969697874, ID: int32(i) + 1}.String(), Add: []string{"kilo"}})
		d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "lima", Attributes: map[string]string{"rm.yarn.io/juliett": "india"}})
		ask.Priority, ask.Scheduling = 1, &scheduler.SchedulingRequest{Tags: []string{"hotel"}, Constraint: &constraint.Constraint{Op: constraint.Or, Of: []*constraint.Constraint{
			{Op: constraint.Count, Scope: constraint.Node, Tags: []string{"hotel"}, Space: constraint.AppID, App: "application_1795969697874_0001"},
			{Op: constraint.Count, Scope: constraint.Node, Tags: []string{"golf"}, Space: constraint.AppTag, App: "kilo"},
			{Op: constraint.Attribute, Name: "rm.yarn.io/juliett", Value: "india", Differs: true},
			{Op: constraint.Never, Why: "golf"},
		}}}
		d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{ask}})
		d.Step(int64(1000 * (i + 1)))
	}
	if change := (eventlog.Event{Op: eventlog.SetTree, Tree: tree, Queues: source}); !d.Apply(&change) {
		t.Fatal(change.Err)
	}
	d.Step(5000)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// No name is left, equal names stay equal, and the record still replays.
func TestNothingIsLeft(t *testing.T) {
	all := ""
	for name, source := range map[string]*eventlog.Source{"capacity": capacity(), "fair": fair()} {
		text := record(t, source)
		text = bytes.Replace(text, []byte(`"heddle":"test"`), []byte(`"heddle":"test","gap":{"from":1,"events":2,"why":"open /srv/zebra: no space"}`), 1)
		all += string(text)
		var b bytes.Buffer
		if err := (&anonymous.Names{}).Copy(&b, bytes.NewReader(append(text, `{"op":"na`...))); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(b.String(), s) {
				t.Errorf("%s: %q is left:\n%s", name, s, b.String())
			}
		}
		if n := strings.Count(b.String(), `"user":"user1"`); n != 2 {
			t.Errorf("%s: user1 has %d applications, of 2", name, n)
		}
		if name == "capacity" && !strings.Contains(b.String(), `"created":[{"Path":"root.queue`) {
			t.Errorf("the queue that was created isn't there: %s", b.String())
		}
		p := eventlog.NewReplay(&b)
		for {
			if _, err := p.Step(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if p.Decisions < 6 {
			t.Errorf("%s: %d decisions", name, p.Decisions)
		}
	}
	for _, s := range secrets {
		if !strings.Contains(all, s) {
			t.Errorf("no record has %s", s)
		}
	}
}

// FuzzCopy: no bytes make it panic, and the name of a user is never left.
func FuzzCopy(f *testing.F) {
	f.Add([]byte(`{"heddle-events":8,"heddle":"x","time":1,"queues":{"keys":{"yarn.scheduler.capacity.root.queues":"a"},"allocation":"<allocations/>"}}` + "\n" +
		`{"op":"addApp","name":"application_1_0001","queue":"root.a","user":"umbrella"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		if err := (&anonymous.Names{}).Copy(&b, bytes.NewReader(text)); err == nil && bytes.Contains(b.Bytes(), []byte(`"user":"umbrella"`)) {
			t.Errorf("%s", b.Bytes())
		}
	})
}

package trial

import (
	"fmt"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// tree makes queues of settings below yarn.scheduler.capacity.root.
func tree(t *testing.T, settings ...string) *queue.Tree {
	t.Helper()
	set := []string{"yarn.resourcemanager.scheduler.monitor.enable=true", "yarn.scheduler.capacity.root.queues=a,b"}
	for _, s := range settings {
		set = append(set, "yarn.scheduler.capacity.root."+s)
	}
	for _, q := range []string{"a", "b"} {
		set = append(set, "yarn.scheduler.capacity.root."+q+".user-limit-factor=100", "yarn.scheduler.capacity.root."+q+".maximum-am-resource-percent=1")
	}
	c, err := conf.Load(conf.Options{Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	made, err := queue.FromConf(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Queue a has taken all of the cluster. A guarantee for b that is worth more has preemption take from a what b's application waits for.
func TestAGuaranteeTakesFromOthers(t *testing.T) {
	one := records.NewResource(1024, 1)
	f := &Facts{Config: scheduler.Config{Minimum: one}, Now: 1_000_000}
	f.nodes = append(f.nodes, node{scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: records.NewResource(10240, 10)}, true})
	app1, app2 := records.ApplicationID{ClusterTimestamp: 1, ID: 1}, records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	f.apps = []app{
		{spec: drive.AppSpec{ID: app1, AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "ann", AM: one}}, last: 10, att: 1},
		{spec: drive.AppSpec{ID: app2, AppSpec: scheduler.AppSpec{Seq: 2, Queue: "root.b", User: "bob", AM: one}}, asks: []scheduler.Ask{{Name: scheduler.Any, Count: 3, Capability: one, RelaxLocality: true}}},
	}
	for i := range int64(10) {
		f.containers = append(f.containers, container{0, 0, one, drive.Container{Attempt: 1, ID: i + 1, AM: i == 0, Since: i + 1}})
	}
	now := tree(t, "a.capacity=100", "b.capacity=0", "b.maximum-capacity=100")
	got := f.Of(now, tree(t, "a.capacity=60", "b.capacity=40", "a.maximum-capacity=100"))
	if len(got.Starts) != 1 || got.Starts[0].App != app2 || got.Starts[0].Containers != 3 || got.Starts[0].Before != 0 {
		t.Errorf("starts: %+v", got.Starts)
	}
	if len(got.Losses) == 0 || got.More {
		t.Errorf("losses: %+v", got.Losses)
	}
	for _, l := range got.Losses {
		if l.Queue != "root.a" || l.Resource != one || !strings.Contains(l.How, "killed") || l.Container.ID == 1 {
			t.Errorf("%+v", l)
		}
	}
	if again := f.Of(now, now); len(again.Starts)+len(again.Losses) > 0 {
		t.Errorf("without a change: %+v", again)
	}
	if fmt.Sprint(f.Of(now, tree(t, "a.capacity=60", "b.capacity=40", "a.maximum-capacity=100"))) != fmt.Sprint(got) {
		t.Error("a second trial says something else")
	}
}

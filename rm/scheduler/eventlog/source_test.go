package eventlog_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
)

const schedulerClass = "yarn.resourcemanager.scheduler.class"

// folder is a configuration in a folder with some files.
func folder(t *testing.T, files, keys map[string]string) *conf.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		c.Set(key, value)
	}
	return c
}

const capacityFile = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>30</value></property>
<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>70</value></property>
</configuration>`

// A source has the keys that make the queues, and none that say where a machine has its files. The queues that it makes are the same.
func TestSourceOfCapacityQueues(t *testing.T) {
	c := folder(t, map[string]string{"capacity-scheduler.xml": capacityFile}, map[string]string{
		schedulerClass: "capacity", "yarn.scheduler.minimum-allocation-mb": "512", "yarn.resource-types": "gpu",
		"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "0.5", "yarn.cluster.max-application-priority": "7",
		"heddle.scheduler.preemption": "kill", "yarn.scheduler.fair.allocation.file": "elsewhere.xml", "yarn.nodemanager.hostname": "n1",
	})
	s, err := eventlog.SourceOf(c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		schedulerClass: "capacity", "yarn.scheduler.minimum-allocation-mb": "512", "yarn.resource-types": "gpu",
		"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "0.5", "yarn.cluster.max-application-priority": "7",
		"heddle.scheduler.preemption": "kill", queue.Prefix + "root.queues": "a,b", queue.Prefix + "root.a.capacity": "30",
	}
	for key, value := range want {
		if s.Keys[key] != value {
			t.Errorf("%s is %q, not %q", key, s.Keys[key], value)
		}
	}
	for _, key := range []string{"yarn.scheduler.fair.allocation.file", "yarn.nodemanager.hostname"} {
		if value, ok := s.Keys[key]; ok {
			t.Errorf("%s is recorded: %q", key, value)
		}
	}
	if s.Allocation != "" {
		t.Errorf("an allocation file is recorded: %s", s.Allocation)
	}
	tree, types, err := s.Tree()
	if err != nil {
		t.Fatal(err)
	}
	if q, ok := tree.Find("root.b"); !ok || q.AbsoluteCapacity != 0.7 || tree.Kind != queue.Capacity || types.Len() != 3 {
		t.Errorf("%+v, %d types", q, types.Len())
	}
}

const allocations = `<allocations><queue name="etl"><weight>3</weight></queue></allocations>`

// The allocation file of Fair queues is recorded with its text. It may be missing, and must be readable if it is there.
func TestSourceOfFairQueues(t *testing.T) {
	const file = "yarn.scheduler.fair.allocation.file"
	in := map[string]string{"fair-scheduler.xml": allocations}
	elsewhere := filepath.Join(t.TempDir(), "queues.xml")
	if err := os.WriteFile(elsewhere, []byte(allocations), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file, want string
	}{"beside the other files": {"fair-scheduler.xml", allocations}, "elsewhere": {elsewhere, allocations}, "missing": {"none.xml", ""}} {
		s, err := eventlog.SourceOf(folder(t, in, map[string]string{schedulerClass: "fair", file: test.file}))
		if err != nil || s.Allocation != test.want {
			t.Errorf("%s: %v, %v", name, s, err)
			continue
		}
		tree, _, err := s.Tree()
		if err != nil || tree.Kind != queue.Fair {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := tree.Find("root.etl"); ok != (test.want != "") {
			t.Errorf("%s: there is a queue etl: %t", name, ok)
		}
	}
	if _, err := eventlog.SourceOf(folder(t, in, map[string]string{schedulerClass: "fair", file: t.TempDir()})); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a folder: %v", err)
	}
}

func TestSourcesThatMakeNoQueues(t *testing.T) {
	for name, s := range map[string]*eventlog.Source{
		"an unknown scheduler":  {Keys: map[string]string{schedulerClass: "com.example.Mine"}},
		"no name of a resource": {Keys: map[string]string{schedulerClass: "capacity", "yarn.resource-types": "1gpu/"}},
		"no capacities":         {Keys: map[string]string{schedulerClass: "capacity", queue.Prefix + "root.queues": "a,b", queue.Prefix + "root.a.capacity": "x"}},
		"no XML":                {Keys: map[string]string{schedulerClass: "fair"}, Allocation: "<allocations>"},
	} {
		if tree, _, err := s.Tree(); err == nil {
			t.Errorf("%s: %v", name, tree)
		}
	}
	var none *eventlog.Source
	if tree, types, err := none.Tree(); tree != nil || types.Len() != 2 || err != nil {
		t.Errorf("no source: %v, %v", tree, err)
	}
}

// Queues that are changed at run time take the place of those before. The source of before stays as it was, as it may be on its way to a log.
func TestSourceWithOtherQueues(t *testing.T) {
	s := &eventlog.Source{Keys: map[string]string{schedulerClass: "capacity", queue.Prefix + "root.queues": "a", queue.Prefix + "root.a.capacity": "100"}, Allocation: "old"}
	before := maps.Clone(s.Keys)
	next := s.With(map[string]string{queue.Prefix + "root.queues": "b", queue.Prefix + "root.b.capacity": "100"})
	want := map[string]string{schedulerClass: "capacity", queue.Prefix + "root.queues": "b", queue.Prefix + "root.b.capacity": "100"}
	if !maps.Equal(next.Keys, want) || next.Allocation != "old" || !maps.Equal(s.Keys, before) {
		t.Errorf("%v, after %v", next, s)
	}
	fair := s.With(map[string]string{"fair-scheduler.xml": allocations, "other": "x"})
	if fair.Allocation != allocations || !maps.Equal(fair.Keys, before) || s.Allocation != "old" {
		t.Errorf("%v, after %v", fair, s)
	}
	var none *eventlog.Source
	if none.With(want) != nil {
		t.Error("of no source there is one")
	}
}

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// heddle runs the program with arguments, and returns what it printed.
func heddle(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestSimulateAndReplay: the same seed gives the same output, what was recorded is replayed, and an application explained.
func TestSimulateAndReplay(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	events := filepath.Join(t.TempDir(), "events")
	args := []string{"sim", "--tasks", "2000", "--nodes", "10", "--seed", "3", "--cutoff", "10s"}
	first, err := heddle(t, append(args, "--record", events)...)
	if err != nil {
		t.Fatal(err)
	}
	second, err := heddle(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !strings.Contains(first, "tasks 2000,") {
		t.Errorf("the same seed gives\n%s\nand\n%s", first, second)
	}
	if out, err := heddle(t, "replay", events); err != nil || !strings.Contains(out, "decisions are the same") {
		t.Errorf("the replay says %s%v", out, err)
	}
	if out, err := heddle(t, "replay", events, "--until", "line:20", "--why", "job1"); err != nil || !strings.Contains(out, "waits for") {
		t.Errorf("the explanation is %s%v", out, err)
	}
	if _, err := heddle(t, "replay", events, "--until", "yesterday"); err == nil {
		t.Error("a time that is none is taken")
	}
}

// heddle sim took $HADOOP_CONF_DIR without a word, and so had 40 % of the utilisation that the guide shows.
func TestSimulationNamesItsScheduler(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "/etc/hadoop/conf")
	o := simulation{source: &source{}}
	if got := o.scheduler(); !strings.Contains(got, "/etc/hadoop/conf ($HADOOP_CONF_DIR)") {
		t.Error(got)
	}
	o.source.dir = "/mine"
	if got := o.scheduler(); got != "scheduler and queues: of /mine" {
		t.Error(got)
	}
	t.Setenv("HADOOP_CONF_DIR", "")
	o.source.dir = ""
	if got := o.scheduler(); !strings.Contains(got, "first come, first served") {
		t.Error(got)
	}
}

// TestSimulateQueues: jobs go to the queues of a configuration, which shares slots by them.
func TestSimulateQueues(t *testing.T) {
	dir := t.TempDir()
	queues := `<configuration>
		<property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
		<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>75</value></property>
		<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>25</value></property>
		<property><name>yarn.scheduler.capacity.root.a.user-limit-factor</name><value>9</value></property>
		<property><name>yarn.scheduler.capacity.root.b.user-limit-factor</name><value>9</value></property>
		<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>1</value></property>
	</configuration>`
	jobs := `{"job.id": "one", "job.queue.name": "root.a", "job.tasks": [{"duration.ms": 1000, "count": 60, "container.priority": 1}]}
		{"job.id": "two", "job.queue.name": "root.b", "job.tasks": [{"duration.ms": 1000, "count": 60, "container.priority": 1}]}`
	for name, text := range map[string]string{"capacity-scheduler.xml": queues, "jobs.json": jobs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := filepath.Join(dir, "lines")
	if out, err := heddle(t, "sim", "--conf", dir, "--trace", filepath.Join(dir, "jobs.json"), "--nodes", "8", "--jobs", lines); err != nil {
		t.Fatal(out, err)
	}
	b, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	// 6 of 8 slots are a's while both want them: 60 tasks of a second take 10 s, and then b has all: 20 tasks until then, 40 in 5 s
	for _, want := range []string{"one\troot.a\tuser\t60\t0.000\t0.000\t10.000\n", "two\troot.b\tuser\t60\t0.000\t0.000\t15.000\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s\ndoesn't have %q", b, want)
		}
	}
}

// TestSimulateLabels: jobs run on nodes with the label that the trace, or their queue, names; what was recorded is replayed; labels that can't be are refused.
func TestSimulateLabels(t *testing.T) {
	dir := t.TempDir()
	property := func(name, value string) string {
		return "<property><name>yarn.scheduler.capacity.root." + name + "</name><value>" + value + "</value></property>"
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("capacity-scheduler.xml", "<configuration>"+property("queues", "a,b,c")+property("a.capacity", "40")+property("b.capacity", "30")+property("c.capacity", "30")+
		property("a.user-limit-factor", "9")+property("b.user-limit-factor", "9")+property("accessible-node-labels.gpu.capacity", "100")+
		property("a.accessible-node-labels.gpu.capacity", "50")+property("b.accessible-node-labels.gpu.capacity", "50")+
		property("b.default-node-label-expression", "gpu")+property("c.accessible-node-labels", " ")+"</configuration>")
	job := func(name, queue, label string) string {
		return `{"job.id": "` + name + `", "job.queue.name": "root.` + queue + `", "job.label.expression": "` + label + `", "job.tasks": [{"duration.ms": 1000, "count": 24, "container.priority": 1}]}` + "\n"
	}
	write("jobs.json", job("one", "a", "gpu")+job("two", "b", "")+job("three", "a", ""))
	lines, events := filepath.Join(dir, "lines"), filepath.Join(dir, "events")
	args := []string{"sim", "--conf", dir, "--trace", filepath.Join(dir, "jobs.json"), "--nodes", "10"}
	if out, err := heddle(t, append(args, "--labels", "gpu=4", "--jobs", lines, "--record", events)...); err != nil {
		t.Fatal(out, err)
	}
	b, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	// one and two share 4 nodes: 48 tasks of a second; three has the 6 others for itself
	for _, want := range []string{"one\troot.a\tuser\t24\t0.000\t0.000\t12.000\n", "two\troot.b\tuser\t24\t0.000\t0.000\t12.000\n", "three\troot.a\tuser\t24\t0.000\t0.000\t4.000\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s\ndoesn't have %q", b, want)
		}
	}
	if out, err := heddle(t, "replay", events); err != nil || !strings.Contains(out, "decisions are the same") {
		t.Errorf("the replay says %s%v", out, err)
	}
	for labels, want := range map[string]string{"gpu": "LABEL=N", "gpu=11": "at least one", "gpu=x": "LABEL=N", "gpu=1,a.b=1": "should only contains", "gpu=1,gpu=2": "twice", "fpga=2": "no node has the label gpu"} {
		if _, err := heddle(t, append(args, "--labels", labels)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--labels %s: %v", labels, err)
		}
	}
	write("jobs.json", job("four", "c", "gpu"))
	if _, err := heddle(t, append(args, "--labels", "gpu(exclusive=false)=4")...); err == nil || !strings.Contains(err.Error(), "root.c may not use") {
		t.Error(err)
	}
	write("jobs.json", job("five", "a", "lone"))
	if _, err := heddle(t, append(args, "--am", "1024,1", "--labels", "lone=4")...); err == nil || !strings.Contains(err.Error(), "1 of 1 jobs did not end") {
		t.Errorf("a label of which no queue has anything: %v", err)
	}
	if _, err := heddle(t, "sim", "--tasks", "10", "--labels", "gpu=4"); err == nil || !strings.Contains(err.Error(), "CapacityScheduler only") {
		t.Error(err)
	}
}

// Tasks run where their placement constraints let them: one at a time on a node, or on nodes with an attribute. One whose constraint no node satisfies doesn't end its job.
func TestSimulateConstraints(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	write("capacity-scheduler.xml", `<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
		<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property></configuration>`)
	job := func(name, says string) string {
		return `{"job.id": "` + name + `", "job.queue.name": "root.a", "job.tasks": [{"duration.ms": 1000, "count": 24, "container.priority": 1` + says + `}]}` + "\n"
	}
	const apart = `, "container.tags": ["db"], "container.constraint": {"op": "count", "scope": "node", "tags": ["db"], "max": 0}`
	const fast = `, "container.constraint": {"op": "attribute", "name": "rm.yarn.io/gpu", "value": "a100"}`
	file := write("jobs.json", job("apart", apart)+job("fast", fast))
	lines, events := filepath.Join(dir, "lines"), filepath.Join(dir, "events")
	args := []string{"sim", "--conf", dir, "--trace", file, "--nodes", "6", "--slots", "8"}
	if out, err := heddle(t, append(args, "--attributes", "gpu=a100=2", "--jobs", lines, "--record", events)...); err != nil {
		t.Fatal(out, err)
	}
	b, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	// six at once, one on each node; then those on two nodes: seven beside one of the first job's, 14 at once
	for _, want := range []string{"apart\troot.a\tuser\t24\t0.000\t0.000\t4.000\n", "fast\troot.a\tuser\t24\t0.000\t0.000\t2.000\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s\ndoesn't have %q", b, want)
		}
	}
	if out, err := heddle(t, "replay", events); err != nil || !strings.Contains(out, "decisions are the same") {
		t.Errorf("the replay says %s%v", out, err)
	}
	for with, want := range map[string]string{"gpu=a100": "NAME=VALUE=N", "gpu=a100=7": "at most all of 6", "=x=1": "NAME=VALUE=N", "gpu=t4=2": "1 of 2 jobs did not end"} {
		if _, err := heddle(t, append(args, "--attributes", with)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--attributes %s: %v", with, err)
		}
	}
	write("jobs.json", job("wrong", `, "container.constraint": {"op": "near"}`))
	if _, err := heddle(t, args...); err == nil || !strings.Contains(err.Error(), "task 1: its placement constraint is of a kind that isn't known") {
		t.Error(err)
	}
}

// TestSimulatePreemption: a queue gets its guarantee back, by the configuration's keys; what was recorded is replayed.
func TestSimulatePreemption(t *testing.T) {
	for _, lazy := range []string{"false", "true"} {
		dir := t.TempDir()
		property := func(name, value string) string {
			return "<property><name>yarn." + name + "</name><value>" + value + "</value></property>"
		}
		const preemption = "resourcemanager.monitor.capacity.preemption."
		for name, text := range map[string]string{
			"yarn-site.xml": "<configuration>" + property("resourcemanager.scheduler.monitor.enable", "true") +
				property(preemption+"max_wait_before_kill", "3000") + property(preemption+"natural_termination_factor", "1") + "</configuration>",
			"capacity-scheduler.xml": "<configuration>" + property("scheduler.capacity.root.queues", "a,b") +
				property("scheduler.capacity.root.a.capacity", "50") + property("scheduler.capacity.root.b.capacity", "50") +
				property("scheduler.capacity.root.a.user-limit-factor", "9") + property("scheduler.capacity.root.b.user-limit-factor", "9") +
				property("scheduler.capacity.lazy-preemption-enabled", lazy) + "</configuration>",
			"jobs.json": `{"job.id": "one", "job.queue.name": "root.a", "job.tasks": [{"duration.ms": 100000, "count": 20, "container.priority": 1}]}
				{"job.id": "two", "job.start.ms": 10000, "job.queue.name": "root.b", "job.tasks": [{"duration.ms": 9000, "count": 20, "container.priority": 1}]}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		events := filepath.Join(dir, "events")
		out, err := heddle(t, "sim", "--conf", dir, "--trace", filepath.Join(dir, "jobs.json"), "--nodes", "20", "--record", events)
		if err != nil || !strings.Contains(out, "10 containers were preempted") {
			t.Errorf("lazy %s: %s%v", lazy, out, err)
		}
		if out, err := heddle(t, "replay", events); err != nil || !strings.Contains(out, "decisions are the same") {
			t.Errorf("lazy %s: the replay says %s%v", lazy, out, err)
		}
	}
}

// TestSimulateAScenario: a scenario gives the same output each time; a wrong one is refused by file, line and reason; and of one that
// can't end there is a result nevertheless.
func TestSimulateAScenario(t *testing.T) {
	const file = "../../docs/scenarios/stragglers.json"
	first, err := heddle(t, "sim", "run", file)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := heddle(t, "sim", "run", file); err != nil || first != second {
		t.Errorf("%v: the same scenario gives\n%s\nand\n%s", err, first, second)
	}
	brief, err := heddle(t, "sim", "run", "--brief", file)
	if err != nil || !strings.Contains(brief, `"makespan"`) || strings.Contains(brief, `"attempts"`) || !strings.Contains(first, `"attempts"`) {
		t.Errorf("%v: %s", err, brief)
	}
	write := func(text string) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "it.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	wrong := write("{\n\"nodes\": 7}")
	if _, err := heddle(t, "sim", "run", wrong); err == nil || err.Error() != wrong+":2: nodes must be a list" {
		t.Errorf("%v", err)
	}
	wrong = filepath.Join(t.TempDir(), "it.yaml")
	if err := os.WriteFile(wrong, []byte("seed: 1\nnodes: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := heddle(t, "sim", "run", wrong); err == nil || err.Error() != wrong+":2: nodes must be a list" {
		t.Errorf("%v", err)
	}
	endless := write(`{"nodes": [{"name": "n", "memory": 1024, "vcores": 1}], "changes": [{"at": 5, "node": "n", "speed": 0}],
		"jobs": [{"name": "j", "maps": {"tasks": 1, "seconds": 10, "memory": 1024}}]}`)
	if out, err := heddle(t, "sim", "run", endless); err == nil || !strings.Contains(err.Error(), endless) || !strings.Contains(out, "it hasn't ended") {
		t.Errorf("%v: %s", err, out)
	}
}

package whatif_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/gate"
	"heddle/sim/whatif/load"
	"heddle/sim/whatif/page"
	"heddle/sim/whatif/play"
	"heddle/yarn/records"
)

// queues are three leaves of which each may have all. <name> is a queue's capacity.
func queues(t *testing.T, more ...string) *eventlog.Source {
	t.Helper()
	args := []string{"root.queues=prod,dev,adhoc", "root.prod.capacity=60", "root.dev.capacity=25", "root.adhoc.capacity=15", "maximum-am-resource-percent=0.5"}
	for _, q := range []string{"prod", "dev", "adhoc"} {
		args = append(args, "root."+q+".user-limit-factor=10")
	}
	s := &eventlog.Source{Keys: map[string]string{queue.SchedulerClass: "capacity"}}
	for _, a := range append(args, more...) {
		k, v, _ := strings.Cut(a, "=")
		if !strings.HasPrefix(k, "yarn.") {
			k = queue.Prefix + k
		}
		s.Keys[k] = v
	}
	return s
}

// record simulates jobs and records what the scheduler decides.
func record(t *testing.T, source *eventlog.Source, load float64) string {
	t.Helper()
	slot := records.NewResource(1024, 1)
	d, file := recordtest.Recorder(t, source, 0)
	jobs := sim.Generate(sim.Workload{
		Tasks: 3000, PerJob: 20, Mean: 20e9, Load: load, Slots: 80, Resource: slot, Queues: []string{"root.prod", "root.dev", "root.adhoc"}, Users: 6,
	}, 7)
	for i := range jobs {
		j := &jobs[i]
		j.AM, j.AMStart = slot, 3e9
		half := len(j.Stages[0].Tasks) / 2 // a second stage follows the first
		j.Stages = append(j.Stages, sim.Stage{Priority: 2, Resource: slot, Tasks: j.Stages[0].Tasks[half:]})
		j.Stages[0].Tasks = j.Stages[0].Tasks[:half]
	}
	recordtest.Play(t, d, sim.Nodes{Count: 20, Capacity: slot.Times(4)}, jobs)
	return file
}

func open(t *testing.T, file string) *load.Load {
	t.Helper()
	l, err := load.Open(file, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func answer(t *testing.T, l *load.Load, r change.Request) *whatif.Report {
	t.Helper()
	o, words, err := r.Options(l)
	if err != nil {
		t.Fatal(err)
	}
	a, err := whatif.Answer(l, whatif.Ask{Options: o, Changes: words})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const preemption = "yarn.resourcemanager.scheduler.monitor.enable=true"

// What was recorded under load, with preemption, is met when it is played unchanged.
func TestUnchangedConfigurationsMeetTheRecord(t *testing.T) {
	for name, more := range map[string][]string{"without preemption": nil, "with preemption": {preemption}} {
		l := open(t, record(t, queues(t, more...), 1.0))
		r := answer(t, l, change.Request{})
		b := r.Backtest
		t.Logf("%s: %d applications, errors: median %.4f, p90 %.4f, p95 %.4f; %d preempted", name, b.Apps, b.Median, b.P90, b.P95, r.Cluster.Then.Preempted)
		if b.Apps < 100 || b.Median > 0.017 || b.P95 > 0.1 {
			t.Errorf("%s: median %.3f, p95 %.3f", name, b.Median, b.P95)
		}
		if more != nil && r.Cluster.Then.Preempted == 0 {
			t.Error("nothing was preempted: the load is too light to show anything")
		}
		if r.Cluster.Before.Containers == 0 || r.Cluster.Then.Wait.P90 == 0 || len(r.Losers) > 0 {
			t.Errorf("%s: %+v, %v", name, r.Cluster.Then, r.Losers)
		}
	}
}

// Each change has the effect that it must have.
func TestChangesHaveTheirEffect(t *testing.T) {
	l := open(t, record(t, queues(t), 1.0))
	p90 := func(r *whatif.Report, q string) (before, after float64) {
		for i := range r.Queues {
			if r.Queues[i].Name == q {
				return r.Queues[i].Before.Wait.P90, r.Queues[i].After.Wait.P90
			}
		}
		t.Fatalf("there is no queue %s", q)
		return 0, 0
	}
	for _, c := range []struct {
		name   string
		change change.Request
		queue  string
		grows  bool
	}{
		{"more nodes", change.Request{Nodes: []string{"+6"}}, "root.dev", false},
		{"fewer nodes", change.Request{Nodes: []string{"-4"}}, "root.dev", true},
		{"faster nodes", change.Request{Speed: "2x"}, "root.dev", false},
		{"a smaller maximum", change.Request{Set: []string{queue.Prefix + "root.dev.maximum-capacity=30"}}, "root.dev", true},
		{"others' smaller maximum", change.Request{Set: []string{queue.Prefix + "root.dev.maximum-capacity=26", queue.Prefix + "root.adhoc.maximum-capacity=16"}}, "root.prod", false},
	} {
		r := answer(t, l, c.change)
		before, after := p90(r, c.queue)
		t.Logf("%s: p90 wait of %s %.1f s before, %.1f s after", c.name, c.queue, before, after)
		if c.grows != (after > before) || before == after {
			t.Errorf("%s: p90 wait of %s is %.1f s before, %.1f s after", c.name, c.queue, before, after)
		}
		if c.grows && len(r.Losers) == 0 {
			t.Errorf("%s: nobody is said to lose", c.name)
		}
	}
}

func render(t *testing.T, r *whatif.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := errors.Join(r.WriteTable(&b), r.WriteJSON(&b), page.Write(&b, r)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The same record and options give the same bytes.
func TestAnswersAreTheSameWhenAskedAgain(t *testing.T) {
	file := record(t, queues(t, preemption), 1.0)
	c := change.Request{Nodes: []string{"-3"}, Policies: []string{"root.dev:order=fair"}}
	first := render(t, answer(t, open(t, file), c))
	if again := render(t, answer(t, open(t, file), c)); again != first {
		t.Error("the second answer differs")
	}
	if strings.Contains(first, "http://") || strings.Contains(first, "<script") {
		t.Error("the page isn't self-contained")
	}
}

// Bars hold what a little more or less time changes, too: a backtest that meets the record exactly says nothing of that.
func TestBarsHoldWhatALittleChanges(t *testing.T) {
	r := answer(t, open(t, record(t, queues(t), 1.0)), change.Request{Nodes: []string{"-3"}})
	wide := 0
	for i := range r.Apps {
		a := &r.Apps[i]
		if bars := r.Backtest.Queues[a.Queue]; a.Low > a.After*bars.Low || a.High < a.After*bars.High {
			t.Errorf("%s takes %.1f s, and the bars are %.1f to %.1f s", a.ID, a.After, a.Low, a.High)
		}
		if a.High-a.Low > a.After/50 {
			wide++
		}
	}
	if wide*2 < len(r.Apps) {
		t.Errorf("%d of %d bars are wider than a fiftieth", wide, len(r.Apps))
	}
}

// A record that the played load doesn't meet gets no answer.
func TestABacktestThatFailsRefusesToAnswer(t *testing.T) {
	l := open(t, record(t, queues(t), 0.8))
	for i := range l.Apps {
		l.Apps[i].Then.End += (l.Apps[i].Then.End - l.Apps[i].Submit) / 4
	}
	_, err := whatif.Answer(l, whatif.Ask{})
	var refused *whatif.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "no answer") || !strings.Contains(err.Error(), "application_") {
		t.Fatalf("%v", err)
	}
	if _, err := whatif.Answer(l, whatif.Ask{Anyway: true}); err != nil {
		t.Error(err)
	}
}

// A queue that the record knows and the file doesn't is named with an application and its line, unless it is mapped.
func TestQueuesThatAreGoneAreNamed(t *testing.T) {
	l := open(t, record(t, queues(t), 0.8))
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	property := func(k, v string) string {
		return fmt.Sprintf("<property><name>%s%s</name><value>%s</value></property>\n", queue.Prefix, k, v)
	}
	write("<configuration>\n" + property("root.queues", "prod,dev") + property("root.prod.capacity", "50") + property("root.dev.capacity", "50") + "</configuration>")
	o, _, err := (&change.Request{Scheduler: file}).Options(l)
	if err != nil {
		t.Fatal(err)
	}
	_, err = whatif.Answer(l, whatif.Ask{Options: o})
	if err == nil || !strings.Contains(err.Error(), `"root.adhoc"`) || !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "--map") {
		t.Errorf("%v", err)
	}
	r := answer(t, l, change.Request{Scheduler: file, Map: []string{"root.adhoc=root.dev"}})
	if len(r.Queues) != 3 || r.Cluster.After.Unended > 0 {
		t.Errorf("%d queues, %+v", len(r.Queues), r.Cluster.After)
	}
	write("<configuration>\n" + property("root.queues", "prod,dev") + property("root.prod.capacity", "50") + property("root.dev.capacity", "fifty") + "</configuration>")
	if _, _, err = (&change.Request{Scheduler: file}).Options(l); err == nil || !strings.Contains(err.Error(), "capacity-scheduler.xml:4") {
		t.Errorf("a file that doesn't load: %v", err)
	}
}

// Jobs that are added get containers, and others wait for them.
func TestAddedJobsCompete(t *testing.T) {
	l := open(t, record(t, queues(t), 1.0))
	jobs := sim.Generate(sim.Workload{
		Tasks: 300, PerJob: 100, Mean: 60e9, Load: 1, Slots: 80, Resource: records.NewResource(1024, 1), Queues: []string{"root.prod"}, Users: 1,
	}, 3)
	a, err := whatif.Answer(l, whatif.Ask{Options: play.Options{Add: change.Apps(jobs, l.Begin+60_000)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Added) != len(jobs) || a.Added[0].Start < 0 || a.Added[0].End < a.Added[0].Start {
		t.Errorf("%+v", a.Added)
	}
	if b, now := a.Cluster.Before, a.Cluster.After; now.Time.P90 <= b.Time.P90 || now.Containers != b.Containers {
		t.Errorf("others' %d containers and times before: %+v; after: %d, %+v", b.Containers, b.Time, now.Containers, now.Time)
	}
}

// Rules of a gate pass and fail by what they say.
func TestGate(t *testing.T) {
	r := answer(t, open(t, record(t, queues(t), 1.0)), change.Request{Nodes: []string{"-4"}})
	rules, err := gate.ReadRules(strings.NewReader("# waits\np90 wait of root.dev must not grow by more than 10 %\n\np90 wait of root.dev must not grow by more than 100000 s\n" +
		"preemptions of cluster must not exceed 0\nshare of user user1 must not shrink by more than 90 %\n"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := gate.Check(rules, r)
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	for _, v := range verdicts {
		got = append(got, v.Passes)
	}
	if fmt.Sprint(got) != "[false true true true]" {
		t.Errorf("%v", verdicts)
	}
	rules, err = gate.ReadRules(strings.NewReader("p90 wait of root.gone must not exceed 1 s"))
	if err == nil {
		_, err = gate.Check(rules, r)
	}
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a rule about nobody: %v", err)
	}
}

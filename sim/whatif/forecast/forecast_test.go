package forecast_test

import (
	"reflect"
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/forecast"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

var slot = records.NewResource(1024, 1)

// record simulates jobs of two stages on a loaded cluster of three queues, with or without preemption, and returns the record's file.
func record(t *testing.T, preemption bool, queues ...string) string {
	t.Helper()
	source := &eventlog.Source{Keys: map[string]string{queue.SchedulerClass: "capacity", "yarn.resourcemanager.scheduler.monitor.enable": "false"}}
	if preemption {
		source.Keys["yarn.resourcemanager.scheduler.monitor.enable"] = "true"
	}
	for k, v := range map[string]string{
		"root.queues": "prod,dev,adhoc", "root.prod.capacity": "60", "root.dev.capacity": "25", "root.adhoc.capacity": "15", "maximum-am-resource-percent": "0.3",
		"root.prod.user-limit-factor": "10", "root.dev.user-limit-factor": "10", "root.adhoc.user-limit-factor": "10",
	} {
		source.Keys[queue.Prefix+k] = v
	}
	d, file := recordtest.Recorder(t, source, 0)
	jobs := sim.Generate(sim.Workload{
		Tasks: 4500, PerJob: 20, Mean: 20e9, Load: 0.95, Slots: 80, Resource: slot, Queues: queues, Users: 6,
	}, 7)
	for i := range jobs {
		j := &jobs[i]
		j.AM, j.AMStart = slot, 3e9
		half := len(j.Stages[0].Tasks) / 2
		j.Stages = append(j.Stages, sim.Stage{Priority: 2, Resource: slot, Tasks: j.Stages[0].Tasks[half:]})
		j.Stages[0].Tasks = j.Stages[0].Tasks[:half]
	}
	recordtest.Play(t, d, sim.Nodes{Count: 20, Capacity: slot.Times(4)}, jobs)
	return file
}

func open(t *testing.T, file string, o load.Options) *load.Load {
	t.Helper()
	l, err := load.Open(file, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What is forecast of submissions, from what was recorded before them, is what then happened.
func TestForecastsMeetWhatHappens(t *testing.T) {
	file := record(t, false, "root.prod", "root.dev", "root.adhoc")
	l := open(t, file, load.Options{})
	var learned, apps []int
	for i, x := range forecast.Candidates(l, 24) {
		if i < 12 {
			learned = append(learned, x)
		} else {
			apps = append(apps, x)
		}
	}
	first, err := forecast.Grade(file, l, learned, load.Options{}, forecast.Options{Runs: 10})
	if err != nil {
		t.Fatal(err)
	}
	wider := forecast.Widen(first)
	graded, err := forecast.Grade(file, l, apps, load.Options{}, forecast.Options{Runs: 10, Wider: wider})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("bounds are wider by %.2f", wider)
	median, inside := forecast.Summary(graded)
	waited := 0
	for i := range graded {
		if graded[i].Happened > 5 {
			waited++
		}
		t.Logf("%+v", graded[i])
	}
	t.Logf("%d forecasts: median error %.1f s, %d within the bars, %d waited for more than 5 s", len(graded), median, inside, waited)
	if len(graded) < 12 || inside < 9 || waited < 3 {
		t.Errorf("of %d forecasts %d are met; %d waited", len(graded), inside, waited)
	}
}

// The state at the record's end counts: a job on a cluster that is full waits, one of a queue that has room doesn't. Preemption names who loses.
func TestSubmissionsToAFullCluster(t *testing.T) {
	file := record(t, true, "root.dev", "root.adhoc")
	whole := open(t, file, load.Options{})
	l := open(t, file, load.Options{Until: whole.Begin + (whole.End-whole.Begin)/3})
	if l.End >= whole.End {
		t.Fatalf("it was read until %d, of %d", l.End, whole.End)
	}
	job := func(queue string, tasks int) load.App {
		j := sim.Job{Name: "job", Queue: queue, User: "zoe", AM: slot, Stages: []sim.Stage{{Priority: 1, Resource: slot, Tasks: make([]sim.Task, tasks)}}}
		for i := range j.Stages[0].Tasks {
			j.Stages[0].Tasks[i].Duration = sim.Time(300e9)
		}
		return change.Apps([]sim.Job{j}, 0)[0]
	}
	o := forecast.Options{Runs: 10}
	a, err := forecast.Submit(l, job("root.prod", 40), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", a)
	if a.Apps == 0 || a.Start.Median < 0 || a.End.Median < 300 || a.Start.Low > a.Start.Median || a.Start.High < a.Start.Median {
		t.Errorf("%+v", a)
	}
	if a.Start.Median > 60 {
		t.Errorf("a queue below its guarantee gets its first container after %.0f s", a.Start.Median)
	}
	if len(a.Preempted) == 0 {
		t.Errorf("40 containers of an idle queue with 60 %% of 80 take nothing from others: %+v", a)
	}
	if again, err := forecast.Submit(l, job("root.prod", 40), o); err != nil || !reflect.DeepEqual(a, again) {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	for _, queue := range []string{"root.gone", "root"} {
		if _, err := forecast.Submit(l, job(queue, 1), o); err == nil || !strings.Contains(err.Error(), queue) {
			t.Errorf("%s: %v", queue, err)
		}
	}
}

// A record of nearly nothing has no answer.
func TestTooLittleToTell(t *testing.T) {
	file := record(t, false, "root.prod", "root.dev", "root.adhoc")
	whole := open(t, file, load.Options{})
	l := open(t, file, load.Options{Until: whole.Begin + 5000})
	if _, err := forecast.Submit(l, load.App{Queue: "root.prod"}, forecast.Options{}); err == nil || !strings.Contains(err.Error(), "record for longer") {
		t.Error(err)
	}
}

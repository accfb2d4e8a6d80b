package shorttasks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

// A short measurement counts all its tasks, and ends its executors.
func TestRun(t *testing.T) {
	binary, lab, remove, err := hadooplab.BuildLab()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	o := Options{
		Binary: binary, Lab: lab, Nodes: 2, Slots: 4, Duration: 200 * time.Millisecond, Seed: 1,
		Short: Load{Share: 0.5, Tasks: 4, Task: 5 * time.Millisecond}, Forked: Load{Share: 0.5, Tasks: 4, Task: 10 * time.Millisecond},
		Bindings: true, Working: Load{Share: 0.3, Task: 5 * time.Millisecond},
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []Way{r.Pool, r.Probes} {
		if w.TasksPerSecond <= 0 || w.CPU.Client <= 0 || w.JobCPU.Executors < 0 {
			t.Errorf("%+v", w)
		}
	}
	if r.Pool.CPU.Nodes != 0 || r.Probes.CPU.Nodes <= 0 || r.Forked.LongAlone <= 0 || r.Forked.LongProbes <= 0 || r.Forked.LongOmniscient <= 0 || r.Forked.OmniscientCPU.Client <= 0 {
		t.Errorf("%+v", r)
	}
	for _, j := range []Jobs{r.Pool.Jobs, r.Probes.Jobs, r.Forked.Omniscient, r.Forked.Probes} {
		if j.Jobs < 1 || j.IdealP50 < 5 || j.P50 < 5 || j.P99 < j.P50 {
			t.Errorf("%+v", j)
		}
	}
	for _, j := range []Jobs{r.Bindings.Late, r.Bindings.Early} { // how long these take depends on how fast the machine was when they were made
		if j.Jobs < 1 || j.Task <= 0 || j.IdealP50 < j.Task || j.P50 <= 0 || j.P99 < j.P50 {
			t.Errorf("%+v", j)
		}
	}
	o.Only = []string{"processes", "proces"}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `no part "proces"`) {
		t.Errorf("a part that there isn't: %v", err)
	}
	o.Only, o.Short.Share = nil, 1.5
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1.5") {
		t.Errorf("a load of 1.5: %v", err)
	}
}

// Two jobs of three tasks of 10 ms on two slots: the second one waits for the first.
func TestIdeal(t *testing.T) {
	const ms = time.Millisecond
	job := slices.Repeat([]time.Duration{10 * ms}, 3)
	got := Ideal([]time.Duration{0, 5 * ms, 100 * ms}, [][]time.Duration{job, job, job}, 2)
	if want := []time.Duration{20 * ms, 25 * ms, 20 * ms}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestReportsOfRivals(t *testing.T) {
	got, err := readRival("ray", []byte("a word of some package\n{\"version\": \"2\", \"tasksPerSecond\": 7.5, \"took\": [30, 10, 20]}\n"))
	if want := (Rival{Name: "ray", Version: "2", TasksPerSecond: 7.5, Jobs: 3, P50: 20, P99: 30}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, out := range []string{"", "no report", `{"version": "2", "took": []}`} {
		if got, err := readRival("ray", []byte(out)); err == nil {
			t.Errorf("%q is %+v", out, got)
		}
	}
}

// Everybody gets jobs at the same times, as many as the load asks for.
func TestArrivals(t *testing.T) {
	l := Load{Share: 0.8, Tasks: 10, Task: 10 * time.Millisecond}
	got := l.arrivals(16, time.Minute, 1)
	if !slices.Equal(got, l.arrivals(16, time.Minute, 1)) || !slices.IsSorted(got) {
		t.Error("they differ, or have no order")
	}
	const want = 128 * 60 // of 16 slots, 80 % in jobs of 100 ms
	if n := float64(len(got)); n < 0.95*want || n > 1.05*want {
		t.Errorf("%v jobs in a minute", n)
	}
}

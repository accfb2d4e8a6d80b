package shorttasks

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

// A short measurement counts all its tasks, and ends its executors.
func TestRun(t *testing.T) {
	binary := os.Getenv("HEDDLE_BINARY")
	if binary == "" {
		b, remove, err := hadooplab.BuildHeddle()
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		binary = b
	}
	o := Options{Binary: binary, Executors: 2, Slots: 4, Duration: 200 * time.Millisecond, Load: 0.5, Tasks: 4, Task: 5 * time.Millisecond, Seed: 1}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.TasksPerSecond <= 0 || r.Jobs < 1 || r.IdealP50 < 5 || r.P50 < 5 || r.P99 < r.P50 ||
		r.Probes.Jobs < 1 || r.Probes.P50 < 5 || r.Probes.P99 < r.Probes.P50 {
		t.Errorf("%+v", r)
	}
	o.Load = 1.5
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1.5") {
		t.Errorf("a load of 1.5: %v", err)
	}
}

// Two jobs of three tasks of 10 ms on two slots: the second one waits for the first.
func TestIdeal(t *testing.T) {
	const ms = time.Millisecond
	got := ideal([]time.Duration{0, 5 * ms, 100 * ms}, 2, 3, 10*ms)
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
	o := Options{Executors: 2, Slots: 8, Duration: time.Minute, Load: 0.8, Tasks: 10, Task: 10 * time.Millisecond, Seed: 1}
	got := arrivals(o)
	if !slices.Equal(got, arrivals(o)) || !slices.IsSorted(got) {
		t.Error("they differ, or have no order")
	}
	const want = 128 * 60 // of 16 slots, 80 % in jobs of 100 ms
	if n := float64(len(got)); n < 0.95*want || n > 1.05*want {
		t.Errorf("%v jobs in a minute", n)
	}
}

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
	if r.TasksPerSecond <= 0 || r.Jobs < 1 || r.IdealP50 < 5 || r.P50 < 5 || r.P99 < r.P50 {
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

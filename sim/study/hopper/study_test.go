package hopper

import (
	"math"
	"reflect"
	"testing"

	"heddle/sim/study/copies"
	"heddle/sim/study/measure"
)

func cellOf(t *testing.T, all []measure.Table, table, row, column string) float64 {
	t.Helper()
	for i := range all {
		if x := &all[i]; x.Key == table {
			c, err := x.Cell(row, column)
			if err != nil {
				t.Fatal(err)
			}
			return c.Mean
		}
	}
	t.Fatalf("there is no table %s", table)
	return 0
}

// The example comes out as in the text, and Hopper halves the mean duration where the other policy makes copies only when no task waits.
func TestHoppersStudy(t *testing.T) {
	o := measure.Options{Seeds: measure.Seeds{From: 1, To: 2}, Values: map[string]string{"parts": "example,causes", "jobs": "300"}}
	if err := o.Check("hopper", Parameters); err != nil {
		t.Fatal(err)
	}
	s, err := Tables(&o)
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range map[string][2]float64{"SRPT": {5, 8}, "Fair": {6, 8}, "SRPT, budgeted": {3, 7}, "Fair, budgeted": {6, 8}, "Hopper": {3, 6}} {
		if a, b := cellOf(t, s, "example", row, "A"), cellOf(t, s, "example", row, "B"); a != want[0] || b != want[1] {
			t.Errorf("%s: %g and %g, want %v", row, a, b, want)
		}
	}
	if x := cellOf(t, s, "causes", "SRPT makes copies when no task waits", "change"); x > -40 {
		t.Errorf("against copies that come last: %.1f %%", x)
	}
	if few, many := cellOf(t, s, "causes", "32 slots", "SRPT"), cellOf(t, s, "causes", "400 slots", "SRPT"); few < 1.2*many {
		t.Errorf("jobs take %g s with few slots, and %g s with many", few, many)
	}
}

// The workload has small jobs mostly, and much of its work in large ones; arrivals keep the load; and its seed determines it.
func TestMixOfJobs(t *testing.T) {
	m := mix{jobs: 3000, nodes: 10, load: .9, phases: 2, detection: 1, local: true}
	jobs := m.draw(1)
	small, tasks, ofLarge := 0, 0, 0
	for i := range jobs {
		n := jobs[i].Tasks()
		if tasks += n; n <= 50 {
			small++
		}
		if n > 500 {
			ofLarge += n
		}
		if len(jobs[i].Phases) != 2 || len(jobs[i].Phases[0].Tasks[0].Inputs) != 3 || jobs[i].Phases[1].Tasks[0].Inputs != nil {
			t.Fatalf("%+v", jobs[i])
		}
		for _, x := range jobs[i].Phases[0].Tasks {
			if least := jobs[i].Phases[0].Least; x.Original < least || x.Copy < least || float64(x.Original) > longestTask*float64(least+1) {
				t.Fatalf("a task of %d to %d ms where the least is %d", x.Original, x.Copy, least)
			}
		}
	}
	if part, large := float64(small)/3000, float64(ofLarge)/float64(tasks); math.Abs(part-.89) > .03 || math.Abs(large-.4) > .15 {
		t.Errorf("%.2f of the jobs are small, and large ones have %.2f of the tasks", part, large)
	}
	if !reflect.DeepEqual(jobs, m.draw(1)) || reflect.DeepEqual(jobs, m.draw(2)) {
		t.Error("its seed doesn't determine it")
	}
}

// What a slow task works is until it is seen, and then twice as long as the shorter one of its attempts takes from there.
func TestWorkOfATask(t *testing.T) {
	p := copies.Phase{Usual: 300, Slow: 400}
	for _, c := range []struct{ original, copy, want int64 }{{350, 100, 350}, {1000, 200, 100 + 400}, {1000, 5000, 100 + 1800}} {
		if got := worked(&p, &copies.Task{Original: c.original, Copy: c.copy}, 100); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

package divider

import (
	"math"
	"testing"
)

// jobs has jobs of one class and weight, whose tasks take a slot each.
func jobs(beta float64, tasks ...float64) []Job {
	list := make([]Job, len(tasks))
	for i, n := range tasks {
		list[i] = Job{Tasks: n, Size: 1, Alpha: 1, Beta: beta}
	}
	return list
}

func expect(t *testing.T, what string, got []Job, want ...float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i].Slots-want[i]) > .006 { // the text rounds to two places
			t.Errorf("%s: job %d gets %.4f, want %.4f of %v", what, i+1, got[i].Slots, want[i], want)
		}
	}
}

// Equation 3.5, and section 4.1.
func TestVirtualSizes(t *testing.T) {
	for _, c := range []struct{ tasks, beta, alpha, want float64 }{{4, 1.6, 1, 5}, {8, 1.6, 4, 20}, {4, 1.8, 1, 4.444}, {6, 1.2, 1, 10}} {
		if got := Virtual(c.tasks, c.beta, c.alpha); math.Abs(got-c.want) > .001 {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestAlgorithm1(t *testing.T) {
	var d Divider
	list := jobs(1.5, 3, 6, 12)
	d.Guidelines(list, 10)
	expect(t, "guideline 1", list, 4, 6, 0)
	d.Guidelines(list, 40)
	expect(t, "guideline 2", list, 5.71, 11.43, 22.86)
	d.Round(40)
	for i, want := range []int64{6, 11, 23} {
		if list[i].Containers != want {
			t.Errorf("guideline 2: job %d gets %d whole slots, want %d", i+1, list[i].Containers, want)
		}
	}
	// A job of which not all fits in gets what is left, whatever order jobs stand in.
	list = jobs(1.5, 12, 3)
	d.Guidelines(list, 10)
	expect(t, "the larger job stands first", list, 6, 4)
}

func TestAlgorithm2(t *testing.T) {
	var d Divider
	for _, c := range []struct {
		what    string
		slots   float64
		epsilon float64
		tasks   []float64
		want    []float64
	}{
		{"case 1", 30, .1, []float64{3, 6, 30}, []float64{9, 9, 12}},
		{"case 2", 60, .1, []float64{3, 6, 12}, []float64{18, 18, 24}},
		{"case 2, one at the floor", 60, .1, []float64{5, 6, 7}, []float64{18, 19.38, 22.62}},
		{"no floor: algorithm 1", 30, 1, []float64{3, 6, 30}, []float64{4, 8, 18}},
		{"nobody below the floor", 60, .1, []float64{6, 6, 6}, []float64{20, 20, 20}},
		{"fair", 60, 0, []float64{3, 6, 12}, []float64{20, 20, 20}},
	} {
		list := jobs(1.5, c.tasks...)
		d.Fair(list, c.slots, c.epsilon)
		expect(t, c.what, list, c.want...)
		clear := jobs(1.5, c.tasks...)
		d.Divide(clear, c.slots, c.epsilon)
		expect(t, c.what+", by Divide", clear, c.want...)
		for i := range clear { // the projection is the same
			clear[i].Slots = -1
		}
		d.sort(clear)
		d.project(c.slots, Floor(c.slots, len(clear), c.epsilon))
		expect(t, c.what+", by projection", clear, c.want...)
	}
}

func TestAlgorithm3(t *testing.T) {
	var d Divider
	for slots, want := range map[float64][]float64{4: {4, 0}, 12: {0, 12}, 24: {4, 20}, 26: {5.2, 20.8}} {
		list := []Job{{Tasks: 4, Size: 1, Alpha: 1, Beta: 1.6}, {Tasks: 8, Size: 1, Alpha: 4, Beta: 1.6}}
		d.Phases(list, slots)
		expect(t, "weights 1 and 4", list, want...)
	}
	// The printed k_min serves the first of equal jobs last: (2, 10, 0) and (0, 10, 9).
	for slots, want := range map[float64][]float64{12: {5, 7, 0}, 19: {5, 10, 4}} {
		list := jobs(1.6, 4, 8, 12)
		d.Phases(list, slots)
		expect(t, "equal weights", list, want...)
	}
	// Case 3: the first two share all, as the third one has less weight, so that their levels are higher beside it.
	list := []Job{{Tasks: 4, Size: 1, Alpha: 4, Beta: 1.6}, {Tasks: 8, Size: 1, Alpha: 4, Beta: 1.6}, {Tasks: 100, Size: 1, Alpha: 1, Beta: 1.6}}
	d.Phases(list, 24) // their levels beside each other are 5 and 10, beside the third one 10 and 20
	expect(t, "case 3", list, 8, 16, 0)
	// Of two jobs with the least weight the last one comes last.
	list = []Job{{Tasks: 4, Size: 1, Alpha: 1, Beta: 1.6}, {Tasks: 5, Size: 1, Alpha: 4, Beta: 1.6}, {Tasks: 20, Size: 1, Alpha: 1, Beta: 1.6}}
	d.Phases(list, 20) // levels are 5, 12.5 and 25
	expect(t, "two with the least weight", list, 5, 12.5, 2.5)
	one := jobs(1.6, 4)
	d.Phases(one, 100)
	expect(t, "one job", one, 100)
}

func TestAlgorithm4(t *testing.T) {
	var d Divider
	for slots, want := range map[float64][]float64{20: {20, 0}, 25: {21.65, 3.35}, 34.15: {21.65, 12.5}, 34.16: {21.66, 12.5}, 50: {31.70, 18.30}} {
		list := []Job{{Tasks: 10, Size: 1, Alpha: 1, Beta: 1.2}, {Tasks: 10, Size: 1, Alpha: 1, Beta: 1.6}}
		d.Classes(list, slots)
		expect(t, "two classes", list, want...)
	}
	// Within a class the smaller job comes first.
	list := []Job{{Tasks: 6, Size: 1, Alpha: 1, Beta: 1.2}, {Tasks: 10, Size: 1, Alpha: 1, Beta: 1.6}, {Tasks: 4, Size: 1, Alpha: 1, Beta: 1.2}}
	d.Classes(list, 15)
	expect(t, "within a class", list, 15-2/1.2*4, 0, 2/1.2*4)
}

package nodespeed

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"heddle/conf"
	"heddle/rm/leader/speed"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

type notes []string

func (n *notes) NoteSpeed(host string, t survey.Task, speed float64) {
	*n = append(*n, fmt.Sprintf("%s %d %.2f", host, t, speed))
}

func (n *notes) take() []string {
	all := slices.Sorted(slices.Values(*n))
	*n = nil
	return all
}

func TestSettingsGoBeforeWhatIsLearned(t *testing.T) {
	learned := speed.New(time.Now)
	s, to := New([]conf.NodeSpeed{{Pattern: "gpu-*", Speed: 3}, {Pattern: "*-1", Speed: 9}}, learned), &notes{}
	for _, h := range []string{"gpu-1", "gpu-1", "a", "b"} {
		s.Joined(to, h)
	}
	if got := to.take(); !slices.Equal(got, []string{"gpu-1 0 3.00", "gpu-1 1 3.00"}) {
		t.Errorf("after nodes have joined: %q", got)
	}
	for i := range int32(3) {
		learned.Take(records.ApplicationID{ID: i}, "u", []speed.Report{
			{Host: "gpu-1", Type: speed.Map, Tasks: 9, Mean: 10}, {Host: "a", Type: speed.Map, Tasks: 9, Mean: 10}, {Host: "b", Type: speed.Map, Tasks: 9, Mean: 20},
		})
	}
	learned.Sort()
	s.Tell(to)
	got := to.take()
	if len(got) != 4 { // two hosts, two types
		t.Fatalf("learned: %q", got)
	}
	var a, b float64
	_, _ = fmt.Sscanf(got[0], "a 0 %f", &a)
	_, _ = fmt.Sscanf(got[2], "b 0 %f", &b)
	if math.Abs(a/b-2) > .1 || got[1] != "a 1 0.00" || got[3] != "b 1 0.00" {
		t.Errorf("learned: %q", got)
	}
	s.Tell(to)
	s.Left(to, "gpu-1")
	if got := to.take(); len(got) > 0 {
		t.Errorf("nothing new: %q", got)
	}
	s.Left(to, "gpu-1")
	s.Left(to, "a")
	if got := to.take(); !slices.Equal(got, []string{"a 0 0.00", "a 1 0.00", "gpu-1 0 0.00", "gpu-1 1 0.00"}) {
		t.Errorf("after nodes have left: %q", got)
	}
}

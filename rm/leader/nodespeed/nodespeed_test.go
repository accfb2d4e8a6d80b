package nodespeed

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"heddle/conf"
	"heddle/rm/leader/speed"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

type notes []string

func (n *notes) Apply(e *eventlog.Event) bool {
	*n = append(*n, fmt.Sprintf("%s %d %.2f", e.Host, e.Task, e.Part))
	return true
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

// Section 5.2 of the text on eSplash: levels are "pre-configured by the administrator, or dynamically determined". Nothing but a simulation could configure them.
func TestLevelsFollowConfiguredSpeeds(t *testing.T) {
	learned := speed.New(time.Now)
	s, to := New([]conf.NodeSpeed{{Pattern: "new-*", Speed: 4}, {Pattern: "old-*", Speed: 1}}, learned), &notes{}
	for _, h := range []string{"new-1", "new-2", "old-1", "old-2", "other"} {
		s.Joined(to, h)
	}
	if !learned.Due() {
		t.Fatal("no levels are due, though speeds are configured")
	}
	learned.Sort()
	levels := func() map[string]int32 {
		of := map[string]int32{}
		list, _ := learned.Since(0)
		for _, l := range list {
			of[l.Host] = l.Class
		}
		return of
	}
	want := map[string]int32{"new-1": 2, "new-2": 2, "old-1": 1, "old-2": 1}
	if got := levels(); !maps.Equal(got, want) {
		t.Errorf("before anything ran: %v", got)
	}
	// A new node that was slow in a job is no slow kind of node for that.
	learned.Take(records.ApplicationID{ID: 1}, "u", []speed.Report{
		{Host: "new-1", Type: speed.Map, Tasks: 9, Mean: 100}, {Host: "new-2", Type: speed.Map, Tasks: 9, Mean: 10}, {Host: "old-1", Type: speed.Map, Tasks: 9, Mean: 40},
	})
	learned.Sort()
	if got := levels(); !maps.Equal(got, want) {
		t.Errorf("after a node was slow: %v", got)
	}
}

// A setting for a node that nobody knows, or behind one that takes all its nodes, is told of once.
func TestSettingsThatNoNodeMatches(t *testing.T) {
	s := New([]conf.NodeSpeed{{Pattern: "gpu-*", Speed: 3}, {Pattern: "gpu-1", Speed: 9}, {Pattern: "lost", Speed: 2}, {Pattern: "b", Speed: 2}}, speed.New(time.Now))
	for _, h := range []string{"gpu-1", "a", "b"} {
		s.Joined(&notes{}, h)
	}
	if got := s.Unmatched(); !slices.Equal(got, []string{"gpu-1", "lost"}) {
		t.Errorf("unmatched: %q", got)
	}
	if got := s.Unmatched(); got != nil {
		t.Errorf("told again: %q", got)
	}
}

package view

import (
	"cmp"
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/yarn/records"
)

// Timeline is when an application reached each step. Times are in ms since 1970 by the ResourceManager's clock, 0 = not yet or
// unknown.
type Timeline struct {
	App        App
	Attempts   []AttemptTimes
	Containers []ContainerTimes // in the order of their grants
	More       int64            // number of ended containers whose times are no longer known
	Course     *course.Course   // nil: nothing is known. It never changes
}

// AttemptTimes is when an attempt reached each step.
type AttemptTimes struct {
	ID          records.AttemptID
	AMContainer records.ContainerID
	Asked       int64 // for the ApplicationMaster's container
	Launched    int64 // accepted by its node
	Registered  int64
	Finished    int64
}

// ContainerTimes is when a container reached each step.
type ContainerTimes struct {
	ID        records.ContainerID
	Node      records.NodeID
	Priority  int32
	AM        bool
	Asked     int64
	Granted   int64
	Accepted  int64 // by its node. Times from the node are known of containers on Heddle nodes; of those that live, to the leader
	Localized int64
	Started   int64 // its process; while it runs, when its node first reported it
	Ended     int64 // its process, or when the container was given up
	Live      bool
	Exit      int32
	Far       bool // places were named where it was asked for, and its host isn't among them
	Cold      bool // its node had to fetch some of its files; known once it has ended
	GivenBack bool // by its ApplicationMaster
	// Starved is for how many ms it could have run and had no processor; known once it has ended.
	Starved int64
	// Suspended are the times in which it was suspended or shrunk, the first ones of many. To is 0 of the present one.
	Suspended []ledger.Span
}

// Timeline returns an application's timeline; ok is false if the application doesn't exist.
func (v *Viewer) Timeline(id records.ApplicationID) (t Timeline, ok bool) {
	by := v.soft()
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id]
		if a == nil {
			return
		}
		ok = true
		t.App, t.More, t.Course = v.app(a, by, s.Capacity()), a.PastMore, a.Course
		for _, at := range a.Attempts {
			t.Attempts = append(t.Attempts, AttemptTimes{at.ID, at.AMContainer, at.StartTime, at.LaunchTime, at.RegisterTime, at.FinishTime})
		}
		for c := range a.Past.All() {
			t.Containers = append(t.Containers, by.times(c))
		}
		for c := range a.Containers.All() {
			t.Containers = append(t.Containers, by.times(c))
		}
	})
	slices.SortFunc(t.Containers, func(a, b ContainerTimes) int { return cmp.Or(cmp.Compare(a.Granted, b.Granted), a.ID.Compare(b.ID)) })
	return t, ok
}

// times renders a container. Of the life of one that lives the leader knows what its node has told.
func (s *soft) times(c *ledger.Container) ContainerTimes {
	told := c.Times
	if c.Live() && s.leader != nil {
		told = s.leader.Lives.Of(c.ID)
	}
	x := c.Suspension()
	spans := x.Spans
	if x.Since > 0 {
		spans = append(slices.Clip(spans), ledger.Span{From: x.Since, Cause: x.Cause})
	}
	started := c.Started
	if told.Accepted > 0 && c.Live() {
		started = 0 // it isn't when its node has reported it first
	}
	return ContainerTimes{
		Suspended: spans,
		ID:        c.ID, Node: c.Node, Priority: c.Priority, AM: c.AM, Asked: c.Asked, Granted: c.Allocated,
		Accepted: told.Accepted, Localized: told.Localized, Started: cmp.Or(told.Launched, started),
		Ended: cmp.Or(told.Ended, c.Finished), Live: c.Live(), Exit: c.ExitStatus, Far: c.Far, Cold: c.Cold,
		GivenBack: c.GivenBack, Starved: int64(c.NoProcessor),
	}
}

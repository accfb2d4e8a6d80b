package preempt_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// two is a cluster with a queue that has everything, and another that waits for two containers below its guarantee.
func two() *preempt.Snapshot {
	unit := records.NewResource(10, 1)
	all := unit.Times(10)
	s := &preempt.Snapshot{
		Cluster: all, Nodes: []preempt.Node{{Host: "n"}},
		Queues: []preempt.Queue{
			{Path: "root", Parent: -1, Guaranteed: all, Maximum: all, Used: all, Threshold: 0.5},
			{Path: "root.a", Guaranteed: unit.Times(5), Maximum: all, Used: all, Share: fairshare.Queue{Max: fairshare.NoLimit()}, FairTimeout: -1, MinTimeout: -1},
			{Path: "root.b", Guaranteed: unit.Times(5), Maximum: all, Pending: unit.Times(2), Share: fairshare.Queue{Max: fairshare.NoLimit()}, MinTimeout: -1, Threshold: 0.5},
		},
	}
	id := func(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }
	a := preempt.App{ID: id(1), Queue: 1, Seq: 1, Used: all, Fair: unit.Times(5)}
	for i := range int64(10) {
		a.Containers = append(a.Containers, preempt.Container{
			ID: records.ContainerID{Attempt: records.AttemptID{App: id(1), Attempt: 1}, ID: i + 1}, Resource: unit, AM: i == 0, Handle: int32(100 + i),
		})
	}
	b := preempt.App{ID: id(2), Queue: 2, Seq: 2, Fair: unit.Times(4), Asks: []preempt.Ask{{Name: "*", Relax: true, Capability: unit, Count: 2}}}
	s.Apps = []preempt.App{a, b}
	return s
}

// A victim carries what its owner finds it by, and says for whom it goes.
func TestVictimsAreWhatTheirOwnerKnows(t *testing.T) {
	s := two()
	last := s.Apps[0].Containers[9]
	want := preempt.Victim{App: s.Apps[0].ID, ID: last.ID, Queue: "root.a", Resource: last.Resource, Handle: 109}
	check := func(name string, got preempt.Victim) {
		if got.Reason == "" {
			t.Errorf("%s: no reason", name)
		}
		got.Reason = ""
		if !cmp.Equal(got, want) {
			t.Errorf("%s: %s", name, cmp.Diff(got, want))
		}
	}
	c := preempt.Capacity{Settings: preempt.DefaultCapacity()}
	c.Settings.Termination, c.Settings.PerRound = 1, 1
	if r := c.Round(0, s); len(r.Tell) != 2 || !cmp.Equal(r.Tell, c.Choose(0, s)) {
		t.Errorf("%v, chosen: %v", r.Tell, c.Choose(0, s))
	} else {
		check("capacity", r.Tell[0])
	}
	f := preempt.Fair{Settings: preempt.DefaultFair()}
	want.For = s.Apps[1].ID
	if r := f.Round(0, s); len(r.Tell) != 2 {
		t.Errorf("%v", r.Tell)
	} else {
		check("fair", r.Tell[0])
	}

	s.Apps[0].Containers[9].Reserved = true
	want.Reserved, want.For = true, records.ApplicationID{}
	if r := c.Round(0, s); len(r.Undo) != 1 {
		t.Errorf("%v", r)
	} else {
		check("a reservation", r.Undo[0])
	}
	s = two()
	for i := range 9 {
		s.Apps[0].Containers[i+1].Spared = true
	}
	want = preempt.Victim{App: s.Apps[0].ID, ID: s.Apps[0].Containers[0].ID, Queue: "root.a", Resource: last.Resource, Handle: 100, AM: true}
	if v := c.Choose(0, s); len(v) != 1 {
		t.Errorf("%v", v)
	} else {
		check("a master", v[0])
	}
	want.For = s.Apps[1].ID
	if r := (&preempt.Fair{Settings: preempt.DefaultFair()}).Round(0, s); len(r.Tell) != 1 {
		t.Errorf("%v", r)
	} else {
		check("a master of a fair queue", r.Tell[0])
	}
}

// Who asks of a container is told when it goes and why, while it is chosen; with fair queues until it is gone.
func TestMarkedContainersSayWhenTheyGo(t *testing.T) {
	s := two()
	victim, other := s.Apps[0].Containers[9].ID, s.Apps[0].Containers[3].ID
	c := preempt.Capacity{Settings: preempt.DefaultCapacity()}
	c.Settings.Termination, c.Settings.PerRound = 1, 1
	first := c.Round(1000, s)
	if until, why, ok := c.Marked(victim); !ok || until != 16_000 || why != first.Tell[0].Reason {
		t.Errorf("%d, %q, %v", until, why, ok)
	}
	if _, _, ok := c.Marked(other); ok {
		t.Error("one that nobody chose is marked")
	}
	// The reason is that of the last round, the time that of the first.
	s.Queues[1].Used = s.Queues[1].Used.Sub(records.NewResource(0, 1))
	again := c.Round(2000, s)
	if until, why, ok := c.Marked(victim); !ok || until != 16_000 || why == first.Tell[0].Reason || len(again.Tell) != 0 {
		t.Errorf("%d, %q, %v", until, why, ok)
	}
	waits := s.Queues[2].Pending
	s.Queues[2].Pending = records.Resource{}
	c.Round(3000, s)
	if _, _, ok := c.Marked(victim); ok {
		t.Error("it is marked, though the last round didn't choose it")
	}
	s.Queues[2].Pending = waits
	if r := c.Round(16_000, s); len(r.Kill) != 2 {
		t.Errorf("%v", r)
	}
	if _, _, ok := c.Marked(victim); ok {
		t.Error("it is marked when it was killed")
	}

	s = two()
	f := preempt.Fair{Settings: preempt.DefaultFair()}
	told := f.Round(1000, s)
	s.Apps = s.Apps[:1] // nobody waits any more
	f.Round(2000, s)
	if until, why, ok := f.Marked(victim); !ok || until != 16_000 || why != told.Tell[0].Reason {
		t.Errorf("%d, %q, %v", until, why, ok)
	}
	if _, _, ok := f.Marked(other); ok {
		t.Error("one that nobody chose is marked")
	}
	s.Apps[0].Containers = s.Apps[0].Containers[:9]
	if r := f.Round(16_000, s); len(r.Kill) != 1 || r.Kill[0].ID == victim {
		t.Errorf("the one that ended by itself is killed, or the other isn't: %v", r)
	}
	if _, _, ok := f.Marked(victim); ok {
		t.Error("one that is gone is marked")
	}
}

// An application of a fair queue isn't looked at for a while after containers were marked for it; its successor of the same id, or one
// that comes back, starts anew.
func TestFairApplicationsThatWentAreForgotten(t *testing.T) {
	s := two()
	s.Queues[2].FairTimeout = 1000
	f := preempt.Fair{Settings: preempt.DefaultFair()}
	hungry := s.Apps
	tells := func(now int64, apps []preempt.App) int {
		s.Apps = apps
		return len(f.Round(now, s).Tell)
	}
	for _, step := range []struct {
		now  int64
		apps []preempt.App
		want int
	}{
		{0, hungry, 0},
		{999, hungry, 0},
		{1000, hungry[:1], 0},
		{1001, hungry, 0},
		{2000, hungry, 0},
		{2001, hungry, 2},
		{4000, hungry, 0},
		{5000, hungry[:1], 0},
		{5001, hungry, 0},
		{6001, hungry, 2},
		{35_000, hungry, 0}, // 29 s later
		{35_001, hungry, 2},
	} {
		if got := tells(step.now, step.apps); got != step.want {
			t.Errorf("at %d: %d are told, to be %d", step.now, got, step.want)
		}
	}
}

// What a configuration says is what a policy does.
func TestSettingsOfAConfiguration(t *testing.T) {
	var p queue.Preemption
	number(reflect.ValueOf(&p).Elem(), new(int64))
	got := preempt.CapacityOf(&p)
	want := preempt.CapacitySettings{
		Interval: p.Interval, Wait: p.Wait, PerRound: p.PerRound, IgnoredOver: p.Ignored, Termination: p.Natural, ObserveOnly: true, Balance: true,
		BalanceWait: p.BalanceWait, ForReserved: true, AddReserved: true, Conservative: true,
		Underused: preempt.UnderusedSettings{Enabled: true, Delay: p.Underused.Delay, Move: true},
		Intra:     preempt.IntraSettings{Enabled: true, PriorityFirst: true, MostOfQueue: p.Intra.Most, Threshold: p.Intra.Threshold, Conservative: true},
	}
	if got != want {
		t.Error(cmp.Diff(got, want))
	}
	if preempt.CapacityOf(&queue.Preemption{}) != (preempt.CapacitySettings{}) {
		t.Error("something is on that nobody switched on")
	}
	f := &queue.FairSettings{
		UtilizationThreshold: 0.7, Wait: 3 * time.Second, StarvationInterval: 5 * time.Second, PreemptMasters: true, MastersOf: map[string]bool{"root.a": false},
	}
	fair := preempt.FairOf(f, 2*time.Second)
	if want := (preempt.FairSettings{Utilization: 0.7, Wait: 3 * time.Second, Recheck: 16 * time.Second, Masters: f.MastersOf}); !cmp.Equal(fair, want) {
		t.Error(cmp.Diff(fair, want))
	}
	f.PreemptMasters = false
	if !preempt.FairOf(f, 0).SpareMasters {
		t.Error("ApplicationMasters are taken")
	}
}

// number gives each number of a structure another value, and sets what can be on.
func number(v reflect.Value, n *int64) {
	for i := range v.NumField() {
		*n++
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int64:
			f.SetInt(*n)
		case reflect.Float64:
			f.SetFloat(float64(*n))
		case reflect.Struct:
			number(f, n)
		}
	}
}

// TestAllWaysToChooseTogether: whatever is switched on, no container goes twice, none that is spared or killable goes, a round takes no
// more than it may of containers that run, and a queue that is protected loses nothing to others.
func TestAllWaysToChooseTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		for i := range s.Apps {
			for k := range s.Apps[i].Containers {
				c := &s.Apps[i].Containers[k]
				c.Killable = !c.Spared && rapid.IntRange(0, 9).Draw(t, "killable") == 0
				c.Since = rapid.Int64Range(0, 9).Draw(t, "since")
			}
			if a := &s.Apps[i]; len(a.Containers) > 1 && rapid.Bool().Draw(t, "reserved") {
				c := &a.Containers[len(a.Containers)-1]
				c.Reserved, c.Killable, c.Spared, c.Relax = true, false, false, true
			}
		}
		c := preempt.Capacity{Settings: preempt.DefaultCapacity()}
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		c.Settings.Balance, c.Settings.ForReserved, c.Settings.AddReserved = flag("balance"), flag("for reserved"), flag("add reserved")
		c.Settings.Underused = preempt.UnderusedSettings{Enabled: flag("underused"), Move: flag("move")}
		c.Settings.Intra.Enabled, c.Settings.Intra.PriorityFirst, c.Settings.Intra.Conservative = flag("intra"), flag("priority first"), flag("conservative")
		c.Settings.Conservative = flag("conservative")
		c.Settings.Termination, c.Settings.PerRound = 1, rapid.Float64Range(0, 1).Draw(t, "per round")
		before := clone(s)
		victims := c.Choose(0, s)
		if !cmp.Equal(before, s) {
			t.Fatal("the round changed its snapshot: ", cmp.Diff(before, s))
		}
		own := map[records.ContainerID]preempt.Container{}
		protected := map[string]bool{}
		for _, a := range s.Apps {
			for _, x := range a.Containers {
				own[x.ID] = x
			}
		}
		for _, q := range s.Queues {
			protected[q.Path] = q.Disabled && !c.Settings.Intra.Enabled && !c.Settings.Underused.Enabled
		}
		var taken records.Resource
		gone := map[records.ContainerID]bool{}
		for _, v := range victims {
			x := own[v.ID]
			switch {
			case gone[v.ID]:
				t.Fatalf("%v goes twice", v.ID)
			case x.Killable || x.Spared && !x.Reserved:
				t.Fatalf("%+v goes", x)
			case protected[v.Queue]:
				t.Fatalf("%s is protected and loses %v", v.Queue, v.ID)
			}
			gone[v.ID] = true
			if !v.Reserved {
				taken = taken.Add(v.Resource)
			}
		}
		if most := int64(float64(s.Cluster.MemoryMB()) * c.Settings.PerRound); taken.MemoryMB() > most {
			t.Fatalf("%v is taken in a round that may take %d MB", taken, most)
		}
		c.Settings.ObserveOnly = true
		if r := c.Round(0, s); !cmp.Equal(r, preempt.Round{}) {
			t.Fatalf("who observes decides %v", r)
		}
	})
}

// clone copies what a round might change.
func clone(s *preempt.Snapshot) *preempt.Snapshot {
	c := *s
	c.Queues = append([]preempt.Queue(nil), s.Queues...)
	c.Nodes = append([]preempt.Node(nil), s.Nodes...)
	c.Apps = append([]preempt.App(nil), s.Apps...)
	for i := range c.Apps {
		c.Apps[i].Containers = append([]preempt.Container(nil), s.Apps[i].Containers...)
	}
	return &c
}

// What YARN does when nobody says otherwise.
func TestDefaults(t *testing.T) {
	capacity := preempt.CapacitySettings{
		Interval: 3 * time.Second, Wait: 15 * time.Second, PerRound: 0.1, IgnoredOver: 0.1, Termination: 0.2, BalanceWait: 5 * time.Minute,
		Underused: preempt.UnderusedSettings{Delay: time.Minute},
		Intra:     preempt.IntraSettings{MostOfQueue: 0.2, Threshold: 0.5, Conservative: true},
	}
	if got := preempt.DefaultCapacity(); got != capacity {
		t.Error(cmp.Diff(got, capacity))
	}
	fair := preempt.FairSettings{Utilization: 0.8, Wait: 15 * time.Second, Recheck: 29 * time.Second}
	if got := preempt.DefaultFair(); !cmp.Equal(got, fair) {
		t.Error(cmp.Diff(got, fair))
	}
}

// Before there are queues, nothing is decided.
func TestNothingIsThere(t *testing.T) {
	c, f := preempt.Capacity{Settings: preempt.DefaultCapacity()}, preempt.Fair{Settings: preempt.DefaultFair()}
	for _, s := range []*preempt.Snapshot{{}, {Cluster: records.NewResource(10, 1)}} {
		if r := c.Round(0, s); !cmp.Equal(r, preempt.Round{}) {
			t.Errorf("%v", r)
		}
		if r := f.Round(0, s); !cmp.Equal(r, preempt.Round{}) {
			t.Errorf("%v", r)
		}
	}
}

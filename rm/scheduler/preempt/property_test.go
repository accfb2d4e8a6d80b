package preempt_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// drawn is a random cluster of containers of one size, with a tree of two levels below the root.
func drawn(t *rapid.T) *preempt.Snapshot {
	unit := records.NewResource(rapid.Int64Range(1, 5).Draw(t, "memory"), rapid.Int64Range(1, 3).Draw(t, "vcores"))
	s := &preempt.Snapshot{Dominant: rapid.Bool().Draw(t, "dominant"), Nodes: []preempt.Node{{Host: "n", Rack: "/r"}}}
	size := rapid.Int64Range(1, 60).Draw(t, "size")
	s.Cluster = unit.Times(size)
	s.Queues = []preempt.Queue{{Path: "root", Parent: -1, Guaranteed: s.Cluster, Maximum: s.Cluster}}
	left := size
	for i := range rapid.IntRange(1, 4).Draw(t, "queues") {
		n := rapid.Int64Range(0, left).Draw(t, "guaranteed")
		left -= n
		parent := addQueue(s, 0, fmt.Sprint("root.", i), unit, n, t)
		inner := n
		for k := range rapid.IntRange(0, 3).Draw(t, "children") {
			m := rapid.Int64Range(0, inner).Draw(t, "guaranteed")
			inner -= m
			addQueue(s, parent, fmt.Sprintf("root.%d.%d", i, k), unit, m, t)
		}
	}
	free := size
	for i := range s.Queues {
		if parentOf(s, i) {
			continue
		}
		for range rapid.IntRange(0, 3).Draw(t, "apps") {
			n := rapid.Int64Range(0, free).Draw(t, "containers")
			free -= n
			addApp(s, i, unit, n, t)
		}
	}
	s.Nodes[0].Free = unit.Times(free)
	return s
}

func addQueue(s *preempt.Snapshot, parent int, path string, unit records.Resource, n int64, t *rapid.T) int {
	q := preempt.Queue{
		Path: path, Parent: parent, Guaranteed: unit.Times(n), Maximum: s.Cluster,
		Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), Disabled: rapid.IntRange(0, 5).Draw(t, "disabled") == 0,
		FairTimeout: rapid.Int64Range(-1, 5).Draw(t, "timeout"), MinTimeout: rapid.Int64Range(-1, 5).Draw(t, "timeout"), Threshold: 0.5,
	}
	q.Share = fairshare.Queue{Min: unit.Times(rapid.Int64Range(0, n).Draw(t, "least")), Max: fairshare.NoLimit()}
	s.Queues = append(s.Queues, q)
	return len(s.Queues) - 1
}

func addApp(s *preempt.Snapshot, queue int, unit records.Resource, n int64, t *rapid.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: int32(len(s.Apps) + 1)}
	a := preempt.App{
		ID: id, Queue: queue, Seq: int64(id.ID), User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"),
		Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), UserLimit: unit.Times(rapid.Int64Range(1, 60).Draw(t, "limit")),
		Fair: unit.Times(rapid.Int64Range(0, 30).Draw(t, "fair")), Used: unit.Times(n),
	}
	for i := range s.Apps {
		if other := &s.Apps[i]; other.Queue == queue && other.User == a.User {
			a.UserLimit = other.UserLimit
		}
	}
	for i := range n {
		a.Containers = append(a.Containers, preempt.Container{
			ID:       records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: 1}, ID: i + 1},
			Resource: unit, AM: i == 0, Spared: rapid.IntRange(0, 9).Draw(t, "spared") == 0,
		})
	}
	if count := rapid.Int64Range(0, 40).Draw(t, "asked"); count > 0 {
		a.Asks = []preempt.Ask{{Name: "*", Relax: true, Capability: unit, Count: count}}
		s.Queues[queue].Pending = s.Queues[queue].Pending.Add(unit.Times(count))
	}
	for q := queue; q >= 0; q = s.Queues[q].Parent {
		s.Queues[q].Used = s.Queues[q].Used.Add(a.Used)
	}
	s.Apps = append(s.Apps, a)
}

func parentOf(s *preempt.Snapshot, i int) bool {
	for _, q := range s.Queues {
		if q.Parent == i {
			return true
		}
	}
	return false
}

// after is what each queue uses when victims are gone.
func after(s *preempt.Snapshot, victims []preempt.Victim) []records.Resource {
	left := make([]records.Resource, len(s.Queues))
	for i := range s.Queues {
		left[i] = s.Queues[i].Used
	}
	for _, v := range victims {
		for i := range s.Queues {
			if s.Queues[i].Path != v.Queue {
				continue
			}
			for q := i; q >= 0; q = s.Queues[q].Parent {
				left[q] = left[q].Sub(v.Resource)
			}
		}
	}
	return left
}

// TestCapacityProperties: with containers of one size, nothing drops below its guarantee, what goes is no more than what
// others wait for below their guarantees, protected queues lose nothing, masters go last, and a round takes no more than it
// may. The same holds for a queue that gives within itself.
func TestCapacityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		c := preempt.Capacity{Settings: preempt.DefaultCapacity()}
		c.Settings.Termination = rapid.Float64Range(0.1, 1).Draw(t, "termination")
		c.Settings.PerRound = rapid.Float64Range(0, 1).Draw(t, "per round")
		victims := c.Choose(0, s)
		if again := c.Choose(0, s); !cmp.Equal(victims, again) {
			t.Fatal("the same snapshot gives other victims: ", cmp.Diff(victims, again))
		}
		left := after(s, victims)
		var taken, wanted records.Resource
		for i, q := range s.Queues {
			if q.Used.MemoryMB() >= q.Guaranteed.MemoryMB() && !parentOf(s, i) && left[i].MemoryMB() < q.Guaranteed.MemoryMB() {
				t.Fatalf("%s is guaranteed %v, used %v, and is left with %v", q.Path, q.Guaranteed, q.Used, left[i])
			}
			if q.Disabled && !parentOf(s, i) && left[i] != q.Used {
				t.Fatalf("%s is protected, used %v and is left with %v", q.Path, q.Used, left[i])
			}
			if q.Parent == 0 {
				wanted = wanted.Add(entitled(s, i))
			}
		}
		losing := map[string]bool{}
		for _, v := range victims {
			taken = taken.Add(v.Resource)
			losing[v.Queue] = true
		}
		var slack records.Resource // a queue that has to give a part of a container gives a whole one
		switch {
		case s.Dominant && len(losing) > 0 && !wanted.IsZero():
			slack = victims[0].Resource.Times(2 * int64(len(losing))) // at each of two levels, as offers are rounded by type
		case len(losing) > 1:
			slack = victims[0].Resource.Times(int64(len(losing)))
		}
		if !taken.FitsIn(wanted.Add(slack)) {
			t.Fatalf("%v is taken, while queues wait for %v below their guarantees", taken, wanted)
		}
		if most := int64(float64(s.Cluster.MemoryMB()) * c.Settings.PerRound); taken.MemoryMB() > most {
			t.Fatalf("%v is taken in a round that may take %d MB", taken, most)
		}
		mastersLast(t, s, victims)
	})
}

// entitled is what a queue waits for below its guarantee, or below those of its children.
func entitled(s *preempt.Snapshot, i int) records.Resource {
	q, sum := s.Queues[i], records.Resource{}
	pending := q.Pending
	for c := range s.Queues {
		if s.Queues[c].Parent == i {
			sum = sum.Add(entitled(s, c))
			pending = pending.Add(s.Queues[c].Pending)
		}
	}
	return q.Guaranteed.Sub(q.Used).Max(records.Resource{}).Min(pending).Max(sum)
}

func mastersLast(t *rapid.T, s *preempt.Snapshot, victims []preempt.Victim) {
	gone := map[records.ContainerID]bool{}
	for _, v := range victims {
		if gone[v.ID] {
			t.Fatalf("%v goes twice", v.ID)
		}
		gone[v.ID] = true
	}
	for _, v := range victims {
		for _, a := range s.Apps {
			for _, c := range a.Containers {
				if c.ID == v.ID && c.Spared {
					t.Fatalf("%v is spared and goes", c.ID)
				}
				if v.AM && s.Queues[a.Queue].Path == v.Queue && !c.AM && !c.Spared && !gone[c.ID] {
					t.Fatalf("the master %v goes while %v remains", v.ID, c.ID)
				}
			}
		}
	}
}

// TestIntraProperties: within a queue, no user drops below the limit for the sake of another user, and masters stay.
func TestIntraProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		for i := range s.Queues {
			s.Queues[i].Disabled = true // only within
		}
		for i := range s.Apps {
			s.Apps[i].Priority = 0
		}
		c := preempt.Capacity{Settings: preempt.DefaultCapacity()}
		c.Settings.PerRound, c.Settings.Intra.Enabled, c.Settings.Intra.MostOfQueue = 1, true, 1
		lost := map[records.ApplicationID]records.Resource{}
		for _, v := range c.Choose(0, s) {
			if v.AM {
				t.Fatalf("the master %v goes", v.ID)
			}
			lost[v.App] = lost[v.App].Add(v.Resource)
		}
		type userOf struct {
			queue int
			user  string
		}
		used := map[userOf]records.Resource{}
		for _, a := range s.Apps {
			used[userOf{a.Queue, a.User}] = used[userOf{a.Queue, a.User}].Add(a.Used).Sub(lost[a.ID])
		}
		for _, a := range s.Apps {
			if !lost[a.ID].IsZero() && used[userOf{a.Queue, a.User}].MemoryMB() < a.UserLimit.MemoryMB() {
				t.Fatalf("%s is left with %v of the limit %v", a.User, used[userOf{a.Queue, a.User}], a.UserLimit)
			}
		}
	})
}

// TestFairProperties: nobody drops below the fair share for others, protected queues lose nothing, and containers are
// killed only after their masters were told.
func TestFairProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		f := preempt.Fair{Settings: preempt.DefaultFair()}
		f.Settings.Utilization = 0
		told := map[records.ContainerID]int64{}
		lost := map[records.ApplicationID]records.Resource{}
		for now := int64(0); now < 40_000; now += 2500 {
			r := f.Round(now, s)
			for _, v := range r.Tell {
				if _, twice := told[v.ID]; twice {
					t.Fatalf("%v is told of twice", v.ID)
				}
				told[v.ID] = now
				lost[v.App] = lost[v.App].Add(v.Resource)
			}
			for _, v := range r.Kill {
				if at, ok := told[v.ID]; !ok || now-at < f.Settings.Wait.Milliseconds() {
					t.Fatalf("%v is killed at %d, and told of at %d (%v)", v.ID, now, at, ok)
				}
			}
			remove(s, r.Kill)
		}
		for _, a := range s.Apps {
			if l := lost[a.ID]; !l.IsZero() && a.Used.MemoryMB() < a.Fair.MemoryMB() {
				t.Fatalf("%v keeps %v of its fair share %v", a.ID, a.Used, a.Fair)
			}
			for q := a.Queue; q >= 0; q = s.Queues[q].Parent {
				if s.Queues[q].Disabled && !lost[a.ID].IsZero() {
					t.Fatalf("%s is protected and loses %v", s.Queues[q].Path, lost[a.ID])
				}
			}
		}
	})
}

// remove takes what was killed out of a snapshot.
func remove(s *preempt.Snapshot, victims []preempt.Victim) {
	gone := map[records.ContainerID]bool{}
	left := after(s, victims)
	for i := range s.Queues {
		s.Queues[i].Used = left[i]
	}
	for _, v := range victims {
		gone[v.ID] = true
		s.Nodes[0].Free = s.Nodes[0].Free.Add(v.Resource)
	}
	for i := range s.Apps {
		a := &s.Apps[i]
		var kept []preempt.Container
		for _, c := range a.Containers {
			if !gone[c.ID] {
				kept = append(kept, c)
			} else {
				a.Used = a.Used.Sub(c.Resource)
			}
		}
		a.Containers = kept
	}
}

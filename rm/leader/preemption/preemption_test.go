package preemption

import (
	"slices"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

var (
	attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 2}
	least   = records.NewResource(512, 1)
)

func id(n int64) records.ContainerID { return records.ContainerID{Attempt: attempt, ID: n} }

// all has every container live, of 1200 MB and 1 core, but for some.
func all(gone ...int64) func(records.ContainerID) *ledger.Container {
	return func(c records.ContainerID) *ledger.Container {
		if slices.Contains(gone, c.ID) {
			return nil
		}
		return &ledger.Container{ID: c, Resource: records.NewResource(1200, 1)}
	}
}

// Capacity queues announce each container once, as an amount in units of the smallest one.
func TestCapacityQueuesTellOnce(t *testing.T) {
	var w Warnings
	w.Add(id(1))
	w.Add(id(2))
	w.Add(id(3))
	m := w.Tell(attempt, queue.Capacity, least, all(2))
	if !m.New || m.Strict || !slices.Equal(m.Containers, []records.ContainerID{id(1), id(3)}) || m.Minimum != least || m.Count != 5 { // 2400 MB by 512
		t.Errorf("%+v", m)
	}
	if m := w.Tell(attempt, queue.Capacity, least, all()); m.New || len(m.Containers) != 0 || m.Count != 0 {
		t.Errorf("told again: %+v", m)
	}
	w.Add(id(4))
	if m := w.Tell(attempt, queue.Capacity, least, all()); !m.New || len(m.Containers) != 1 {
		t.Errorf("another one: %+v", m)
	}
}

// Fair queues announce the very containers again and again while they live. The ApplicationMaster is woken for new ones alone.
func TestFairQueuesTellWhileContainersLive(t *testing.T) {
	var w Warnings
	w.Add(id(1))
	w.Add(id(2))
	for i, want := range []struct {
		gone []int64
		left []records.ContainerID
		news bool
	}{{nil, []records.ContainerID{id(1), id(2)}, true}, {nil, []records.ContainerID{id(1), id(2)}, false}, {[]int64{1}, []records.ContainerID{id(2)}, false}} {
		if m := w.Tell(attempt, queue.Fair, least, all(want.gone...)); m.New != want.news || !m.Strict || !slices.Equal(m.Containers, want.left) || m.Count != 0 {
			t.Errorf("answer %d: %+v", i, m)
		}
	}
	w.Add(id(3))
	if m := w.Tell(attempt, queue.Fair, least, all(1)); !m.New || len(m.Containers) != 2 {
		t.Errorf("another one: %+v", m)
	}
}

// An attempt hears nothing of containers of earlier ones.
func TestOfOtherAttemptsNothingIsTold(t *testing.T) {
	var w Warnings
	w.Add(id(1))
	if m := w.Tell(records.AttemptID{App: attempt.App, Attempt: 3}, queue.Fair, least, all()); len(m.Containers) != 0 || m.Strict {
		t.Errorf("%+v", m)
	}
	w.Add(id(2))
	w.Clear()
	if m := w.Tell(attempt, queue.Fair, least, all()); m.New || len(m.Containers) != 0 {
		t.Errorf("after a new attempt: %+v", m)
	}
}

// Losses are those containers that the driver has chosen, as far as it knows them.
func TestLosses(t *testing.T) {
	app := &ledger.Application{}
	for n := range int64(5) {
		c := &ledger.Container{ID: id(n), State: ledger.ContainerRunning, Handle: n}
		if n == 4 {
			c.State = ledger.ContainerCompleted
		}
		app.Containers.Put(c)
	}
	handleOf := func(c *ledger.Container) (scheduler.ContainerHandle, bool) {
		return scheduler.ContainerHandle(c.Handle), c.Handle != 1
	}
	loss := func(h scheduler.ContainerHandle) (int64, string, bool) {
		return 100 * int64(h), "a queue is starved", h != 2
	}
	want := []Loss{{id(0), 0, "a queue is starved"}, {id(3), 300, "a queue is starved"}}
	if got := Losses(app, handleOf, loss); !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
}

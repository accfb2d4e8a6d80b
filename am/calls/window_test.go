package calls

import (
	"errors"
	"slices"
	"testing"

	"heddle/am/pool"
	"heddle/yarn/wire"
)

// executors note what they are handed; failing ones end it at once.
type executors struct {
	running []*pool.Task
	failing error
}

func (x *executors) Submit(tasks ...*pool.Task) {
	for _, t := range tasks {
		if x.failing != nil {
			t.Done(wire.Ended{}, x.failing)
			continue
		}
		x.running = append(x.running, t)
	}
}

func (x *executors) Cancel(t *pool.Task) { x.end(t, wire.Ended{Why: wire.Canceled}) }

func (x *executors) end(t *pool.Task, e wire.Ended) {
	if i := slices.Index(x.running, t); i >= 0 {
		x.running = slices.Delete(x.running, i, i+1)
		t.Done(e, nil)
	}
}

func TestNoMoreThanSoManyRun(t *testing.T) {
	x := &executors{}
	w := newWindow(x, 2)
	var all []*pool.Task
	var ended []wire.Ended
	for range 5 {
		all = append(all, &pool.Task{Done: func(e wire.Ended, _ error) { ended = append(ended, e) }})
	}
	w.Submit(all...)
	if !slices.Equal(x.running, all[:2]) {
		t.Fatalf("%d of the first two run", len(x.running))
	}
	w.Cancel(all[2]) // which waits
	if len(ended) != 1 || ended[0].Why != wire.Canceled || !slices.Equal(x.running, all[:2]) {
		t.Fatalf("%v, %d run", ended, len(x.running))
	}
	w.Cancel(all[1]) // which runs
	if want := []*pool.Task{all[0], all[3]}; len(ended) != 2 || !slices.Equal(x.running, want) {
		t.Fatalf("%v, %d run", ended, len(x.running))
	}
	w.Cancel(all[2]) // which is over
	x.end(all[3], wire.Ended{})
	x.end(all[0], wire.Ended{})
	x.end(all[4], wire.Ended{})
	if len(ended) != 5 || w.room != 2 {
		t.Errorf("%d have ended, there is room for %d", len(ended), w.room)
	}
}

// A hundred thousand calls that fail while they are handed over, or are canceled before, don't wait for each other.
func TestManyCallsThatEndAtOnce(t *testing.T) {
	for _, x := range []*executors{{failing: errors.New("closed")}, {}} {
		w := newWindow(x, 1)
		ended, tasks := 0, make([]pool.Task, 100_000)
		all := make([]*pool.Task, len(tasks))
		for i := range tasks {
			all[i] = &tasks[i]
			all[i].Done = func(wire.Ended, error) { ended++ }
		}
		w.Submit(all...)
		if x.failing == nil {
			for _, t := range slices.Backward(all) {
				w.Cancel(t)
			}
		}
		if ended != len(all) || w.room != 1 || len(w.waiting) != 0 {
			t.Errorf("%d have ended, %d wait, there is room for %d", ended, len(w.waiting), w.room)
		}
	}
}

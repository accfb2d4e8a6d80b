package calls

import (
	"sync"

	"heddle/am/pool"
	"heddle/yarn/wire"
)

// Executors run tasks: a pool, or a scheduler that probes nodes. Done of a task is called once, perhaps before Submit returns; that of a
// canceled task, too.
type Executors interface {
	Submit(...*pool.Task)
	Cancel(*pool.Task)
}

// window hands executors no more than so many tasks at a time, in the order in which they came.
type window struct {
	to Executors

	mu      sync.Mutex
	room    int
	queue   []*pool.Task        // those that wait, and among them those that were canceled meanwhile
	waiting map[*pool.Task]bool // those that wait
	handing bool                // one goroutine hands tasks over
}

func newWindow(to Executors, most int) *window {
	return &window{to: to, room: most, waiting: map[*pool.Task]bool{}}
}

func (w *window) Submit(tasks ...*pool.Task) {
	for _, t := range tasks {
		done := t.Done
		t.Done = func(e wire.Ended, err error) {
			w.leave()
			done(e, err)
		}
	}
	w.mu.Lock()
	w.queue = append(w.queue, tasks...)
	for _, t := range tasks {
		w.waiting[t] = true
	}
	w.mu.Unlock()
	w.hand()
}

// leave makes room for another task.
func (w *window) leave() {
	w.mu.Lock()
	w.room++
	w.mu.Unlock()
	w.hand()
}

// hand hands over what has room. A task may end while it is handed over: then the goroutine that does so continues with the next one.
func (w *window) hand() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.handing {
		return
	}
	w.handing = true
	for w.room > 0 && len(w.queue) > 0 {
		t := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		if !w.waiting[t] {
			continue
		}
		delete(w.waiting, t)
		w.room--
		w.mu.Unlock()
		w.to.Submit(t)
		w.mu.Lock()
	}
	w.handing = false
}

func (w *window) Cancel(t *pool.Task) {
	w.mu.Lock()
	waits := w.waiting[t]
	if waits {
		delete(w.waiting, t)
		w.room-- // its Done gives that back
	}
	w.mu.Unlock()
	if !waits {
		w.to.Cancel(t)
		return
	}
	t.Done(wire.Ended{Why: wire.Canceled}, nil)
}

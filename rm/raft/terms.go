package raft

import "context"

// terms turns raft's notices of gained and lost leadership into one context per leadership. Raft blocks until a notice is
// received, so terms receives each at once, however slow the reader of the contexts is. No leadership is lost or merged. If
// one ends before the reader gets it, its context has already ended.
type terms struct {
	in   chan bool
	out  chan context.Context
	done chan struct{}

	end context.CancelFunc // ends the present leadership; only pump uses it
}

func newTerms() *terms {
	return &terms{
		in: make(chan bool), out: make(chan context.Context), done: make(chan struct{}),
		end: func() {},
	}
}

func (t *terms) pump() {
	defer func() { t.end() }()
	var waiting []context.Context
	for {
		var out chan context.Context
		var next context.Context
		if len(waiting) > 0 {
			out, next = t.out, waiting[0]
		}
		select {
		case leads := <-t.in:
			t.end()
			if leads {
				waiting = append(waiting, t.begin())
			}
		case out <- next:
			waiting = waiting[1:]
		case <-t.done:
			return
		}
	}
}

func (t *terms) begin() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.end = cancel
	return ctx
}

func (t *terms) close() { close(t.done) }

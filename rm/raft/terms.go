package raft

import "context"

// terms turns raft's notices of gained and lost leadership into one context per leadership. raft waits for its notices to
// be taken, so they are taken at once, however slow the reader of the contexts is: none is lost or merged, and a
// leadership that is over before it was read arrives as a context that has ended.
type terms struct {
	in   chan bool
	out  chan context.Context
	done chan struct{}

	end context.CancelFunc // of the present leadership; only pump uses it
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

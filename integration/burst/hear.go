package burst

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"sync"
	"time"
)

// attempt is a part's process, as the benchmark has heard of it.
type attempt struct {
	Job, Task int
	Container string
	Begun     time.Time
	Ended     time.Time // zero: it runs
	Ready     bool
	Done      bool // it ended with its work done
	Error     string
}

// ear hears parts. Its methods may be called from several goroutines.
type ear struct {
	listener net.Listener
	calls    sync.WaitGroup

	mu       sync.Mutex
	attempts []*attempt
	asked    map[int]time.Time // by job, of the first ApplicationMaster
	news     chan struct{}     // closed with each of them
	conns    map[net.Conn]bool
	closed   bool
}

func listen() (*ear, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &ear{listener: l, asked: map[int]time.Time{}, news: make(chan struct{}), conns: map[net.Conn]bool{}}
	e.calls.Go(e.accept)
	return e, nil
}

func (e *ear) accept() {
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return
		}
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			c.Close()
			return
		}
		e.conns[c] = true
		e.mu.Unlock()
		e.calls.Go(func() { e.hear(c) })
	}
}

// hear follows a part until its process has ended.
func (e *ear) hear(c net.Conn) {
	defer c.Close()
	var a *attempt
	for in := bufio.NewScanner(c); in.Scan(); {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		e.change(func() {
			at := time.Unix(0, m.At)
			switch m.What {
			case begun:
				a = &attempt{Job: m.Job, Task: m.Task, Container: m.Container, Begun: at}
				e.attempts = append(e.attempts, a)
			case asked:
				if _, again := e.asked[m.Job]; !again {
					e.asked[m.Job] = at
				}
			case ready:
				a.Ready = true
			case done:
				a.Done, a.Error, a.Ended = m.Error == "", m.Error, at
			}
		})
	}
	e.change(func() {
		delete(e.conns, c)
		if a != nil && a.Ended.IsZero() {
			a.Ended = time.Now()
		}
	})
}

func (e *ear) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.news)
	e.news = make(chan struct{})
}

// until waits until something holds of what was heard. It is asked with the lock held.
func (e *ear) until(ctx context.Context, holds func() bool) error {
	for {
		e.mu.Lock()
		is, news := holds(), e.news
		e.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count returns how many of the first jobs' tasks are in some state.
func (e *ear) count(jobs int, is func(*attempt) bool) (n int) {
	for _, a := range e.attempts {
		if a.Job < jobs && a.Task > 0 && is(a) {
			n++
		}
	}
	return n
}

// close ends all connections.
func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	for c := range e.conns {
		c.Close()
	}
	e.mu.Unlock()
	e.listener.Close()
	e.calls.Wait()
}

package shorttasks

import (
	"fmt"
	"time"

	"heddle/nm/allocation"
	"heddle/yarn/records"
	"heddle/yarn/wire"
)

// executor is a process for the tasks of a scheduler. The Node's lock guards it.
type executor struct {
	s      *scheduler
	name   string
	secret []byte
	end    func() // has it ended
	conn   *wire.Conn
	came   bool
	over   bool         // it is to end, or has ended: it gets no more tasks
	early  []*wire.Task // that wait until it has come
}

// firstID is the number of the first executor of a node. Those of an earlier life are below it, unless it started a thousand a second.
func firstID(now time.Time) int64 { return now.UnixMilli() & (1<<38 - 1) }

// slots is how many tasks an executor takes at a time. The node gives it no more than there is room for.
const slots = 4096

// startFailures is after how many executors in a row that have never come a scheduler is sent away.
const startFailures = 3

// start has an executor started. If that can't be, the scheduler is sent away. The lock is held.
func (s *scheduler) start() {
	n := s.n
	n.nextID++
	id := records.ContainerID{Attempt: s.id.attempt, ID: allocation.OnLent(n.nextID)}
	x := &executor{s: s, name: id.String(), secret: wire.NewSecret()}
	most, _ := n.worker.Use()
	n.executors[x.name] = x
	s.executor = x
	begin := func() {
		end, err := n.o.Executors.Start(Executor{ID: id, User: s.user, Secret: x.secret, Most: most, Slots: slots}, func(why string) { x.ended(why) })
		if err != nil {
			x.ended(err.Error())
			return
		}
		n.mu.Lock()
		x.end = end
		over := x.over
		n.mu.Unlock()
		if over {
			end()
		}
	}
	n.serving.Go(begin) // it may wait for a disk
}

// stop has the executor ended. The lock is held.
func (x *executor) stop() {
	if x.over {
		return
	}
	x.over = true
	if x.end != nil {
		x.s.n.serving.Go(x.end)
	}
}

// ended takes note that an executor is gone. Nobody knows what became of its tasks.
func (x *executor) ended(why string) {
	s, n := x.s, x.s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.executors, x.name)
	mine := s.executor == x
	if mine {
		s.executor = nil
	}
	stopped := x.over
	x.over = true
	for id, r := range s.runs {
		if mine && r.bound {
			s.say(&wire.Ended{ID: id, Why: wire.Gone, Fault: why})
			r.end()
		}
	}
	if !x.came && !stopped {
		if s.failures++; s.failures >= startFailures {
			s.refuse(fmt.Sprintf("%d executors in a row could not be started, the last: %s", s.failures, why))
		}
	}
	n.pump()
}

// give has the executor run a task.
func (x *executor) give(t *wire.Task) {
	n := x.s.n
	n.mu.Lock()
	if !x.came {
		x.early = append(x.early, t)
		n.mu.Unlock()
		return
	}
	c := x.conn
	n.mu.Unlock()
	_ = c.Send(t) // if it fails, the executor is gone, and its tasks are given back
}

// cancel has a task ended.
func (x *executor) cancel(id uint64) {
	n := x.s.n
	n.mu.Lock()
	c := x.conn
	for i, t := range x.early {
		if t.ID == id {
			x.early = append(x.early[:i], x.early[i+1:]...)
			x.done(&wire.Ended{ID: id, Why: wire.Canceled})
			break
		}
	}
	n.mu.Unlock()
	if c != nil {
		_ = c.Send(&wire.Cancel{ID: id}) // likewise
	}
}

// done tells the scheduler of a task's end, and gives its room to others. The lock is held.
func (x *executor) done(m *wire.Ended) {
	r := x.s.runs[m.ID]
	if r == nil || !r.bound {
		return
	}
	x.s.say(m)
	r.end()
	x.s.n.pump()
}

// serveExecutor talks to an executor until it is gone.
func (n *Node) serveExecutor(c *wire.Conn, x *executor) {
	m, err := c.Receive()
	if hello, ok := m.(*wire.Hello); err != nil || !ok || hello.Container != x.name {
		n.log.WithError(err).Warnf("Executor %s hasn't said who it is", x.name)
		return
	}
	n.mu.Lock()
	if x.came || x.over {
		n.mu.Unlock()
		return
	}
	// Tasks that come meanwhile wait behind those that have come before.
	for len(x.early) > 0 {
		early := x.early
		x.early = nil
		n.mu.Unlock()
		for _, t := range early {
			if c.Send(t) != nil {
				return
			}
		}
		n.mu.Lock()
	}
	x.came, x.conn, x.s.failures = true, c, 0
	n.mu.Unlock()
	for {
		m, err := c.Receive()
		if err != nil {
			break
		}
		switch m := m.(type) {
		case *wire.Output:
			_ = x.s.conn.Send(m) // its reader notices if the scheduler is gone
		case *wire.Ended:
			// After all that the task has written.
			n.mu.Lock()
			x.done(m)
			n.mu.Unlock()
		}
	}
	n.mu.Lock()
	x.stop() // it has hung up, and may still have processes
	n.mu.Unlock()
}

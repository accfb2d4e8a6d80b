package shorttasks

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"heddle/nm/allocation"
	"heddle/nm/probe"
	"heddle/yarn/records"
	"heddle/yarn/wire"
)

// executor is a process for the tasks of a scheduler. The Node's lock guards it.
type executor struct {
	s      *scheduler
	name   string
	secret []byte
	end    func() // has it ended
	made   Executor
	sizes  int32 // how often it was resized
	came   bool
	over   bool   // it is to end, or has ended: it gets no more tasks
	pid    int    // its process; 0: not known
	halted int    // looks in a row at which it was stopped
	why    string // it ends; "": for another reason than its own
	// disowned are tasks that it was to give back, and hasn't: they run elsewhere
	disowned map[uint64]bool
	outbox   // of what waits until it has come, too
}

// firstID returns the number of the first executor of a node. Those of an earlier life are below it, unless it started a thousand a second.
func firstID(now time.Time) int64 { return now.UnixMilli() & (1<<38 - 1) }

// slots is how many tasks an executor takes at a time. The node gives it no more than there is room for.
const slots = 4096

// startFailures is the number of executors in a row that never connected after which a scheduler is disconnected.
const startFailures = 3

// start has an executor started. If that can't be, the scheduler is sent away. The lock is held.
func (s *scheduler) start() {
	n := s.n
	n.nextID++
	id := records.ContainerID{Attempt: s.id.attempt, ID: allocation.OnLent(n.nextID)}
	x := &executor{s: s, name: id.String(), secret: wire.NewSecret(), disowned: map[uint64]bool{}, outbox: newOutbox()}
	most, _ := n.worker.Use()
	x.made = Executor{ID: id, User: s.user, Tokens: s.tokens, Secret: x.secret, Most: most, Slots: slots}
	n.executors[x.name] = x
	s.executor = x
	made := x.made
	begin := func() {
		end, err := n.o.Executors.Start(made, func(why string) { x.ended(why) })
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

// resize holds running executors to what is lent now: with less, tasks for which more was lent would end for want of memory. Tasks keep what they
// use until they end. The lock is held.
func (n *Node) resize() {
	lent, used := n.worker.Use()
	if n.ctx.Err() != nil {
		return
	}
	for _, x := range n.executors {
		most := lent
		if !used.Fits(lent) {
			most = probe.Amount{MemoryMB: max(lent.MemoryMB, x.made.Most.MemoryMB), VCores: max(lent.VCores, x.made.Most.VCores)}
		}
		if !x.came || x.over || most == x.made.Most || most.MemoryMB <= 0 || most.VCores <= 0 {
			continue
		}
		x.made.Most = most
		x.sizes++
		made, version := x.made, x.sizes
		n.serving.Go(func() { n.o.Executors.Resize(made, version) })
	}
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

// ended records that an executor is gone. The fate of its tasks is unknown.
func (x *executor) ended(why string) {
	s, n := x.s, x.s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.executors, x.name)
	mine := s.executor == x
	if mine {
		s.executor = nil
	}
	if x.why != "" {
		why = x.why
	}
	stopped := x.over
	x.over = true
	for id, r := range s.runs {
		if mine && r.handed {
			r.handed = false
			r.giveBack() // it may have begun without our knowledge
		} else if mine && r.bound && r.task == nil {
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

// cancel has a task ended that the executor has, or is to get. The lock is held.
func (x *executor) cancel(id uint64) {
	for i, m := range x.unsent {
		if t, ok := m.(*wire.Task); ok && t.ID == id {
			x.unsent = slices.Delete(x.unsent, i, i+1)
			x.bytes -= weight(t)
			x.done(&wire.Ended{ID: id, Why: wire.Canceled})
			return
		}
	}
	x.say(&wire.Cancel{ID: id})
}

// done tells the scheduler of a task's end, and gives its room to others. The lock is held.
func (x *executor) done(m *wire.Ended) {
	began := m.Began
	m.Began = 0
	delete(x.disowned, m.ID)
	if r := x.s.runs[m.ID]; r != nil && r.bound && (r.task == nil || r.handed) {
		if r.handed && m.Why != wire.Canceled { // a task of no time
			r.succeed()
		}
		if r.runs && m.Why == wire.Ran {
			r.job.learn(x.s.n.now() - r.since)
		}
		x.s.say(m)
		r.end()
	}
	if r := x.s.runs[began]; r != nil && r.handed {
		r.succeed()
	} else if x.disowned[began] {
		x.say(&wire.Cancel{ID: began})
	}
	x.s.n.pump()
}

// serveExecutor talks to an executor until it is gone.
func (n *Node) serveExecutor(c *wire.Conn, x *executor) {
	m, err := c.Receive()
	hello, ok := m.(*wire.Hello)
	if err != nil || !ok || hello.Container != x.name {
		n.log.WithError(err).Warnf("executor %s hasn't said who it is", x.name)
		return
	}
	n.mu.Lock()
	if x.came || x.over {
		n.mu.Unlock()
		return
	}
	x.came, x.s.failures, x.pid = true, 0, int(min(hello.PID, 1<<30))
	n.hand()
	n.mu.Unlock()
	var sending sync.WaitGroup
	sending.Go(func() { x.send(&n.mu, n.o.Now, c) }) // if it fails, the executor is gone, and its tasks are given back
	defer func() {
		n.mu.Lock()
		x.finish()
		n.mu.Unlock()
		c.Close() // Send may wait for an executor that reads nothing
		sending.Wait()
	}()
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

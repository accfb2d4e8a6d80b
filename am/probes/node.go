package probes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"heddle/am/sched"
	"heddle/internal/pause"
	"heddle/yarn/wire"
)

// node is one that was offered. The Scheduler's lock guards it, but for talk.
type node struct {
	Target
	s       *Scheduler
	at      sched.Node
	cancel  context.CancelFunc // ends the dialogue
	up      bool
	leaves  bool      // it gets nothing new, and what runs there may end
	rejects time.Time // until then it counts as busy with long tasks, as it has said so; zero: it has not
	batch   int       // probes that are about to be sent
	room    int       // tasks that it has said it has room for, while nothing waits there

	dialogue sync.Mutex // held by the one goroutine that talks

	attempts   map[uint64]*attempt  // by the node's number
	bids       map[uint64]*wire.Ask // likewise: asks that wait for those of other nodes (early binding)
	probed     map[sched.ID]bool    // jobs of which it may have probes
	unanswered map[sched.ID]int     // probes

	outbox []wire.Message
	more   chan struct{}
	talk   sync.Mutex // held while Output of one of its tasks is called
}

// Offer tells of nodes. One that is known gets the new token with the next connection.
func (s *Scheduler) Offer(targets ...Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	defer s.settle()
	rand.Shuffle(len(targets), func(i, k int) { targets[i], targets[k] = targets[k], targets[i] })
	for _, t := range targets {
		n := s.of[t.Node]
		if n != nil {
			freed := n.Long && !t.Long
			n.Target = t
			if freed {
				n.rejects = time.Time{}
			}
			if freed && n.up && !n.leaves {
				n.welcome()
			}
		}
		switch {
		case n != nil && n.leaves:
			n.leaves = false
			n.enter()
			continue
		case n != nil && n.cancel != nil || s.connecting() >= s.o.Nodes:
			continue
		case n == nil:
			n = &node{
				Target: t, s: s, at: sched.Node(len(s.nodes)), attempts: map[uint64]*attempt{}, bids: map[uint64]*wire.Ask{}, probed: map[sched.ID]bool{},
				unanswered: map[sched.ID]int{}, more: make(chan struct{}, 1),
			}
			s.nodes = append(s.nodes, n)
			s.of[t.Node] = n
		}
		ctx, cancel := context.WithCancel(s.ctx)
		n.cancel = cancel
		s.going.Go(func() { n.attend(ctx) })
	}
}

// settle makes the offer count.
func (s *Scheduler) settle() {
	s.setNodes()
	s.learn()
}

// setNodes says which nodes are up, and which of these are the short partition. The lock is held.
func (s *Scheduler) setNodes() {
	var short []sched.Node
	for _, at := range s.up {
		if s.nodes[at].Short {
			short = append(short, at)
		}
	}
	s.sched.SetNodes(slices.Clone(s.up), short)
}

// connecting returns how many nodes are connected, or are to be.
func (s *Scheduler) connecting() (k int) {
	for _, n := range s.nodes {
		if n.cancel != nil {
			k++
		}
	}
	return k
}

// Pauses between attempts to connect to a node.
const (
	dialFirst  = 50 * time.Millisecond
	dialAtMost = 5 * time.Second
)

// attend keeps up the dialogue with a node.
func (n *node) attend(ctx context.Context) {
	n.dialogue.Lock() // an earlier one may be about to end
	defer n.dialogue.Unlock()
	wait := dialFirst
	for ctx.Err() == nil {
		n.s.mu.Lock()
		t := n.Target
		n.s.mu.Unlock()
		c, err := wire.Dial(ctx, t.Address, t.Name, t.Secret)
		if err == nil {
			var good bool
			if good, err = n.talkOver(ctx, c); good {
				wait = dialFirst
			}
		}
		if ctx.Err() == nil {
			n.s.log.WithError(err).Debugf("node %s takes no probes; trying again in %v", n.Node, wait)
		}
		_ = pause.For(ctx, wait) // the loop ends with ctx
		wait = min(2*wait, dialAtMost)
	}
}

// talkOver talks to a node until the connection ends. It was good if the node has taken us.
func (n *node) talkOver(ctx context.Context, c *wire.Conn) (good bool, err error) {
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	c.Hasty()
	if err := c.Send(&wire.Greeting{Scheduler: n.s.o.ID, Credentials: n.s.o.Credentials}); err != nil {
		return false, err
	}
	m, err := c.Receive()
	switch m := m.(type) {
	case nil:
		return false, err
	case *wire.Refusal:
		n.refused(m)
		return false, fmt.Errorf("it refuses: %s", m.Reason)
	case *wire.Lent:
	default:
		return false, fmt.Errorf("%w: it begins with %T", wire.ErrMalformed, m)
	}
	n.come()
	ended := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { n.send(c, ended) })
	for err == nil {
		var m wire.Message
		if m, err = c.Receive(); err == nil {
			err = n.take(m)
		}
	}
	close(ended)
	c.Close()
	sending.Wait()
	n.gone(err)
	return true, err
}

func (n *node) refused(m *wire.Refusal) {
	n.s.log.Warnf("node %s refuses short tasks: %s", n.Node, m.Reason)
	n.s.mu.Lock()
	n.s.refused = fmt.Sprintf("node %s: %s", n.Node, m.Reason)
	n.s.mu.Unlock()
	n.s.change()
}

// come has the node get probes from now on.
func (n *node) come() {
	s := n.s
	s.mu.Lock()
	defer s.mu.Unlock()
	n.up, n.outbox, n.room = true, nil, 0
	n.enter()
}

// enter has the node get probes. The lock is held.
func (n *node) enter() {
	s := n.s
	s.up = append(s.up, n.at)
	s.setNodes()
	n.welcome()
	s.change()
}

// welcome sends probes to a node that has come, or that long tasks have left: tasks may wait at others for long, and a node that got no probe never says that it has room.
// The lock is held.
func (n *node) welcome() {
	if !n.s.o.Early {
		n.room = maxAtOnce
		n.feed()
		n.room = 0
	}
}

// gone has everything that was the node's run elsewhere.
func (n *node) gone(why error) {
	s := n.s
	s.mu.Lock()
	n.up = false
	lost := make([]*attempt, 0, len(n.attempts))
	for _, a := range n.attempts {
		lost = append(lost, a)
	}
	for _, a := range lost {
		a.place.drop(a)
	}
	n.retreat()
	if n.leaves {
		n.hangUp()
	}
	s.mu.Unlock()
	if len(lost) > 0 {
		s.log.Infof("node %s is lost (%v); %d tasks run again", n.Node, why, len(lost))
	}
	for _, a := range lost {
		s.lose(a, true, fmt.Sprintf("with node %s: %v", n.Node, why))
	}
	s.change()
}

// say has a message sent soon, if the node is connected. The Scheduler's lock is held.
func (n *node) say(m wire.Message) {
	if !n.up {
		return
	}
	n.outbox = append(n.outbox, m)
	select {
	case n.more <- struct{}{}:
	default:
	}
}

func (n *node) send(c *wire.Conn, ended <-chan struct{}) {
	for {
		n.s.mu.Lock()
		all := n.outbox
		n.outbox = nil
		n.s.mu.Unlock()
		for rest := all; len(rest) > 0; {
			sent, err := c.Write(rest...)
			if rest = rest[sent:]; err != nil {
				n.unsent(rest[0], err)
				rest = rest[1:]
			}
		}
		if len(all) > 0 {
			continue
		}
		select {
		case <-n.more:
		case <-ended:
			return
		}
	}
}

// unsent ends a task that is too large to be sent. If the connection is at fault, everything of the node runs elsewhere soon.
func (n *node) unsent(m wire.Message, err error) {
	t, ok := m.(*wire.Task)
	if !ok || !errors.Is(err, wire.ErrTooLarge) {
		return
	}
	s := n.s
	s.mu.Lock()
	a := n.attempts[t.ID]
	if a == nil {
		s.mu.Unlock()
		return
	}
	p := a.place
	p.drop(a)
	s.sched.Finished(p.job.id, p.number, n.at)
	s.finish(p)
	n.say(&wire.NoTask{ID: t.ID})
	s.mu.Unlock()
	p.task.Done(wire.Ended{}, err)
	s.change()
}

// take takes a message from the node.
func (n *node) take(m wire.Message) error {
	s := n.s
	switch m := m.(type) {
	case *wire.Output:
		n.output(m)
	case *wire.Ended:
		s.mu.Lock()
		if a := n.attempts[m.ID]; a != nil {
			s.ended(a, m)
		} else {
			s.mu.Unlock()
		}
	case *wire.Ask:
		s.mu.Lock()
		defer s.mu.Unlock()
		return n.ask(m)
	case *wire.Verdict:
		s.mu.Lock()
		defer s.mu.Unlock()
		n.verdict(m)
	case *wire.Idle:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.o.Early {
			break // nothing waits elsewhere
		}
		n.room = int(min(m.MemoryMB/uint64(s.o.MemoryMB), m.VCores/uint64(s.o.VCores), maxAtOnce))
		n.feed()
	case *wire.Lent: // it is the node's business what runs when
	case *wire.Refusal:
		n.refused(m)
		return fmt.Errorf("it refuses: %s", m.Reason)
	default:
		return fmt.Errorf("%w: a node doesn't say %T", wire.ErrMalformed, m)
	}
	return nil
}

// feed sends a node that has room probes of jobs that wait elsewhere. It reports whether there are no such jobs. The lock is held.
func (n *node) feed() (none bool) {
	s := n.s
	if len(s.places) == 0 {
		return true
	}
	if n.room <= 0 || !n.up || n.leaves || n.avoided() {
		return false // what a node with long tasks has said of its room counts when there is no other one
	}
	all := slices.Clone(s.sched.Steal(n.at, n.room))
	if len(all) == 0 {
		return true
	}
	for len(all) > 0 {
		id, k := all[0].Job, 1
		for k < len(all) && all[k].Job == id {
			k++
		}
		s.probe(s.jobs[id], slices.Repeat([]sched.Node{n.at}, k))
		all = all[k:]
	}
	return false
}

// verdict takes the answer to probes. The lock is held.
func (n *node) verdict(m *wire.Verdict) {
	s, id := n.s, sched.ID(m.Job)
	j := s.jobs[id]
	due := n.unanswered[id]
	accepted := min(int(min(m.Accepted, 1<<30)), due)
	rejected := min(int(min(m.Rejected, 1<<30)), due-accepted)
	if n.unanswered[id] -= accepted + rejected; n.unanswered[id] == 0 {
		delete(n.unanswered, id)
	}
	if j == nil {
		return
	}
	if m.GaveBack > 0 {
		s.sched.GaveBack(id, n.at, int(min(m.GaveBack, 1<<30)))
	}
	if m.Long && rejected > 0 {
		n.reject()
	}
	for i := range accepted + rejected {
		s.answered(j, n, i < accepted)
	}
	if accepted > 0 && n.unanswered[id] == 0 { // else the node would drop more than is known of
		if next, declined := s.sched.Quoted(id, n.at, sched.Quote{P50: microseconds(m.P50US), P95: microseconds(m.P95US), Memory: m.Memory}); declined {
			n.unprobed(id)
			n.say(&wire.Drop{Job: m.Job})
			s.probe(j, next)
		}
	}
	if left, _ := s.sched.Left(id); left == 0 {
		n.withdraw(id)
	}
	if m.Reason != "" {
		s.refused = fmt.Sprintf("node %s: %s", n.Node, m.Reason)
	}
}

// microseconds returns a time that a node has said, of which anything may be too long.
func microseconds(us uint64) time.Duration { return time.Duration(min(us, 1<<50)) * time.Microsecond }

// ask answers a node that has room for a task. The lock is held.
func (n *node) ask(m *wire.Ask) error {
	s, id := n.s, sched.ID(m.Job)
	if n.attempts[m.ID] != nil || n.bids[m.ID] != nil {
		return errDuplicate
	}
	j := s.jobs[id]
	if j == nil || n.leaves {
		n.say(&wire.NoTask{ID: m.ID})
		return nil
	}
	a := sched.Asking{Node: n.at, Staged: j.readers(m.Staged), Others: int(min(m.Others, 1<<30))}
	if s.o.Early {
		vcores := float64(max(m.VCores, 1))
		a.Load, a.Step = float64(m.Bound)/vcores, float64(s.o.VCores)/vcores
		n.bids[m.ID] = m
		s.grant(s.sched.Bid(s.now(), id, a, m.ID))
		return nil
	}
	n.answer(m, j, s.sched.Ask(s.now(), id, a))
	return nil
}

// grant answers the asks of nodes that were waited for. The lock is held.
func (s *Scheduler) grant(all []sched.Grant) {
	for _, g := range all {
		n := s.nodes[g.Node]
		m := n.bids[g.Ticket]
		delete(n.bids, g.Ticket)
		n.answer(m, s.jobs[sched.ID(m.Job)], g.Answer)
	}
}

// decline answers the asks for tasks of a job that is over. The Scheduler's lock is held.
func (n *node) decline(id sched.ID) {
	for ticket, m := range n.bids {
		if m.Job == uint64(id) {
			delete(n.bids, ticket)
			n.say(&wire.NoTask{ID: ticket})
		}
	}
}

// answer gives a node what it gets for its ask. The Scheduler's lock is held.
func (n *node) answer(m *wire.Ask, j *Job, got sched.Answer) {
	s, id := n.s, sched.ID(m.Job)
	if got.Kind == sched.None {
		n.say(&wire.NoTask{ID: m.ID, Left: uint64(got.Left), Preloads: j.preloads(m.Staged)})
		return
	}
	j.wait, j.again = 0, time.Time{}
	p := j.tasks[got.Task]
	if got.Kind == sched.Clone && p.alone {
		s.sched.Failed(id, got.Task, n.at) // it isn't repeated, as another one runs
		n.say(&wire.NoTask{ID: m.ID})
		return
	}
	a := &attempt{place: p, node: n, id: m.ID, at: time.Now()}
	n.attempts[m.ID] = a
	s.lastTask = a.at
	p.attempts = append(p.attempts, a)
	t := p.task.Task
	t.ID, t.Left, t.Clone, t.Preloads = m.ID, uint64(got.Left), got.Kind == sched.Clone, j.preloads(m.Staged)
	t.WaitedUS = uint64(got.Waited.Microseconds())
	n.say(&t)
	if got.Left == 0 {
		j.withdraw()
	}
}

// output passes on what a task has written.
func (n *node) output(m *wire.Output) {
	n.talk.Lock()
	defer n.talk.Unlock()
	n.s.mu.Lock()
	a := n.attempts[m.ID]
	n.s.mu.Unlock()
	if a == nil || a.place.task.Output == nil || m.Stream > 1 {
		return
	}
	if n.s.o.CloneBelow > 0 {
		a.output = append(a.output, chunk{int(m.Stream), bytes.Clone(m.Data)})
		if a.kept += len(m.Data); a.kept > maxKept && n.s.choose(a) {
			a.flush()
		}
		return
	}
	a.place.task.Output(int(m.Stream), m.Data)
}

// maxKept is how much output of an attempt is kept in memory. One that writes more counts, if none did before.
const maxKept = 1 << 20

// choose makes an attempt the only one of its task. It reports false if another one was chosen, or has ended.
func (s *Scheduler) choose(a *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := a.place
	if p.over || a.node.attempts[a.id] != a {
		return false
	}
	p.alone = true
	for _, other := range slices.Clone(p.attempts) {
		if other != a {
			p.drop(other)
			other.node.say(&wire.Cancel{ID: other.id})
			s.sched.Failed(p.job.id, p.number, other.node.at) // it isn't repeated, as one runs
		}
	}
	return true
}

// flush passes on what was kept.
func (a *attempt) flush() {
	for _, c := range a.output {
		a.place.task.Output(c.stream, c.bytes)
	}
	a.output = nil
}

// awaitOutput returns when Output isn't called any more for tasks that were taken from the node.
func (n *node) awaitOutput() {
	n.talk.Lock()
	defer n.talk.Unlock()
}

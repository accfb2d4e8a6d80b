package leader

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// promises drives leaders one after the other, whose batches are committed or lost as the test says, and checks what they promise.
type promises struct {
	*world
	failure string                  // the first one
	nodes   map[records.NodeID]bool // with this leader
	masters []*caller
	known   map[records.ApplicationID]bool // acknowledged submissions
	granted map[records.ContainerID]bool   // of which an ApplicationMaster has heard
}

// caller is an ApplicationMaster that makes one call at a time.
type caller struct {
	attempt    records.AttemptID
	response   int32
	registered bool
	calling    bool
	has        []records.ContainerID
}

// failf records a failure, which is reported outside of the bubble.
func (p *promises) failf(format string, args ...any) {
	if p.failure == "" {
		p.failure = fmt.Sprintf(format, args...)
	}
}

// background makes a call beside the test, and waits until all of its parts that can have happened.
func (p *promises) background(call func()) {
	go call()
	synctest.Wait()
}

// commit lets the oldest batch under way be committed, if there is one.
func (p *promises) commit() bool {
	select {
	case p.fates <- true:
		synctest.Wait()
		return true
	default:
		return false
	}
}

func (p *promises) settle() {
	for p.commit() {
		continue
	}
}

// takeOver puts a leader in place while batches are committed only when the test says so.
func (p *promises) takeOver() {
	fates := p.fates
	p.world.fates = nil
	p.change = func(s *Settings) { s.MaxCompleted = 1000 } // so that none is forgotten
	p.lead()
	synctest.Wait() // what the leader began with is committed by itself
	p.mu.Lock()
	p.world.fates = fates
	p.mu.Unlock()
	p.nodes = map[records.NodeID]bool{}
	for _, m := range p.masters {
		m.registered, m.response, m.calling = false, 0, false
	}
}

func (p *promises) submit() {
	p.background(func() {
		id, _, err := p.NewApplication("alice")
		if err == nil {
			err = p.Submit("alice", submission(id, nil))
		}
		if err == nil {
			p.mu.Lock()
			p.known[id] = true
			p.mu.Unlock()
		} else if !errors.Is(err, ErrDeposed) {
			p.failf("%v", err)
		}
	})
}

func (p *promises) addNode(i int) {
	if id := nodeID(i); !p.nodes[id] {
		p.nodes[id] = true
		p.background(func() {
			_, err := p.RegisterNode(NodeRegistration{
				Node: id, HTTPPort: 8042, Capability: records.NewResource(4096, 4), NodeCaller: atHome, Names: []string{atHome.Address, id.Host},
				Features: []string{level.FeatureSuspend}, Containers: p.running(id),
			})
			if err != nil && !errors.Is(err, ErrDeposed) {
				p.failf("%v", err)
			}
		})
	}
}

// running are the containers that a node has: all that are committed there.
func (p *promises) running(id records.NodeID) (all []NodeContainer) {
	if n := p.state().Nodes[id]; n != nil {
		for _, c := range n.Containers {
			all = append(all, runs(c))
		}
	}
	return all
}

// collect collects ApplicationMasters that nodes have started.
func (p *promises) collect() {
	for {
		select {
		case l := <-p.launched:
			attempt := l.Container.ID.Attempt // which the next leader may launch again
			if !slices.ContainsFunc(p.masters, func(m *caller) bool { return m.attempt == attempt }) {
				p.masters = append(p.masters, &caller{attempt: attempt})
			}
		default:
			return
		}
	}
}

// call has an ApplicationMaster register, or else ask and give back.
func (p *promises) call(m *caller, count int32, release int) {
	if m.calling {
		return
	}
	m.calling = true
	leader := p.Leader
	if !m.registered {
		p.background(func() {
			_, err := leader.Register(m.attempt, "host", 1, "")
			p.mu.Lock()
			defer p.mu.Unlock()
			if leader == p.Leader {
				m.calling, m.registered = false, err == nil
			}
		})
		return
	}
	back := m.has[:min(release, len(m.has))]
	m.has = m.has[len(back):]
	p.background(func() {
		r, err := leader.Allocate(m.attempt, AllocateCall{ResponseID: m.response, Asks: ask(count), Releases: back})
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			return
		}
		for _, g := range r.Grants {
			if p.granted[g.ID] {
				p.failf("%v was granted twice", g.ID)
			}
			if c := p.committed.Container(g.ID); c == nil {
				p.failf("%v was granted before it was committed", g.ID)
			}
			p.granted[g.ID] = true
			m.has = append(m.has, g.ID)
		}
		if leader == p.Leader {
			m.calling, m.response = false, r.ResponseID
		}
	})
}

// hold changes what a container takes of its node.
func (p *promises) hold(node, which, quarters int) {
	p.background(func() {
		_ = p.Do(func() error {
			n := p.work.Nodes[nodeID(node)]
			if n == nil || len(n.Containers) == 0 {
				return nil
			}
			c := p.work.Container(n.Containers[which%len(n.Containers)])
			held, level := c.Resource, ledgerpb.Level_RUNNING
			if quarters < 4 {
				held[records.Memory], level = held[records.Memory]*int64(quarters)/4, ledgerpb.Level_SHRUNK
			}
			if h, ok := handleOf(c); ok && p.sched.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: h, Resource: eventlog.Amounts(held)}) {
				p.Enter(c.ChangeLevel(level, held, ledger.Cause{}))
			}
			return nil
		})
	})
}

// depose loses all batches under way, and puts the next leader in place.
func (p *promises) depose() {
	p.stop()
	close(p.fates) // what waits is lost
	<-p.stopped
	p.fates = make(chan bool)
	synctest.Wait()
	p.takeOver()
}

// check compares the working copy to the scheduler, and what was acknowledged to what is committed.
func (p *promises) check() {
	used, containers := map[string]records.Resource{}, 0
	for _, n := range p.work.Nodes {
		for c := range p.work.On(n) {
			if h, ok := handleOf(c); ok && p.sched.Held(h) != c.Held() {
				p.failf("%v takes %v by the scheduler, %v by the ledger", c.ID, p.sched.Held(h), c.Held())
			}
			queue := p.work.Apps[c.ID.Attempt.App].Queue
			used[queue] = used[queue].Add(c.Held())
			containers++
		}
	}
	for _, q := range p.sched.Queues() {
		switch {
		case q.Path == "root" && q.Containers != containers:
			p.failf("the scheduler has %d containers, the ledger %d", q.Containers, containers)
		case q.Leaf && q.Used.Sub(q.Reserved) != used[q.Path]: // reservations count as used, as in YARN
			p.failf("%s uses %v by the scheduler, %v by the ledger", q.Path, q.Used, used[q.Path])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.known {
		if p.committed.Apps[id] == nil {
			p.failf("%v was acknowledged, and is not committed", id)
		}
	}
	if err := p.committed.Check(); err != nil {
		p.failf("%v", err)
	}
}

// Whatever is asked, committed and lost: the scheduler's sums are the ledger's, nobody hears of what isn't committed, no container is
// granted twice, and the next leader has all that was acknowledged.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				rapid.SampledFrom([]string{
					"submit", "node", "call", "call", "call", "call", "call", "hold", "commit", "commit all", "commit all", "commit all", "commit all", "depose",
				}).Draw(t, "what"),
				rapid.IntRange(0, 11).Draw(t, "which"), rapid.Int32Range(0, 4).Draw(t, "asks"), rapid.IntRange(0, 3).Draw(t, "releases"),
			}
		}), 30, 150).Draw(rt, "steps")
		p := &promises{known: map[records.ApplicationID]bool{}, granted: map[records.ContainerID]bool{}}
		synctest.Test(t, func(t *testing.T) {
			p.world = newWorld(t)
			p.committed.Version = ledger.Version
			p.fates = make(chan bool)
			p.takeOver()
			p.run(steps)
			p.stop()
			close(p.fates)
			<-p.stopped
		})
		if p.failure != "" {
			rt.Fatal(p.failure)
		}
	})
}

// step is one thing that happens.
type step struct {
	what     string
	which    int // node, or ApplicationMaster
	asks     int32
	releases int
}

func (p *promises) run(steps []step) {
	for _, s := range steps {
		switch s.what {
		case "submit":
			p.submit()
		case "node":
			p.addNode(1 + s.which%3)
		case "call":
			if p.collect(); len(p.masters) > 0 {
				p.call(p.masters[s.which%len(p.masters)], s.asks, s.releases)
			}
		case "hold":
			p.hold(1+s.which%3, s.which, int(s.asks))
		case "commit":
			p.commit()
		case "commit all":
			p.settle()
		case "depose":
			p.depose()
		}
		p.check()
	}
	p.settle()
	p.check()
	p.allCommitted()
}

// allCommitted checks that nothing is left uncommitted.
func (p *promises) allCommitted() {
	if !p.Idle() {
		p.failf("batches are left that nobody commits")
	}
}

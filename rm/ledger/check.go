package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"heddle/rm/ledger/kept"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// Check verifies what must hold at any time:
//
//   - Sums equal those of the containers and applications that they sum up: an application is charged what its containers claim, a node
//     what they hold. Each container is filed under its id and its node, and what it holds is within its claim.
//   - Nothing of an ended application lives, and of a live one's attempts only the last may.
//   - The ids of containers and delegation tokens were issued. Those of applications need not be: clients of earlier releases could bring their own.
//
// It takes time in proportion to the state, and is meant for tests and for programs built with the tag invariants. CheckGrants verifies
// that nodes can hold what they were given.
func (s *State) Check() error {
	var c check
	held := map[records.NodeID]*sum{}
	for id := range s.Nodes {
		held[id] = &sum{}
	}
	for id, app := range s.Apps {
		c.application(s, id, app)
		c.containers(s, id, app, held)
		c.attempts(app)
	}
	for id, n := range s.Nodes {
		if n.ID != id {
			c.bad("node %v is filed under %v", n.ID, id)
		}
		if h := held[id]; n.Used != h.used || len(n.Containers) != h.live || n.Suspended != h.suspended || n.Lowered != h.lowered {
			c.bad("node %v has %d containers with %v, %d of them suspended and %d suspended or shrunk; its sums say %d with %v, %d and %d", id, h.live, h.used,
				h.suspended, h.lowered, len(n.Containers), n.Used, n.Suspended, n.Lowered)
		}
	}
	c.counts(s)
	c.kept(s)
	return errors.Join(c.errs...)
}

// CheckGrants verifies that the nodes to which a batch gave containers, or a larger container, can hold what they have. Call it when
// the batch was just applied; later a node may have shrunk. It checks memory alone, which every resource calculator counts.
func (s *State) CheckGrants(b *ledgerpb.Batch) error {
	var c check
	given, shrank := map[records.NodeID]bool{}, map[records.NodeID]bool{}
	for _, cmd := range b.GetCommands() {
		for _, g := range cmd.ContainersAllocated.GetGrants() {
			given[nodeID(g.GetNode())] = true
		}
		if cont := s.Container(containerID(cmd.ContainerResized.GetContainer())); cont != nil && cont.Live() && cont.Resource != cont.Confirmed() {
			given[cont.Node] = true // it was given more
		}
		if cmd.NodeUpdated != nil {
			shrank[nodeID(cmd.NodeUpdated.GetNode())] = true
		}
		if cmd.NodeRegistered != nil {
			shrank[nodeID(cmd.NodeRegistered.GetNode())] = true
		}
	}
	for id := range given {
		if n := s.Nodes[id]; n != nil && !shrank[id] && n.Used.MemoryMB() > n.Capability.MemoryMB() {
			c.bad("node %v was given more than it can hold: %v of %v", id, n.Used, n.Capability)
		}
	}
	return errors.Join(c.errs...)
}

// check collects what is wrong.
type check struct{ errs []error }

func (c *check) bad(format string, args ...any) { c.errs = append(c.errs, fmt.Errorf(format, args...)) }

// sum adds up live containers.
type sum struct {
	used                     records.Resource
	live, suspended, lowered int
}

func (x *sum) add(amount records.Resource) {
	x.used = x.used.Add(amount)
	x.live++
}

func (c *check) application(s *State, id records.ApplicationID, app *Application) {
	if app.ID != id {
		c.bad("%v is filed under %v", app.ID, id)
	}
	if n := app.Containers.Len(); app.State.Ended() && n > 0 {
		c.bad("%v is %v and has %d containers", id, app.State, n)
	}
	for past := range app.Past.All() {
		if past.Live() {
			c.bad("%v lives, and is with those that have ended", past.ID)
		}
		c.issued(s, app, past)
	}
}

// containers goes through the containers of an application, and adds those that live to what their nodes hold.
func (c *check) containers(s *State, id records.ApplicationID, app *Application, held map[records.NodeID]*sum) {
	var own sum
	filed := 0
	for cont := range app.Containers.All() {
		filed++
		if app.Containers.Get(cont.ID) != cont || cont.ID.Attempt.App != id {
			c.bad("%v is filed under another id, or wrongly under %v", cont.ID, id)
		}
		c.issued(s, app, cont)
		if !cont.Live() {
			continue
		}
		own.add(cont.guaranteed(cont.Resource))
		if err := cont.checkLevel(cont.Level, cont.Held()); err != nil {
			c.errs = append(c.errs, err)
		}
		if h := held[cont.Node]; h != nil {
			h.add(cont.taken())
			if cont.Suspended() {
				h.suspended++
			}
			if cont.Level != ledgerpb.Level_RUNNING {
				h.lowered++
			}
		}
		if n := s.Nodes[cont.Node]; n == nil || n != cont.node || !slices.Contains(n.Containers, cont.ID) {
			c.bad("%v is not filed under its node %v", cont.ID, cont.Node)
		}
	}
	if filed != app.Containers.Len() {
		c.bad("%v has %d containers, and counts %d", id, filed, app.Containers.Len())
	}
	if own.used != app.Used || own.live != app.Live {
		c.bad("%v holds %d containers with %v, its sums say %d with %v", id, own.live, own.used, app.Live, app.Used)
	}
}

// issued verifies that a container's id was handed out: in an epoch that there was, by an attempt that there was, in its row.
func (c *check) issued(s *State, app *Application, cont *Container) {
	if cont.ID.Epoch() > s.Epoch() {
		c.bad("%v is of epoch %d, and there were none after %d", cont.ID, cont.ID.Epoch(), s.Epoch())
	}
	last := app.Current()
	if last == nil || cont.ID.Attempt.Attempt > last.ID.Attempt {
		c.bad("%v is of an attempt that was not started", cont.ID)
		return
	}
	if t := app.Attempt(cont.ID.Attempt.Attempt); t != nil && cont.ID.Sequence() > t.LastSequence {
		c.bad("%v was not handed out: %v is at %d", cont.ID, t.ID, t.LastSequence)
	}
}

func (c *check) attempts(app *Application) {
	for i, t := range app.Attempts {
		if t.ID.App != app.ID {
			c.bad("%v is filed under %v", t.ID, app.ID)
		}
		if i > 0 && t.ID.Attempt <= app.Attempts[i-1].ID.Attempt {
			c.bad("%v comes behind %v", t.ID, app.Attempts[i-1].ID)
		}
		if !t.State.Ended() && (i < len(app.Attempts)-1 || app.State.Ended()) {
			c.bad("%v is %v although it is over", t.ID, t.State)
		}
		if am := t.AMContainer; am != (records.ContainerID{}) && (am.Attempt != t.ID || am.Sequence() > t.LastSequence) {
			c.bad("%v has %v as its ApplicationMaster's, and is at %d", t.ID, am, t.LastSequence)
		}
	}
}

// kept verifies the counts of what requests have left behind.
func (c *check) kept(s *State) {
	sums := &State{Kept: kept.New()}
	for _, app := range s.Apps {
		again := Application{User: app.User, Queue: app.Queue, State: app.State, Diagnostics: app.Diagnostics, Attempts: app.Attempts}
		again.setContext(app.Context)
		for cont := range app.Containers.All() {
			again.reportBytes += int64(len(cont.Diagnostic))
		}
		again.weigh(sums)
	}
	for _, n := range s.Nodes {
		sums.Kept.AddNode(n.weight())
	}
	for _, d := range s.Delegations {
		sums.Kept.Token(d.Identifier, 1)
	}
	if !reflect.DeepEqual(sums.Kept, s.Kept) {
		c.bad("requests have left %+v behind, and the counts say %+v", sums.Kept, s.Kept)
	}
}

// counts verifies the sums of applications: each that a queue took has ended, or has an attempt and runs on.
func (c *check) counts(s *State) {
	n := int64(0)
	for _, ended := range s.Ended {
		n += ended
	}
	for _, app := range s.Apps {
		if len(app.Attempts) > 0 && !app.State.Ended() {
			n++
		}
	}
	if n != s.Submitted {
		c.bad("%d applications were taken by queues, and %d of them run or have ended", s.Submitted, n)
	}
	if err := s.Issued.Check(); err != nil {
		c.errs = append(c.errs, err)
	}
	for _, a := range s.Issued.All {
		if a.ID > s.LastApplication || s.Apps[records.ApplicationID{ClusterTimestamp: s.Timestamp, ID: a.ID}] != nil {
			c.bad("application number %d was not issued yet, or is an application's", a.ID)
		}
	}
	for seq := range s.Delegations {
		if seq > s.LastDelegation {
			c.bad("delegation token %d was not handed out: the last one is %d", seq, s.LastDelegation)
		}
	}
}

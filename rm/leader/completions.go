package leader

import (
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// Completion is the end of a container.
type Completion = session.Completion

// release ends containers that their ApplicationMaster doesn't want. Those that ended already are passed over.
func (cs *containers) release(app *ledger.Application, ids []records.ContainerID) {
	type place struct {
		id   records.ContainerID
		node *nodeSoft
	}
	places, done := make([]place, 0, len(ids)), make([]Completion, 0, len(ids))
	for _, id := range ids {
		c := app.Containers.Get(id)
		if c == nil || !c.Live() {
			continue
		}
		if n := cs.nodes[c.Node]; n != nil {
			places = append(places, place{id, n})
		}
		cs.end(c, records.ExitAborted, "Container released by application", ledgerpb.GivenBack)
		if !c.AM {
			done = append(done, session.CompletionOf(c))
		}
	}
	if len(places)+len(done) == 0 {
		return
	}
	soft := cs.apps[app.ID]
	cs.AfterCommit(func() { // once for all, as an ApplicationMaster may give back thousands
		for _, p := range places {
			p.node.session.box.EndContainers(p.id)
		}
		soft.box.Complete(done)
	})
}

// Signal sends a command to a container with its node's next heartbeat.
func (cs *containers) Signal(s Signal) error {
	return cs.Do(func() error {
		c := cs.work.Container(s.Container)
		if c == nil || !c.Live() {
			return refusal.New(refusal.NoSuchContainer, "Trying to signal an absent container %v", s.Container)
		}
		if n := cs.nodes[c.Node]; n != nil {
			cs.AfterCommit(func() { n.session.box.Signal(s) })
		}
		return nil
	})
}

// complete takes a live container's end into account and tells its ApplicationMaster.
func (cs *containers) complete(app *ledger.Application, c *ledger.Container, exit int32, diagnostics string) {
	cs.completeAt(app, c, exit, diagnostics, nil)
}

// completeAt is complete with what the node knows of the container's life.
func (cs *containers) completeAt(app *ledger.Application, c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	cs.end(c, exit, diagnostics, times)
	if c.AM {
		return
	}
	soft, done := cs.apps[app.ID], []Completion{session.CompletionOf(c)}
	cs.AfterCommit(func() { soft.box.Complete(done) })
}

// end takes a live container's end into account.
func (cs *containers) end(c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	cs.freeEnded(c, exit)
	if !c.AM {
		cs.meters.Ended(cs.work.Apps[c.ID.Attempt.App].Queue, &c.Resource)
	}
	cs.EnterCompletion(&ledgerpb.Completion{
		Container: cs.refs.Container(c.ID), ExitStatus: exit, Diagnostics: diagnostics, Unreported: c.AM, Times: times.For(cs.work.Version),
	})
}

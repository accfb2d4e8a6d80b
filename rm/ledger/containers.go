package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func (s *State) containersAllocated(now int64, c *ledgerpb.ContainersAllocated) error {
	app, t, err := s.liveAttempt(c.GetAttempt())
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range c.GetGrants() {
		if err := s.allocate(now, app, t, g); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *State) allocate(now int64, app *Application, t *Attempt, g *ledgerpb.Grant) error {
	granted := newContainer(t.ID, g, now)
	cont := &granted
	node := s.Nodes[cont.Node]
	if node == nil {
		return fmt.Errorf("%v on node %v: %w", cont.ID, cont.Node, ErrUnknown)
	}
	if cont.ID.Sequence() <= t.LastSequence {
		return fmt.Errorf("%v was given out already: %v is at %d", cont.ID, t.ID, t.LastSequence)
	}
	t.LastSequence = cont.ID.Sequence()
	cont = app.Containers.Put(cont)
	hold(app, node, cont)
	s.Granted.Add(now)
	if cont.AM {
		t.AMContainer, t.AMNode = cont.ID, cont.Node
		t.AMHTTPAddress = node.HTTPAddress()
		t.State = AttemptAllocated
		app.weigh(s)
	}
	return nil
}

func newContainer(attempt records.AttemptID, g *ledgerpb.Grant, now int64) Container {
	kind := pb.ExecutionType(g.GetExecutionType())
	if kind == 0 {
		kind = pb.ExecutionType_GUARANTEED
	}
	c := Container{
		ID:                  records.ContainerID{Attempt: attempt, ID: g.GetId()},
		Node:                nodeID(g.GetNode()),
		Resource:            amounts(g.GetResource()),
		Priority:            g.GetPriority(),
		AllocationRequestID: g.GetAllocationRequestId(),
		ExecutionType:       kind,
		AM:                  g.GetAm(),
		Far:                 g.GetFar(),
		Allocated:           now,
		ExitStatus:          records.ExitInvalid,
	}
	if tags := g.GetTags(); len(tags) > 0 {
		c.setExtras(extras{tags: tags})
	}
	if w := g.GetWaited(); w > 0 {
		c.Asked = now - (w - 1)
	}
	return c
}

// hold adds a live container to the sums of its application and node.
func hold(app *Application, node *Node, c *Container) {
	app.Used = app.Used.Add(c.guaranteed(c.Resource))
	app.Live++
	node.Used = node.Used.Add(c.taken())
	c.Node = node.ID // the text of which all its containers share; commands and snapshots bring copies
	c.node = node
	node.Containers = append(node.Containers, c.ID)
	c.countLevel(1)
}

// leave removes a live container from its node's list.
func (c *Container) leave() {
	c.countLevel(-1)
	n := c.node
	n.Used = n.Used.Sub(c.taken())
	last := len(n.Containers) - 1
	n.Containers[slices.Index(n.Containers, c.ID)] = n.Containers[last]
	n.Containers = n.Containers[:last]
	c.node = nil
}

// finish ends a live container and subtracts it from the sums.
func finish(now int64, app *Application, c *Container, exit int32) {
	app.Used = app.Used.Sub(c.guaranteed(c.Resource))
	app.Live--
	c.leave()
	spent := ResourceSeconds(c, now)
	app.ResourceSeconds = app.ResourceSeconds.Add(spent)
	if exit == records.ExitPreempted {
		app.Preempted = app.Preempted.Add(c.Resource)
		app.PreemptedSeconds = app.PreemptedSeconds.Add(spent)
		if c.AM {
			app.PreemptedAMs++
		} else {
			app.PreemptedContainers++
		}
	}
	c.State = ContainerCompleted
	c.setLevel(ledgerpb.Level_RUNNING, c.Resource)
	c.endSuspension(now)
	c.ExitStatus = exit
	c.Finished = now
}

// ResourceSeconds returns what a container has used until now (ms since 1970) at its present size: resource × seconds, rounded
// down as in YARN's AggregateAppResourceUsage.
func ResourceSeconds(c *Container, now int64) records.Resource {
	var r records.Resource
	for i, v := range c.Resource {
		r[i] = records.MulDiv(v, max(now-max(c.Allocated, c.Resized), 0), 1000)
	}
	return r
}

func (s *State) containerResized(now int64, c *ledgerpb.ContainerResized) error {
	app, cont, err := s.container(c.GetContainer())
	if err != nil {
		return err
	}
	if !cont.Live() {
		return fmt.Errorf("%v can't be resized: it has ended", cont.ID)
	}
	kind := pb.ExecutionType(c.GetExecutionType())
	if kind != 0 && s.Version < PromotionVersion {
		return fmt.Errorf("%v can't change its execution type: the ledger has version %d, and this needs %d", cont.ID, s.Version, PromotionVersion)
	}
	to := amounts(c.GetResource())
	app.ResourceSeconds = app.ResourceSeconds.Add(ResourceSeconds(cont, now))
	held, confirmed, was := to, cont.Confirmed().Min(to), cont.guaranteed(cont.Resource)
	if h := cont.extra().held; h != nil {
		held = h.Min(to)
	}
	cont.node.Used = cont.node.Used.Sub(cont.taken())
	cont.Resource, cont.Resized, cont.ExecutionType = to, now, cmp.Or(kind, cont.ExecutionType)
	app.Used = app.Used.Sub(was).Add(cont.guaranteed(to))
	cont.setLevel(cont.Level, held)
	cont.node.Used = cont.node.Used.Add(cont.taken())
	cont.setConfirmed(confirmed)
	cont.Version++
	return nil
}

func (s *State) containerConfirmed(c *ledgerpb.ContainerConfirmed) error {
	_, cont, err := s.container(c.GetContainer())
	if err != nil {
		return err
	}
	confirmed := amounts(c.GetResource())
	if !cont.Live() || !confirmed.FitsIn(cont.Resource) {
		return fmt.Errorf("%v holds %v: its node can't give it %v", cont.ID, cont.Resource, confirmed)
	}
	cont.setConfirmed(confirmed)
	return nil
}

// drop ends a container if it lives, and forgets it. Its application has to be weighed afterwards, unless the container lived.
func drop(s *State, now int64, app *Application, c *Container, exit int32) {
	c = app.Containers.mutable(c.ID)
	if c.Live() {
		finish(now, app, c, exit)
	}
	app.reportBytes -= int64(len(c.Diagnostic))
	app.Containers.remove(c.ID)
	remember(s, app, c)
}

// container finds a container that a command is about to change.
func (s *State) container(r *ledgerpb.ContainerRef) (*Application, *Container, error) {
	id := containerID(r)
	if app := s.Apps[id.Attempt.App]; app != nil {
		if c := app.Containers.mutable(id); c != nil {
			return app, c, nil
		}
	}
	return nil, nil, fmt.Errorf("%v: %w", id, ErrUnknown)
}

func (s *State) containersRunning(now int64, c *ledgerpb.ContainersRunning) error {
	return s.each(c.GetContainers(), func(_ *Application, cont *Container) error {
		if cont.State != ContainerAllocated {
			return fmt.Errorf("%v runs or ran already", cont.ID)
		}
		cont.State = ContainerRunning
		cont.Started = now
		return nil
	})
}

func (s *State) containersCompleted(now int64, c *ledgerpb.ContainersCompleted) error {
	var errs []error
	for _, done := range c.GetCompletions() {
		if err := s.Complete(now, done); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Complete applies one of a command's completions, as ApplyCommand does for each of them.
func (s *State) Complete(now int64, done *ledgerpb.Completion) error {
	app, cont, err := s.container(done.GetContainer())
	switch {
	case err != nil:
		return err
	case !cont.Live():
		return fmt.Errorf("%v completed already", cont.ID)
	}
	cont.times(now, done.GetTimes())
	if done.GetUnreported() {
		drop(s, now, app, cont, done.GetExitStatus())
		return nil
	}
	finish(now, app, cont, done.GetExitStatus())
	cont.Diagnostic = done.GetDiagnostics()
	app.report(s, len(cont.Diagnostic))
	return nil
}

func (s *State) containersReported(c *ledgerpb.ContainersReported) error {
	return s.each(c.GetContainers(), func(app *Application, cont *Container) error {
		if cont.Live() {
			return fmt.Errorf("%v can't be forgotten: it lives", cont.ID)
		}
		app.report(s, -len(cont.Diagnostic))
		app.Containers.remove(cont.ID)
		remember(s, app, cont)
		return nil
	})
}

func (s *State) each(refs []*ledgerpb.ContainerRef, f func(*Application, *Container) error) error {
	var errs []error
	for _, r := range refs {
		app, cont, err := s.container(r)
		if err == nil {
			err = f(app, cont)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

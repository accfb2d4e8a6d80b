package am

import (
	"context"
	"fmt"
	"maps"
	"time"

	"heddle/am/client"
	"heddle/yarn/records"
)

// converse keeps the conversation with the ResourceManager going until ctx ends or the attempt is over.
func (m *Master) converse(ctx context.Context) error {
	eager := pollFirst
	for {
		if f := m.o.Progress; f != nil {
			m.rm.SetProgress(f())
		}
		m.mu.Lock()
		m.begun++
		m.mu.Unlock()
		a, err := m.rm.Allocate(ctx)
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.answered = m.begun
		close(m.answers)
		m.answers = make(chan struct{})
		m.mu.Unlock()
		m.report(a)
		if m.rm.Holds() {
			continue
		}
		// A stock ResourceManager allocates some time after it was asked, and reports that in the next call. While something is
		// outstanding, the next call comes sooner, at first.
		wait := m.o.Heartbeat
		if m.rm.Outstanding() > 0 {
			wait = min(wait, eager)
			eager = min(2*eager, m.o.Heartbeat)
		}
		if len(a.Containers) > 0 {
			eager = pollFirst
		}
		if m.rest(ctx, wait) {
			eager = pollFirst
		}
	}
}

// Pauses between calls to a stock ResourceManager.
const (
	pollFirst  = 100 * time.Millisecond // after a request
	pollAtMost = 50 * time.Millisecond  // however much changes
)

// rest waits for the next call. It ends early and reports true if there is something to report.
func (m *Master) rest(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(min(wait, pollAtMost))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	}
	t.Reset(max(wait-pollAtMost, 0))
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return false
	case <-m.pace:
		return true
	}
}

// nudge ends the wait of a held-back call whenever there is something to report.
func (m *Master) nudge(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		}
		if err := m.rm.Nudge(ctx); err != nil && ctx.Err() == nil {
			m.log.WithError(err).Debug("can't end the call under way early")
		}
	}
}

// report turns the answer to a call into events.
func (m *Master) report(a *client.Allocation) {
	if a.Resynced {
		m.events.put(Resynced{})
		clear(m.hinted.Classes)
	}
	m.hint(a)
	m.recovered(a.Previous)
	if len(a.Previous) > 0 {
		m.events.put(ContainersRecovered{a.Previous})
	}
	for _, r := range a.Refused {
		m.events.put(RequestsRefused{r})
	}
	if len(a.Containers) > 0 {
		m.mu.Lock()
		for _, c := range a.Containers {
			m.containers[c.ID] = &tracked{Container: c}
		}
		m.mu.Unlock()
		m.events.put(ContainersAllocated{a.Containers})
	}
	for _, c := range a.Completed {
		m.completed(c)
	}
	if len(a.Suspended) > 0 {
		m.events.put(ContainersSuspended{a.Suspended})
	}
	if len(a.Resumed) > 0 {
		m.events.put(ContainersResumed{a.Resumed})
	}
	for _, r := range a.RefusedSwaps {
		m.events.put(SwapRefused(r))
	}
	if len(a.Nodes) > 0 {
		m.events.put(NodesUpdated{a.Nodes})
	}
	if len(a.ProbeNodes)+len(a.ProbesGone) > 0 {
		m.events.put(ProbeNodesChanged{a.ProbeNodes, a.ProbesGone})
	}
	if len(a.Preemption) > 0 {
		m.events.put(PreemptionRequested{a.Preemption})
	}
}

// hint notes hints and classes, and tells of them.
func (m *Master) hint(a *client.Allocation) {
	if a.Hints == nil && len(a.Classes) == 0 {
		return
	}
	h := &m.hinted
	if a.Hints != nil {
		h.Hints = *a.Hints
	}
	for _, l := range a.Classes {
		switch {
		case l.Class == 0:
			delete(h.Classes, l.Host)
		case h.Classes == nil:
			h.Classes = map[string]int{l.Host: l.Class}
		default:
			h.Classes[l.Host] = l.Class
		}
	}
	m.events.put(Hinted{h.Hints, maps.Clone(h.Classes)})
}

func (m *Master) recovered(list []Container) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range list {
		m.containers[c.ID] = &tracked{Container: c, state: started}
	}
}

// startGrace is how long to wait for the answer to a start when the container has already ended.
const startGrace = 2 * time.Second

func (m *Master) completed(c client.Completed) {
	e := ContainerCompleted{ID: c.ID, Container: Container{ID: c.ID}, ExitStatus: c.ExitStatus, Diagnostics: c.Diagnostics}
	m.mu.Lock()
	if t := m.containers[c.ID]; t != nil {
		e.Container = t.Container
		if t.state == starting {
			t.over = &e
			time.AfterFunc(startGrace, t.cancel)
			m.mu.Unlock()
			return
		}
		delete(m.containers, c.ID)
	}
	m.mu.Unlock()
	m.events.put(e)
}

// Start starts an allocated container. The outcome is an event. Start ignores a container that is unknown, has ended, or was
// started before.
func (m *Master) Start(id records.ContainerID, l Launch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.containers[id]
	if t == nil || t.state != allocated || m.ctx.Err() != nil {
		return
	}
	t.state = starting
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(m.ctx)
	m.calls.Go(func() { m.start(ctx, t, l) })
}

func (m *Master) start(ctx context.Context, t *tracked, l Launch) {
	defer t.cancel()
	var services map[string][]byte
	launch, err := l.PB()
	if err != nil {
		err = fmt.Errorf("container %v: %w", t.ID, err)
	} else {
		services, err = m.nodes.Start(ctx, &t.Container, launch)
	}
	if m.ctx.Err() != nil {
		return // it isn't received
	}
	m.mu.Lock()
	t.state = started
	stop, over := t.stop, t.over
	if over != nil {
		delete(m.containers, t.ID)
	}
	m.mu.Unlock()
	if err == nil {
		m.events.put(ContainerStarted{t.Container, services})
	} else if over == nil || ctx.Err() == nil {
		m.events.put(ContainerStartFailed{t.Container, err})
	}
	switch {
	case over != nil:
		m.events.put(*over)
	case err != nil:
		m.Release(t.ID)
	case stop:
		m.halt(t.Container)
	}
}

// Stop ends a container, or gives it back if it wasn't started. ContainerCompleted says when it has ended.
func (m *Master) Stop(id records.ContainerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.containers[id]
	if t == nil || t.stop || m.ctx.Err() != nil {
		return
	}
	t.stop = true
	switch t.state {
	case allocated:
		m.Release(id)
	case started:
		m.calls.Go(func() { m.halt(t.Container) })
	}
}

// stopPatience is how long Stop tries to reach a node. After that it asks the ResourceManager,
// which knows better what became of the node, to end the container.
const stopPatience = 10 * time.Second

func (m *Master) halt(c Container) {
	ctx, cancel := context.WithTimeout(m.ctx, stopPatience)
	defer cancel()
	if err := m.nodes.Stop(ctx, c.Node, c.ID); err != nil && m.ctx.Err() == nil {
		m.log.WithError(err).WithField("container", c.ID.String()).Info("can't stop the container on its node; releases it instead")
		m.Release(c.ID)
	}
}

package am

import (
	"context"
	"fmt"
	"time"

	"heddle/am/client"
	"heddle/yarn/records"
)

// converse keeps the conversation with the ResourceManager going until ctx ends or it is over.
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
		// A stock ResourceManager allocates some time after it was asked, and tells with the next call: while something is
		// outstanding that comes sooner, at first.
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

// rest waits for the next call, which comes sooner if there is something to tell; it reports whether that is so.
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

// nudge ends the wait of a call that is held back whenever there is something to tell.
func (m *Master) nudge(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		}
		if err := m.rm.Nudge(ctx); err != nil && ctx.Err() == nil {
			m.log.WithError(err).Debug("The call under way could not be cut short")
		}
	}
}

// report turns what a call has brought into events.
func (m *Master) report(a *client.Allocation) {
	if a.Resynced {
		m.events.put(Resynced{})
	}
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
	if len(a.Nodes) > 0 {
		m.events.put(NodesUpdated{a.Nodes})
	}
	if len(a.Preemption) > 0 {
		m.events.put(PreemptionRequested{a.Preemption})
	}
}

func (m *Master) recovered(list []Container) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range list {
		m.containers[c.ID] = &tracked{Container: c, state: started}
	}
}

// startGrace is how long the answer to a start is waited for when the container is known to be over.
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

// Start starts a container that was allocated. What comes of it is an event; a container that is unknown, over, or started
// already is passed over.
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
		return // nobody is left to tell
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

// Stop ends a container; one that was not started is given back. It is over when ContainerCompleted says so.
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

// stopPatience is how long a node is tried to be reached for a container to be stopped. After that the ResourceManager,
// which knows better what has become of the node, is asked to see to it.
const stopPatience = 10 * time.Second

func (m *Master) halt(c Container) {
	ctx, cancel := context.WithTimeout(m.ctx, stopPatience)
	defer cancel()
	if err := m.nodes.Stop(ctx, c.Node, c.ID); err != nil && m.ctx.Err() == nil {
		m.log.WithError(err).WithField("container", c.ID.String()).Info("Released, as it can't be stopped directly")
		m.Release(c.ID)
	}
}

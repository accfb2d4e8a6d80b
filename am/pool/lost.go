package pool

import (
	"time"

	"heddle/yarn/records"
)

// The container of a lost executor ends with it, as a rule. One that hangs, or that a signal has stopped, is lost by its silence, and its container
// would stay: the pool would ask for no other one.

// lostLimit is how long a container may take to end after its executor was lost. Its exit code tells why.
const lostLimit = time.Second

// Lost returns the containers of executors that were lost since the last call.
func (p *Pool) Lost() (containers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	containers, p.gone = p.gone, nil
	return containers
}

// forget forgets a container that has ended or is given back, and reports whether its executor had come.
func (p *Pool) forget(container string) (came bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	came = p.came[container]
	delete(p.came, container)
	return came
}

// overdue returns the containers that should have ended by now with their executors. They are held no longer.
func (h *holder) overdue(now time.Time, lost []string) (release []records.ContainerID) {
	for _, name := range lost {
		if id, err := records.ParseContainerID(name); err == nil && h.held[id] {
			h.lost[id] = now
		}
	}
	for id, at := range h.lost {
		if h.held[id] && now.Sub(at) < lostLimit {
			continue
		}
		delete(h.lost, id)
		if h.held[id] {
			delete(h.held, id)
			release = append(release, id)
		}
	}
	return release
}

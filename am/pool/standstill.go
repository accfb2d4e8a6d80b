package pool

import "slices"

// Standstill says that a container is suspended, or continues. While it is suspended its executor may be silent for as long as it takes, keeps
// its tasks, and gets no others.
func (p *Pool) Standstill(container string, still bool) {
	p.mu.Lock()
	if still {
		p.still[container] = true
	} else {
		delete(p.still, container)
	}
	i := slices.IndexFunc(p.executors, func(e *executor) bool { return e.Container == container })
	if container == "" || i < 0 || p.executors[i].still == still {
		p.mu.Unlock()
		return
	}
	e := p.executors[i]
	e.still = still
	e.conn.Standstill(still)
	p.mu.Unlock()
	if !still {
		p.fill(e)
	}
	p.change()
}

// demand is for how many executors of so many slots there is work, and how many of those that are here can't do any. One that is suspended has
// to do with its own tasks only.
func (p *Pool) demand(slots int) (want, useless int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tasks := p.waiting.n + p.running
	for _, e := range p.executors {
		switch {
		case !e.still:
		case len(e.tasks) == 0:
			useless++
		default:
			tasks -= len(e.tasks)
			want++
		}
	}
	return want + (tasks+slots-1)/slots, useless
}

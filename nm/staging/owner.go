package staging

// owner is a user whose jobs have inputs here, with a part of the RAM disk. Simulations have one.
type owner struct {
	id       int32
	priority int32         // higher goes first
	used     int64         // bytes of copies, made or under way
	queue    fifo[request] // MQ
	fast     fifo[request] // MFL
}

// Own says whose a job is, before any input of it is wanted. Without it all jobs belong to one user.
func (m *Manager) Own(id Job, user, priority int32) {
	j := m.job(id)
	if j == nil || len(j.inputs) > 0 {
		return
	}
	for _, o := range m.owners {
		if o.id == user {
			o.priority, j.owner = priority, o
			return
		}
	}
	o := &owner{id: user, priority: priority}
	m.owners = append(m.owners, o)
	j.owner = o
}

// wants reports whether a user has copies, or requests that wait.
func (o *owner) wants() bool { return o.used > 0 || o.queue.len()+o.fast.len() > 0 }

// share returns what each user may have of the RAM disk who wants room, whatever the others have.
func (m *Manager) share() int64 {
	users := int64(0)
	for _, o := range m.owners {
		if o.wants() {
			users++
		}
	}
	return m.cfg.Capacity / max(users, 1)
}

// nextRequest returns the request that is looked at next, and whose it is: fast lanes first, then the highest priority, then who has the least in memory. nil: there is none that
// may begin.
func (m *Manager) nextRequest() (best *owner, from *fifo[request]) {
	if m.fasts > 0 {
		for _, o := range m.owners {
			if o.fast.len() > 0 && o.before(best) {
				best = o
			}
		}
		return best, &best.fast
	}
	if m.slow >= m.atATime() {
		return nil, nil
	}
	for _, o := range m.owners {
		if o.queue.len() > 0 && o.before(best) {
			best = o
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, &best.queue
}

// before reports whether a user's request goes before another's.
func (o *owner) before(other *owner) bool {
	return other == nil || o.priority > other.priority || o.priority == other.priority && o.used < other.used
}

// reclaim makes room for a copy of a user within the user's share: copies go that no task reads, of users above their share, the lowest priority and
// the largest part first. No user falls below the own share, and nothing goes if that isn't enough. It reports whether there is room.
func (m *Manager) reclaim(o *owner, bytes int64) bool {
	share := m.share()
	if o.used+bytes > share {
		return false
	}
	need := m.used + bytes - m.cfg.Capacity
	for _, v := range m.owners {
		if v != o {
			need -= min(max(v.used-share, 0), m.idle(v))
		}
	}
	if need > 0 {
		return false
	}
	for !m.room(bytes) {
		var most *owner
		for _, v := range m.owners {
			if v != o && v.used > share && m.idle(v) > 0 && (most == nil || v.priority < most.priority || v.priority == most.priority && v.used > most.used) {
				most = v
			}
		}
		if most == nil {
			return false
		}
		m.evictIdle(most)
	}
	return true
}

// idle returns how many bytes a user's copies have that no task reads.
func (m *Manager) idle(o *owner) (bytes int64) {
	for _, j := range m.holders {
		if j.owner == o {
			for i := range j.inputs {
				if x := &j.inputs[i]; x.status == staged && x.use == unread {
					bytes += x.bytes
				}
			}
		}
	}
	return bytes
}

// evictIdle removes one copy of a user that no task reads, of the job that came last.
func (m *Manager) evictIdle(o *owner) {
	for k := len(m.holders) - 1; k >= 0; k-- {
		j := m.holders[k].job
		if j.owner != o {
			continue
		}
		for i := len(j.inputs) - 1; i >= 0; i-- {
			if x := &j.inputs[i]; x.status == staged && x.use == unread {
				m.remove(j, i)
				return
			}
		}
	}
}

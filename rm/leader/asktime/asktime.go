// Package asktime remembers when an application asked for the containers that it waits for. A leader has one Times for each live
// application: it updates them with each call of the ApplicationMaster, and takes a time out for each grant, to put on record how long
// the container was waited for, and whether near to its input. It is soft state: after a change of leaders a container counts as asked for when its
// ApplicationMaster has asked again.
package asktime

import "heddle/rm/scheduler"

// Times are those of the pending asks of one application. The zero value has none. Its methods are for one goroutine.
type Times struct {
	pending map[key]*pending
}

// key is what grants have in common with asks.
type key struct {
	priority int32
	request  int64
}

// pending are the asks of one key, in the order in which they came.
type pending struct {
	count   int32
	placed  bool // hosts or racks were named
	batches []batch
}

type batch struct {
	count int32
	at    int64 // ms since 1970
}

// Update takes new totals into account that came now, in ms since 1970. As in YARN, the row for any place says how many containers are
// wanted.
func (t *Times) Update(asks []scheduler.Ask, now int64) {
	for i := range asks {
		ask := &asks[i]
		if ask.Name != scheduler.Any {
			continue
		}
		k := key{ask.Priority, ask.AllocationRequestID}
		p := t.pending[k]
		if p == nil {
			if ask.Count <= 0 {
				continue
			}
			if t.pending == nil {
				t.pending = map[key]*pending{}
			}
			p = &pending{}
			t.pending[k] = p
		}
		p.set(ask.Count, now)
		if p.count == 0 {
			delete(t.pending, k)
		}
	}
	for i := range asks {
		if ask := &asks[i]; ask.Name != scheduler.Any && ask.Count > 0 {
			if p := t.pending[key{ask.Priority, ask.AllocationRequestID}]; p != nil {
				p.placed = true
			}
		}
	}
}

func (p *pending) set(count int32, now int64) {
	if more := count - p.count; more > 0 {
		p.batches = append(p.batches, batch{more, now})
	}
	for p.count > count && len(p.batches) > 0 { // the newest asks are those that are taken back
		last := &p.batches[len(p.batches)-1]
		take := min(last.count, p.count-count)
		last.count -= take
		p.count -= take
		if last.count == 0 {
			p.batches = p.batches[:len(p.batches)-1]
		}
	}
	p.count = max(count, 0)
}

// Take removes a container that is granted, and returns when it was asked for, in ms since 1970; 0 if that isn't known. Grants serve the
// asks that have waited longest. far reports whether hosts or racks were named
// while such containers were pending, and it is on no such host.
func (t *Times) Take(priority int32, request int64, locality scheduler.Locality) (at int64, far bool) {
	k := key{priority, request}
	p := t.pending[k]
	if p == nil || len(p.batches) == 0 {
		return 0, false
	}
	first := &p.batches[0]
	at = first.at
	first.count--
	p.count--
	if first.count == 0 {
		p.batches = p.batches[1:]
	}
	if p.count <= 0 {
		delete(t.pending, k)
	}
	return at, p.placed && locality != scheduler.NodeLocal
}

// Clear forgets all asks: the application's next attempt begins without any.
func (t *Times) Clear() { clear(t.pending) }

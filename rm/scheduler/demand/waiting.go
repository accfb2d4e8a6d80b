package demand

import "slices"

// Awaited are the demands that prefer hosts and racks, by the numbers of their names. The zero value has no names.
type Awaited struct {
	waiters []waiters
	awaited []bool // names that have waiters
}

// waiters are the demands that prefer a host or rack.
type waiters struct {
	list []*Demand
	full int // so many that those that wait no more are to be forgotten
}

// Grow makes room for names that are new.
func (w *Awaited) Grow(names int) {
	for len(w.waiters) < names {
		w.waiters, w.awaited = append(w.waiters, waiters{}), append(w.awaited, false)
	}
}

// Forget drops a name that no demand prefers any more.
func (w *Awaited) Forget(name int32) { w.waiters[name], w.awaited[name] = waiters{}, false }

// At reports whether demands prefer a name, or did.
func (w *Awaited) At(name int32) bool { return w.awaited[name] }

// Await enters a demand among those that prefer a name, after forgetting those that don't any more.
func (w *Awaited) Await(name int32, d *Demand) {
	p := d.place(name)
	if p.Count == 0 || p.waits {
		return
	}
	p.waits = true
	at := &w.waiters[name]
	if len(at.list) >= max(at.full, minWaiters) {
		at.list = slices.DeleteFunc(at.list, func(d *Demand) bool {
			if d.gone {
				return true
			}
			p := d.place(name)
			p.waits = p.Count > 0
			return !p.waits
		})
		at.full = 2 * len(at.list)
	}
	at.list = append(at.list, d)
	w.awaited[name] = true
}

// minWaiters is the number of demands below which forgetting some isn't worth it.
const minWaiters = 8

// Wake lets the demands that prefer a host, or rack, be tried there again. wake is called for those that waited for that.
func (w *Awaited) Wake(name int32, host bool, wake func(*Demand)) {
	list := w.waiters[name].list
	left := list[:0]
	for _, d := range list {
		if d.gone {
			continue
		}
		left = append(left, d)
		if host {
			d.Hosts = true
		} else {
			d.Racks = true
		}
		if d.Why == NoPlace || d.Why == BehindOwn {
			wake(d)
		}
	}
	clear(list[len(left):])
	w.waiters[name].list, w.awaited[name] = left, len(left) > 0
}

// Parked are the demands that wait for room on nodes that their applications want, or below their queues' limits. The zero value is empty.
type Parked struct{ list []*Demand }

// Add enters a demand, if it waits for such a thing.
func (p *Parked) Add(d *Demand) {
	if d.Why != NoPlace && d.Why != Unmet && !d.Why.Counts() && !d.parked {
		d.parked = true
		p.list = append(p.list, d)
	}
}

// Wake calls wake for the demands for which a condition holds, and takes them out.
func (p *Parked) Wake(may func(*Demand) bool, wake func(*Demand)) {
	list := p.list
	p.list = p.list[:0]
	for _, d := range list {
		switch {
		case d.gone || d.Why == Untried || d.Why == NoPlace || d.Why == Unmet || d.Why.Counts():
			d.parked = false
		case may(d):
			d.parked = false
			wake(d)
		default:
			p.list = append(p.list, d)
		}
	}
	clear(list[len(p.list):])
}

// Empty reports whether there is nothing to wake.
func (p *Parked) Empty() bool { return len(p.list) == 0 }

// Timed are the demands that wait for better places, or for the policies of their leaves, until a time. The zero value is empty.
type Timed struct{ list []*Demand }

// Add schedules the next try of a demand at a time, in ms.
func (t *Timed) Add(d *Demand, until int64) {
	d.Until = until
	if !d.timed {
		d.timed = true
		t.list = append(t.list, d)
	}
}

// Wake takes out the demands whose time has come, and calls wake for those that wait for it. later is called with the times of the others.
func (t *Timed) Wake(now int64, wake func(*Demand), later func(int64)) {
	t.list = slices.DeleteFunc(t.list, func(d *Demand) bool {
		switch {
		case d.gone:
			return true
		case d.Until > now:
			later(d.Until)
			return false
		}
		d.Until, d.timed = 0, false
		if d.Why == NoPlace || d.Why == Waits {
			d.Racks = true
			wake(d)
		}
		return true
	})
}

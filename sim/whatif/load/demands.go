package load

import "heddle/rm/scheduler"

// place names a row of an application's requests.
type place struct {
	priority int32
	id       int64
	name     string
}

// Demands are how many containers an application asks for, row by row. Rows are counted down by grants as the scheduler does it.
// The zero value asks for nothing.
type Demands struct {
	rows map[place]int32
	open int64 // containers, in the rows for any node
}

// Open is how many containers it waits for.
func (d *Demands) Open() int64 { return d.open }

// Set enters what a row asks for now, and returns by how much that is more than before.
func (d *Demands) Set(a *scheduler.Ask) (more int32) {
	k := place{a.Priority, a.AllocationRequestID, a.Name}
	more = a.Count - d.rows[k]
	d.put(k, a.Count)
	return more
}

// Add enters that a row asks for more, or less, and returns what it asks for then. Less than nothing is nothing.
func (d *Demands) Add(a *scheduler.Ask) (count int32) {
	k := place{a.Priority, a.AllocationRequestID, a.Name}
	count = max(d.rows[k]+a.Count, 0)
	d.put(k, count)
	return count
}

func (d *Demands) put(k place, count int32) {
	if k.name == scheduler.Any {
		d.open += int64(count - d.rows[k])
	}
	switch {
	case count == 0:
		delete(d.rows, k)
	case d.rows == nil:
		d.rows = map[place]int32{k: count}
	default:
		d.rows[k] = count
	}
}

// Served counts the rows down that a grant serves.
func (d *Demands) Served(priority int32, id int64, host, rack string, near scheduler.Locality) {
	d.take(place{priority, id, scheduler.Any})
	if len(d.rows) == 0 {
		return
	}
	if near == nodeLocal {
		d.take(place{priority, id, host})
	}
	if near <= rackLocal {
		d.take(place{priority, id, rack})
	}
}

const (
	nodeLocal scheduler.Locality = 0
	rackLocal scheduler.Locality = 1
)

func (d *Demands) take(k place) {
	if n := d.rows[k]; n > 0 {
		d.put(k, n-1)
	}
}

// Clear forgets all rows.
func (d *Demands) Clear() { d.rows, d.open = nil, 0 }

// Waits are the times at which containers were asked for that haven't been granted yet.
type Waits struct {
	asked []wait // the first is served first
	open  int64
}

type wait struct {
	at    int64
	count int64
}

// Ask enters that n containers more are asked for at a time, or, if n is negative, that so many are withdrawn: those asked for last.
func (w *Waits) Ask(at int64, n int64) {
	if n > 0 {
		w.asked = append(w.asked, wait{at, n})
		w.open += n
		return
	}
	for n < 0 && len(w.asked) > 0 {
		last := &w.asked[len(w.asked)-1]
		less := min(last.count, -n)
		last.count, w.open, n = last.count-less, w.open-less, n+less
		if last.count == 0 {
			w.asked = w.asked[:len(w.asked)-1]
		}
	}
}

// Grant takes the request that waits longest, and returns when it was made; now if none waits.
func (w *Waits) Grant(now int64) (at int64) {
	if len(w.asked) == 0 {
		return now
	}
	first := &w.asked[0]
	at = first.at
	w.open--
	if first.count--; first.count == 0 {
		if w.asked = w.asked[1:]; len(w.asked) == 0 {
			w.asked = nil
		}
	}
	return at
}

// Each tells of the requests that wait.
func (w *Waits) Each(tell func(at, count int64)) {
	for _, x := range w.asked {
		tell(x.at, x.count)
	}
}

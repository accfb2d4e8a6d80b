package receipt

import "heddle/rm/ledger/course"

// anyPriority stands for whatever request is the most urgent one.
const anyPriority = -1 << 31

// awaited adds a wait since a time, divided by the limits that held requests of a priority meanwhile.
func (c *chain) awaited(kind Kind, since int64, priority int32) {
	if since = max(since, c.of.Submitted); since >= c.at {
		return
	}
	parts := c.limits(since, c.at, priority)
	for i := len(parts) - 1; i >= 0; i-- {
		s := parts[i]
		s.Kind = kind
		c.steps = append(c.steps, s)
	}
	c.at = since
}

// limits divides a time by the limits that held requests of a priority. Where none was noted there is no detail. A wait that was noticed later
// than it began was held by the same limit before.
func (c *chain) limits(from, to int64, priority int32) (parts []Step) {
	held := map[int32]string{}
	now, at := "", from
	add := func(until int64, limit string) {
		switch n := len(parts); {
		case until <= at:
		case n > 0 && parts[n-1].Detail == limit:
			parts[n-1].To = until
		default:
			parts = append(parts, Step{From: at, To: until, Detail: limit})
		}
		at = max(at, until)
	}
	for _, w := range c.notes() {
		if w.At >= to {
			break
		}
		if w.lost {
			clear(held)
		} else if held[w.Priority] = w.Limit; w.Limit == "" {
			delete(held, w.Priority)
		}
		next := pick(held, priority)
		switch {
		case now == "" && next != "" && w.Begins:
			add(w.At, next)
		case next != now:
			add(w.At, now)
		}
		now = next
	}
	add(to, now)
	return parts
}

// note holds a note of a limit; lost says that from its time on nothing is known.
type note struct {
	course.Wait
	lost bool
}

// notes returns what was noted, in the order of time.
func (c *chain) notes() (all []note) {
	k := c.of.Course
	if k == nil {
		return nil
	}
	for i, w := range k.Waits {
		if i == course.MaxWaits/2 && k.LostFrom > 0 {
			all = append(all, note{course.Wait{At: k.LostFrom}, true})
		}
		all = append(all, note{w, false})
	}
	return all
}

// pick returns the limit of a priority, or that of the most urgent one.
func pick(held map[int32]string, priority int32) string {
	if priority != anyPriority {
		return held[priority]
	}
	most, limit := int32(0), ""
	for p, l := range held {
		if limit == "" || p < most {
			most, limit = p, l
		}
	}
	return limit
}

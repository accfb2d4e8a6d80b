package partition

import "time"

// Plan is the sizing until the next window.
type Plan struct {
	Wait     time.Duration // mean wait of the short tasks that started in the last window
	Closed   int           // nodes of the general partition that are closed to new long work: the first ones of an order that stays the same
	Requests int           // nodes of the general partition that are asked to suspend a long task, once
}

// Sizer plans windows. The zero value isn't ready; use NewSizer.
type Sizer struct {
	settings Settings
	ends     time.Duration
	sum      float64
	n        int
}

// NewSizer returns a Sizer whose first window begins at a time. The settings have Dice.
func NewSizer(s Settings, now time.Duration) *Sizer {
	return &Sizer{settings: s, ends: now + s.Dice.Window}
}

// Waited says that so many short tasks started, after so long a wait in the mean, since their job was submitted. Nodes report that with
// their heartbeats.
func (z *Sizer) Waited(mean time.Duration, tasks int) {
	z.sum += float64(mean) * float64(tasks)
	z.n += tasks
}

// Ends returns when the window ends.
func (z *Sizer) Ends() time.Duration { return z.ends }

// Next ends a window, and plans the next one for a cluster of so many nodes. The caller calls it when Ends has come; windows that were missed are
// left out.
func (z *Sizer) Next(now time.Duration, nodes int) Plan {
	d := z.settings.Dice
	for z.ends <= now {
		z.ends += d.Window
	}
	var p Plan
	if z.n > 0 {
		p.Wait = time.Duration(z.sum / float64(z.n))
	}
	z.sum, z.n = 0, 0
	x := float64(p.Wait) / float64(d.Longest)
	least, most := z.settings.Size(nodes), part(d.Most, nodes)
	if !d.NoSizing {
		p.Closed = int(d.Sizing.Of(x) * float64(most-least))
	}
	if !d.NoRequests {
		p.Requests = min(int(d.Preemption.Of(x)*float64(least+p.Closed)*d.Multiplier), nodes-least)
	}
	return p
}

// Draw draws n of the nodes, each at most once, and puts them first: those that are asked to suspend long work (section 3.4.2). Nodes that
// are closed to it aren't drawn (Plan). Random returns a number below its argument.
func Draw[T any](nodes []T, n int, random func(below int) int) []T {
	n = min(n, len(nodes))
	for i := range n {
		k := i + random(len(nodes)-i)
		nodes[i], nodes[k] = nodes[k], nodes[i]
	}
	return nodes[:n]
}

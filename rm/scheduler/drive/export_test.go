package drive

import "heddle/rm/scheduler"

// Remembered names what is remembered of containers, applications and nodes, with how many there are of it.
func (d *Driver) Remembered() map[string]int {
	out := map[string]int{
		"applications": len(d.byID), "killable": len(d.killable), "notes": len(d.notes), "growing": len(d.growing.list), "suspended": len(d.sus.of), "past": len(d.sus.past),
		"abilities": len(d.sus.nodes), "rates": len(d.sus.slow), "used": len(d.sus.used), "progress": len(d.sus.nears), "begun": len(d.sus.begun), "swaps": len(d.wanted), "stopped": len(d.sus.stopped),
		"vain": len(d.sus.vain), "where those grow": len(d.growing.at),
	}
	for what, n := range out {
		if n == 0 {
			delete(out, what)
		}
	}
	return out
}

// Past is what is remembered of a container's suspensions: how many there were, for how many ms together, and until when it isn't chosen.
func (d *Driver) Past(h scheduler.ContainerHandle) (times int, total, later int64) {
	p := d.sus.past[d.ContainerID(h)]
	return p.times, p.total, p.later
}

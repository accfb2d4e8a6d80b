package hopper

import (
	"fmt"

	"heddle/rm/scheduler/policy/leaf"
)

// Standing says how large an application is for the policy, and where that puts it.
func (p *Policy) Standing(a leaf.App) string {
	x := p.apps.Get(a.Handle)
	if x == nil || x.slots == 0 && x.virtual == 0 {
		return ""
	}
	text := fmt.Sprintf("virtual size %.1f: %.0f tasks, β %.3g, α %.2g; %d slots kept for copies", x.virtual, x.tasks, x.beta, x.alpha, x.kept)
	if others := p.keeps - x.kept; others > 0 {
		text += fmt.Sprintf(", and %d for those of others", others)
	}
	before := 0
	for _, m := range p.list {
		if y := p.apps.Get(m.app); m.app != a.Handle && y.slots > 0 && (y.key < x.key || y.key == x.key && y.seq < x.seq) {
			before++
		}
	}
	text += fmt.Sprintf("; %d applications are smaller; ", before)
	held := x.tasksHeld(a.Containers)
	switch {
	case x.slots > 0:
		return text + fmt.Sprintf("it has %d of its %d slots", held, x.slots)
	case held > 0:
		return text + fmt.Sprintf("there is no slot left for it, and it has %d of others", held)
	}
	return text + "there is no slot left for it"
}

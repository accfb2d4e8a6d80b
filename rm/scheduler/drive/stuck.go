package drive

import (
	"maps"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Containers that run when their node or queue is made smaller run on, as in YARN, though they hold more than there is. Those that are suspended at
// that time have the same right: one whose claim doesn't fit any more gets it nevertheless, once no other can make room for it. Else it would be
// suspended for ever. It waits for those that run on its node, or in the queue whose maximum it exceeds, as they end some day; not for others that
// are suspended, nor for an ApplicationMaster that waits for such a container itself.

// returns reports whether room waits for a container, and it resumes in a moment.
func (x *suspender) returns(s *suspended) bool {
	return s.aside && (s.exceeds || x.d.Of(s.container).CanHold(s.container, x.d.Claim(s.container)))
}

// setAsideStuck has those containers return that would be suspended for ever, the longest suspended first. One at a time on each node, and in each
// queue: the next one waits for it.
func (x *suspender) setAsideStuck() {
	for i := 0; i < len(x.of); {
		standing := x.standing(true)
		for again := false; i < len(x.of) && !again; i++ {
			s := &x.of[i]
			if again = !x.returns(s) && x.d.Stuck(s.container, standing); !again {
				continue
			}
			s.exceeds = true
			if !s.aside {
				x.wait(s, "nothing else runs where it lacks room")
			}
		}
	}
}

// standing lists who makes no room: containers that others have suspended or frozen, and those of the list that are suspended. One that returns makes
// room when it ends. Those that get their claim part by part run, maybe with far too little; overdue says that they are listed, too. An
// ApplicationMaster is listed as well while a container of its application lacks something: it doesn't end before that does.
func (x *suspender) standing(overdue bool) scheduler.Standing {
	still := maps.Clone(x.stopped)
	for i := range x.of {
		s := &x.of[i]
		held := x.d.Held(s.container)
		idle := held == waiting(x.d.Claim(s.container)) || held[records.VCores] == 0 || overdue && x.d.now >= x.due(s) // the first also where an earlier leader has set its room aside
		c := &x.d.containers[s.container]
		c.returns = x.returns(s)
		c.stuck = idle && !c.returns
	}
	return x.d.Standing(func(h scheduler.ContainerHandle) bool {
		c := &x.d.containers[h]
		if master := x.d.apps[c.app].master; master != noContainer && !(c.suspended && c.returns) {
			still[master] = true
		}
		if c.suspended {
			return c.stuck
		}
		return x.d.Held(h)[records.VCores] == 0
	}, still)
}

// regain gives a container its claim, if there is room, or no other will make any.
func (x *suspender) regain(h scheduler.ContainerHandle) bool {
	claim := x.d.Claim(h)
	return x.d.Of(h).SetHeld(h, claim) || x.d.Stuck(h, x.standing(false)) && x.d.Of(h).NoteHeld(h, claim)
}

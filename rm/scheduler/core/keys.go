package core

import (
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/ranking"
)

// seedKey sets what of an application's key hangs on nothing that it holds or asks for.
func (s *Core) seedKey(a *App, r ranking.Rule) {
	s.Rankings.Reset(a.El, a.Spec.Seq)
	if r == ranking.ByPriority {
		s.Rankings.Key(a.El).Priority = a.Spec.Priority
	}
	s.appKey(a, r)
}

// appKey computes the key of an application in its leaf, and reports whether it has changed. By priority it never does.
func (s *Core) appKey(a *App, r ranking.Rule) bool {
	return r != ranking.ByPriority && s.Policy.AppKey(a, r)
}

// userKey takes the key of a user from its first application, and reports whether it has changed.
func (s *Core) userKey(u *User) (changed bool) {
	k, first := &ranking.Never, s.Rankings.First(&u.Apps, ^ranking.Mask(0))
	if first != ranking.Nothing {
		k = s.Rankings.Key(first)
	}
	if mine := s.Rankings.Key(u.el); !mine.Same(k) {
		*mine, changed = *k, true
	}
	if u.Apps.Rule == ranking.ByDominance {
		var of measure.Shares
		if first != ranking.Nothing {
			of = *s.Rankings.Shares(first)
		}
		if mine := s.Rankings.Shares(u.el); *mine != of {
			*mine, changed = of, true
		}
	}
	return changed
}

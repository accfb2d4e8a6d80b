package core

import (
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/order"
)

// seedKey sets what of an application's key hangs on nothing that it holds or asks for.
func (s *Core) seedKey(a *App, r order.Rule) {
	s.Orders.Reset(a.El, a.Spec.Seq)
	if r == order.ByPriority {
		s.Orders.Key(a.El).Priority = a.Spec.Priority
	}
	s.appKey(a, r)
}

// appKey computes the key of an application in its leaf, and reports whether it has changed. By priority it never does.
func (s *Core) appKey(a *App, r order.Rule) bool {
	return r != order.ByPriority && s.Policy.AppKey(a, r)
}

// userKey takes the key of a user from its first application, and reports whether it has changed.
func (s *Core) userKey(u *User) (changed bool) {
	k, first := &order.Never, s.Orders.First(&u.Apps, ^order.Mask(0))
	if first != order.Nothing {
		k = s.Orders.Key(first)
	}
	if mine := s.Orders.Key(u.el); !mine.Same(k) {
		*mine, changed = *k, true
	}
	if u.Apps.Rule == order.ByDominance {
		var of measure.Shares
		if first != order.Nothing {
			of = *s.Orders.Shares(first)
		}
		if mine := s.Orders.Shares(u.el); *mine != of {
			*mine, changed = of, true
		}
	}
	return changed
}

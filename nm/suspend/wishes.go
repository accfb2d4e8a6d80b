package suspend

import "heddle/yarn/records"

// Wishes are the levels that are wanted of a container, as kept on disk. The ResourceManager and the container's own application, by its
// ApplicationMaster or its owner, are counted apart: a container is suspended as long as one of them wants that, and has what both leave it.
// Neither undoes what the other has done.
//
// The targets of the fields never change.
type Wishes struct {
	Suspended bool   `json:"suspended,omitempty"` // Order suspends it
	Order     *Order `json:"order,omitempty"`     // the result of both; nil: there was never a wish
	Manager   *Order `json:"manager,omitempty"`   // what the ResourceManager wants, if there is Own; without, that is Order
	Own       *Order `json:"own,omitempty"`       // what the application wants; nil: that it runs
}

// fit returns an order for a container of a size on a node that can take memory back, or not: the machine may have lost its swap since it was given, or
// the size was changed.
func (o Order) fit(size records.Resource, reclaim bool) Order {
	if o.Check(size, reclaim) == nil {
		return o
	}
	o.Held = size
	if !o.Level.Still() {
		o.Level = Running
	} else {
		o.Level = Frozen
	}
	return o
}

// Wanted returns what a container of a size is to be.
func (w Wishes) Wanted(size records.Resource, reclaim bool) Order {
	switch {
	case w.Order != nil:
		return w.Order.fit(size, reclaim)
	case w.Suspended:
		return Order{Level: Frozen, Held: size}
	}
	return Order{Held: size}
}

// ByManager returns what the ResourceManager wants of a container.
func (w Wishes) ByManager(size records.Resource, reclaim bool) Order {
	if w.Own != nil {
		return Wishes{Order: w.Manager}.Wanted(size, reclaim)
	}
	return w.Wanted(size, reclaim)
}

// Ask is w after the ResourceManager wants something.
func (w Wishes) Ask(manager Order) Wishes { return both(manager, w.Own) }

// AskOwn is w after the application wants something; nil: that the container runs.
func (w Wishes) AskOwn(own *Order, size records.Resource, reclaim bool) Wishes {
	return both(w.ByManager(size, reclaim), own)
}

// both returns what comes of two wishes.
func both(manager Order, own *Order) Wishes {
	if own == nil {
		return Wishes{Suspended: manager.Level.Still(), Order: &manager}
	}
	o, frozen := manager, &manager
	if manager.Level != Frozen {
		frozen = own
	}
	o.Level, o.Held = max(manager.Level, own.Level), manager.Held.Min(own.Held)
	if o.Level == Frozen && o.Held.MemoryMB() < frozen.Held.MemoryMB() {
		o.Level = Reclaimed
	}
	if own.Level.Still() {
		o.BreathEvery = own.BreathEvery
	}
	return Wishes{Suspended: o.Level.Still(), Order: &o, Manager: &manager, Own: own}
}

// Reset is w after the processes have ended from which something was taken, of a container of a size.
func (w Wishes) Reset(size records.Resource) Wishes {
	if w.Order == nil {
		return Wishes{}
	}
	return Wishes{Order: &Order{Held: size, Version: w.Order.Version}}
}

// Resize is w after a container was granted another size.
func (w Wishes) Resize(from, to records.Resource) Wishes {
	for _, o := range []**Order{&w.Order, &w.Manager, &w.Own} {
		if *o != nil {
			changed := **o
			changed.Held = resized(changed.Held, from, to)
			*o = &changed
		}
	}
	return w
}

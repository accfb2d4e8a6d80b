// Package swap suspends containers at the request of their own ApplicationMasters: to give another request the room, or to keep an attempt
// that its copy has overtaken. The driver decides (drive.Driver.Swap), and package level carries the decision out. Wishes that can't be met
// come back with the reason; the application continues without.
//
// The package keeps no state. The ledger records the beneficiary of a suspension, and ApplicationMasters repeat their wishes to the next
// leader.
package swap

import (
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Wish is what an application wants done with one of its containers.
type Wish struct {
	Container records.ContainerID
	Resume    bool  // it is to resume; else to be suspended
	Priority  int32 // of the request that gets the room, and its allocation request id
	Request   int64 // drive.AnyRequest: the next request gets it
}

// Refused is a container that isn't suspended, and why.
type Refused struct {
	Container records.ContainerID
	Reason    string
}

// MaxTogether is how many wishes one call may have.
const MaxTogether = 64

// Scheduler is what this package tells the driver, and asks it (eventlog.Recorder).
type Scheduler interface {
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
	Suspended(h scheduler.ContainerHandle) (since int64, by string, ok bool)
}

// Swaps are those of a leadership. The methods are for the loop's operations.
type Swaps struct {
	Scheduler Scheduler
	// HandleOf returns the scheduler's handle of a container; ok is false if it has none.
	HandleOf func(*ledger.Container) (h scheduler.ContainerHandle, ok bool)
	Log      *logrus.Entry
}

// Enter enters the wishes of an application, for the next decision. It returns the containers that it asked to be suspended, and the refused ones.
func (s *Swaps) Enter(app *ledger.Application, wishes []Wish) (asked []records.ContainerID, refused []Refused) {
	for i := range wishes {
		w := &wishes[i]
		reason := fmt.Sprintf("a call may name at most %d containers", MaxTogether)
		if w.Resume || i < MaxTogether {
			reason = s.enter(app, w)
		}
		switch at := slices.Index(asked, w.Container); {
		case w.Resume || reason != "":
			if at >= 0 { // the last word on a container holds
				asked = slices.Delete(asked, at, at+1)
			}
			if !w.Resume {
				refused = append(refused, s.refuse(w.Container, reason))
			}
		case at < 0:
			asked = append(asked, w.Container)
		}
	}
	return asked, refused
}

// Undecided returns those of the containers that were asked to be suspended that live on as before, once the scheduler has decided.
func (s *Swaps) Undecided(app *ledger.Application, asked []records.ContainerID) (refused []Refused) {
	for _, id := range asked {
		if c := app.Containers.Get(id); c != nil && c.Live() && !s.stands(c) {
			refused = append(refused, s.refuse(id, "that would not make enough room for the request, or it has been served"))
		}
	}
	return refused
}

func (s *Swaps) refuse(id records.ContainerID, reason string) Refused {
	s.Log.WithField("container", id).Info("container not suspended at its application's request: " + reason)
	return Refused{id, reason}
}

// enter tells the driver of a wish. It returns why that can't be.
func (s *Swaps) enter(app *ledger.Application, w *Wish) string {
	c := app.Containers.Get(w.Container)
	if c == nil || !c.Live() {
		return "it is no container of the application, or has ended"
	}
	h, ok := s.HandleOf(c)
	switch {
	case !ok:
		return "its node isn't there"
	case w.Resume:
		if s.own(c) {
			s.Scheduler.Apply(&eventlog.Event{Op: eventlog.Unswap, Container: h})
		}
		return ""
	case s.stands(c) && s.own(c):
		return "" // the answer was lost, or an earlier leader has done it
	case c.State == ledger.ContainerAllocated:
		return "it has not been started yet"
	}
	change := eventlog.Event{Op: eventlog.Swap, Container: h, Priority: w.Priority, Request: w.Request}
	if !s.Scheduler.Apply(&change) {
		return change.Err.Error()
	}
	return ""
}

// stands reports whether the driver suspends a container.
func (s *Swaps) stands(c *ledger.Container) bool {
	h, ok := s.HandleOf(c)
	if ok {
		_, _, ok = s.Scheduler.Suspended(h)
	}
	return ok
}

// own reports whether, by the record, a container is suspended for its own application, or without a beneficiary. Earlier releases
// don't record the beneficiary: then the driver knows it.
func (s *Swaps) own(c *ledger.Container) bool {
	by := c.Suspension().App
	return c.Level == ledgerpb.Level_RUNNING || by == c.ID.Attempt.App || by == (records.ApplicationID{})
}

// Abandon has those containers of an application resume that are suspended for it, as its ApplicationMaster is gone.
func (s *Swaps) Abandon(app *ledger.Application) {
	for c := range app.Containers.All() {
		if h, ok := s.HandleOf(c); ok && c.Live() && c.Level != ledgerpb.Level_RUNNING && s.own(c) {
			s.Scheduler.Apply(&eventlog.Event{Op: eventlog.Unswap, Container: h})
		}
	}
}

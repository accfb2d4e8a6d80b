// Package preemption is the ApplicationMaster's side of preemption: it warns of containers that the application will lose, and shows these
// warnings to people. The driver (rm/scheduler/drive) chooses the containers.
//
// A leader has one Warnings for each live application. It adds containers as the driver decides, and puts a Message into each
// answer to the ApplicationMaster's heartbeats.
package preemption

import (
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Message tells an ApplicationMaster which containers it will lose.
type Message struct {
	// Strict says that these very containers will go; otherwise any of the same size will do as well.
	Strict     bool
	Containers []records.ContainerID
	// Minimum times Count is what is to be given back, in units of the smallest container, unless it is strict.
	Minimum records.Resource
	Count   int32
	New     bool // the ApplicationMaster learns of some of the containers for the first time
}

// Warnings are the containers that an application will lose. The zero value has none. Its methods are for the loop's operations.
type Warnings struct {
	containers []records.ContainerID
	known      int // how many of them the ApplicationMaster has been told of
}

// Add adds a container that the application will lose.
func (w *Warnings) Add(id records.ContainerID) { w.containers = append(w.containers, id) }

// Clear forgets all, for a new attempt.
func (w *Warnings) Clear() { *w = Warnings{} }

// Tell makes the message for an attempt's next answer. Capacity queues announce each container once, Fair queues again and
// again while it lives (Hadoop: FiCaSchedulerApp.getAllocation, FSAppAttempt.getPreemptionContainerIds). live returns a container, nil if
// it isn't live. smallest is the smallest container that the cluster gives.
func (w *Warnings) Tell(
	attempt records.AttemptID, kind queue.Kind, smallest records.Resource, live func(records.ContainerID) *ledger.Container,
) (m Message) {
	m.New = len(w.containers) > w.known
	defer func() { w.known = len(w.containers) }()
	var lost records.Resource
	for _, id := range w.containers {
		if c := live(id); c != nil && id.Attempt == attempt {
			m.Containers = append(m.Containers, id)
			lost = lost.Add(c.Resource)
		}
	}
	w.containers = nil
	if len(m.Containers) == 0 {
		return m
	}
	if m.Strict = kind == queue.Fair; m.Strict {
		w.containers = m.Containers
		return m
	}
	m.Minimum = smallest
	for i, n := range m.Minimum {
		if n > 0 {
			m.Count = max(m.Count, int32((lost[i]+n-1)/n))
		}
	}
	return m
}

// Loss is a container that its application is to lose.
type Loss struct {
	Container records.ContainerID
	Until     int64 // when it is killed unless others give enough back, in ms since 1970; 0: when its room is needed
	Reason    string
}

// Losses returns the containers that an application is to lose, by id. handleOf returns the scheduler's handle of a container, and loss what the
// driver has decided of it (drive.Driver.Loss).
func Losses(
	app *ledger.Application, handleOf func(*ledger.Container) (scheduler.ContainerHandle, bool),
	loss func(scheduler.ContainerHandle) (until int64, reason string, ok bool),
) (out []Loss) {
	for c := range app.Containers.All() {
		h, known := handleOf(c)
		if !c.Live() || !known {
			continue
		}
		if until, reason, ok := loss(h); ok {
			out = append(out, Loss{Container: c.ID, Until: until, Reason: reason})
		}
	}
	return out
}

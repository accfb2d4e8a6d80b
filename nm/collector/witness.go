package collector

import (
	"time"

	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/monitor"
	"heddle/yarn/flow"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Witness publishes what becomes of a node's containers. All its fields must be set.
type Witness struct {
	Publisher *Publisher
	Node      records.NodeID
	Web       string // address of the node's pages
	// Container returns a container that is here.
	Container func(records.ContainerID) (*container.Container, error)
}

// add publishes an entity, but of containers that ResourceManagers don't know.
func (w *Witness) add(id records.ContainerID, e flow.Entity) {
	if !allocation.IsOnLent(id) {
		w.Publisher.Add(id.Attempt.App, e)
	}
}

// Localizing returns what is to be told that a container has its files, so that the witness hears of it; next, if any, is told, too. Like Observing, Beside
// and Measuring it adds nothing if there is no witness.
func (w *Witness) Localizing(next func(allocation.Grant, map[string]string)) func(allocation.Grant, map[string]string) {
	if w == nil {
		return next
	}
	return func(g allocation.Grant, paths map[string]string) {
		if len(paths) > 0 {
			w.add(g.ID, happened(g.ID, "YARN_NM_CONTAINER_LOCALIZATION_FINISHED", time.Now()))
		}
		if next != nil {
			next(g, paths)
		}
	}
}

// Observing returns what is to be told of transitions, so that the witness hears when containers are suspended and resumed.
func (w *Witness) Observing() func(c *container.Container, from, to container.State) {
	if w == nil {
		return nil
	}
	return func(c *container.Container, from, to container.State) {
		if e, ok := moved(c.ID(), from, to, time.Now()); ok {
			w.add(c.ID(), e)
		}
	}
}

// Beside returns auxiliary services with which the witness hears when containers begin and end.
func (w *Witness) Beside(aux container.AuxServices) container.AuxServices {
	if w == nil {
		return aux
	}
	return witnessed{aux, w}
}

type witnessed struct {
	container.AuxServices
	w *Witness
}

// StartContainer implements container.AuxServices.
func (s witnessed) StartContainer(g allocation.Grant) {
	s.AuxServices.StartContainer(g)
	c, err := s.w.Container(g.ID)
	if err != nil {
		return
	}
	s.w.add(g.ID, created(g, s.w.Node, s.w.Web, c.Status().Started))
	if len(c.LaunchContext().GetLocalResources()) > 0 {
		s.w.add(g.ID, happened(g.ID, "YARN_NM_CONTAINER_LOCALIZATION_STARTED", time.Now()))
	}
}

// StopContainer implements container.AuxServices.
func (s witnessed) StopContainer(g allocation.Grant) {
	if c, err := s.w.Container(g.ID); err == nil {
		is := c.Status()
		if wasKilled(is.ExitCode) {
			s.w.add(g.ID, killed(g.ID, is.ExitCode, is.Diagnostics, is.Finished))
		}
		s.w.add(g.ID, finished(g.ID, is.ExitCode, is.Diagnostics, is.Finished))
	}
	s.AuxServices.StopContainer(g)
}

// wasKilled reports whether a container with this status was ended, and didn't end by itself.
func wasKilled(exit int) bool {
	return exit <= records.ExitAborted && exit != records.ExitDisksFailed && exit != records.ExitInvalid
}

// Measuring returns containers with which the witness hears what they use.
func (w *Witness) Measuring(all monitor.Containers) monitor.Containers {
	if w == nil {
		return all
	}
	return measured{all, w}
}

type measured struct {
	monitor.Containers
	w *Witness
}

// Measured implements monitor.Containers.
func (m measured) Measured(id records.ContainerID, u monitor.Usage) monitor.Usage {
	m.w.add(id, used(id, u))
	return m.Containers.Measured(id, u)
}

// MasterOf returns the ApplicationMaster of an application, if its container lives here.
func MasterOf(all *container.Manager, app records.ApplicationID) (Master, bool) {
	for _, c := range all.Containers() {
		g := c.Grant()
		if g.ID.Attempt.App != app || g.Type != pb.ContainerType_APPLICATION_MASTER || !c.Status().Finished.IsZero() {
			continue
		}
		variables := c.LaunchContext().GetEnvironment()
		return Master{User: g.User, Variable: func(name string) string {
			for _, v := range variables {
				if v.GetKey() == name {
					return v.GetValue()
				}
			}
			return ""
		}}, true
	}
	return Master{}, false
}

package service

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

const (
	// mostRefusals is how many refusals a node remembers: the latest ones.
	mostRefusals = 64
	// mostRefusalsOfApp is how many of them are one application's, so that no application displaces those of all others.
	mostRefusalsOfApp = 4
	// mostReason is how long a reason may be, in bytes.
	mostReason = 1 << 10
)

// relaunched is the refusal of a container that is here already. It doesn't keep others from starting.
type relaunched struct{ error }

func (r relaunched) Unwrap() error { return r.error }

// unknownService is the refusal of a container that asks for a service that nobody has heard of. ApplicationMasters get Hadoop's words.
type unknownService struct{ error }

func (u unknownService) Unwrap() error { return u.error }

// refusals are why the node starts no containers of applications: ApplicationMasters are told, and often tell nobody. There is
// one for each application and class of exception. A container that starts withdraws those of its application.
type refusals struct {
	mu   sync.Mutex
	list []refusedStart // by when they came up
}

type refusedStart struct {
	app           records.ApplicationID
	class, reason string
}

// add takes a refusal into account. It reports whether the application had none of the kind.
func (r *refusals) add(app records.ApplicationID, err error) bool {
	one := refusedStart{app: app, class: ipc.Class(err), reason: reasonOf(err)}
	r.mu.Lock()
	defer r.mu.Unlock()
	n, first := 0, 0
	for i, o := range r.list {
		if o.app != app {
			continue
		}
		if o.class == one.class {
			r.list[i] = one
			return false
		}
		if n == 0 {
			first = i
		}
		n++
	}
	switch {
	case n >= mostRefusalsOfApp:
		r.list = slices.Delete(r.list, first, first+1)
	case len(r.list) >= mostRefusals:
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
	return true
}

// withdraw forgets those of an application. It reports whether there were any.
func (r *refusals) withdraw(app records.ApplicationID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.list)
	r.list = slices.DeleteFunc(r.list, func(o refusedStart) bool { return o.app == app })
	return len(r.list) < before
}

// reasonOf is what people are told of a refusal: one paragraph, with what is to be done.
func reasonOf(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "\uFFFD")), " ")
	if errors.As(err, &unknownService{}) {
		text += ". Set yarn.nodemanager.aux-services on the nodes, or have the application not ask for it"
	}
	if len(text) > mostReason {
		text = strings.ToValidUTF8(text[:mostReason-len("…")], "") + "…"
	}
	return text
}

// refused takes note of a container that wasn't started.
func (s *Service) refused(app records.ApplicationID, id *pb.ContainerTokenIdentifier, err error) {
	if errors.As(err, &relaunched{}) || id.HasContainerType() && id.GetContainerType() == pb.ContainerType_APPLICATION_MASTER {
		return // the ResourceManager, which starts ApplicationMasters, knows
	}
	if s.refusals.add(app, err) {
		s.Changed()
	}
}

// Refusals returns why the node starts no containers of applications. One that has started a container since is left out.
func (s *Service) Refusals() []*pb.StartRefusal {
	s.refusals.mu.Lock()
	defer s.refusals.mu.Unlock()
	var out []*pb.StartRefusal
	for _, r := range s.refusals.list {
		m := &pb.StartRefusal{}
		m.SetApplicationId(r.app.PB())
		m.SetReason(r.reason)
		out = append(out, m)
	}
	return out
}

// Finished forgets what was refused to an application that is over.
func (s *Service) Finished(app records.ApplicationID) { s.refusals.withdraw(app) }

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
	// maxRefusals is how many of the latest refusals a node remembers.
	maxRefusals = 64
	// maxRefusalsOfApp is how many of them may belong to one application, so that none displaces those of all others.
	maxRefusalsOfApp = 4
	// maxReason bounds a reason, in bytes.
	maxReason = 1 << 10
)

// relaunched refuses a container that is here already. It doesn't keep others from starting.
type relaunched struct{ error }

func (r relaunched) Unwrap() error { return r.error }

// unknownService refuses a container that asks for an unknown service. ApplicationMasters get Hadoop's words.
type unknownService struct{ error }

func (u unknownService) Unwrap() error { return u.error }

// refusals are the reasons why the node starts no containers of some applications. ApplicationMasters get them, but
// often report them nowhere. There is one for each application and class of exception. A container that starts removes
// those of its application.
type refusals struct {
	mu   sync.Mutex
	list []refusedStart // in the order of their first occurrence
}

type refusedStart struct {
	app           records.ApplicationID
	class, reason string
}

// add records a refusal. It reports whether it is the application's first one of its kind.
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
	case n >= maxRefusalsOfApp:
		r.list = slices.Delete(r.list, first, first+1)
	case len(r.list) >= maxRefusals:
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
	return true
}

// withdraw removes the refusals of an application. It reports whether there were any.
func (r *refusals) withdraw(app records.ApplicationID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.list)
	r.list = slices.DeleteFunc(r.list, func(o refusedStart) bool { return o.app == app })
	return len(r.list) < before
}

// reasonOf returns a refusal for people: one paragraph that says what to do.
func reasonOf(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "\uFFFD")), " ")
	if errors.As(err, &unknownService{}) {
		text += ". Set yarn.nodemanager.aux-services on the nodes, or change the application so that it doesn't ask for it"
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason-len("…")], "") + "…"
	}
	return text
}

// refused records that a container wasn't started.
func (s *Service) refused(app records.ApplicationID, id *pb.ContainerTokenIdentifier, err error) {
	if errors.As(err, &relaunched{}) || id.HasContainerType() && id.GetContainerType() == pb.ContainerType_APPLICATION_MASTER {
		return // the ResourceManager starts ApplicationMasters, and knows
	}
	if s.refusals.add(app, err) {
		s.Changed()
	}
}

// Refusals returns why the node starts no containers of some applications. It omits applications that have started a
// container since.
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

// Finished removes the refusals of an application that is over.
func (s *Service) Finished(app records.ApplicationID) { s.refusals.withdraw(app) }

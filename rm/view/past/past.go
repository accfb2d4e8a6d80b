// Package past shows containers that have ended, as far as the ledger has them, beside those that live.
package past

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// Containers returns the containers of an attempt, by id; ok is false if there is no such attempt.
func Containers(v *view.Viewer, id records.AttemptID) (list []view.Container, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id.App]
		if ok = a != nil && a.Attempt(id.Attempt) != nil; !ok {
			return
		}
		for c := range Known(a) {
			if c.ID.Attempt == id {
				list = append(list, shown(s, a, c))
			}
		}
	})
	slices.SortFunc(list, func(a, b view.Container) int { return a.ID.Compare(b.ID) })
	return list, ok
}

// Container returns a container; ok is false if it was never, or isn't known any more.
func Container(v *view.Viewer, id records.ContainerID) (found view.Container, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id.Attempt.App]
		if a == nil {
			return
		}
		for c := range Known(a) {
			if c.ID == id {
				found, ok = shown(s, a, c), true
				return
			}
		}
	})
	return found, ok
}

// Address returns where the ApplicationMaster of an attempt has listened, also if the attempt has failed since; "N/A" and −1 if it never registered.
func Address(v *view.Viewer, id records.AttemptID) (host string, port int32) {
	host, port = "N/A", -1
	v.Source.Read(func(s *ledger.State) {
		if a := s.Apps[id.App]; a != nil {
			if t := a.Attempt(id.Attempt); t != nil && t.RegisterTime > 0 {
				host, port = t.Host, t.RPCPort
			}
		}
	})
	return host, port
}

// Known yields the containers of an application that the ledger has.
func Known(a *ledger.Application) func(yield func(*ledger.Container) bool) {
	return func(yield func(*ledger.Container) bool) {
		for c := range a.Containers.All() {
			if !yield(c) {
				return
			}
		}
		for c := range a.Past.All() {
			if !yield(c) {
				return
			}
		}
	}
}

func shown(s *ledger.State, a *ledger.Application, c *ledger.Container) view.Container {
	out := view.Container{Container: *c, User: a.User}
	if n := s.Nodes[c.Node]; n != nil {
		out.NodeHTTPAddress = n.HTTPAddress()
	}
	return out
}

// LogsURL is where the ResourceManager shows the logs of a container that has ended.
func LogsURL(v *view.Viewer, c *view.Container) string {
	return v.URL(v.Web) + "/cluster/logs/" + c.Node.String() + "/" + c.ID.String() + "/" + c.ID.String() + "/" + c.User
}

// Aborted returns a container's exit status and diagnostics as YARN publishes them: one that ended with its attempt or application was aborted.
func Aborted(exit int32, diagnostics string) (int32, string) {
	killed := exit == records.ExitKilledByResourceManager || exit == records.ExitKilledAfterAppCompletion
	if diagnostics == "" && killed {
		return records.ExitAborted, "Container of a completed application"
	}
	return exit, diagnostics
}

package view

import (
	"heddle/rm/leader/level"
	"heddle/rm/leader/report"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// AppRow is an application as lists show it: less than an App, and quick to make. Times are in ms since 1970, 0 = not yet.
type AppRow struct {
	ID          records.ApplicationID
	User, Queue string
	Priority    int32
	State       ledger.AppState
	FinalStatus pb.FinalApplicationStatus
	Submitted   int64
	Launched    int64
	Finished    int64
	Containers  int // live ones
	Used        records.Resource
	Master      bool                             // its ApplicationMaster has, or had, a container
	Context     *pb.ApplicationSubmissionContext // not to be changed
}

// Name, Type and Unmanaged look into the context, which is far away in memory: a scan of all applications should do without them.

// Name returns the application's name.
func (r *AppRow) Name() string { return r.Context.GetApplicationName() }

// Type returns the application's type.
func (r *AppRow) Type() string { return TypeName(r.Context) }

// Unmanaged reports whether the user starts its ApplicationMaster.
func (r *AppRow) Unmanaged() bool { return r.Context.GetUnmanagedAm() }

// Rows makes the rows of lists. It remembers some, so use one for all lists of a Viewer.
type Rows struct {
	v     *Viewer
	ended endedRows
}

// NewRows returns the rows of what a Viewer shows.
func NewRows(v *Viewer) *Rows { return &Rows{v: v} }

// scanPart is how many applications a scan looks at while the ledger can't change. A row takes some 100 ns.
const scanPart = 512

// Apps calls f with a row of each application, in any order, until f returns false. The row is of the moment, and f must not keep the pointer: it
// is used again. The ledger may change between any two rows, so sums over many applications are of a short span.
func (x *Rows) Apps(f func(*AppRow) (more bool)) {
	var others []*ledger.Application // looked into only while the ledger can't change; one that has gone meanwhile is shown as it was last
	scan := x.ended.begin()
	x.v.Source.Read(func(s *ledger.State) {
		for id, a := range s.Apps {
			if !scan.has(id) {
				others = append(others, a)
			}
		}
	})
	var row AppRow
	for more := true; len(others) > 0; {
		part := others[:min(scanPart, len(others))]
		others = others[len(part):]
		x.v.Source.Read(func(*ledger.State) {
			for _, a := range part {
				if row.fill(a); row.over() {
					scan.add(&row)
				} else if more = more && f(&row); !more {
					others = nil
					break
				}
			}
		})
		if !more {
			scan.end(nil)
			return
		}
	}
	scan.end(f)
}

func (r *AppRow) fill(a *ledger.Application) {
	*r = AppRow{
		ID: a.ID, User: a.User, Queue: a.Queue, Priority: a.Priority, State: a.State, FinalStatus: a.FinalStatus,
		Submitted: a.SubmitTime, Launched: a.LaunchTime, Finished: a.FinishTime, Containers: a.Live, Used: a.Used, Context: a.Context, Master: true,
	}
	if a.State == ledger.AppAccepted {
		t := a.Current()
		r.Master = t != nil && t.AMContainer != (records.ContainerID{})
	}
}

// AppMore holds the fields that lists show of an application besides its row.
type AppMore struct {
	Progress    float32 // 0 to 1
	TrackingURL string  // "": there is none
	Pending     records.Resource
	Waiting     int64 // containers asked for and not yet granted
}

// More completes rows of a list.
func (x *Rows) More(list []AppRow) []AppMore {
	out := make([]AppMore, len(list))
	attempts := make([]records.AttemptID, len(list))
	x.v.Source.Read(func(s *ledger.State) {
		for i := range list {
			a := s.Apps[list[i].ID]
			if a == nil {
				continue
			}
			t := a.Current()
			if t != nil {
				attempts[i] = t.ID
			}
			if t != nil && a.State != ledger.AppAccepted {
				out[i].TrackingURL, _ = x.v.TrackingURLs(a, t)
				if t.State == ledger.AttemptFinished || t.State == ledger.AttemptKilled && t.LaunchTime > 0 {
					out[i].Progress = 1
				}
			}
			if out[i].TrackingURL == "N/A" {
				out[i].TrackingURL = ""
			}
		}
	})
	l := x.v.Source.Leader()
	if l == nil {
		return out
	}
	var live []records.ApplicationID
	for i := range list {
		if !list[i].State.Ended() {
			live = append(live, list[i].ID)
			if attempts[i].Attempt != 0 {
				out[i].Progress = l.Progress(attempts[i])
			}
		}
	}
	if len(live) == 0 {
		return out
	}
	soft := l.Apps(live)
	for i := range list {
		if a, ok := soft[list[i].ID]; ok {
			out[i].Pending, out[i].Waiting = a.Pending, a.Waiting
		}
	}
	return out
}

// Containers calls f with each live container and a row of its application, in any order, until f returns false. f must keep neither.
func (x *Rows) Containers(f func(*AppRow, *ledger.Container) (more bool)) {
	var ids []records.ApplicationID
	x.v.Source.Read(func(s *ledger.State) {
		for id, a := range s.Apps {
			if a.Live > 0 {
				ids = append(ids, id)
			}
		}
	})
	var row AppRow
	for more := true; more && len(ids) > 0; {
		ids = x.v.nextPart(ids, func(a *ledger.Application) bool {
			row.fill(a)
			for c := range a.Containers.All() {
				if c.Live() && !f(&row, c) {
					more = false
					return false
				}
			}
			return true
		})
	}
}

// Nodes calls f with each node, in any order. The ledger doesn't change meanwhile; f must neither change nor keep the node.
func (x *Rows) Nodes(f func(*ledger.Node)) {
	x.v.Source.Read(func(s *ledger.State) {
		for _, n := range s.Nodes {
			f(n)
		}
	})
}

// Asked returns what live applications have asked for and not yet got; empty unless this member leads.
func (x *Rows) Asked(ids []records.ApplicationID) map[records.ApplicationID]report.App {
	if l := x.v.Source.Leader(); l != nil && len(ids) > 0 {
		return l.Apps(ids)
	}
	return nil
}

// Holds says for each request of applications that waits what holds it; empty unless this member leads.
func (x *Rows) Holds(ids ...records.ApplicationID) map[records.ApplicationID][]report.Hold {
	return x.v.explain(ids...)
}

// UnderWay returns the containers whose nodes have not reported yet that they have their levels.
func (x *Rows) UnderWay() map[records.ContainerID]level.UnderWay {
	if l := x.v.Source.Leader(); l != nil {
		return l.Levels().UnderWay()
	}
	return nil
}

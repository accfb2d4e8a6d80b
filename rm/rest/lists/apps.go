package lists

import (
	"slices"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// appOffer is what a list of applications can be sorted and filtered by.
var appOffer = offer{
	sorts: []string{"-started", "id", "name", "user", "queue", "type", "state", "finalStatus", "priority", "finished", "containers", "memory", "vcores"},
	filters: map[string]kind{
		"state": words, "finalStatus": words, "user": words, "queue": words, "type": words, "tag": words, "name": phrase, "q": phrase,
		"startedFrom": number, "startedTo": number, "finishedFrom": number, "finishedTo": number,
	},
}

var appRows = rows[view.AppRow]{
	columns: map[string]column[view.AppRow]{
		"started":     byNumber(func(r *view.AppRow) int64 { return r.Submitted }),
		"id":          byNumber(func(*view.AppRow) int64 { return 0 }), // the order of ids decides
		"name":        byText(func(r *view.AppRow) string { return r.Name() }),
		"user":        byText(func(r *view.AppRow) string { return r.User }),
		"queue":       byText(func(r *view.AppRow) string { return r.Queue }),
		"type":        byText(func(r *view.AppRow) string { return r.Type() }),
		"state":       byNumber(func(r *view.AppRow) int64 { return int64(r.State.Public()) }),
		"finalStatus": byNumber(func(r *view.AppRow) int64 { return int64(r.FinalStatus) }),
		"priority":    byNumber(func(r *view.AppRow) int64 { return int64(r.Priority) }),
		"finished":    byNumber(func(r *view.AppRow) int64 { return r.Finished }),
		"containers":  byNumber(func(r *view.AppRow) int64 { return int64(r.Containers) }),
		"memory":      byNumber(func(r *view.AppRow) int64 { return r.Used.MemoryMB() }),
		"vcores":      byNumber(func(r *view.AppRow) int64 { return r.Used.VCores() }),
	},
	tie: func(a, b *view.AppRow) int { return a.ID.Compare(b.ID) },
	id:  func(r *view.AppRow) string { return r.ID.String() },
	at: func(id string) (r view.AppRow, err error) {
		r.ID, err = records.ParseApplicationID(id)
		return r, err
	},
}

type appList struct {
	head
	States []stateCount `yarn:"count"` // what the other filters admit, by state
	App    []app        `yarn:"app"`
}

type stateCount struct {
	State string `yarn:"state"`
	Count int    `yarn:"number"`
}

// app is a row of the list. It has nothing that changes with time alone, so that an unchanged page has an unchanged version.
type app struct {
	ID          string  `yarn:"id"`
	Name        string  `yarn:"name"`
	User        string  `yarn:"user"`
	Queue       string  `yarn:"queue"`
	Type        string  `yarn:"type"`
	State       string  `yarn:"state"`
	FinalStatus string  `yarn:"finalStatus"`
	Priority    int32   `yarn:"priority"`
	Progress    float32 `yarn:"progress"` // percent
	Hidden      bool    `yarn:"hidden,omitempty"`
	Started     int64   `yarn:"started,omitempty"`
	Finished    int64   `yarn:"finished,omitempty"`
	Containers  int     `yarn:"containers"`
	Used        amount  `yarn:"used"`
	Waiting     int64   `yarn:"waiting,omitempty"` // containers
	Pending     *amount `yarn:"pending"`
	Why         string  `yarn:"why,omitempty"` // it waits, in a sentence
	Tracking    string  `yarn:"trackingUrl,omitempty"`
	Unmanaged   bool    `yarn:"unmanaged,omitempty"`
}

// apps answers GET /apps.
func (l *Lists) apps(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, appOffer, appRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	total, counts, err := l.pickApps(c, p)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	found, e := p.page(), l.eyes(c)
	out := appList{head: headOf(total, &found)}
	for _, state := range []pb.YarnApplicationState{
		pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING, pb.YarnApplicationState_FINISHED, pb.YarnApplicationState_FAILED, pb.YarnApplicationState_KILLED,
	} {
		out.States = append(out.States, stateCount{state.String(), counts[state]})
	}
	more := l.Rows.More(found.rows)
	var waiting []records.ApplicationID
	for i := range found.rows {
		if r := &found.rows[i]; r.State == ledger.AppAccepted || more[i].Waiting > 0 {
			waiting = append(waiting, r.ID)
		}
	}
	holds := l.Rows.Holds(waiting...)
	for i := range found.rows {
		r := &found.rows[i]
		may := e.see(r.User, r.Queue, r.Context)
		row := l.app(r, &more[i], may)
		if may && (r.State == ledger.AppAccepted || len(holds[r.ID]) > 0) {
			row.Why = r.Waits(holds[r.ID])
		}
		out.App = append(out.App, row)
	}
	return answer(c, "apps", &found, out.App, out)
}

// pickApps adds the applications that match to a page, and counts them by state, without regard to the filter of states.
func (l *Lists) pickApps(c *yarnrest.Call, p *picker[view.AppRow]) (total int, counts map[pb.YarnApplicationState]int, err error) {
	e, filters := l.eyes(c), p.q.appFilters()
	counts = map[pb.YarnApplicationState]int{}
	var byState [len(appStates)]int
	var wanted [len(appStates)]bool
	for i := range appStates {
		wanted[i] = p.q.hasValueFold("state", ledger.AppState(i).Public().String())
	}
	l.Rows.Apps(func(r *view.AppRow) bool {
		if !e.see(r.User, r.Queue, r.Context) {
			if l.OnlyOwn {
				return true
			}
			hide(r)
		}
		if total++; all(filters, r) {
			byState[r.State]++
			if wanted[r.State] {
				p.add(r)
			}
		}
		return total%scanned != 0 || c.Context().Err() == nil
	})
	for i, n := range byState {
		counts[ledger.AppState(i).Public()] += n
	}
	return total, counts, c.Context().Err()
}

// appStates has an element for each state of the ledger.
var appStates [ledger.AppKilled + 1]struct{}

// scanned is after how many rows a list looks whether its client is still there.
const scanned = 4096

// hide removes the fields of a row that a caller without the right to see the application may not know, so that it can't sort or filter by them either.
func hide(r *view.AppRow) {
	r.Submitted, r.Launched, r.Finished, r.Containers, r.Used = 0, 0, 0, 0, records.Resource{}
}

// filter reports whether a row is admitted.
type filter func(*view.AppRow) bool

func all(filters []filter, r *view.AppRow) bool {
	for _, f := range filters {
		if !f(r) {
			return false
		}
	}
	return true
}

// appFilters returns what the parameters demand of an application, that of states aside: the quick ones first, and what looks into its context last.
func (q *query) appFilters() (list []filter) {
	add := func(name string, f filter) {
		if _, is := q.numbers[name]; is || len(q.texts[name]) > 0 {
			list = append(list, f)
		}
	}
	add("user", func(r *view.AppRow) bool { return q.hasValue("user", r.User) })
	add("queue", func(r *view.AppRow) bool { return q.within(r.Queue) })
	add("finalStatus", func(r *view.AppRow) bool {
		return q.hasValueFold("finalStatus", records.FinalStatusName(r.FinalStatus))
	})
	add("startedFrom", func(r *view.AppRow) bool { return r.Submitted >= q.numbers["startedFrom"] })
	add("startedTo", func(r *view.AppRow) bool { return r.Submitted <= q.numbers["startedTo"] })
	add("finishedFrom", func(r *view.AppRow) bool { return r.Finished >= q.numbers["finishedFrom"] })
	add("finishedTo", func(r *view.AppRow) bool { return r.Finished <= q.numbers["finishedTo"] })
	add("type", func(r *view.AppRow) bool { return q.hasValueFold("type", r.Type()) })
	add("tag", func(r *view.AppRow) bool {
		return slices.ContainsFunc(r.Context.GetApplicationTags(), func(t string) bool { return q.hasValueFold("tag", t) })
	})
	add("name", func(r *view.AppRow) bool { return q.has("name", r.Name()) })
	add("q", q.search())
	return list
}

// search finds applications that have the text of the parameter q in what is shown of them.
func (q *query) search() filter {
	if len(q.texts["q"]) == 0 {
		return nil
	}
	want := q.texts["q"][0]
	byID := strings.ContainsAny(want, "_0123456789")
	return func(r *view.AppRow) bool {
		return containsFold(r.User, want) || containsFold(r.Queue, want) || containsFold(r.Name(), want) || containsFold(r.Type(), want) ||
			byID && containsFold(r.ID.String(), want)
	}
}

func (l *Lists) app(r *view.AppRow, more *view.AppMore, may bool) app {
	out := app{
		ID: r.ID.String(), Name: r.Name(), User: r.User, Queue: r.Queue, Type: r.Type(), State: r.State.Public().String(),
		FinalStatus: records.FinalStatusName(r.FinalStatus), Priority: r.Priority, Progress: 100 * more.Progress, Hidden: !may, Unmanaged: r.Unmanaged(),
		Started: r.Submitted, Finished: r.Finished, Containers: r.Containers, Used: l.amount(r.Used), Tracking: more.TrackingURL,
	}
	if may && more.Waiting > 0 {
		pending := l.amount(more.Pending)
		out.Waiting, out.Pending = more.Waiting, &pending
	}
	return out
}

package lists

import (
	"cmp"
	"slices"

	"heddle/rm/leader/report"
	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

var waitingOffer = offer{
	sorts:   []string{"started", "id", "name", "user", "queue", "priority", "containers", "memory", "vcores"},
	filters: map[string]kind{"user": words, "queue": words, "type": words, "q": phrase},
}

// waitingRow is an application that waits for containers, or for its ApplicationMaster to begin.
type waitingRow struct {
	view.AppRow
	asked     report.App
	place, of int // among those of its queue that wait
}

var waitingRows = rows[waitingRow]{
	columns: map[string]column[waitingRow]{
		"started":    byNumber(func(r *waitingRow) int64 { return r.Submitted }),
		"id":         byNumber(func(*waitingRow) int64 { return 0 }),
		"name":       byText(func(r *waitingRow) string { return r.Name() }),
		"user":       byText(func(r *waitingRow) string { return r.User }),
		"queue":      byText(func(r *waitingRow) string { return r.Queue }),
		"priority":   byNumber(func(r *waitingRow) int64 { return int64(r.Priority) }),
		"containers": byNumber(func(r *waitingRow) int64 { return r.asked.Waiting }),
		"memory":     byNumber(func(r *waitingRow) int64 { return r.asked.Pending.MemoryMB() }),
		"vcores":     byNumber(func(r *waitingRow) int64 { return r.asked.Pending.VCores() }),
	},
	tie: func(a, b *waitingRow) int { return a.ID.Compare(b.ID) },
	id:  func(r *waitingRow) string { return r.ID.String() },
	at: func(id string) (r waitingRow, err error) {
		r.ID, err = records.ParseApplicationID(id)
		return r, err
	},
}

type waitingList struct {
	head
	App []waitingApp `yarn:"app"`
}

type waitingApp struct {
	ID       string `yarn:"id"`
	Name     string `yarn:"name"`
	User     string `yarn:"user"`
	Queue    string `yarn:"queue"`
	Type     string `yarn:"type"`
	State    string `yarn:"state"`
	Priority int32  `yarn:"priority"`
	Started  int64  `yarn:"started"`
	Place    int    `yarn:"place"`   // among those of its queue that wait, by priority, then by submission; 1 is the first
	Of       int    `yarn:"placeOf"` // how many these are
	Waiting  int64  `yarn:"waiting"` // containers asked for
	Pending  amount `yarn:"pending"`
	Has      int    `yarn:"containers"` // that it has
	Summary  string `yarn:"summary"`
	Holds    []hold `yarn:"hold"`
	More     int    `yarn:"moreHolds,omitempty"` // requests that aren't listed here; /apps/{app}/pending has them
}

// hold is the limit that keeps a request waiting.
type hold struct {
	Limit  string  `yarn:"limit"`
	Count  int32   `yarn:"numContainers"`
	Size   amount  `yarn:"capability"`
	Reason string  `yarn:"reason"`
	Remedy string  `yarn:"remedy,omitempty"`
	Used   *amount `yarn:"used"`  // of the limit
	Bound  *amount `yarn:"bound"` // the limit itself
	Short  amount  `yarn:"short"`
}

// maxHolds is how many requests of an application a list explains.
const maxHolds = 3

// queued returns the applications that wait.
func (l *Lists) queued() []waitingRow {
	list := make([]waitingRow, 0, l.alive.Load())
	ids := make([]records.ApplicationID, 0, cap(list))
	l.Rows.Apps(func(r *view.AppRow) bool {
		if !r.State.Ended() {
			list, ids = append(list, waitingRow{AppRow: *r}), append(ids, r.ID)
		}
		return true
	})
	l.alive.Store(int64(len(list)))
	asked := l.Rows.Asked(ids)
	n := 0
	for i := range list {
		r := &list[i]
		if r.asked = asked[r.ID]; r.asked.Waiting > 0 || r.State == ledger.AppAccepted {
			list[n] = *r
			n++
		}
	}
	return list[:n]
}

// compareWaiting compares applications of a queue by priority, then by submission. Queues may grant in another order.
func compareWaiting(a, b *waitingRow) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.ID.Compare(b.ID))
}

// line has the rows of a page that are of one queue, the first one first, and how many that wait come between each and the one before it.
type line struct {
	rows    []*waitingRow
	between []int
	of      int
}

// setPlaces tells the rows of a page their places among all that wait. It looks at each of these once, and sorts the page's rows only: a page of a few
// rows is asked for again and again while very many wait.
func setPlaces(page, all []waitingRow) {
	lines := map[string]*line{}
	for i := range page {
		l := lines[page[i].Queue]
		if l == nil {
			l = &line{}
			lines[page[i].Queue] = l
		}
		l.rows = append(l.rows, &page[i])
	}
	for _, l := range lines {
		slices.SortFunc(l.rows, compareWaiting)
		l.between = make([]int, len(l.rows)+1)
	}
	for i := range all {
		if l := lines[all[i].Queue]; l != nil {
			at, _ := slices.BinarySearchFunc(l.rows, &all[i], compareWaiting)
			l.between[at]++
			l.of++
		}
	}
	for _, l := range lines {
		place := 0
		for i, r := range l.rows {
			place += l.between[i]
			r.place, r.of = place, l.of
		}
	}
}

// waiting answers GET /waiting: applications that have asked for more than they have, and what holds each.
func (l *Lists) waiting(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, waitingOffer, waitingRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	e, filters, total := l.eyes(c), p.q.appFilters(), 0
	queued := l.queued()
	for i := range queued {
		r := &queued[i]
		if !e.see(r.User, r.Queue, r.Context) {
			continue
		}
		total++
		if all(filters, &r.AppRow) {
			p.add(r)
		}
	}
	found := p.page()
	setPlaces(found.rows, queued)
	var ids []records.ApplicationID
	for i := range found.rows {
		ids = append(ids, found.rows[i].ID)
	}
	holds := l.Rows.Holds(ids...)
	out := waitingList{head: headOf(total, &found)}
	for i := range found.rows {
		out.App = append(out.App, l.waitingApp(&found.rows[i], holds[found.rows[i].ID]))
	}
	return answer(c, "waiting", &found, out.App, out)
}

func (l *Lists) waitingApp(r *waitingRow, holds []report.Hold) waitingApp {
	out := waitingApp{
		ID: r.ID.String(), Name: r.Name(), User: r.User, Queue: r.Queue, Type: r.Type(), State: r.State.Public().String(), Priority: r.Priority, Started: r.Submitted, Place: r.place, Of: r.of,
		Waiting: r.asked.Waiting, Pending: l.amount(r.asked.Pending), Has: r.Containers, More: max(0, len(holds)-maxHolds), Summary: r.Waits(holds),
	}
	for i := range holds[:min(maxHolds, len(holds))] {
		h := &holds[i]
		x := hold{Limit: string(h.Limit), Count: h.Ask.Count, Size: l.amount(h.Ask.Capability), Reason: h.Text, Remedy: h.Free, Short: l.amount(h.Short)}
		if !h.Bound.IsZero() || !h.Used.IsZero() {
			used, bound := l.amount(h.Used), l.amount(h.Bound)
			x.Used, x.Bound = &used, &bound
		}
		out.Holds = append(out.Holds, x)
	}
	return out
}

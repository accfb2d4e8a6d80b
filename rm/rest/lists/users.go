package lists

import (
	"errors"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

var userOffer = offer{
	sorts:   []string{"name", "running", "waiting", "ended", "containers", "memory", "vcores", "pendingMemory", "pendingVcores", "pendingContainers"},
	filters: map[string]kind{"queue": words, "q": phrase},
}

// userRow sums up the applications of a user.
type userRow struct {
	name                    string
	running, waiting, ended int
	failed                  int // of those that have ended
	containers              int
	used, pending           records.Resource
	asked                   int64
}

var userRows = rows[userRow]{
	columns: map[string]column[userRow]{
		"name":              byNumber(func(*userRow) int64 { return 0 }), // the order of names decides
		"running":           byNumber(func(r *userRow) int64 { return int64(r.running) }),
		"waiting":           byNumber(func(r *userRow) int64 { return int64(r.waiting) }),
		"ended":             byNumber(func(r *userRow) int64 { return int64(r.ended) }),
		"containers":        byNumber(func(r *userRow) int64 { return int64(r.containers) }),
		"memory":            byNumber(func(r *userRow) int64 { return r.used.MemoryMB() }),
		"vcores":            byNumber(func(r *userRow) int64 { return r.used.VCores() }),
		"pendingMemory":     byNumber(func(r *userRow) int64 { return r.pending.MemoryMB() }),
		"pendingVcores":     byNumber(func(r *userRow) int64 { return r.pending.VCores() }),
		"pendingContainers": byNumber(func(r *userRow) int64 { return r.asked }),
	},
	tie: func(a, b *userRow) int { return strings.Compare(a.name, b.name) },
	id:  func(r *userRow) string { return r.name },
	at: func(id string) (userRow, error) {
		if id == "" {
			return userRow{}, errors.New("it names no user")
		}
		return userRow{name: id}, nil
	},
}

type userList struct {
	head
	Unseen int    `yarn:"unseenApplications,omitempty"` // that the caller may not see; they count nowhere here
	User   []user `yarn:"user"`
}

type user struct {
	Name       string `yarn:"name"`
	Running    int    `yarn:"running"` // applications whose ApplicationMaster has a container
	Waiting    int    `yarn:"waiting"`
	Ended      int    `yarn:"ended"` // that are still remembered
	Failed     int    `yarn:"failed"`
	Containers int    `yarn:"containers"`
	Used       amount `yarn:"used"`
	Asked      int64  `yarn:"pendingContainers"`
	Pending    amount `yarn:"pending"`
}

// users answers GET /users.
func (l *Lists) users(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, userOffer, userRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	e := l.eyes(c)
	byName, unseen := map[string]*userRow{}, 0
	owner := map[records.ApplicationID]*userRow{}
	var live []records.ApplicationID
	l.Rows.Apps(func(r *view.AppRow) bool {
		switch {
		case !e.see(r.User, r.Queue, r.Context):
			unseen++
			return true
		case !p.q.within(r.Queue):
			return true
		}
		u := byName[r.User]
		if u == nil {
			u = &userRow{name: r.User}
			byName[r.User] = u
		}
		u.count(r)
		if !r.State.Ended() {
			live = append(live, r.ID)
			owner[r.ID] = u
		}
		return true
	})
	for id, a := range l.Rows.Asked(live) {
		u := owner[id]
		u.pending, u.asked = u.pending.Add(a.Pending), u.asked+a.Waiting
	}
	for _, u := range byName {
		if p.q.has("q", u.name) {
			p.add(u)
		}
	}
	found := p.page()
	out := userList{head: headOf(len(byName), &found), Unseen: unseen}
	for i := range found.rows {
		r := &found.rows[i]
		out.User = append(out.User, user{
			r.name, r.running, r.waiting, r.ended, r.failed, r.containers, l.amount(r.used), r.asked, l.amount(r.pending),
		})
	}
	return answer(c, "users", &found, out.User, out)
}

// count adds an application. As in YARN, it runs from when its ApplicationMaster has a container.
func (u *userRow) count(r *view.AppRow) {
	switch {
	case r.State.Ended():
		u.ended++
		if r.State != ledger.AppFinished {
			u.failed++
		}
	case r.State == ledger.AppAccepted && !r.Master:
		u.waiting++
	default:
		u.running++
	}
	u.containers, u.used = u.containers+r.Containers, u.used.Add(r.Used)
}

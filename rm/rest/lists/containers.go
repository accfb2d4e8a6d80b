package lists

import (
	"fmt"
	"strconv"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

var containerOffer = offer{
	sorts: []string{"id", "node", "user", "queue", "memory", "vcores", "priority", "allocated", "started", "suspendedSince"},
	filters: map[string]kind{
		"app": words, "node": words, "user": words, "queue": words, "level": words, "state": words, "suspended": words, "master": words,
	},
}

// containerRow is a live container as lists sort it.
type containerRow struct {
	id                 records.ContainerID
	node               records.NodeID
	user, queue        string
	memory, vcores     int64
	priority           int32
	allocated, started int64
	since              int64 // since when it is suspended or shrunk; 0: it isn't
	level              ledgerpb.Level
	suspended, master  bool
	resuming           bool // its node has not reported yet that it continues
}

var containerRows = rows[containerRow]{
	columns: map[string]column[containerRow]{
		"id":             byNumber(func(*containerRow) int64 { return 0 }), // the order of ids decides
		"node":           byText(func(r *containerRow) string { return r.node.Host }),
		"user":           byText(func(r *containerRow) string { return r.user }),
		"queue":          byText(func(r *containerRow) string { return r.queue }),
		"memory":         byNumber(func(r *containerRow) int64 { return r.memory }),
		"vcores":         byNumber(func(r *containerRow) int64 { return r.vcores }),
		"priority":       byNumber(func(r *containerRow) int64 { return int64(r.priority) }),
		"allocated":      byNumber(func(r *containerRow) int64 { return r.allocated }),
		"started":        byNumber(func(r *containerRow) int64 { return r.started }),
		"suspendedSince": byNumber(func(r *containerRow) int64 { return r.since }),
	},
	tie: func(a, b *containerRow) int { return a.id.Compare(b.id) },
	id:  func(r *containerRow) string { return r.id.String() },
	at: func(id string) (r containerRow, err error) {
		r.id, err = records.ParseContainerID(id)
		return r, err
	},
}

func rowOf(a *view.AppRow, c *ledger.Container) containerRow {
	r := containerRow{
		id: c.ID, node: c.Node, user: a.User, queue: a.Queue, memory: c.Resource.MemoryMB(), vcores: c.Resource.VCores(), priority: c.Priority,
		allocated: c.Allocated, started: c.Started, level: c.Level, suspended: c.Suspended(), master: c.AM,
	}
	if c.Level != ledgerpb.Level_RUNNING {
		r.since = c.Suspension().Since
	}
	return r
}

// state returns the state of a live container, by the one name that it has everywhere.
func (r *containerRow) state() string {
	switch {
	case r.suspended:
		return "SUSPENDED"
	case r.started == 0:
		return "ALLOCATED"
	}
	return "RUNNING"
}

type containerList struct {
	head
	Container []any `yarn:"container"`
}

// containers answers GET /containers: the live ones of applications that the caller may see.
func (l *Lists) containers(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, containerOffer, containerRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	for _, name := range [...]string{"suspended", "master"} {
		for _, v := range p.q.texts[name] {
			if _, err := strconv.ParseBool(v); err != nil {
				return yarnrest.Reply{}, yarnrest.BadRequest("%s is %.100q: it must be true or false", name, v)
			}
		}
	}
	e, total, unseen, resuming := l.eyes(c), 0, 0, l.Rows.UnderWay()
	l.Rows.Containers(func(a *view.AppRow, found *ledger.Container) bool {
		r := rowOf(a, found)
		_, r.resuming = resuming[r.id]
		admitted := p.q.admitsContainer(a, &r)
		if !e.see(a.User, a.Queue, a.Context) {
			if admitted {
				unseen++
			}
			return true
		}
		total++
		if admitted {
			p.add(&r)
		}
		return total%scanned != 0 || c.Context().Err() == nil
	})
	if err := c.Context().Err(); err != nil {
		return yarnrest.Reply{}, err
	}
	if err := l.Hidden(c, unseen, "containers"); err != nil {
		return yarnrest.Reply{}, err
	}
	found := p.page()
	out := containerList{head: headOf(total, &found)}
	for i := range found.rows {
		if x, ok := l.View.Container(found.rows[i].id); ok {
			out.Container = append(out.Container, l.Container(&x))
		}
	}
	return answer(c, "containers", &found, out.Container, out)
}

func (q *query) admitsContainer(a *view.AppRow, r *containerRow) bool {
	if len(q.texts) == 0 {
		return true
	}
	return q.hasValue("user", r.user) && q.within(r.queue) && q.hasValueFold("level", r.level.String()) && q.hasValueFold("state", r.state()) && q.is("master", r.master) &&
		q.is("suspended", r.level != ledgerpb.Level_RUNNING || r.resuming) && (len(q.texts["app"]) == 0 || q.hasValue("app", a.ID.String())) && q.on(r.node)
}

// is compares a filter that is true or false.
func (q *query) is(name string, value bool) bool {
	list := q.texts[name]
	if len(list) == 0 {
		return true
	}
	want, err := strconv.ParseBool(list[0])
	return err == nil && want == value
}

// on reports whether a node is one of the parameter node, by its id or its host.
func (q *query) on(n records.NodeID) bool {
	if len(q.texts["node"]) == 0 {
		return true
	}
	return q.hasValue("node", n.Host) || q.hasValue("node", fmt.Sprintf("%s:%d", n.Host, n.Port))
}

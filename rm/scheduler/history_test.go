package scheduler

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// history is a random sequence of everything that a scheduler may be told of. It uses what is exported alone.
type history struct {
	*script
	r      *rand.Rand
	leaves []string
	nodes  []handle.Node
	hosts  map[handle.Node]string
	apps   []handle.App
	held   []Decision
	seq    int64
}

// history plays a random history. It returns what was decided, and after each step a digest of all that can be read of the scheduler:
// what is decided and told today must not change by itself.
func (p *script) history(seed, steps int64) (out []string) {
	h := &history{script: p, r: rand.New(rand.NewPCG(uint64(seed), 1)), hosts: map[handle.Node]string{}}
	for _, q := range p.s.Queues() {
		if q.Leaf {
			h.leaves = append(h.leaves, q.Path)
		}
	}
	for step := range steps {
		line := h.event()
		p.now += h.r.Int64N(900)
		decided := h.schedule()
		digest := fnv.New32a()
		h.read(digest)
		out = append(out, fmt.Sprintf("%d %s = %08x", step, line, digest.Sum32()))
		for _, d := range decided {
			out = append(out, "  "+d)
		}
	}
	return out
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (h *history) size() records.Resource { return res(1+h.r.Int64N(5), 1+h.r.Int64N(5)) }

func (h *history) host() string { return fmt.Sprintf("n%d", h.r.IntN(5)) }

func (h *history) event() string {
	switch n := h.r.IntN(100); {
	case n < 6 || len(h.nodes) < 2:
		host := h.host()
		size := res(2+h.r.Int64N(8), 2+h.r.Int64N(8))
		node := h.s.AddNode(NodeSpec{Host: host, Rack: "/r" + host[1:], Capability: size})
		h.nodes, h.hosts[node] = append(h.nodes, node), host
		return fmt.Sprintf("node %d %s %v", node, host, size)
	case n < 14 || len(h.apps) < 2:
		h.seq++
		spec := AppSpec{Seq: h.seq, Priority: h.r.Int32N(3), Queue: pick(h.r, h.leaves), User: pick(h.r, []string{"u", "v", "w"}), AM: res(1, 1)}
		a := h.s.AddApp(spec)
		h.apps = append(h.apps, a)
		return fmt.Sprintf("app %d %s %s %d", a, spec.Queue, spec.User, spec.Priority)
	case n < 52:
		return h.ask(pick(h.r, h.apps))
	case n < 68 && len(h.held) > 0:
		return h.end(h.r.IntN(len(h.held)))
	case n < 76:
		return h.node(h.r.IntN(len(h.nodes)))
	case n < 90:
		return h.app(h.r.IntN(len(h.apps)))
	case len(h.held) > 0:
		return h.container(pick(h.r, h.held))
	}
	return "nothing"
}

func (h *history) ask(a handle.App) string {
	row := Ask{
		Priority: h.r.Int32N(3), AllocationRequestID: h.r.Int64N(2), Name: Any, Count: h.r.Int32N(6), Capability: h.size(), RelaxLocality: true,
		ExecutionType: pb.ExecutionType_GUARANTEED,
	}
	rows := []Ask{row}
	if h.r.IntN(3) == 0 {
		host := row
		host.Name, host.Count = h.host(), 1+h.r.Int32N(3)
		rack := row
		rack.Name, rack.RelaxLocality = "/r"+host.Name[1:], h.r.IntN(3) > 0
		rows[0].RelaxLocality = h.r.IntN(3) > 0
		rows = append(rows, rack, host)
	}
	h.s.UpdateAsks(a, rows)
	return fmt.Sprintf("ask %d %d x %v of %d/%d, %d rows %v", a, row.Count, row.Capability, row.Priority, row.AllocationRequestID, len(rows), rows[0].RelaxLocality)
}

func (h *history) end(i int) string {
	d := h.held[i]
	text := fmt.Sprintf("free %d", d.Container)
	if h.r.IntN(4) == 0 {
		to := pick(h.r, h.apps)
		h.s.PreemptFor(d.Container, to)
		text += fmt.Sprintf(" for %d", to)
	}
	h.s.Free(d.Container)
	h.held = slices.Delete(h.held, i, i+1)
	return text
}

func (h *history) node(i int) string {
	n := h.nodes[i]
	switch h.r.IntN(5) {
	case 0:
		size := res(2+h.r.Int64N(8), 2+h.r.Int64N(8))
		h.s.At(n).SetCapability(n, size)
		return fmt.Sprintf("resize node %d %v", n, size)
	case 1, 2:
		open := h.r.IntN(3) > 0
		h.s.At(n).SetOpen(n, OpenIf(open))
		return fmt.Sprintf("open node %d %v", n, open)
	case 3:
		h.drop(func(d Decision) bool { return d.Node == n })
		h.s.At(n).RemoveNode(n)
		h.nodes = slices.Delete(h.nodes, i, i+1)
		return fmt.Sprintf("drop node %d", n)
	}
	if list := h.s.Reservations(); len(list) > 0 {
		return "reservations " + h.reservation()
	}
	return "nothing"
}

// reservation gives up the first reservation, or moves it.
func (h *history) reservation() string {
	for c := range handle.Container(1 << 10) {
		if slices.ContainsFunc(h.held, func(d Decision) bool { return d.Container == c }) {
			continue
		}
		to := pick(h.r, h.nodes)
		if h.s.Of(c).MoveReservation(c, to) {
			return fmt.Sprintf("move %d to %d", c, to)
		}
		if h.s.Of(c).Unreserve(c) {
			return fmt.Sprintf("drop %d", c)
		}
	}
	return "stay"
}

func (h *history) app(i int) string {
	a := h.apps[i]
	switch h.r.IntN(6) {
	case 0:
		h.drop(func(d Decision) bool { return d.App == a })
		h.s.RemoveApp(a)
		h.apps = slices.Delete(h.apps, i, i+1)
		return fmt.Sprintf("end app %d", a)
	case 1:
		to := pick(h.r, h.leaves)
		h.s.MoveApp(a, to)
		return fmt.Sprintf("move app %d %s", a, to)
	case 2:
		priority := h.r.Int32N(4)
		h.s.SetPriority(a, priority)
		return fmt.Sprintf("priority %d %d", a, priority)
	case 3:
		add, remove := h.host(), h.host()
		h.s.UpdateBlacklist(a, []string{add, "/r" + h.host()[1:]}, []string{remove})
		return fmt.Sprintf("black %d %s %s", a, add, remove)
	case 4:
		h.s.ClearAsks(a)
		return fmt.Sprintf("clear %d", a)
	}
	size := res(1, 1)
	n := pick(h.r, h.nodes)
	c := h.s.Regrant(a, n, size)
	h.held = append(h.held, Decision{Container: c, App: a, Node: n, Resource: size})
	return fmt.Sprintf("restore %d of %d on %d", c, a, n)
}

func (h *history) container(d Decision) string {
	switch h.r.IntN(4) {
	case 0:
		size := h.size()
		return fmt.Sprintf("resize %d %v %v", d.Container, size, h.s.Of(d.Container).ResizeContainer(d.Container, size))
	case 1:
		if h.r.IntN(4) == 0 {
			h.s.SpareKillable()
			return "spare"
		}
	}
	return fmt.Sprintf("doom %d %v", d.Container, h.s.MakeKillable(d.Container))
}

func (h *history) drop(match func(Decision) bool) {
	h.held = slices.DeleteFunc(h.held, func(d Decision) bool {
		if match(d) {
			h.s.Free(d.Container)
			return true
		}
		return false
	})
}

// schedule has decisions made until nobody has to go for them any more.
func (h *history) schedule() (out []string) {
	for again := true; again; {
		again = false
		list := slices.Clone(h.s.Schedule(h.now))
		for _, d := range list {
			if d.Kind == Kill {
				again = true
				h.drop(func(o Decision) bool { return o.Container == d.Container })
			}
			if d.Kind == Allocate {
				h.held = append(h.held, d)
			}
			out = append(out, fmt.Sprintf("%s %d of %d on %d: %v %d/%d %v", []string{"+", "start", "reserve", "unreserve", "kill"}[d.Kind], d.Container, d.App, d.Node,
				d.Resource, d.Priority, d.AllocationRequestID, d.Locality))
		}
	}
	return out
}

// App and Container are what preemption is told of what runs.
func (h *history) App(a handle.App) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1, ID: int32(a)}
}

// Container leaves one of seven out.
func (h *history) Container(c handle.Container, to *preempt.Container) bool {
	to.ID = records.ContainerID{ID: int64(c)}
	return c%7 != 3
}

// read writes down whatever can be read.
func (h *history) read(w io.Writer) {
	s := h.s
	fmt.Fprintln(w, s.NextWake(), s.Headroom(), s.Largest(), s.OpenNodes(), s.Reservations())
	queues := s.Queues()
	fair := !queues[0].Steady.IsZero() // such queues have no limits of users, and YARN tells no activities of them
	for _, q := range queues {
		if fair {
			q.UserLimit = records.Resource{}
		}
		fmt.Fprintln(w, q.Path, q.Parent, q.Leaf, q.Used, q.Reserved, q.Pending, q.Containers, q.Guaranteed, q.Maximum, q.Available, q.AbsoluteUsed,
			q.UsedShare, q.Apps, q.Runnable, q.Active, q.Waiting, q.AMUsed, q.AMLimit, q.UserLimit, q.Fair, q.Steady, s.TakesApps(q.Path))
		for _, u := range q.Users {
			if fair {
				u.Limit, u.AMShare = records.Resource{}, records.Resource{}
			}
			fmt.Fprintln(w, u.Name, u.Weight, u.Used, u.Reserved, u.Pending, u.Limit, u.AMUsed, u.AMShare, u.Active, u.Waiting, u.Wanting > 0)
		}
	}
	for _, a := range h.apps {
		fmt.Fprintln(w, a, s.AppState(a), s.Pending(a), s.PendingResource(a), s.HeadroomOf(a), s.Blacklist(a), s.Excluded(a))
		asks := s.Asks(a)
		slices.SortFunc(asks, func(x, y Ask) int {
			return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.AllocationRequestID, y.AllocationRequestID), strings.Compare(x.Name, y.Name))
		})
		rows := make([]string, len(asks))
		for i := range asks {
			rows[i] = rowOf(&asks[i])
		}
		fmt.Fprintln(w, rows)
		for _, r := range s.Explain(a) {
			h.reason(w, r)
		}
		for _, list := range s.OnNodes(a, h.nodes) {
			for _, activity := range list {
				h.activity(w, activity)
			}
		}
	}
	for _, n := range h.nodes {
		if !fair {
			h.activity(w, s.Activities(n))
		}
	}
	for _, leaf := range h.leaves {
		for _, size := range []records.Resource{res(1, 1), res(6, 2), res(50, 50)} {
			for _, master := range []bool{false, true} {
				if r, err := s.WhatIf(leaf, "u", size, master); err == nil {
					h.reason(w, r)
				}
			}
		}
	}
	h.preemption(w, fair)
}

// rowOf is an ask without its kind of work, which is the same for all.
func rowOf(a *Ask) string {
	return fmt.Sprintf("{%v %v %v %v %v %v %v}", a.Priority, a.AllocationRequestID, a.Name, a.Capability, a.Count, a.RelaxLocality, a.ExecutionType)
}

// reason writes down a Reason without its words.
func (h *history) reason(w io.Writer, reason any) {
	r := reflect.ValueOf(reason)
	ask := r.FieldByName("Ask").Interface().(Ask)
	fmt.Fprint(w, rowOf(&ask), " ")
	for _, name := range []string{"Limit", "Queue", "User", "Used", "Bound", "Short", "Node", "Behind", "Host", "Open", "Eligible", "Until"} {
		fmt.Fprint(w, r.FieldByName(name), " ")
	}
	fmt.Fprintln(w)
}

// activity writes down an Activity and those below it, without their words.
func (h *history) activity(w io.Writer, activity any) {
	a := reflect.ValueOf(activity)
	for _, name := range []string{"Queue", "App", "OnNode", "Priority", "State", "From"} {
		fmt.Fprint(w, a.FieldByName(name), " ")
	}
	children := a.FieldByName("Children")
	fmt.Fprintln(w, children.Len())
	for i := range children.Len() {
		h.activity(w, children.Index(i).Interface())
	}
}

// preemption writes down what preemption looks at.
func (h *history) preemption(w io.Writer, fair bool) {
	x := h.s.Snapshots(h)[0]
	fmt.Fprintln(w, x.Cluster, x.Dominant, x.Minimum, x.Nodes)
	for _, q := range x.Queues {
		if fair {
			q.Pending, q.Asked = records.Resource{}, records.Resource{}
		}
		fmt.Fprintln(w, q.Path, q.Parent, q.Used, q.Guaranteed, q.Maximum, q.Pending, q.Asked, q.Reserved, q.Killable, q.MaxAM, q.Priority, q.Disabled, q.IntraOff,
			q.FairRanking, q.MinTimeout, q.FairTimeout, q.Threshold, q.Share.Kind, q.Share.Min, q.Share.Max, q.Share.Fair)
	}
	for _, a := range x.Apps {
		if fair {
			a.UserLimit = records.Resource{}
		}
		fmt.Fprintln(w, a.ID, a.Queue, a.User, a.Priority, a.Seq, a.Used, a.Fair, a.UserLimit, a.Asks, a.Containers)
	}
}

package opportunistic

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Settings hold the configuration (yarn.resourcemanager.opportunistic-container-allocation.* and nm-container-queuing.*).
type Settings struct {
	Enabled      bool
	NodesUsed    int           // of the nodes with the shortest queues, that requests for any node are spread over
	SortInterval time.Duration // between two looks at the queues
	ByResources  bool          // comparator QUEUE_LENGTH_THEN_RESOURCES
	Deviations   float64       // standard deviations above the mean that a node's queue may have
	LeastQueue   int           // bounds of that limit
	MostQueue    int
	PerHeartbeat int // containers that an answer to an ApplicationMaster has at most; less than 1: mostPerHeartbeat
}

// mostPerHeartbeat is how many containers an answer to an ApplicationMaster has at most.
const mostPerHeartbeat = 1000

// Config holds the parts that an Allocator works with.
type Config struct {
	Settings
	MaxRequests, MaxPlaces int // of an application, as in request.Config
	Normalize              func(records.Resource) (records.Resource, error)
	LabelOf                func(records.NodeID) string
	ToMaster               func(records.ApplicationID) *session.MasterBox
	ToNode                 func(records.NodeID) *session.NodeBox
	Epoch                  func() int64 // of container ids
}

// Allocator is of one leadership.
type Allocator struct {
	// Granted is told of a container that was entered. It is set before the first call.
	Granted func(*ledger.Container)

	cfg  Config
	loop loop.Operations
	work *ledger.State

	nodes     map[records.NodeID]*node
	early     map[records.NodeID][]records.ContainerID // that an earlier leader has sent, by nodes that haven't been heard of
	ranking   []*node
	hosts     map[string][]*node // the same by host and by rack
	racks     map[string][]*node
	sorted    time.Time // when ranking was made; zero: it has to be
	among     []*node   // kept for its memory
	cursor    int       // where the next request for any node begins
	apps      map[records.ApplicationID]*wishes
	live      map[records.ContainerID]bool // that had not ended when they were looked at last
	totals    Totals
	latencies latencies
}

// New makes the Allocator of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Allocator {
	return &Allocator{
		cfg: cfg, loop: loop, work: work, nodes: map[records.NodeID]*node{}, early: map[records.NodeID][]records.ContainerID{},
		apps: map[records.ApplicationID]*wishes{}, live: map[records.ContainerID]bool{},
	}
}

// wishes hold the requests of an attempt.
type wishes struct {
	attempt  records.AttemptID
	requests map[key]*request
	excluded map[string]bool // hosts
}

// key names a request. Containers of several sizes may be asked for by one priority and id.
type key struct {
	priority int32
	id       int64
	size     records.Resource
}

type request struct {
	key
	count  int32
	label  string
	strict bool             // no other places than those named
	places map[string]int32 // hosts and racks, and how many there
	since  int64            // ms since 1970
}

// Serve takes the opportunistic requests out of those of an application's running attempt, and returns the rest. add and remove change the hosts that it excludes.
// What nodes have room for of these and earlier requests is granted.
func (a *Allocator) Serve(app *ledger.Application, asks []scheduler.Ask, add, remove []string) ([]scheduler.Ask, error) {
	if !a.cfg.Enabled || app.Current().State >= ledger.AttemptFinishing {
		return asks, nil
	}
	rest, err := a.take(app.Current().ID, asks, add, remove)
	if err == nil {
		a.allocate(app)
	}
	return rest, err
}

func (a *Allocator) take(id records.AttemptID, asks []scheduler.Ask, add, remove []string) ([]scheduler.Ask, error) {
	opportunistic := func(ask scheduler.Ask) bool {
		return ask.ExecutionType == pb.ExecutionType_OPPORTUNISTIC && ask.Scheduling == nil
	}
	w := a.apps[id.App]
	if w != nil && w.attempt != id {
		w = nil
	}
	if w == nil {
		if !slices.ContainsFunc(asks, opportunistic) && len(add) == 0 {
			return asks, nil
		}
		w = &wishes{attempt: id, requests: map[key]*request{}, excluded: map[string]bool{}}
		a.apps[id.App] = w
	}
	for _, host := range add {
		w.excluded[host] = true
	}
	for _, host := range remove {
		delete(w.excluded, host)
	}
	var rest []scheduler.Ask
	for _, ask := range asks {
		if !opportunistic(ask) {
			rest = append(rest, ask)
		} else if err := a.ask(w, &ask); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// ask notes one row.
func (a *Allocator) ask(w *wishes, ask *scheduler.Ask) error {
	size := ask.Capability
	if ask.Count == 0 { // the others were rounded
		if rounded, err := a.cfg.Normalize(size); err == nil {
			size = rounded
		}
	}
	k := key{ask.Priority, ask.AllocationRequestID, size}
	r := w.requests[k]
	if r == nil {
		if ask.Count == 0 {
			return nil
		}
		if most := a.cfg.MaxRequests; most > 0 && len(w.requests) >= most {
			return refusal.New(refusal.InvalidResource, "%v would have %d opportunistic requests that differ in priority, allocation request id or size; at most %d are "+
				"taken (heddle.application.max-requests)", w.attempt.App, len(w.requests)+1, most)
		}
		r = &request{key: k, places: map[string]int32{}, since: a.loop.Time()}
		w.requests[k] = r
	}
	switch {
	case ask.Name == scheduler.Any:
		r.count, r.label, r.strict = ask.Count, ask.Label, !ask.RelaxLocality
	case ask.Count == 0:
		delete(r.places, ask.Name)
	case a.cfg.MaxPlaces > 0 && len(r.places) >= a.cfg.MaxPlaces:
		return refusal.New(refusal.InvalidResource, "%v would ask for %d hosts and racks in an opportunistic request; at most %d are taken (heddle.application.max-places)",
			w.attempt.App, len(r.places)+1, a.cfg.MaxPlaces)
	default:
		r.places[ask.Name] = ask.Count
	}
	if r.count == 0 && len(r.places) == 0 {
		delete(w.requests, k)
	}
	return nil
}

// Waiting returns how many opportunistic containers an application waits for.
func (a *Allocator) Waiting(id records.ApplicationID) (n int64) {
	if w := a.apps[id]; w != nil {
		for _, r := range w.requests {
			n += int64(r.count)
		}
	}
	return n
}

// AppEnded forgets what an application has asked for.
func (a *Allocator) AppEnded(id records.ApplicationID) { delete(a.apps, id) }

// allocate gives an application what nodes have room for, by the priority of its requests, and tells its ApplicationMaster once that is committed.
func (a *Allocator) allocate(app *ledger.Application) {
	w := a.apps[app.ID]
	if w == nil || len(w.requests) == 0 || w.attempt != app.Current().ID {
		return
	}
	a.sort()
	out := round{Allocator: a, wishes: w, left: a.cfg.PerHeartbeat, next: a.cfg.Epoch()<<records.EpochShift | (app.Current().LastSequence + 1)}
	if out.left < 1 {
		out.left = mostPerHeartbeat
	}
	for _, r := range w.mostUrgentFirst() {
		out.serve(r)
		if r.count == 0 {
			delete(w.requests, r.key)
		}
	}
	a.enter(app, out.grants)
}

// round collects the grants of one call.
type round struct {
	*Allocator
	*wishes
	left   int   // how many containers it may still get
	next   int64 // id of its next container
	grants []*ledgerpb.Grant
}

// serve places containers of a request: on hosts that it names, in racks that it names, and anywhere.
func (o *round) serve(r *request) {
	names := slices.Sorted(maps.Keys(r.places))
	for near, index := range []map[string][]*node{o.hosts, o.racks} {
		for _, name := range names {
			for r.places[name] > 0 && o.give(r, o.fitting(index[name], r, 1)) {
				o.totals.at(scheduler.Locality(near))
				if r.places[name]--; r.places[name] == 0 {
					delete(r.places, name)
				}
			}
		}
	}
	from := o.ranking
	for !r.strict {
		for len(from) > 0 && !o.fits(from[0], r) { // nor will it, as it gets no emptier
			from = from[1:]
		}
		if !o.give(r, o.fitting(from, r, max(o.cfg.NodesUsed, 1))) {
			return
		}
		o.totals.at(scheduler.OffSwitch)
	}
}

// fits reports whether a node takes a container of the application.
func (o *round) fits(n *node, r *request) bool { return !o.excluded[n.id.Host] && o.takes(n, r) }

// fitting returns the first nodes of a list that take a container, up to a number of them.
func (o *round) fitting(from []*node, r *request, most int) []*node {
	o.among = o.among[:0]
	for _, n := range from {
		if o.fits(n, r) {
			if o.among = append(o.among, n); len(o.among) == most {
				break
			}
		}
	}
	return o.among
}

// give grants a container on one of some nodes, each in its turn. It reports false if there is none, or the round has given all it may.
func (o *round) give(r *request, among []*node) bool {
	if len(among) == 0 || o.left == 0 || r.count == 0 {
		return false
	}
	o.cursor++
	n := among[o.cursor%len(among)]
	// With QUEUE_LENGTH_THEN_RESOURCES one that fits beside the others takes no place of the queue.
	if o.cfg.ByResources && r.size.FitsIn(n.free) {
		n.free = n.free.Sub(r.size)
	} else {
		n.load++
	}
	n.sent[records.ContainerID{Attempt: o.attempt, ID: o.next}] = true
	waited := max(o.loop.Time()-r.since, 0)
	o.latencies.add(waited, o.loop.Time())
	o.grants = append(o.grants, &ledgerpb.Grant{
		Id: o.next, Node: ledger.NodeRef(n.id), Resource: ledger.Amounts(r.size), Priority: r.priority, AllocationRequestId: r.id,
		ExecutionType: int32(pb.ExecutionType_OPPORTUNISTIC), Waited: waited + 1,
	})
	o.next++
	o.left--
	r.count--
	return true
}

// mostUrgentFirst returns the requests, the most urgent first.
func (w *wishes) mostUrgentFirst() []*request {
	return slices.SortedFunc(maps.Values(w.requests), func(x, y *request) int {
		return compareKeys(&x.key, &y.key)
	})
}

func compareKeys(x, y *key) int {
	return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.id, y.id), slices.Compare(x.size[:], y.size[:]))
}

// enter puts the containers on record.
func (a *Allocator) enter(app *ledger.Application, grants []*ledgerpb.Grant) {
	if len(grants) == 0 {
		return
	}
	attempt := app.Current().ID
	a.loop.Enter(&ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: grants}})
	told := make([]session.Grant, len(grants))
	for i, g := range grants {
		c := app.Containers.Get(records.ContainerID{Attempt: attempt, ID: g.GetId()})
		told[i] = session.GrantOf(c)
		a.live[c.ID] = true
		a.Granted(c)
	}
	box := a.cfg.ToMaster(app.ID)
	a.loop.AfterCommit(func() { box.Grant(told) })
}

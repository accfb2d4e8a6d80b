package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// Options say who works, and how long they try.
type Options struct {
	// Addresses returns where the ResourceManagers listen, by a configuration key.
	Addresses func(key string) []string
	Client    *ipc.Client
	// Nodes is the number of simulated nodes, Capacity the number of containers that one holds, and Container the
	// resource of each.
	Nodes, Capacity int
	Container       records.Resource
	// Held returns the capacity of a node that isn't simulated; 0 for an unknown one.
	Held func(records.NodeID) int
	// Masters is the number of actors that ask for containers and give them back. Submitters is the number
	// of actors that submit applications and look for them.
	Masters, Submitters int
	// Pause is the shortest time between two calls of an ApplicationMaster, and between two submissions of a submitter.
	Pause time.Duration
	// Patience bounds the tries of a call, and the time of a check.
	Patience time.Duration
	// Name is the name of all applications.
	Name string
}

// World runs clients, ApplicationMasters and nodes, and records what they see.
type World struct {
	o      Options
	begin  time.Time
	nodes  map[records.NodeID]*node
	policy ipc.RetryPolicy
	amount *pb.Resource

	mu      sync.Mutex
	calls   []call   // calls of clients
	tenures []tenure // tenures of containers
	granted chan struct{}
	errs    []error
	apps    []records.ApplicationID
}

// call is a client's call: a submission, or a look-up of an application.
type call struct {
	client     int
	submit     bool
	app        records.ApplicationID
	begin, end time.Duration
	unknown    bool // a submission without an answer: it may have taken effect, or may still
	found      bool // the look-up found it
}

// tenure is the time that an ApplicationMaster has a container.
type tenure struct {
	id                records.ContainerID
	node              records.NodeID
	asked, got        time.Duration
	released, settled time.Duration // begin and end of the call that gave it back; 0 = not yet
	lost              bool          // it was taken away, maybe before its ApplicationMaster had heard of it
}

// New returns a world without work under way. Run makes them work.
func New(o Options) *World {
	return &World{
		o: o, begin: time.Now(), nodes: map[records.NodeID]*node{}, granted: make(chan struct{}, 1),
		policy: ipc.RetryPolicy{MaxElapsed: o.Patience, Base: 5 * time.Millisecond, Max: 50 * time.Millisecond},
		amount: records.ResourceTypes{}.PB(o.Container),
	}
}

func (w *World) now() time.Duration { return time.Since(w.begin) }

func (w *World) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

func (w *World) record(c call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, c)
	if c.submit {
		w.apps = append(w.apps, c.app)
	}
}

func (w *World) someApp() (records.ApplicationID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.apps) == 0 {
		return records.ApplicationID{}, false
	}
	return w.apps[rand.IntN(len(w.apps))], true
}

// Granted receives a value after containers were granted.
func (w *World) Granted() <-chan struct{} { return w.granted }

// ForgetGrants drops grants that arrived before now.
func (w *World) ForgetGrants() {
	select {
	case <-w.granted:
	default:
	}
}

// Count returns how many calls of clients and containers there were so far. A container counts when it has been given
// back.
func (w *World) Count() (calls, containers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls), len(w.tenures)
}

// Lost returns how many containers were taken away on simulated nodes. None of those nodes ever fails.
func (w *World) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, t := range w.tenures {
		if t.lost && w.nodes[t.node] != nil {
			n++
		}
	}
	return n
}

// Errors returns the errors of calls that were given up.
func (w *World) Errors() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.errs)
}

// Run makes all actors work until ctx ends.
func (w *World) Run(ctx context.Context, wg *sync.WaitGroup) error {
	for i := range w.o.Nodes {
		n := w.newNode(records.NodeID{Host: fmt.Sprintf("127.0.1.%d", i+1), Port: 45454})
		if err := n.Register(ctx); err != nil {
			return err
		}
		w.nodes[n.ID] = n
	}
	for _, n := range w.nodes {
		wg.Go(func() { w.live(ctx, n) })
	}
	for i := range w.o.Masters {
		m, err := w.master(ctx, fmt.Sprintf("am%d", i))
		if err != nil {
			return err
		}
		wg.Go(func() { m.live(ctx) })
	}
	for i := range w.o.Submitters {
		wg.Go(func() { w.submitter(ctx, i) })
	}
	return nil
}

func (w *World) tracker() ipc.Invoker {
	return w.o.Client.Failover(w.o.Addresses(rm.TrackerAddress), protocol.ResourceTracker, ipc.Identity{User: "yarn"}, w.policy)
}

func (w *World) clientOf(user string) ipc.Invoker {
	return w.o.Client.Failover(w.o.Addresses(rm.ClientAddress), protocol.ApplicationClient, ipc.Identity{User: user}, w.policy)
}

func (w *World) submission(id *pb.ApplicationId) *pb.SubmitApplicationRequest {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id)
	ctx.SetApplicationName(w.o.Name)
	ctx.SetUnmanagedAm(true)
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	ctx.SetResource(w.amount)
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	return req
}

// submitter submits applications, and looks up its own and others'.
func (w *World) submitter(ctx context.Context, i int) {
	to := w.clientOf(fmt.Sprintf("user%d", i))
	for ctx.Err() == nil {
		w.submit(ctx, to, i)
		if w.o.Pause > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(w.o.Pause):
			}
		}
	}
}

func (w *World) submit(ctx context.Context, to ipc.Invoker, i int) {
	resp, err := protocol.GetNewApplication.Call(ctx, to, &pb.GetNewApplicationRequest{})
	if err != nil {
		if ctx.Err() == nil {
			w.failed(err)
		}
		return
	}
	id := records.ApplicationIDFrom(resp.GetApplicationId())
	c := call{client: i, submit: true, app: id, begin: w.now()}
	_, err = protocol.SubmitApplication.Call(ctx, to, w.submission(resp.GetApplicationId()))
	c.end, c.unknown = w.now(), err != nil
	w.record(c)
	// A look-up without an answer says nothing. Others follow.
	_ = w.look(ctx, to, i, id)
	if other, ok := w.someApp(); ok {
		_ = w.look(ctx, to, i, other)
	}
}

// look looks up an application, and records whether it exists. It returns an error if that is unknown.
func (w *World) look(ctx context.Context, to ipc.Invoker, client int, id records.ApplicationID) error {
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	c := call{client: client, app: id, begin: w.now()}
	_, err := protocol.GetApplicationReport.Call(ctx, to, req)
	c.end, c.found = w.now(), err == nil
	if err != nil && !ipc.IsClass(err, ipc.ApplicationNotFound) {
		return fmt.Errorf("look for %v: %w", id, err)
	}
	w.record(c)
	return nil
}

// LookForAll looks up every application whose submission was acknowledged, or may have been. It returns an error if a
// look-up failed, because then the history proves nothing. Check reports which applications are lost.
func (w *World) LookForAll(ctx context.Context) error {
	w.mu.Lock()
	apps := slices.Clone(w.apps)
	w.mu.Unlock()
	to := w.clientOf("auditor")
	var errs []error
	for _, id := range apps {
		errs = append(errs, w.look(ctx, to, w.o.Submitters, id))
	}
	return errors.Join(errs...)
}

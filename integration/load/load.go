package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/sasl"
)

// Options describe the load.
type Options struct {
	// Addresses of the ResourceManagers' ports.
	Client, Master, Tracker []string
	Admin                   []string // for AddLabels
	User                    string
	Queue                   string

	Nodes        int
	NodeResource records.Resource
	Heartbeat    time.Duration // time between a node's heartbeats

	Masters   int
	Container records.Resource
	// Rate is how many containers all ApplicationMasters together ask for per second, at random times. 0 asks for as
	// many as the ResourceManager grants: each ApplicationMaster keeps Outstanding containers pending.
	Rate        float64
	Outstanding int
	Interval    time.Duration // time between an ApplicationMaster's calls; 0 = without a pause
	Hold        time.Duration // how long a container lives
	EndByNode   bool          // start containers and let them end on their nodes, instead of giving them back

	Warmup, Duration time.Duration

	// Labels are those of nodes and asks, which take turns; nil: they have none. AddLabels has made them known, and PartitionSettings let
	// ApplicationMasters use them.
	Labels []string
	// Queues are those of ApplicationMasters, which take turns, instead of Queue; nil: all have that.
	Queues []string
	// Constrained has ApplicationMasters ask by scheduling requests, whose constraint all nodes satisfy. Unmet is how many requests of theirs no node
	// satisfies: they wait during the load. Both need ConstraintSettings, and that there are no Labels.
	Constrained bool
	Unmet       int

	// Submits is told of each application before it is submitted; nil: it isn't reported. Applications then have a lifetime, so
	// that they end by themselves.
	Submits func(app string) error `json:"-"`
	// Secure has what peers prove to a cluster with Kerberos; nil: a cluster without.
	Secure *Secure `json:"-"`
}

// Secure is by what a load's peers prove who they are.
type Secure struct {
	User, Nodes ipc.Identity
	Protection  sasl.Qualities // hadoop.rpc.protection
	AsJava      bool           // ApplicationMasters and nodes encrypt as Hadoop's do
}

// client returns a client of RPC for one peer.
func (o *Options) client() *ipc.Client {
	c := ipc.ClientConfig{MaxIdle: time.Minute}
	if o.Secure != nil {
		c.Protection, c.AsJava = o.Secure.Protection, o.Secure.AsJava
	}
	return ipc.NewClient(c)
}

// user returns who submits.
func (o *Options) user() ipc.Identity {
	if o.Secure != nil {
		return o.Secure.User
	}
	return ipc.Identity{User: o.User}
}

// nodeManager returns who nodes are.
func (o *Options) nodeManager() ipc.Identity {
	if o.Secure != nil {
		return o.Secure.Nodes
	}
	return ipc.Identity{User: "yarn"}
}

// spare is for how long an application may live beyond the load's own time.
const spare = 2 * time.Minute

// Result has the measurements of Options.Duration.
type Result struct {
	Duration       time.Duration
	Grants         int64
	PerSecond      float64      // grants per second
	Latency        Distribution // time from asking for a container to getting it
	Heartbeats     Distribution // round-trip times of nodes' heartbeats
	BeatsPerSecond float64
	PeakMemory     int64 `json:",omitempty"` // bytes that a ResourceManager of this machine had resident at most; 0 = unknown. Run leaves it
}

// Distribution summarizes durations.
type Distribution struct {
	Count              int
	P50, P90, P99, Max time.Duration
}

// run is a load under way.
type run struct {
	o         Options
	begin     time.Time
	container *pb.Resource
	nodes     []*node
	placeOf   map[records.NodeID]int32 // index of each node in nodes

	granted atomic.Int64
	grants  samples
	beats   samples

	mu  sync.Mutex
	err error
}

// failed records the first failure. The run continues, because a few of many peers may fail.
func (r *run) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// Run generates load and measures. Its error is the first failure of a simulated peer. The result is valid
// nevertheless.
func Run(ctx context.Context, o Options) (Result, error) {
	r := &run{
		o: o, begin: time.Now(), placeOf: map[records.NodeID]int32{},
		container: records.ResourceTypes{}.PB(o.Container),
	}
	if err := o.check(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var peers sync.WaitGroup
	defer peers.Wait()
	defer cancel()
	if err := r.startNodes(ctx, &peers); err != nil {
		return Result{}, err
	}
	for i := range o.Masters {
		m, err := newMaster(ctx, r, i)
		if err != nil {
			return Result{}, fmt.Errorf("ApplicationMaster %d of %d: %w", i+1, o.Masters, err)
		}
		peers.Go(func() { m.live(ctx) })
	}
	r.warmUp(ctx)
	r.grants.reset()
	r.beats.reset()
	before, begin := r.granted.Load(), time.Now()
	sleep(ctx, o.Duration)
	took := time.Since(begin)
	res := Result{Duration: took, Grants: r.granted.Load() - before, Latency: r.grants.sum(), Heartbeats: r.beats.sum()}
	res.PerSecond = float64(res.Grants) / took.Seconds()
	res.BeatsPerSecond = float64(res.Heartbeats.Count) / took.Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	return res, errors.Join(r.err, ctx.Err())
}

// warmUp lets the load run for a while. Shortly before it ends, the generator collects its garbage, so that its next collection is late:
// its delays would count as the ResourceManager's.
func (r *run) warmUp(ctx context.Context) {
	calm := min(time.Second, r.o.Warmup/2)
	sleep(ctx, r.o.Warmup-calm)
	runtime.GC()
	sleep(ctx, calm)
}

func (o *Options) check() error {
	switch {
	case len(o.Client) == 0 || len(o.Master) == 0 || len(o.Tracker) == 0:
		return errors.New("no addresses of a ResourceManager")
	case o.Nodes < 0 || o.Masters < 1:
		return fmt.Errorf("%d nodes and %d ApplicationMasters: there must be at least one ApplicationMaster", o.Nodes, o.Masters)
	case o.Heartbeat <= 0 || o.Duration <= 0:
		return fmt.Errorf("heartbeats every %v for %v: both must be longer than 0", o.Heartbeat, o.Duration)
	case len(o.Labels) > 0 && (o.Constrained || o.Unmet > 0):
		return errors.New("scheduling requests of a load have no labels: give labels or constraints")
	case o.Rate == 0 && o.Outstanding < 1:
		return errors.New("give a rate, or a number of containers to keep pending")
	}
	return nil
}

func (r *run) startNodes(ctx context.Context, peers *sync.WaitGroup) error {
	var g errgroup.Group
	g.SetLimit(64)
	for i := range r.o.Nodes {
		n := newNode(r, i)
		r.nodes = append(r.nodes, n)
		r.placeOf[n.ID] = int32(i)
	}
	for _, n := range r.nodes {
		g.Go(func() error { return n.Register(ctx) })
	}
	if err := g.Wait(); err != nil {
		for _, n := range r.nodes {
			n.client.Close()
		}
		return err
	}
	for _, n := range r.nodes {
		peers.Go(func() { n.live(ctx) })
	}
	return nil
}

// samples collects durations.
type samples struct {
	mu   sync.Mutex
	list []time.Duration
}

func (s *samples) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, d)
}

func (s *samples) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = s.list[:0]
}

func (s *samples) sum() Distribution {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return Distribution{}
	}
	slices.Sort(s.list)
	at := func(q float64) time.Duration { return s.list[min(len(s.list)-1, int(q*float64(len(s.list))))] }
	return Distribution{
		Count: len(s.list), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: s.list[len(s.list)-1],
	}
}

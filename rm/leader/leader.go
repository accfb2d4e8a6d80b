package leader

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm/hosts"
	"heddle/rm/leader/decommission"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/division"
	"heddle/rm/leader/ends"
	"heddle/rm/leader/ledgerversion"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	"heddle/rm/leader/loop"
	"heddle/rm/leader/masterkey"
	"heddle/rm/leader/nodeattributes"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/leader/nodespeed"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/opportunity"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/pipeline"
	"heddle/rm/leader/placement"
	"heddle/rm/leader/queueconf"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/report"
	"heddle/rm/leader/request"
	"heddle/rm/leader/resize"
	"heddle/rm/leader/session"
	"heddle/rm/leader/settings"
	"heddle/rm/leader/speed"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/leader/swap"
	"heddle/rm/leader/totals"
	"heddle/rm/leader/trial"
	"heddle/rm/leader/usage"
	"heddle/rm/leader/waits"
	"heddle/rm/leader/warming"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Settings hold what the configuration says.
type Settings = settings.Settings

// Launcher talks to NodeManagers on the leader's behalf. Its methods block until the node has answered.
type Launcher interface {
	// Launch starts the container of an ApplicationMaster.
	Launch(ctx context.Context, l Launch) error
	// Stop ends a container of an attempt.
	Stop(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error
	level.Nodes
}

// Config is what a Leader works with.
type Config struct {
	Settings Settings
	// State is the committed state at the beginning; the leader keeps it as its working copy.
	State *ledger.State
	// Propose hands a batch to raft, in order, and may block; the function it returns waits for the commit and yields
	// what the ledger said. The batch no longer changes.
	Propose  func(*ledgerpb.Batch) (wait func() error)
	Launcher Launcher
	Disk     func() limit.Disk // says how much space is left for the log; nil: enough
	// Versions finds the newest version of the ledger that all members can apply; it may be slow. nil leaves it as it is.
	Versions func(context.Context) (int32, error)
	// Tokens renews what others than this ResourceManager have issued; nil if nothing does.
	Tokens delegation.TokenRenewer
	// Wall returns the clock on the wall. The leader has a clock of its own, which doesn't jump.
	Wall func() time.Time
	// Elapsed returns how much time has passed since any time, and never goes back; nil is the machine's monotonic clock.
	Elapsed func() time.Duration
	// Past is the time of the leaderships before; nil: nothing is known of it.
	Past   *loop.Chronicle
	NewKey func(kind ledgerpb.KeyKind) (id int32, secret []byte, err error) // a random master key
	Rack   func(host string) string                                         // rack of a host, such as /default-rack; may be slow
	Hosts  *hosts.Lists                                                     // that may be nodes; nil admits all
	Log    *logrus.Entry
	// StoredLabels reads which labels of nodes YARN's ResourceManager has stored; nil: none.
	StoredLabels func() (*ledgerpb.NodeLabelsChanged, error)
	// Record is where the scheduler's events are written to, nil: nowhere; RecordedQueues are what Settings.Queues are made from, for a replay.
	Record         *eventlog.Writer
	RecordedQueues *eventlog.Source
}

// Leader leads. Its exported methods are safe for concurrent use while Run runs. They are those of its parts, of which each deals with
// one thing, keeps its state to itself, and names the parts that it needs.
type Leader struct {
	*core
	*applications
	*attempts
	*masters
	*containers
	*nodeManagers
	*preempting
	*report.Reports
	hosts       *decommission.Hosts
	placement   *placement.Placement
	requests    *request.Checker
	sizes       *resize.Sizes
	levels      *level.Levels
	queueConf   *queueconf.Admin
	keys        *masterkey.Keys
	delegations *delegation.Issuer
	carried     *delegation.Carried
	version     *ledgerversion.Raiser
}

// core is what all parts work with, as YARN's RMContext: the log, the scheduler, the clock, and who is there.
type core struct {
	Config
	*loop.Loop
	work  *ledger.State
	sched *eventlog.Recorder
	tree  *queue.Tree // in effect: an administrator may have changed it since the beginning
	epoch int64       // of this leadership's container ids
	began time.Time   // when New was called

	apps     map[records.ApplicationID]*appSoft
	byHandle map[scheduler.AppHandle]*appSoft
	nodes    map[records.NodeID]*nodeSoft
	nodeOf   map[scheduler.NodeHandle]*nodeSoft
	labels   *nodelabels.Labels
	attrs    *nodeattributes.Attributes
	inputs   *warming.Warming
	swaps    swap.Swaps
	events   events

	masterSessions session.Registry[records.AttemptID, *amSession]
	nodeSessions   session.Registry[records.NodeID, *nodeSession]
	nodeNews       session.NodeNews
	loans          *lending.Loans
	chances        *opportunistic.Allocator
	division       *division.Nodes
	totals         totals.Totals
	arrived        request.Arrived
}

// New makes the leader of a leadership that has just begun; raft must have applied everything that was committed before.
func New(cfg Config) *Leader {
	c := newCore(cfg)
	refusals, put, learned := &startrefusal.Refusals{}, outputs.New(), speed.New(c.Now)
	keys := masterkey.New(c, c.work, masterkey.Config{
		Lifetime: cfg.Settings.KeyLifetime, NodeExpiry: cfg.Settings.NodeExpiry, Certificates: cfg.Settings.Certificates, New: cfg.NewKey, Log: cfg.Log,
	})
	levels := level.New(c, c.work, level.Config{
		Scheduler: c.sched, Nodes: func() level.Nodes { return c.Launcher }, Types: cfg.Settings.Types, HandleOf: handleOf, Log: cfg.Log,
		Step:      func() records.Resource { return c.Settings.Live.Tree().Settings.Suspension.Step },
		Footprint: func() bool { return c.Settings.Live.Tree().Settings.Suspension.Footprint },
		Tell:      c.tellSuspended,
	})
	queues := queueconf.New(c, c.work, queueconf.Config{
		Source: cfg.Settings.QueueSource, Scheduler: heldQueues{c}, Publish: c.Settings.Live.Set, Log: cfg.Log, Facts: trial.Of(scheduler.Config{Minimum: cfg.Settings.MinAllocation, Types: cfg.Settings.Types, Heartbeat: cfg.Settings.HeartbeatInterval}, trial.Source{Now: c.Time, Ledger: c.work, Asks: c.sched, Apps: directory{c}, Label: c.labels.Of}),
	})
	issuer := delegation.NewIssuer(c, c.work, delegation.IssuerConfig{
		Lifetime: cfg.Settings.DelegationLifetime, Interval: cfg.Settings.DelegationRenewal, Bounds: cfg.Settings.Bounds, Disk: c.Disk,
		JustBegun: c.justBegun,
	})
	carried := delegation.NewCarried(c, c.work, issuer, cfg.Tokens, cfg.Settings.TokenCalls, cfg.Log)
	requests := c.checker()
	c.chances = opportunistic.New(c, c.work, opportunistic.Config{
		Settings: cfg.Settings.Chances, MaxRequests: cfg.Settings.MaxRequests, MaxPlaces: cfg.Settings.MaxPlaces, LabelOf: c.labels.Of, Epoch: func() int64 { return c.epoch },
		ToMaster: c.toMaster, ToNode: c.toNode, Normalize: func(r records.Resource) (records.Resource, error) { return requests.Normalize(r, requests.Maximum()) },
	})
	reports := report.New(c, c.work, report.Config{
		Scheduler: c.sched, Cluster: directory{c}, Sizes: requests, Queues: heldQueues{c}.Tree, Live: c.Settings.Live,
		MaxAllocation: cfg.Settings.MaxAllocation, Opportunistic: c.chances,
	})
	placed := placement.New(c, c.work, placement.Config{
		Scheduler: c.sched, Apps: directory{c}, Queues: heldQueues{c}.Tree, Live: c.Settings.Live, Groups: cfg.Settings.Groups, Tags: cfg.Settings.TagPlacement, MaySubmit: cfg.Settings.MaySubmit, Create: queues.Create,
	})
	sizes := resize.New(c, c.work, resize.Config{
		Scheduler: c.sched, Requests: requests, HandleOf: handleOf, ToMaster: c.toMaster, ToNode: c.toNode,
		Expiry: cfg.Settings.AllocationExpiry, Log: cfg.Log,
	})
	managers := &nodeManagers{core: c, refusals: refusals}
	leaving := decommission.New(c, c.work, decommission.Config{
		Nodes: listedNodes{managers}, Lists: cfg.Hosts, Timeout: cfg.Settings.DecommissionTimeout, JustBegun: c.justBegun, Switching: c.switching, Log: cfg.Log,
	})
	l := &Leader{
		core: c, applications: &applications{core: c}, attempts: &attempts{core: c},
		masters:    &masters{core: c, outputs: put, speeds: learned},
		containers: &containers{core: c}, nodeManagers: managers,
		hosts: leaving, levels: levels, sizes: sizes, preempting: &preempting{c},
		keys: keys, delegations: issuer, carried: carried, queueConf: queues, placement: placed,
		requests: requests, Reports: reports,
		version: ledgerversion.New(c, c.work, ledgerversion.Config{Ask: cfg.Versions, Raised: levels.ShowAll, Log: cfg.Log}),
	}
	l.introduce()
	sizes.Retypes(cfg.Settings.Chances.Enabled, l.containers.enter, l.containers.free)
	c.chances.Granted = l.containers.given
	c.events.hear(
		heardSizes{sizes, c}, l.nodeManagers, heardLevels{levels}, heardLoans{c.loans}, heardOutputs{put, c}, l.applications, heardInputs{c.inputs}, heardChances{c.chances},
		c.divider(levels), heardRefusals{refusals, c}, l.hosts, l.attempts, l.containers, l.masters, &speeds{c, learned, nodespeed.New(cfg.Settings.NodeSpeeds, learned)},
		l.carried, l.delegations, l.version, l.keys, queues, waits.New(c, c.work, waits.Config{Scheduler: c.sched, Apps: directory{c}, Off: cfg.Settings.NoReceipts}), ends.Ends{Loop: c, State: c.work, Tell: cfg.Settings.Ended},
		usage.New(c, c.work, usage.Config{Enabled: cfg.Settings.History, Scheduler: c.sched, Apps: directory{c}, Types: cfg.Settings.Types, Date: c.Date}),
	)
	return l
}

// checker returns what checks requests for containers.
func (c *core) checker() *request.Checker {
	s := &c.Settings
	requests := &request.Checker{Config: request.Config{
		Scheduler: c.sched, Types: s.Types, Queues: heldQueues{c}.Tree,
		MinAllocation: s.MinAllocation, MaxAllocation: s.MaxAllocation, Increment: s.Increment,
		Now: c.Now, LargerNodes: c.began.Add(s.SchedulingWait), Arrived: &c.arrived,
		MaxRequests: s.MaxRequests, MaxPlaces: s.MaxPlaces,
		LabelSettings: s.RequestLabels,
	}}
	if s.Labels.Enabled {
		requests.Labels = c.labels
	}
	return requests
}

// divider returns what divides nodes between short and long tasks.
func (c *core) divider(levels *level.Levels) *dividing {
	return &dividing{c, opportunity.New(c.work, opportunity.Config{
		Settings: &c.Settings.Division, Levels: level.Room{Levels: levels}, Loans: c.loans, Asked: c.division.Asked, Long: c.isLong, Now: c.Date, Log: c.Log,
	})}
}

// introduce tells the parts whom they ask.
func (l *Leader) introduce() {
	l.applications.attempts, l.applications.containers = l.attempts, l.containers
	l.applications.placement, l.applications.requests = l.placement, l.requests
	l.attempts.endApp, l.attempts.containers = l.applications.endApp, l.containers
	l.masters.attempts, l.masters.containers, l.masters.keys = l.attempts, l.containers, l.keys
	l.masters.preempting, l.masters.requests, l.masters.sizes = l.preempting, l.requests, l.sizes
	l.containers.masterGranted, l.containers.masterEnded = l.attempts.launch, l.attempts.masterEnded
	l.containers.preempting, l.containers.sizes = l.preempting, l.sizes
	l.containers.levels, l.containers.reports, l.containers.meters = l.levels, l.Reports, &l.masters.meters
	l.nodeManagers.applications, l.nodeManagers.attempts, l.nodeManagers.containers, l.nodeManagers.hosts = l.applications, l.attempts, l.containers, l.hosts
}

func newCore(cfg Config) *core {
	if cfg.Settings.Queues == nil {
		cfg.Settings.Queues = queue.Default(queue.Capacity)
	}
	if cfg.Disk == nil {
		cfg.Disk = func() limit.Disk { return limit.DiskFine }
	}
	if cfg.Settings.Live == nil {
		cfg.Settings.Live = queue.NewLive(cfg.Settings.Queues)
	}
	c := &core{
		Config:   cfg,
		Loop:     loop.New(loop.Config{State: cfg.State, Propose: cfg.Propose, Wall: cfg.Wall, Elapsed: cfg.Elapsed, Past: cfg.Past, Log: cfg.Log}),
		work:     cfg.State,
		tree:     cfg.Settings.Queues,
		apps:     map[records.ApplicationID]*appSoft{},
		byHandle: map[scheduler.AppHandle]*appSoft{},
		nodes:    map[records.NodeID]*nodeSoft{},
		nodeOf:   map[scheduler.NodeHandle]*nodeSoft{},
	}
	c.SetBounds(cfg.Settings.Bounds)
	c.nodeNews.Known = func(id records.NodeID) bool { return c.work.Nodes[id] != nil }
	c.began = c.Now()
	c.division = division.NewNodes(cfg.Settings.Division, 0)
	c.inputs = warming.New(c, c.work, warming.Config{Deliver: func(id records.NodeID, o warming.Order) { c.toNode(id).Warm(o) }, Staged: c.noteStaged})
	c.loans = lending.New(c, c.work, lending.Config{
		Settings: cfg.Settings.Lending, Nodes: lentNodes{c}, Smallest: cfg.Settings.MinAllocation, Types: cfg.Settings.Types, Log: cfg.Log,
	})
	c.division.Waiting = c.loans.Waiting
	var err error
	if c.sched, err = eventlog.New(scheduler.Config{
		Tree: cfg.Settings.Queues, Minimum: cfg.Settings.MinAllocation, Types: cfg.Settings.Types, Heartbeat: cfg.Settings.HeartbeatInterval,
	}, cfg.Record, cfg.RecordedQueues, eventlog.Header{Heddle: conf.Version, Time: c.Now().UnixMilli()}); err != nil {
		cfg.Log.WithError(err).Error("the scheduler's events are not recorded")
	}
	c.labels = nodelabels.New(c, c.work, nodelabels.Config{
		Settings: cfg.Settings.Labels, Scheduler: c.sched, Nodes: directory{c}, Queues: heldQueues{c}.Tree, Import: cfg.StoredLabels, Log: cfg.Log,
	})
	attributes := nodeattributes.Config{Log: cfg.Log}
	if cfg.Settings.Constraints.On() {
		attributes.Tell = func(host string, to map[string]string) {
			c.sched.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: host, Attributes: to})
		}
	}
	c.attrs = nodeattributes.New(c, c.work, attributes)
	c.swaps = swap.Swaps{Scheduler: c.sched, HandleOf: handleOf, Log: cfg.Log}
	return c
}

func (c *core) noteStaged(app records.ApplicationID, node records.NodeID, maps int) {
	if a, n := c.apps[app], c.nodes[node]; a != nil && n != nil {
		c.sched.Apply(&eventlog.Event{Op: eventlog.NoteStaged, App: a.handle, Node: n.handle, Maps: int64(maps)})
	}
}

// Run leads until ctx ends or the log fails. ready is called once the leader has taken over: it has recorded its leadership, and answers.
func (l *Leader) Run(ctx context.Context, ready func()) error {
	return l.Loop.Run(ctx, loop.Hooks{
		Begin: l.takeOver, Ready: ready, AfterEach: l.containers.schedule, Tick: func() { l.events.tick(l.Now()) }, NextWake: l.nextWake,
	})
}

// nextWake returns when something is due before the next tick, in ms; 0 is never.
func (l *Leader) nextWake() int64 {
	next, round := l.sched.NextWake(), l.sched.NextRound()
	if next == 0 || round != 0 && round < next {
		return round
	}
	return next
}

// ErrDeposed is returned when leadership ended before the operation was committed. The next leader decides whether it took effect.
var ErrDeposed = pipeline.ErrDeposed

// Keys returns the committed master keys of a kind.
func (l *Leader) Keys(kind ledgerpb.KeyKind) ledger.KeyRing { return l.keys.Ring(kind) }

// Delegations issues, renews and cancels delegation tokens: call Issue, Renew and Cancel alone.
func (l *Leader) Delegations() *delegation.Issuer { return l.delegations }

// Suspend suspends or shrinks a running container, and Resume resumes it. They return when the node has done it.
func (l *Leader) Suspend(ctx context.Context, id records.ContainerID, wish level.Wish) error {
	if err := l.begun(id, "suspend it when it runs"); err != nil {
		return err
	}
	return l.levels.Suspend(ctx, id, wish)
}

func (l *Leader) Resume(ctx context.Context, id records.ContainerID) error {
	if err := l.begun(id, "there is nothing to resume"); err != nil {
		return err
	}
	return l.levels.Resume(ctx, id)
}

// begun says that a container that was started has not begun yet, if its node has last said so, and what to do about it.
func (l *Leader) begun(id records.ContainerID, mend string) (err error) {
	var node records.NodeID
	if err = l.Do(func() error {
		if c := l.work.Container(id); c != nil && !c.AM { // ApplicationMasters are refused in any case
			node = c.Node
		}
		return nil
	}); err == nil && l.begins(node, id) {
		err = refusal.New(refusal.Refused, "Container %v has not begun yet, as node %v last said, which is localizing its files, or has it wait for room: %s", id, node, mend)
	}
	return err
}

// Levels brings containers to their levels: call Accounts, Totals and UnderWay alone.
func (l *Leader) Levels() *level.Levels { return l.levels }

// Labels returns those of nodes: call Add, Remove and Replace alone.
func (l *Leader) Labels() *nodelabels.Labels { return l.core.labels }

// Speeds are those of nodes: call Since alone. Inputs are those of jobs: call InMemory alone.
func (l *Leader) Speeds() *speed.Speeds    { return l.masters.speeds }
func (l *Leader) Inputs() *warming.Warming { return l.inputs }

// Attributes are those of nodes.
func (l *Leader) Attributes() *nodeattributes.Attributes { return l.core.attrs }

// Hosts decommissions nodes: call RefreshNodes, EndDecommissioning, Drain, Recommission and Leaving alone.
func (l *Leader) Hosts() *decommission.Hosts { return l.hosts }

// Move puts a live application into another queue, and returns that queue's path.
func (l *Leader) Move(id records.ApplicationID, queue string) (path string, err error) {
	return l.placement.Move(id, queue)
}

// Done is closed when the leader leads no more.
func (l *Leader) Done() <-chan struct{} { return l.Ended() }

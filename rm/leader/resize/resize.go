package resize

import (
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Scheduler is what this package tells the driver, and asks it (eventlog.Recorder).
type Scheduler interface {
	ContainerID(h scheduler.ContainerHandle) records.ContainerID
	Growing(h scheduler.ContainerHandle) bool
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
}

// Requests says which sizes can be had (request.Checker).
type Requests interface {
	Size(m *pb.Resource) (records.Resource, error)
	Maximum() records.Resource
	Normalize(r, maximum records.Resource) (records.Resource, error)
}

// Config is what Sizes work with.
type Config struct {
	Scheduler Scheduler
	Requests  Requests
	// HandleOf returns the scheduler's handle of a container; ok is false if it has none.
	HandleOf func(*ledger.Container) (h scheduler.ContainerHandle, ok bool)
	// ToMaster returns the box of a live application, and ToNode that of a node, nil if the node has gone.
	ToMaster func(records.ApplicationID) *session.MasterBox
	ToNode   func(records.NodeID) *session.NodeBox
	// Expiry is the time within which an ApplicationMaster must bring a node word of a growth.
	Expiry time.Duration
	Log    *logrus.Entry
}

// Sizes are those of containes. The methods are for the loop's operations.
type Sizes struct {
	cfg   Config
	loop  loop.Operations
	work  *ledger.State
	grown grownList // containers that were given more, by the time when their nodes must know

	admit   func(*ledger.Container, records.Resource) scheduler.ContainerHandle // nil: none is opportunistic
	release func(*ledger.Container)
}

// New makes the Sizes of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Sizes {
	return &Sizes{cfg: cfg, loop: loop, work: work}
}

// Retypes says whether execution types may be changed: admit enters a container in the scheduler that isn't there, and release takes one out.
func (s *Sizes) Retypes(may bool, admit func(*ledger.Container, records.Resource) scheduler.ContainerHandle, release func(*ledger.Container)) {
	if may {
		s.admit, s.release = admit, release
	}
}

// Wish is to change a container (YARN: UpdateContainerRequest).
type Wish struct {
	ID         records.ContainerID
	Version    int32 // that the ApplicationMaster knows
	Kind       pb.ContainerUpdateType
	Capability *pb.Resource
}

// Refused is a wish that is refused.
type Refused struct {
	Index   int // of the wish in its call
	Reason  string
	Version int32 // of the container
}

// Why a container can't be changed, in Hadoop's words (RMServerUtils).
const (
	wrongVersion   = "INCORRECT_CONTAINER_VERSION_ERROR"
	unknownID      = "INVALID_CONTAINER_ID"
	outstanding    = "UPDATE_OUTSTANDING_ERROR"
	outOfRange     = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	typesStayFixed = "All containers are GUARANTEED; their execution type can't be changed"
	tooOld         = "Execution types can be changed once all ResourceManagers run a release of Heddle that knows of it"
)

// Apply takes an application's wishes to change containers, and returns what is refused. Less is given at once; more as
// soon as the driver decides so.
func (s *Sizes) Apply(app *ledger.Application, wishes []Wish) (refused []Refused) {
	for i := range wishes {
		if reason, version := s.apply(app, &wishes[i]); reason != "" {
			refused = append(refused, Refused{Index: i, Reason: reason, Version: version})
		}
	}
	return refused
}

// apply takes one wish, and returns why it is refused, "" if it isn't.
func (s *Sizes) apply(app *ledger.Application, u *Wish) (reason string, version int32) {
	c := app.Containers.Get(u.ID)
	if c == nil || !c.Live() {
		return unknownID, 0
	}
	if u.Version != c.Version {
		return wrongVersion, c.Version
	}
	h, there := s.cfg.HandleOf(c)
	if there && s.cfg.Scheduler.Growing(h) {
		return outstanding, c.Version
	}
	more := u.Kind == pb.ContainerUpdateType_INCREASE_RESOURCE
	if !more && u.Kind != pb.ContainerUpdateType_DECREASE_RESOURCE {
		return s.retype(c, u.Kind), c.Version
	}
	to, err := s.cfg.Requests.Size(u.Capability)
	if err == nil {
		to, err = s.cfg.Requests.Normalize(to, s.cfg.Requests.Maximum())
	}
	small, large := c.Resource, to
	if !more {
		small, large = to, c.Resource
	}
	if err != nil || !small.FitsIn(large) {
		return outOfRange, c.Version
	}
	switch {
	case !there:
	case more:
		s.change(eventlog.Grow, h, to)
	default:
		s.shrink(c, h, to)
	}
	return "", c.Version
}

// retype makes an opportunistic container a guaranteed one, as soon as its queue and its node have room, or a guaranteed one opportunistic at once. It returns
// why not, "" if it does, or has the type already: stock says nothing then.
func (s *Sizes) retype(c *ledger.Container, kind pb.ContainerUpdateType) string {
	opportunistic := c.ExecutionType == pb.ExecutionType_OPPORTUNISTIC
	switch {
	case opportunistic == (kind == pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE):
		return ""
	case s.admit == nil:
		return typesStayFixed
	case s.work.Version < ledger.PromotionVersion:
		return tooOld
	case c.AM || c.Level != ledgerpb.Level_RUNNING:
		return outstanding
	case opportunistic:
		s.change(eventlog.Grow, s.admit(c, records.Resource{}), c.Resource)
	default:
		s.release(c)
		s.resized(c, c.Resource, kind)
	}
	return ""
}

func (s *Sizes) change(op eventlog.Op, h scheduler.ContainerHandle, to records.Resource) (ok bool) {
	return s.cfg.Scheduler.Apply(&eventlog.Event{Op: op, Container: h, Resource: eventlog.Amounts(to)})
}

// shrink gives a container less.
func (s *Sizes) shrink(c *ledger.Container, h scheduler.ContainerHandle, to records.Resource) {
	if s.change(eventlog.Resize, h, to) {
		s.resized(c, to, pb.ContainerUpdateType_DECREASE_RESOURCE)
	}
}

// Grown carries out the decision that a container has more from now on.
func (s *Sizes) Grown(d *drive.Decision) {
	c := s.work.Container(s.cfg.Scheduler.ContainerID(d.Container))
	switch {
	case c == nil || !c.Live():
	case c.ExecutionType == pb.ExecutionType_OPPORTUNISTIC:
		s.resized(c, d.Resource, pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE)
	default:
		s.resized(c, d.Resource, pb.ContainerUpdateType_INCREASE_RESOURCE)
	}
}

// types are the execution types that changes lead to; 0: as before.
var types = map[pb.ContainerUpdateType]pb.ExecutionType{
	pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE: pb.ExecutionType_GUARANTEED,
	pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE:  pb.ExecutionType_OPPORTUNISTIC,
}

// resized records a container's new size or execution type and reports it: more to its ApplicationMaster, which tells the node, and less to the
// node itself, too: it must not go on with what is others' now.
func (s *Sizes) resized(c *ledger.Container, to records.Resource, kind pb.ContainerUpdateType) {
	s.loop.Enter(&ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
		Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(to), ExecutionType: int32(types[kind]),
	}})
	if c.Confirmed() != c.Resource && kind == pb.ContainerUpdateType_INCREASE_RESOURCE {
		s.grown.add(c.ID, s.loop.Now().Add(s.cfg.Expiry))
	}
	master, g := s.cfg.ToMaster(c.ID.Attempt.App), session.GrantOf(c)
	s.loop.AfterCommit(func() {
		master.Resize(session.Resized{Kind: kind, Grant: g})
		if kind == pb.ContainerUpdateType_DECREASE_RESOURCE || kind == pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE {
			s.tellNode(g)
		}
	})
}

// Confirm takes what a node says that it gives a container. A size above what the container holds is reduced there: the
// ApplicationMaster has wished for more and for less before the node could tell (Hadoop: RMContainerImpl's
// NMReportedContainerChangeIsDoneTransition).
func (s *Sizes) Confirm(c *ledger.Container, given *pb.Resource) {
	size, err := s.cfg.Requests.Size(given)
	if err != nil {
		s.cfg.Log.WithField("container", c.ID).WithField("node", c.Node).WithError(err).Warn("its node reports a size that can't be read")
		return
	}
	if confirmed := size.Min(c.Resource).Max(c.Confirmed()); confirmed != c.Confirmed() {
		s.loop.Enter(&ledgerpb.Command{ContainerConfirmed: &ledgerpb.ContainerConfirmed{
			Container: ledger.ContainerRef(c.ID), Resource: ledger.Amounts(confirmed),
		}})
	}
	if !size.FitsIn(c.Resource) {
		g := session.GrantOf(c)
		s.loop.AfterCommit(func() { s.tellNode(g) })
	}
}

// tellNode tells a container's node to take away the amount above its size.
func (s *Sizes) tellNode(g session.Grant) {
	if node := s.cfg.ToNode(g.Node); node != nil {
		node.Shrink(g)
	}
}

// Restore records a live container of an earlier leadership that was given more than its node has confirmed.
func (s *Sizes) Restore(c *ledger.Container) {
	if c.Confirmed() != c.Resource {
		s.grown.add(c.ID, s.loop.Now().Add(s.cfg.Expiry))
	}
}

// Tick takes back what containers were given and their ApplicationMasters never brought their nodes word of. The time
// for it starts again with each further growth.
func (s *Sizes) Tick(now time.Time) {
	for _, id := range s.grown.due(now) {
		c := s.work.Container(id)
		if c == nil || !c.Live() || c.Confirmed() == c.Resource {
			continue
		}
		s.cfg.Log.WithField("container", id).WithField("node", c.Node).Warn("a container's growth was never used, and is taken back")
		if h, there := s.cfg.HandleOf(c); there {
			s.shrink(c, h, c.Confirmed())
		}
	}
}

// Package constraints turns scheduling requests of ApplicationMasters, with their allocation tags and placement constraints, into asks of the scheduler, and
// refuses or rejects them as YARN does (Hadoop: DisabledPlacementProcessor, SchedulerPlacementProcessor, PlacementConstraintProcessor).
package constraints

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Who meets constraints.
const (
	Disabled  = "disabled"            // requests that have any are refused
	Scheduler = "scheduler"           // requests wait until they can be met
	Processor = "placement-processor" // what can't be met after some calls is rejected
)

// Settings hold the keys of the configuration about constraints.
type Settings struct {
	Handler string // Disabled, Scheduler or Processor; "" is Disabled
	Tries   int    // calls of an ApplicationMaster after which the Processor rejects a request, at least 1
	Types   records.ResourceTypes
}

// Capped reports whether a scheduling request larger than the largest container is for that. The processor rejects it after its tries instead, as YARN's does.
func (s Settings) Capped() bool { return s.Handler != Processor }

// On reports whether constraints are met.
func (s Settings) On() bool { return s.Handler == Scheduler || s.Handler == Processor }

// key names a request of an application.
type key struct {
	priority int32
	id       int64
}

// Wishes holds the constraints and scheduling requests of one ApplicationMaster. The zero value has none. Its methods are for operations of the leader's loop.
type Wishes struct {
	byTag   map[string]*constraint.Constraint // of requests that have this tag alone
	tried   map[key]*trial                    // requests that may yet be rejected
	earlier map[key]earlier                   // of requests of the Scheduler
}

// trial is a request of which the Processor hasn't placed all.
type trial struct {
	request *pb.SchedulingRequest
	label   *string  // that its constraint names; nil: none
	calls   int      // in which it was tried, without the one that it came with
	left    []string // labels of nodes on which it is yet to be tried
}

// Outstanding returns the row of a request for any node, if anything of it is pending: see scheduler.View.
type Outstanding func(priority int32, id int64) (row scheduler.Ask, over, tried bool)

// Register takes the constraints that an ApplicationMaster registers with, instead of those that it had.
func (w *Wishes) Register(s Settings, attempt records.AttemptID, entries []*pb.PlacementConstraintMapEntry) error {
	if len(entries) > 0 && !s.On() {
		return refusal.New(refusal.Refused, "Found non empty placement constraints map in RegisterApplicationMasterRequest for application=%v, but the configured "+
			"yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. Rejecting this registerApplicationMaster operation", attempt)
	}
	if len(entries) > constraint.MaxParts {
		return refusal.New(refusal.InvalidAMRequest, "%v registers %d placement constraints; at most %d are possible", attempt, len(entries), constraint.MaxParts)
	}
	byTag := map[string]*constraint.Constraint{}
	for _, e := range entries {
		c, _, err := compile(e.GetPlacementConstraint())
		if err == nil {
			err = (&constraint.Request{Tags: e.GetAllocationTags(), Constraint: c}).Check()
		}
		if err != nil {
			return refusal.New(refusal.InvalidAMRequest, "%v: the placement constraint of tags %.300q: %v", attempt, e.GetAllocationTags(), err)
		}
		if tags := e.GetAllocationTags(); len(tags) == 1 { // of several Hadoop takes no notice
			byTag[tags[0]] = c
		}
	}
	w.byTag, w.tried, w.earlier = byTag, nil, nil
	return nil
}

// Rows turns scheduling requests into rows of requests, which the caller checks and turns into asks, one for each row; Place completes these.
func (s Settings) Rows(attempt records.AttemptID, kind queue.Kind, all []*pb.SchedulingRequest) ([]*pb.ResourceRequest, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if !s.On() {
		return nil, refusal.New(refusal.Refused, "Found non empty SchedulingRequest in AllocateRequest for application=%v, but the configured "+
			"yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. Rejecting this allocate operation", attempt)
	}
	if s.Handler == Scheduler && kind != queue.Capacity {
		return nil, refusal.New(refusal.Refused, "Found non empty SchedulingRequest of AllocateRequest for application=%v, however the configured scheduler cannot "+
			"handle placement constraints, rejecting this allocate operation", attempt)
	}
	rows := make([]*pb.ResourceRequest, len(all))
	for i, m := range all {
		if m.GetResourceSizing().GetResources() == nil {
			return nil, refusal.New(refusal.InvalidResource, "AppId=%v Key=%d. Exception message:No ResourceSizing found in the scheduling request, please double check",
				attempt.App, m.GetAllocationRequestId())
		}
		if err := s.guaranteed(attempt.App, m); err != nil {
			return nil, err
		}
		r := &pb.ResourceRequest{}
		r.SetPriority(m.GetPriority())
		if !m.HasPriority() {
			r.SetPriority(&pb.Priority{})
		}
		r.SetResourceName(scheduler.Any)
		r.SetCapability(m.GetResourceSizing().GetResources())
		r.SetNumContainers(m.GetResourceSizing().GetNumAllocations())
		r.SetRelaxLocality(true)
		r.SetAllocationRequestId(m.GetAllocationRequestId())
		if m.HasExecutionType() {
			r.SetExecutionTypeRequest(m.GetExecutionType())
		}
		// The labels of its application and queue count nothing here (Hadoop: SingleConstraintAppPlacementAllocator).
		r.SetNodeLabelExpression("")
		if _, label, err := compile(m.GetPlacementConstraint()); err == nil && label != nil && s.Handler != Processor { // see trial.place
			r.SetNodeLabelExpression(*label)
		}
		rows[i] = r
	}
	return rows, nil
}

// Place says in the asks of scheduling requests where their containers may go. outstanding returns what is still awaited, and labels those of nodes that the
// queue of the application may use.
func (w *Wishes) Place(
	s Settings, attempt records.AttemptID, all []*pb.SchedulingRequest, asks []scheduler.Ask, outstanding Outstanding, labels []string,
) error {
	named := make([]*string, len(all)) // the labels that they name
	for i, m := range all {
		r, label, err := w.request(m)
		if err != nil {
			return refusal.New(refusal.InvalidResource, "%v: the scheduling request of priority %d, allocation request id %d: %v",
				attempt.App, m.GetPriority().GetPriority(), m.GetAllocationRequestId(), err)
		}
		if s.Handler == Scheduler {
			if err := w.unchanged(&asks[i], r, outstanding, s.Types); err != nil {
				return err
			}
		}
		if s.Handler == Processor {
			r = among(labels, r, label)
		}
		asks[i].Scheduling, named[i] = r, label
	}
	if s.Handler != Processor {
		return nil
	}
	for i, m := range all {
		if w.tried == nil {
			w.tried = map[key]*trial{}
		}
		k := key{asks[i].Priority, asks[i].AllocationRequestID}
		if asks[i].Count == 0 {
			delete(w.tried, k)
			continue
		}
		t := &trial{request: m, label: named[i], calls: -1}
		t.place(&asks[i], labels)
		w.tried[k] = t
	}
	return nil
}

// request returns what a message says of its containers, together with what was said when the ApplicationMaster registered, and the label that its constraint
// names; nil: none.
func (w *Wishes) request(m *pb.SchedulingRequest) (*constraint.Request, *string, error) {
	c, label, err := compile(m.GetPlacementConstraint())
	if err != nil {
		return nil, nil, err
	}
	r := &constraint.Request{Constraint: c}
	for _, tag := range m.GetAllocationTags() {
		if !slices.Contains(r.Tags, tag) {
			r.Tags = append(r.Tags, tag)
		}
	}
	slices.Sort(r.Tags)
	if len(r.Tags) == 1 && w.byTag[r.Tags[0]] != nil {
		registered := w.byTag[r.Tags[0]]
		if r.Constraint == nil || r.Constraint.Equal(registered) { // distributed shell says both
			r.Constraint = registered
		} else {
			r.Constraint = &constraint.Constraint{Op: constraint.And, Of: []*constraint.Constraint{r.Constraint, registered}}
		}
	}
	return r, label, r.Check()
}

// Clear forgets all of an attempt that has ended.
func (w *Wishes) Clear() { *w = Wishes{} }

// Rejected returns what is rejected with a call of an ApplicationMaster, and the asks that withdraw it, or have it tried on nodes with another label.
func (w *Wishes) Rejected(s Settings, outstanding Outstanding) (all []*pb.RejectedSchedulingRequest, asks []scheduler.Ask) {
	keys := slices.SortedFunc(maps.Keys(w.tried), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id))
	})
	for _, k := range keys {
		t := w.tried[k]
		row, over, tried := outstanding(k.priority, k.id)
		switch {
		case t.calls < 0: // it comes with this call
			t.calls = 0
			continue
		case row.Count == 0:
			delete(w.tried, k)
			continue
		case !tried:
			continue
		}
		t.calls++
		if t.moves(&row, s.Tries) {
			asks = append(asks, row)
			continue
		}
		if t.calls < s.Tries {
			continue
		}
		delete(w.tried, k)
		all = append(all, t.reject(row.Count, over))
		row.Count = 0
		asks = append(asks, row)
	}
	return all, asks
}

// reject tells that so many of a request's containers weren't placed.
func (t *trial) reject(left int32, over bool) *pb.RejectedSchedulingRequest {
	m := &pb.RejectedSchedulingRequest{}
	m.SetReason(pb.RejectionReason_RRP_COULD_NOT_PLACE_ON_NODE)
	if over {
		m.SetReason(pb.RejectionReason_RRP_COULD_NOT_SCHEDULE_ON_NODE)
	}
	request := proto.CloneOf(t.request)
	request.GetResourceSizing().SetNumAllocations(left)
	m.SetRequest(request)
	return m
}

// partition is the key of a target that names the label of nodes.
const partition = "yarn_node_partition/"

// compile reads a constraint; nil is none. label is that of the nodes that it is for; nil: it says none.
func compile(m *pb.PlacementConstraint) (c *constraint.Constraint, label *string, err error) {
	parts := 0
	return compileAt(m, 1, &parts)
}

func compileAt(m *pb.PlacementConstraint, depth int, parts *int) (c *constraint.Constraint, label *string, err error) {
	if *parts++; depth > constraint.MaxDepth || *parts > constraint.MaxParts {
		return nil, nil, fmt.Errorf("its placement constraint has too many parts: at most %d are possible, at most %d in each other", constraint.MaxParts, constraint.MaxDepth)
	}
	switch {
	case m.HasSimpleConstraint():
		return compileSimple(m.GetSimpleConstraint())
	case m.HasCompositeConstraint():
		return compileComposite(m.GetCompositeConstraint(), depth, parts)
	}
	return nil, nil, nil
}

func compileComposite(m *pb.CompositePlacementConstraint, depth int, parts *int) (c *constraint.Constraint, label *string, err error) {
	c = &constraint.Constraint{Op: constraint.And}
	switch m.GetCompositeType() {
	case pb.CompositePlacementConstraint_OR:
		c.Op = constraint.Or
	case pb.CompositePlacementConstraint_DELAYED_OR: // which YARN's schedulers don't satisfy either (PlacementConstraintsUtil)
		return &constraint.Constraint{Op: constraint.Never, Why: "Unsupported type of constraint: DelayedOr"}, nil, nil
	}
	for _, child := range m.GetChildConstraints() {
		x, of, err := compileAt(child, depth+1, parts)
		if err != nil {
			return nil, nil, err
		}
		if of != nil {
			label = of
		}
		if x != nil {
			c.Of = append(c.Of, x)
		}
	}
	if len(c.Of) == 0 && len(m.GetChildConstraints()) > 0 {
		return nil, label, nil // labels alone
	}
	return c, label, nil
}

func compileSimple(m *pb.SimplePlacementConstraint) (c *constraint.Constraint, label *string, err error) {
	var all []*constraint.Constraint
	for _, t := range m.GetTargetExpressions() {
		switch {
		case t.GetTargetType() == pb.PlacementConstraintTarget_NODE_ATTRIBUTE && t.GetTargetKey() == partition:
			none := ""
			if label = &none; len(t.GetTargetValues()) > 0 {
				label = &t.GetTargetValues()[0]
			}
		case t.GetTargetType() == pb.PlacementConstraintTarget_NODE_ATTRIBUTE:
			all = append(all, attributeOf(m, t))
		case t.GetTargetType() == pb.PlacementConstraintTarget_ALLOCATION_TAG:
			x, err := countOf(m, t)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, x)
		default:
			return nil, nil, fmt.Errorf("its placement constraint has a target of type %v, which isn't supported", t.GetTargetType())
		}
	}
	switch len(all) {
	case 0:
		return nil, label, nil
	case 1:
		return all[0], label, nil
	}
	return &constraint.Constraint{Op: constraint.And, Of: all}, label, nil
}

// attributeOf reads an attribute of nodes. Without a prefix it is the administrators'.
func attributeOf(m *pb.SimplePlacementConstraint, t *pb.PlacementConstraintTarget) *constraint.Constraint {
	c := &constraint.Constraint{Op: constraint.Attribute, Name: t.GetTargetKey(), Differs: m.GetAttributeOpCode() == pb.NodeAttributeOpCode_NE}
	if !strings.Contains(c.Name, "/") {
		c.Name = "rm.yarn.io/" + c.Name
	}
	if len(t.GetTargetValues()) > 0 {
		c.Value = t.GetTargetValues()[0]
	}
	return c
}

func countOf(m *pb.SimplePlacementConstraint, t *pb.PlacementConstraintTarget) (*constraint.Constraint, error) {
	c := &constraint.Constraint{
		Op: constraint.Count, Scope: constraint.Scope(strings.ToLower(m.GetScope())), Tags: t.GetTargetValues(), Space: constraint.Self,
		Min: m.GetMinCardinality(), Max: m.GetMaxCardinality(),
	}
	if !m.HasMaxCardinality() {
		c.Max = math.MaxInt32
	}
	name, app, _ := strings.Cut(t.GetTargetKey(), "/")
	switch space := constraint.Namespace(name); space {
	case "":
	case constraint.Self, constraint.NotSelf, constraint.All:
		c.Space = space
	case constraint.AppID, constraint.AppTag, constraint.AppLabel:
		if c.Space, c.App = space, app; app == "" {
			return nil, fmt.Errorf("its placement constraint has namespace %.300q, which names no application", t.GetTargetKey())
		}
	default:
		return nil, fmt.Errorf("its placement constraint has namespace %.300q: self, not-self, all, app-id/ID and app-tag/TAG are possible", t.GetTargetKey())
	}
	return c, nil
}

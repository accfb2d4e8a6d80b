package request

import (
	"math"
	"slices"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Scheduler is what this package asks the driver (eventlog.Recorder).
type Scheduler interface {
	OpenNodes() int
	Largest() records.Resource
	// Requests, RequestsWith and Excluded are what an application has pending and excludes, RequestsWith after some asks.
	Requests(h scheduler.AppHandle) (requests, places int)
	RequestsWith(h scheduler.AppHandle, asks []scheduler.Ask) (requests, places int)
	Excluded(h scheduler.AppHandle) int
}

// Config is what a Checker works with.
type Config struct {
	Scheduler Scheduler
	Types     records.ResourceTypes
	// Queues returns the tree of queues of now.
	Queues func() *queue.Tree
	// Minimum and Maximum bound containers. Sizes are rounded up to multiples of Increment, or of MinAllocation where Increment is 0.
	MinAllocation, MaxAllocation, Increment records.Resource
	// Now returns the time. Before LargerNodes nodes may still come that are larger than all that are there.
	Now         func() time.Time
	LargerNodes time.Time
	Arrived     *Arrived
	// MaxRequests and MaxPlaces bound what one application asks for; 0 is no limit. Requests differ in priority or allocation request id.
	// Places are hosts and racks, in requests and on the blacklist.
	MaxRequests, MaxPlaces int
	Labels                 Labels
	LabelSettings          LabelSettings
}

// Arrived has what nodes offer that have registered, and take containers once their first heartbeat comes.
type Arrived struct {
	nodes map[records.NodeID]records.Resource
}

// Await enters a node, if it is to be waited for.
func (a *Arrived) Await(id records.NodeID, offered records.Resource, wait bool) {
	if wait && a.nodes == nil {
		a.nodes = map[records.NodeID]records.Resource{}
	}
	if wait {
		a.nodes[id] = offered
	}
}

// Forget takes a node out: it takes containers now, or has left.
func (a *Arrived) Forget(id records.NodeID) { delete(a.nodes, id) }

// Checker checks requests. Its methods are for the operations of a leader's loop.
type Checker struct{ Config }

// Maximum returns the largest container that can be had now: what is configured, or less while no node has as much. Larger nodes may still
// come for some time after the start. A node counts from its registration on, so that an ApplicationMaster that saw it join may ask for as
// much (Hadoop: ClusterNodeTracker.getMaxAllowedAllocation).
func (c *Checker) Maximum() records.Resource {
	most := c.MaxAllocation
	if c.Scheduler.OpenNodes() > 0 && !c.Now().Before(c.LargerNodes) {
		largest := c.Scheduler.Largest()
		for _, offered := range c.Arrived.nodes {
			largest = largest.Max(offered)
		}
		most = most.Min(largest)
	}
	return most
}

// maximumIn returns the largest container that can be had in a queue now.
func (c *Checker) maximumIn(path string) records.Resource {
	most, tree := c.Maximum(), c.Queues()
	if tree.Kind == queue.Fair {
		q := tree.Above(path) // a queue that is made below it has the same bound
		return most.Min(q.Fair.MaxContainer.Of(c.MaxAllocation, c.MaxAllocation))
	}
	q, ok := tree.Find(path)
	if !ok {
		return most
	}
	return q.Largest(most)
}

// Normalize rounds a size up to what the cluster hands out (Hadoop: SchedulerUtils.normalizeRequest). It refuses sizes
// above the maximum (SchedulerUtils.validateResourceRequest, whose words these are).
func (c *Checker) Normalize(r, maximum records.Resource) (records.Resource, error) {
	for i := range c.Types.Len() {
		name := c.Types.At(i).Name
		if r[i] < 0 {
			return r, refusal.New(refusal.InvalidResource, "Invalid resource request! Cannot allocate containers as requested resource is "+
				"less than 0! Requested resource type=[%s], Requested resource=%s", name, c.Types.Format(r))
		}
		maximum[i] = min(maximum[i], records.MaxAmount)
		if r[i] > maximum[i] {
			return r, refusal.New(refusal.InvalidResource, "Invalid resource request! Cannot allocate containers as requested resource is "+
				"greater than maximum allowed allocation. Requested resource type=[%s], Requested resource=%s, maximum "+
				"allowed allocation=%s, please note that maximum allowed allocation is calculated by scheduler based on "+
				"maximum resource of registered NodeManagers, which might be less than configured maximum allocation=%s",
				name, c.Types.Format(r), c.Types.Format(maximum), c.Types.Format(c.MaxAllocation))
		}
	}
	for i, least := range c.MinAllocation {
		step := least
		if c.Increment[i] > 0 {
			step = c.Increment[i]
		}
		r[i] = max(least, r[i])
		if step > 0 && r[i] <= math.MaxInt64-step {
			r[i] = (r[i] + step - 1) / step * step
		}
		r[i] = min(r[i], max(maximum[i], least))
	}
	if !c.Queues().CountsVCores() {
		r[records.VCores] = 1
	}
	return r, nil
}

// Size reads a resource of a request.
func (c *Checker) Size(m *pb.Resource) (records.Resource, error) {
	r, err := c.Types.From(m)
	if err != nil {
		return r, refusal.New(refusal.InvalidResource, "Invalid resource request: %v", err)
	}
	return r, nil
}

// normalized reads a resource of a request and rounds it.
func (c *Checker) normalized(m *pb.Resource, maximum records.Resource) (records.Resource, error) {
	r, err := c.Size(m)
	if err != nil {
		return r, err
	}
	return c.Normalize(r, maximum)
}

// Limits of what one request may have pending of each type, so that sums over all requests stay within an int64: usualAsked, or usualCount
// containers if that is more, but never more than maxAsked. Of memory these are 64 EiB and 64 ZiB.
const (
	usualAsked = 1 << 46
	usualCount = 1 << 16
	maxAsked   = 1 << 56
)

// countable returns how many containers of a size a request may have pending. ApplicationMasters that want more ask again.
func countable(count int32, size records.Resource) int32 {
	for _, n := range size {
		if n > 0 {
			count = int32(min(int64(count), max(usualAsked/n, usualCount), max(maxAsked/n, 1)))
		}
	}
	return count
}

// Asks turns requests of the ApplicationMaster of a submission into asks in a queue.
func (c *Checker) Asks(ctx *pb.ApplicationSubmissionContext, path string, rows []*pb.ResourceRequest) ([]scheduler.Ask, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	return c.asks(ctx, path, rows, c.maximumIn(path), c.LabelSettings.Enforced)
}

// All turns resource requests and scheduling requests, of which rows are made, into asks. As in YARN no scheduling request is refused for its size: if capped, those
// beyond the largest container are for that (the scheduler's; Hadoop: CapacityScheduler.normalizeSchedulingRequests), and else they stay as they are (the placement
// processor's, which rejects them after its tries, as it finds no node).
func (c *Checker) All(ctx *pb.ApplicationSubmissionContext, path string, asks, scheduling []*pb.ResourceRequest, capped bool) ([]scheduler.Ask, error) {
	first, err := c.Asks(ctx, path, asks)
	if err != nil || len(scheduling) == 0 {
		return first, err
	}
	var most records.Resource
	for i := range most {
		most[i] = records.MaxAmount
	}
	rest, err := c.asks(ctx, path, scheduling, most, nil) // YARN enforces no labels on them
	if capped {
		largest := c.maximumIn(path)
		for i := range rest {
			rest[i].Capability = rest[i].Capability.Min(largest)
		}
	}
	return slices.Concat(first, rest), err
}

func (c *Checker) asks(
	ctx *pb.ApplicationSubmissionContext, path string, rows []*pb.ResourceRequest, maximum records.Resource, enforced []string,
) ([]scheduler.Ask, error) {
	application := expressionOf(ctx)
	asks := make([]scheduler.Ask, 0, len(rows))
	for _, row := range rows {
		own := saidOf(row.HasNodeLabelExpression(), row.GetNodeLabelExpression())
		if row.GetResourceName() == scheduler.Any {
			own = enforce(enforced, own, application)
		}
		label, err := c.labelOf(path, row.GetResourceName(), own, application)
		if err != nil {
			return nil, err
		}
		capability, err := c.Size(row.GetCapability())
		if err != nil {
			return nil, err
		}
		if row.GetNumContainers() < 0 {
			return nil, refusal.New(refusal.InvalidResource, "Invalid resource request, number of containers %d is less than 0 for %s",
				row.GetNumContainers(), row.GetResourceName())
		}
		if row.GetNumContainers() > 0 {
			if capability, err = c.Normalize(capability, maximum); err != nil {
				return nil, err
			}
		}
		asks = append(asks, scheduler.Ask{
			Priority:            row.GetPriority().GetPriority(),
			AllocationRequestID: row.GetAllocationRequestId(),
			Name:                row.GetResourceName(),
			Capability:          capability,
			Count:               countable(row.GetNumContainers(), capability),
			RelaxLocality:       row.GetRelaxLocality(),
			ExecutionType:       row.GetExecutionTypeRequest().GetExecutionType(),
			Label:               label,
		})
	}
	return asks, nil
}

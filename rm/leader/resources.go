package leader

import (
	"math"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// requests checks what is asked for, and turns it into what the scheduler understands.
type requests struct{ *core }

// maximum is the largest container that can be had now: what is configured, or less while no node has as much. Larger nodes may
// still come for some time after the start (Hadoop: ClusterNodeTracker.getMaxAllowedAllocation).
func (rq *requests) maximum() records.Resource {
	most := rq.Settings.MaxAllocation
	if rq.sched.OpenNodes() > 0 && rq.Now().Sub(rq.began) >= rq.Settings.SchedulingWait {
		most = most.Min(rq.sched.Largest())
	}
	return most
}

// maximumIn is the largest container that can be had in a queue now.
func (rq *requests) maximumIn(path string) records.Resource {
	most := rq.maximum()
	if rq.Settings.Queues.Kind == queue.Fair {
		q := rq.Settings.Queues.Above(path) // one that is made below it has the same bound
		return most.Min(q.Fair.MaxContainer.Of(rq.Settings.MaxAllocation, rq.Settings.MaxAllocation))
	}
	q, ok := rq.Settings.Queues.Find(path)
	if !ok {
		return most
	}
	return q.Largest(most)
}

// normalize rounds a request up to what the cluster hands out (Hadoop: SchedulerUtils.normalizeRequest) after checking it
// against the maximum (SchedulerUtils.validateResourceRequest, whose words these are).
func (rq *requests) normalize(r, maximum records.Resource) (records.Resource, error) {
	types := rq.Settings.Types
	for i := range types.Len() {
		name := types.At(i).Name
		if r[i] < 0 {
			return r, refusal.New(refusal.InvalidResource, "Invalid resource request! Cannot allocate containers as requested resource is "+
				"less than 0! Requested resource type=[%s], Requested resource=%s", name, types.Format(r))
		}
		if r[i] > maximum[i] {
			return r, refusal.New(refusal.InvalidResource, "Invalid resource request! Cannot allocate containers as requested resource is "+
				"greater than maximum allowed allocation. Requested resource type=[%s], Requested resource=%s, maximum "+
				"allowed allocation=%s, please note that maximum allowed allocation is calculated by scheduler based on "+
				"maximum resource of registered NodeManagers, which might be less than configured maximum allocation=%s",
				name, types.Format(r), types.Format(maximum), types.Format(rq.Settings.MaxAllocation))
		}
	}
	for i, least := range rq.Settings.MinAllocation {
		step := least
		if rq.Settings.Increment[i] > 0 {
			step = rq.Settings.Increment[i]
		}
		r[i] = max(least, r[i])
		if step > 0 && r[i] <= math.MaxInt64-step {
			r[i] = (r[i] + step - 1) / step * step
		}
		r[i] = min(r[i], max(maximum[i], least))
	}
	if !rq.Settings.Queues.CountsVCores() {
		r[records.VCores] = 1
	}
	return r, nil
}

// fromPB reads a resource of a request.
func (rq *requests) fromPB(m *pb.Resource) (records.Resource, error) {
	r, err := rq.Settings.Types.From(m)
	if err != nil {
		return r, refusal.New(refusal.InvalidResource, "Invalid resource request: %v", err)
	}
	return r, nil
}

// noLabels refuses a request for nodes with a label (Hadoop: SchedulerUtils.validateResourceRequest).
const noLabels = "Invalid resource request, node label not enabled but request contains label expression"

// AMRequest is what a submission asks for its ApplicationMaster: rows of requests, or just a size. The rows that come back
// have a count of 1 and priority 0.
func (rq *requests) amRequest(ctx *pb.ApplicationSubmissionContext) ([]*pb.ResourceRequest, error) {
	rows := ctx.GetAmContainerResourceRequest()
	if len(rows) == 0 {
		if !ctx.HasResource() {
			return nil, refusal.New(refusal.InvalidResource, "Invalid resource request, no resources requested")
		}
		row := &pb.ResourceRequest{}
		row.SetResourceName("*")
		row.SetCapability(ctx.GetResource())
		rows = []*pb.ResourceRequest{row}
	}
	anywhere := false
	for _, row := range rows {
		label := row.GetNodeLabelExpression()
		if !row.HasNodeLabelExpression() {
			label = ctx.GetNodeLabelExpression()
		}
		if label != "" {
			return nil, refusal.New(refusal.InvalidLabel, noLabels)
		}
		anywhere = anywhere || row.GetResourceName() == "*"
	}
	if !anywhere {
		return nil, refusal.New(refusal.InvalidResource, "Invalid resource request, no resource request specified with *")
	}
	return rows, nil
}

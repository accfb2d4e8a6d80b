package constraints

import (
	"fmt"
	"strings"

	"heddle/rm/leader/refusal"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxRemembered bounds the requests of an attempt whose constraints are remembered. When there are more, those from before may be changed.
const maxRemembered = 4096

// earlier is the part of a scheduling request that later ones of the same priority and id can't change.
type earlier struct {
	size    records.Resource
	request *constraint.Request
}

// invalid is the exception of Hadoop's scheduler, within the one that callers get.
const invalid = "org.apache.hadoop.yarn.exceptions.SchedulerInvalidResoureRequestException: "

// unchanged refuses a scheduling request that changes more of an earlier one of its priority and id than the number of containers, even if all of these are placed
// (Hadoop: SingleConstraintAppPlacementAllocator.internalUpdatePendingAsk, whose words these are).
func (w *Wishes) unchanged(ask *scheduler.Ask, r *constraint.Request, outstanding Outstanding, types records.ResourceTypes) error {
	k := key{ask.Priority, ask.AllocationRequestID}
	old, known := w.earlier[k]
	switch {
	case ask.Count == 0, known && old.size == ask.Capability && old.request.Equal(r):
		return nil
	case !known && len(w.earlier) >= maxRemembered:
		clear(w.earlier)
	}
	if !known {
		if w.earlier == nil {
			w.earlier = map[key]earlier{}
		}
		w.earlier[k] = earlier{ask.Capability, r}
		return nil
	}
	left, _, _ := outstanding(k.priority, k.id)
	return refusal.New(refusal.Refused, invalid+"Invalid updated SchedulingRequest added to scheduler, "+
		" we only allows changing numAllocations for the updated SchedulingRequest. Old=%s new=%s, if any fields need to be updated, please cancel the old request (by "+
		"setting numAllocations to 0) and send a SchedulingRequest with different combination of priority/allocationId",
		describe(k, old, left.Count, types), describe(k, earlier{ask.Capability, r}, ask.Count, types))
}

// describe returns a request as Hadoop's SchedulingRequestPBImpl writes it.
func describe(k key, s earlier, count int32, types records.ResourceTypes) string {
	where := "null"
	if c := s.request.Constraint; c != nil {
		where = c.String()
	}
	return fmt.Sprintf("SchedulingRequestPBImpl{priority=%d, allocationReqId=%d, executionType={Execution Type: GUARANTEED, Enforce Execution Type: false}, allocationTags=[%s], "+
		"resourceSizing=ResourceSizingPBImpl{numAllocations=%d, resources=%s}, placementConstraint=%s}",
		k.priority, k.id, strings.Join(s.request.Tags, ", "), count, types.Format(s.size), where)
}

// guaranteed refuses a scheduling request for opportunistic containers.
func (s Settings) guaranteed(app records.ApplicationID, m *pb.SchedulingRequest) error {
	if s.Handler != Scheduler || m.GetExecutionType().GetExecutionType() != pb.ExecutionType_OPPORTUNISTIC {
		return nil
	}
	return refusal.New(refusal.Refused, invalid+"AppId=%v Key=SchedulerRequestKey{priority=%d, allocationRequestId=%d, containerToUpdate=null}. "+
		"Exception message:Only GUARANTEED execution type is supported.", app, m.GetPriority().GetPriority(), m.GetAllocationRequestId())
}

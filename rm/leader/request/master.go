package request

import (
	"heddle/rm/leader/refusal"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ForMaster turns what a submission to a queue asks for its ApplicationMaster into asks. An unmanaged ApplicationMaster needs no
// container.
func (c *Checker) ForMaster(ctx *pb.ApplicationSubmissionContext, path string) ([]scheduler.Ask, error) {
	if ctx.GetUnmanagedAm() {
		return nil, nil
	}
	rows, err := rowsForMaster(ctx)
	if err != nil {
		return nil, err
	}
	maximum := c.maximumIn(path)
	var asks []scheduler.Ask
	for _, row := range rows {
		label, err := c.masterLabel(ctx, row, path)
		if err != nil {
			return nil, err
		}
		capability, err := c.normalized(row.GetCapability(), maximum)
		if err != nil {
			return nil, err
		}
		ask := masterAsk(row.GetResourceName(), row.GetRelaxLocality(), capability)
		ask.Label, ask.Stays = label, c.mastersStay()
		asks = append(asks, ask)
	}
	return asks, nil
}

// OfSize asks for an ApplicationMaster's container of a size and with a label that were found right before, on any node.
func (c *Checker) OfSize(size records.Resource, label string) []scheduler.Ask {
	ask := masterAsk(scheduler.Any, true, size)
	ask.Label, ask.Stays = label, c.mastersStay()
	return []scheduler.Ask{ask}
}

func masterAsk(name string, relax bool, size records.Resource) scheduler.Ask {
	return scheduler.Ask{
		Name: name, Count: 1, RelaxLocality: relax, Capability: size,
		AllocationRequestID: -1, ExecutionType: pb.ExecutionType_GUARANTEED,
	}
}

// MasterSize returns the size of the container that asks for an ApplicationMaster are for, zero if there are none.
func MasterSize(asks []scheduler.Ask) records.Resource {
	for _, a := range asks {
		if a.Name == scheduler.Any {
			return a.Capability
		}
	}
	return records.Resource{}
}

// rowsForMaster returns a submission's requests for its ApplicationMaster, or one for any node if it just names a size.
func rowsForMaster(ctx *pb.ApplicationSubmissionContext) ([]*pb.ResourceRequest, error) {
	rows := ctx.GetAmContainerResourceRequest()
	if len(rows) == 0 {
		if !ctx.HasResource() {
			return nil, refusal.New(refusal.InvalidResource, "Invalid resource request, no resources requested")
		}
		rows = []*pb.ResourceRequest{anywhere(ctx)}
	}
	anywhere := false
	for _, row := range rows {
		anywhere = anywhere || row.GetResourceName() == scheduler.Any
	}
	if !anywhere {
		return nil, refusal.New(refusal.InvalidResource, "Invalid resource request, no resource request specified with *")
	}
	return rows, nil
}

// anywhere returns the row of a submission that just names the size of its ApplicationMaster.
func anywhere(ctx *pb.ApplicationSubmissionContext) *pb.ResourceRequest {
	row := &pb.ResourceRequest{}
	row.SetResourceName(scheduler.Any)
	row.SetCapability(ctx.GetResource())
	return row
}

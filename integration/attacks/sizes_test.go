package attacks

import (
	"strings"
	"sync"

	"heddle/integration/peer"
	"heddle/rm"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// bytesThatAreNoText are in every string that a user chooses.
func (x *target) bytesThatAreNoText() {
	const bad = "b\xe4d \xff\xfe"
	try := func(change func(*pb.ApplicationSubmissionContext)) {
		ctx := x.submission(hostile)
		change(ctx)
		// it may be refused, or taken and made valid
		if _, err := protocol.SubmitApplication.Call(x.t.Context(), x.as(hostile), peer.Submission(ctx)); err == nil {
			x.killAs(hostile, records.ApplicationIDFrom(ctx.GetApplicationId()))
		}
		x.unharmed()
	}
	try(func(c *pb.ApplicationSubmissionContext) { c.SetApplicationName(bad) })
	try(func(c *pb.ApplicationSubmissionContext) { c.SetQueue(bad) })
	try(func(c *pb.ApplicationSubmissionContext) { c.SetApplicationType(bad) })
	try(func(c *pb.ApplicationSubmissionContext) { c.SetApplicationTags([]string{bad}) })
	try(func(c *pb.ApplicationSubmissionContext) { c.SetNodeLabelExpression(bad) })
	_, _ = protocol.GetNewApplication.Call(x.t.Context(), x.as(bad), &pb.GetNewApplicationRequest{})
	x.unharmed()

	m := x.unmanaged(hostile)
	register := &pb.RegisterApplicationMasterRequest{}
	register.SetHost(bad)
	register.SetTrackingUrl(bad)
	_, _ = protocol.RegisterApplicationMaster.Call(x.t.Context(), m.RM, register)
	finish := &pb.FinishApplicationMasterRequest{}
	finish.SetDiagnostics(bad)
	finish.SetTrackingUrl(bad)
	finish.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_FAILED)
	_, _ = protocol.FinishApplicationMaster.Call(x.t.Context(), m.RM, finish)
	x.unharmed()

	// a command whose standard error is Latin-1, and long: its end is cut off somewhere
	m = x.unmanaged(hostile)
	box := m.container()
	must(x, protocol.StartContainers, m.Node(box), launch(box, nil, `printf 'b\344d %.0s' $(seq 3000) >&2; printf 'gut\303\244 %.0s' $(seq 3000) >&2; exit 1`))
	if s := m.ended(box); s.GetExitStatus() != 1 {
		x.t.Errorf("a command that fails ends with %d: %s", s.GetExitStatus(), s.GetDiagnostics())
	}
}

// hugeSubmissions are 70 MB at once, and 1 MB a hundred times.
func (x *target) hugeSubmissions() {
	big := func(size int) *pb.SubmitApplicationRequest {
		ctx := x.submission(hostile)
		v := &pb.StringStringMap{}
		v.SetKey("X")
		v.SetValue(strings.Repeat("x", size))
		ctx.GetAmContainerSpec().SetEnvironment([]*pb.StringStringMap{v})
		return peer.Submission(ctx)
	}
	refused(x, "a submission of 70 MB", protocol.SubmitApplication, x.as(hostile), big(70<<20))
	x.unharmed()
	var all sync.WaitGroup
	for range 100 {
		req := big(900 << 10)
		all.Go(func() {
			// taken or refused: what is taken stays in the way until it's killed
			if _, err := protocol.SubmitApplication.Call(x.t.Context(), x.as(hostile), req); err == nil {
				x.killAs(hostile, records.ApplicationIDFrom(req.GetApplicationSubmissionContext().GetApplicationId()))
			}
		})
	}
	all.Wait()
}

// hugeAsks are requests of a hundred thousand kinds in one call.
func (x *target) hugeAsks() {
	m := x.unmanaged(hostile)
	req := &pb.AllocateRequest{}
	var all []*pb.ResourceRequest
	for i := range 100000 {
		r := peer.Ask(1, records.NewResource(256, 1)).GetAsk()[0]
		r.SetAllocationRequestId(int64(i + 1))
		all = append(all, r)
	}
	req.SetAsk(all)
	if _, err := m.Allocate(req); err == nil {
		x.t.Error("requests of 100,000 kinds are taken")
	}
	var places []*pb.ResourceRequest
	for i := range 200000 {
		r := peer.Ask(1, records.NewResource(256, 1)).GetAsk()[0]
		r.SetResourceName("host" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576%26)))
		places = append(places, r)
	}
	req.SetAsk(places)
	_, _ = m.Allocate(req) // names of hosts that aren't there: refused, or taken within bounds
}

// hugeStatusRequests ask a node for a million containers that it doesn't have.
func (x *target) hugeStatusRequests() {
	m := x.unmanaged(hostile)
	box := m.container()
	req := &pb.GetContainerStatusesRequest{}
	ids := make([]*pb.ContainerId, 1000000)
	for i := range ids {
		id := &pb.ContainerId{}
		id.SetAppAttemptId(m.Attempt.PB())
		id.SetId(int64(i + 1000))
		ids[i] = id
	}
	req.SetContainerId(ids)
	_, _ = protocol.GetContainerStatuses.Call(x.t.Context(), m.Node(box), req) // what counts is the memory
	list := x.to(rm.ClientAddress, protocol.ApplicationClient, x.who(hostile))
	apps := &pb.GetApplicationsRequest{}
	apps.SetApplicationTags([]string{strings.Repeat("t", 1<<20)})
	_, _ = protocol.GetApplications.Call(x.t.Context(), list, apps)
}

package heartbeat

import (
	"context"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Collectors know where collectors of timeline version 2 are (nm/collector).
type Collectors interface {
	// Registering returns those that the ResourceManager hasn't confirmed.
	Registering() []*pb.AppCollectorData
	// Registered: the node has registered, perhaps with a ResourceManager that knows none.
	Registered()
	// Told takes those that the ResourceManager knows.
	Told([]*pb.AppCollectorData)
	Ended(records.ApplicationID)
}

// collectors tells each other where collectors are.
type collectors struct{ known Collectors }

func (c *collectors) Registered(*pb.RegisterNodeManagerResponse) { c.known.Registered() }

func (c *collectors) Report(req *pb.NodeHeartbeatRequest) {
	req.SetRegisteringCollectors(c.known.Registering())
}

// Apply takes what the ResourceManager knows.
func (c *collectors) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	c.known.Told(resp.GetAppCollectors())
}

func (c *collectors) AppEnded(app records.ApplicationID) { c.known.Ended(app) }

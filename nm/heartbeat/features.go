package heartbeat

import (
	"context"
	"fmt"
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// A feature stands for one matter of which a node and its ResourceManager tell each other. It is a type with a method for each event that concerns it. Run calls
// the methods one after the other; none may wait for a disk.
type (
	// Registering adds to a registration. The ResourceManager forgets what it was told earlier.
	registeringFeature interface {
		Registering(req *pb.RegisterNodeManagerRequest)
	}
	// Registered: the ResourceManager has accepted the registration.
	registeredFeature interface {
		Registered(resp *pb.RegisterNodeManagerResponse)
	}
	// Report adds to a heartbeat.
	reportingFeature interface {
		Report(req *pb.NodeHeartbeatRequest)
	}
	// Delivered: the ResourceManager has accepted the last report.
	deliveredFeature interface {
		Delivered(resp *pb.NodeHeartbeatResponse)
	}
	// Lost: it has not, or isn't known to have.
	lostFeature interface{ Lost() }
	// Apply starts what the reply to a heartbeat asks for. A failure concerns one thing and is logged.
	applyingFeature interface {
		Apply(ctx context.Context, resp *pb.NodeHeartbeatResponse)
	}
	// AppEnded: an application is over. It comes after Apply.
	appEndedFeature interface {
		AppEnded(app records.ApplicationID)
	}
)

// features are those that hear of each event, in the order in which they do.
type features struct {
	registering []registeringFeature
	registered  []registeredFeature
	reporting   []reportingFeature
	delivered   []deliveredFeature
	lost        []lostFeature
	applying    []applyingFeature
	appEnded    []appEndedFeature
}

// add enters a feature. It must hear of something.
func (f *features) add(x any) {
	hears := []bool{
		enter(&f.registering, x), enter(&f.registered, x), enter(&f.reporting, x), enter(&f.delivered, x), enter(&f.lost, x),
		enter(&f.applying, x), enter(&f.appEnded, x),
	}
	if !slices.Contains(hears, true) {
		panic(fmt.Sprintf("heartbeat: %T hears of nothing", x))
	}
}

func enter[F any](list *[]F, x any) bool {
	f, ok := x.(F)
	if ok {
		*list = append(*list, f)
	}
	return ok
}

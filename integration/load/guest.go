package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// A load on a user's cluster is a guest: it comes only where nothing runs, and takes everything along that it brought.

// Left is what a load has registered with a ResourceManager, or may have.
type Left struct {
	Client, Tracker []string // addresses of the ResourceManagers' ports
	User            string
	Nodes           int // the first so many of nodeID's
	Apps            []string
}

// nodeID returns the id of the i-th simulated node. Its host is an address of the loopback network, which any ResourceManager can resolve.
func nodeID(i int) records.NodeID {
	return records.NodeID{Host: fmt.Sprintf("127.%d.%d.%d", 1+i/62500, i/250%250, 1+i%250), Port: 45454}
}

// live are the states of nodes and applications that take part in a cluster's work.
var (
	liveNodes = []pb.NodeState{pb.NodeState_NS_NEW, pb.NodeState_NS_RUNNING, pb.NodeState_NS_UNHEALTHY, pb.NodeState_NS_DECOMMISSIONING}
	liveApps  = []pb.YarnApplicationState{
		pb.YarnApplicationState_NEW, pb.YarnApplicationState_NEW_SAVING, pb.YarnApplicationState_SUBMITTED, pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING,
	}
)

// Idle returns an error if the cluster has nodes or applications.
func Idle(ctx context.Context, o Options) error {
	client := ipc.NewClient(ipc.ClientConfig{})
	defer client.Close()
	rm := client.Failover(o.Client, protocol.ApplicationClient, ipc.Identity{User: o.User}, ipc.RetryPolicy{MaxElapsed: 30 * time.Second})
	askNodes := &pb.GetClusterNodesRequest{}
	askNodes.SetNodeStates(liveNodes)
	nodes, err := protocol.GetClusterNodes.Call(ctx, rm, askNodes)
	if err != nil {
		return fmt.Errorf("ask for the cluster's nodes: %w", err)
	}
	askApps := &pb.GetApplicationsRequest{}
	askApps.SetApplicationStates(liveApps)
	apps, err := protocol.GetApplications.Call(ctx, rm, askApps)
	if err != nil {
		return fmt.Errorf("ask for the cluster's applications: %w", err)
	}
	if n, a := len(nodes.GetNodeReports()), len(apps.GetApplications()); n > 0 || a > 0 {
		return fmt.Errorf("the cluster has %d nodes and %d live applications: the load would take their resources, and their containers would be sent to nodes that don't exist", n, a)
	}
	return nil
}

// TakeBack ends the applications of a load and takes its nodes out of the cluster. Ids that the ResourceManager doesn't know any
// more are no error.
func (l *Left) TakeBack(ctx context.Context) error {
	client := ipc.NewClient(ipc.ClientConfig{})
	defer client.Close()
	patience := ipc.RetryPolicy{MaxElapsed: 30 * time.Second}
	rm := client.Failover(l.Client, protocol.ApplicationClient, ipc.Identity{User: l.User}, patience)
	var errs []error
	for _, app := range l.Apps {
		if err := kill(ctx, rm, app); err != nil {
			errs = append(errs, fmt.Errorf("end %s: %w", app, err))
		}
	}
	tracker := client.Failover(l.Tracker, protocol.ResourceTracker, ipc.Identity{User: "yarn"}, patience)
	var g errgroup.Group
	g.SetLimit(64)
	for i := range l.Nodes {
		g.Go(func() error {
			req := &pb.UnRegisterNodeManagerRequest{}
			req.SetNodeId(nodeID(i).PB())
			_, err := protocol.UnRegisterNodeManager.Call(ctx, tracker, req)
			if err != nil && !ipc.IsClass(err, ipc.AccessControlException) { // it isn't registered, or another's
				return fmt.Errorf("unregister node %v: %w", nodeID(i), err)
			}
			return nil
		})
	}
	return errors.Join(append(errs, g.Wait())...)
}

// kill ends an application. The ResourceManager says when it has done so.
func kill(ctx context.Context, rm ipc.Invoker, app string) error {
	id, err := records.ParseApplicationID(app)
	if err != nil {
		return err
	}
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(id.PB())
	req.SetDiagnostics("heddle-lab bench takes back what it submitted")
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		resp, err := protocol.ForceKillApplication.Call(ctx, rm, req)
		switch {
		case ipc.IsClass(err, ipc.ApplicationNotFound), err == nil && resp.GetIsKillCompleted():
			return nil
		case err != nil:
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Package heartbeat keeps a node known to the ResourceManager: it registers, tells at every heartbeat which containers
// run and which have ended, how the node is and what it uses, and carries out what the replies ask for (YARN's
// ResourceTracker protocol).
//
// Heartbeats wait for nothing but the ResourceManager: what a reply asks for is begun, and what has to be on disk gets there
// in its own time.
//
// Besides the interval that the ResourceManager sets, a heartbeat goes out at once when something has changed (Kick):
// what has ended can be replaced the sooner.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/machine"
	"heddle/nm/container"
	"heddle/nm/health"
	"heddle/nm/service"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// ErrShutdown says that the ResourceManager wants nothing to do with this node: it has been excluded, or is too small.
var ErrShutdown = errors.New("the ResourceManager has sent the node away")

// minimumGap is the least time between two heartbeats. It puts together what changes in bursts.
const minimumGap = 20 * time.Millisecond

// LogReports tells how far the aggregation of applications' logs is.
type LogReports interface {
	// Reports returns what has changed since it was last called, without what was Restored.
	Reports() []*pb.LogAggregationReport
	// Restore gives back reports that could not be delivered.
	Restore(reports []*pb.LogAggregationReport)
	// Last returns the last report of every application that is known.
	Last() []*pb.LogAggregationReport
}

// Options are what an Updater works with. All must be set, except where it says so.
type Options struct {
	Tracker ipc.Invoker // the ResourceManager

	Node         records.NodeID
	IP           string
	HTTPPort     int
	Version      string // of Hadoop, as others check it
	Types        records.ResourceTypes
	Resource     records.Resource
	Physical     records.Resource     // what the machine has
	Capabilities *pb.NodeCapabilities // what it can do beyond YARN

	Containers *container.Manager
	Service    *service.Service // applies changes of containers' sizes, and knows what it has refused
	Keys       *service.Keys
	Health     func() health.Status
	Use        func() machine.Use
	Logs       LogReports // nil: none
	Log        *logrus.Entry

	// Registered is called after every registration with the id of the ResourceManager's life. It must not wait for a disk.
	Registered func(rmIdentifier int64)
}

// Updater talks to the ResourceManager.
type Updater struct {
	o    Options
	kick chan struct{}

	// What only Run uses.
	responseID int32
	sequence   int64                         // of delegation tokens
	reported   map[records.ContainerID]bool  // containers whose end the ResourceManager has been told of
	grown      map[records.ContainerID]int32 // versions of containers by which they grew, and it has been told so

	updates sync.WaitGroup // changes of containers' sizes that are under way

	mu         sync.Mutex
	registered bool
	lastBeat   time.Time
}

// New returns an updater.
func New(o Options) *Updater {
	return &Updater{o: o, kick: make(chan struct{}, 1)}
}

// Kick has a heartbeat go out at once. It never blocks.
func (u *Updater) Kick() {
	select {
	case u.kick <- struct{}{}:
	default:
	}
}

// State reports whether the node is registered, and when the ResourceManager last answered a heartbeat.
func (u *Updater) State() (registered bool, lastBeat time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.registered, u.lastBeat
}

// Run registers and sends heartbeats until ctx ends, when it returns nil, or the ResourceManager sends the node away
// (ErrShutdown) or can't be reached for longer than the tracker's patience.
func (u *Updater) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer u.updates.Wait()
	defer cancel()
	if err := u.register(ctx); err != nil {
		return ended(ctx, err)
	}
	for {
		began := time.Now()
		resp, err := u.beat(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		switch resp.GetNodeAction() {
		case pb.NodeAction_SHUTDOWN:
			return fmt.Errorf("%w: %s", ErrShutdown, resp.GetDiagnosticsMessage())
		case pb.NodeAction_RESYNC:
			u.o.Log.Warnf("Node is out of sync with the ResourceManager, registering again: %s", resp.GetDiagnosticsMessage())
			if err := u.register(ctx); err != nil {
				return ended(ctx, err)
			}
			continue
		}
		u.apply(ctx, resp)
		wait := time.Duration(resp.GetNextHeartBeatInterval()) * time.Millisecond
		if wait <= 0 {
			wait = time.Second
		}
		if !u.pause(ctx, began, wait) {
			return nil
		}
	}
}

// ended hides errors that only say that ctx has.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits for the next heartbeat's time. It returns false when ctx has ended.
func (u *Updater) pause(ctx context.Context, began time.Time, wait time.Duration) bool {
	timer := time.NewTimer(time.Until(began.Add(wait)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-u.kick:
	}
	timer.Reset(time.Until(began.Add(minimumGap)))
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// register makes the node known, with what runs on it already.
func (u *Updater) register(ctx context.Context) error {
	o := &u.o
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(o.Node.PB())
	req.SetHttpPort(int32(o.HTTPPort))
	req.SetResource(o.Types.PB(o.Resource))
	req.SetNmVersion(o.Version)
	req.SetPhysicalResource(o.Types.PB(o.Physical))
	req.SetHeddleCapabilities(o.Capabilities)
	reported, grown := make(map[records.ContainerID]bool), make(map[records.ContainerID]int32)
	var statuses []*pb.NMContainerStatus
	for _, c := range o.Containers.Containers() {
		s := c.Status()
		statuses = append(statuses, service.NMStatusPB(s, o.Types))
		if s.State == container.Done {
			reported[c.ID()] = true
		} else if s.Grown > 0 {
			grown[c.ID()] = s.Grown
		}
	}
	req.SetContainerStatuses(statuses)
	var running []*pb.ApplicationId
	for _, app := range o.Containers.Applications() {
		running = append(running, app.ID.PB())
	}
	req.SetRunningApplications(running)
	if o.Logs != nil {
		req.SetLogAggregationReportsForApps(o.Logs.Last())
	}
	u.responseID = 0
	u.reported, u.grown = make(map[records.ContainerID]bool), maps.Clone(grown)
	status, _ := u.status()
	req.SetNodeStatus(status)

	o.Keys.Expect()
	resp, err := protocol.RegisterNodeManager.Call(ctx, o.Tracker, req)
	if err != nil {
		if hint := notAdmitted(err); hint != "" {
			return fmt.Errorf("register node %s: %s: %w", o.Node, hint, err)
		}
		return fmt.Errorf("register node %s: %w", o.Node, err)
	}
	if resp.GetNodeAction() == pb.NodeAction_SHUTDOWN {
		return fmt.Errorf("%w when it registered: %s", ErrShutdown, resp.GetDiagnosticsMessage())
	}
	// The keys come last: that of NM tokens lets callers in, who need the rest.
	o.Registered(resp.GetRmIdentifier())
	u.logged("Could not keep the keys for tokens", o.Keys.SetKeys(
		key(resp.HasContainerTokenMasterKey(), resp.GetContainerTokenMasterKey()), key(resp.HasNmTokenMasterKey(), resp.GetNmTokenMasterKey())))
	u.setResource(resp.HasResource(), resp.GetResource())
	u.reported, u.grown, u.sequence = reported, grown, 0
	u.mu.Lock()
	u.registered = true
	u.mu.Unlock()
	o.Log.WithField("node", o.Node.String()).Infof("Registered with the ResourceManager (Hadoop %s) with %s, %d containers and %d applications",
		resp.GetRmVersion(), o.Types.Format(o.Resource), len(statuses), len(running))
	return nil
}

// notAdmitted says what to do about a ResourceManager and a node that don't trust each other.
func notAdmitted(err error) string {
	const key = "heddle.cluster.secret-file"
	if a := (*ipc.AuthError)(nil); errors.As(err, &a) {
		return "the ResourceManager can't prove that it knows the cluster's secret; give it the same " + key
	}
	switch ipc.Class(err) {
	case ipc.SaslException:
		return "the ResourceManager knows another secret; all daemons of a cluster need the same " + key
	case ipc.AccessControlException:
		return "the ResourceManager wants proof that this node belongs to the cluster; set " + key + " to a file with the cluster's secret"
	}
	return ""
}

func key(has bool, k *pb.MasterKey) *pb.MasterKey {
	if !has {
		return nil
	}
	return k
}

// beat sends a heartbeat.
func (u *Updater) beat(ctx context.Context) (*pb.NodeHeartbeatResponse, error) {
	o := &u.o
	req := &pb.NodeHeartbeatRequest{}
	status, told := u.status()
	req.SetNodeStatus(status)
	if k := o.Keys.ContainerKey(); k != nil {
		req.SetLastKnownContainerTokenMasterKey(k)
	}
	if k := o.Keys.NodeKey(); k != nil {
		req.SetLastKnownNmTokenMasterKey(k)
	}
	req.SetTokenSequenceNo(u.sequence)
	req.SetHeddleRefusals(o.Service.Refusals())
	var reports []*pb.LogAggregationReport
	if o.Logs != nil {
		reports = o.Logs.Reports()
		req.SetLogAggregationReportsForApps(reports)
	}
	resp, err := protocol.NodeHeartbeat.Call(ctx, o.Tracker, req)
	if err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
		if o.Logs != nil {
			o.Logs.Restore(reports)
		}
		if err != nil {
			return nil, fmt.Errorf("heartbeat of node %s: %w", o.Node, err)
		}
		return resp, nil
	}
	for _, id := range told.ended {
		u.reported[id] = true
	}
	maps.Copy(u.grown, told.grown)
	u.responseID, u.sequence = resp.GetResponseId(), resp.GetTokenSequenceNo()
	u.mu.Lock()
	u.lastBeat = time.Now()
	u.mu.Unlock()
	return resp, nil
}

// Unregister tells the ResourceManager that the node is going away for good. Run must have returned.
func (u *Updater) Unregister(ctx context.Context) error {
	if registered, _ := u.State(); !registered {
		return nil
	}
	req := &pb.UnRegisterNodeManagerRequest{}
	req.SetNodeId(u.o.Node.PB())
	if _, err := protocol.UnRegisterNodeManager.Call(ctx, u.o.Tracker, req); err != nil {
		return fmt.Errorf("unregister node %s: %w", u.o.Node, err)
	}
	return nil
}

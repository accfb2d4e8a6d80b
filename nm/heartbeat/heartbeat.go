// Package heartbeat connects a node with the ResourceManager (YARN's ResourceTracker protocol). It registers. Each heartbeat reports which
// containers run and which have ended, the node's health, and what it uses. Then it carries out the reply's orders.
//
// Heartbeats wait for nothing but the ResourceManager: replies only start actions, and writes to disk don't hold
// heartbeats up.
//
// The ResourceManager sets the interval. When something has changed, a heartbeat goes out at once (Kick), so that ended
// containers are replaced sooner.
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
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/health"
	"heddle/nm/nodeattributes"
	"heddle/nm/nodelabels"
	"heddle/nm/service"
	"heddle/nm/suspend"
	"heddle/nm/warming"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// ErrShutdown says that the ResourceManager refuses this node, because it is excluded or too small.
var ErrShutdown = errors.New("the ResourceManager told the node to shut down")

// minimumGap is the shortest time between two heartbeats. It combines changes that come in bursts.
const minimumGap = 20 * time.Millisecond

// LogReports reports the progress of log aggregation.
type LogReports interface {
	// Reports returns the changes since the previous call, except for Restored ones.
	Reports() []*pb.LogAggregationReport
	// Restore takes back reports that could not be delivered. Reports returns them again.
	Restore(reports []*pb.LogAggregationReport)
	// Last returns the last report of every known application.
	Last() []*pb.LogAggregationReport
}

// Options configure an Updater. All fields must be set unless they say otherwise.
type Options struct {
	Tracker ipc.Invoker // the ResourceManager

	Node         records.NodeID
	IP           string
	HTTPPort     int
	Version      string // version of Hadoop that others check
	Types        records.ResourceTypes
	Resource     records.Resource
	Physical     records.Resource     // resources of the machine
	Capabilities *pb.NodeCapabilities // abilities beyond YARN

	Containers *container.Manager
	Service    *service.Service // applies changes of containers' sizes, and remembers refusals
	Keys       *service.Keys
	Health     func() health.Status
	Use        func() machine.Use
	Pressure   suspend.PressureReader   // how the machine's memory is; nil: unknown
	Logs       LogReports               // nil: no logs are aggregated
	Outputs    Outputs                  // nil: the node has no shuffle
	Warming    *warming.Warmer          // nil: nothing is read ahead of maps
	Labels     *nodelabels.Provider     // nil: the node says nothing of labels
	Attributes *nodeattributes.Provider // nil: nor of attributes
	Log        *logrus.Entry

	// ShortTasks says how the node uses what it was lent; nil: it takes no probes.
	ShortTasks func() *pb.NodeShortTasks
	// Lend is told what the node may use for short tasks, SetLong whether long ones run there, and EndApplication when an application is over. Each may be
	// nil; none may wait.
	Lend           func(records.Resource)
	SetLong        func(bool)
	EndApplication func(records.ApplicationID)

	// System is told the credentials that the ResourceManager has got for applications; nil: they don't matter.
	System func([]*pb.SystemCredentialsForApps) error

	// Registered is called after every registration with the ResourceManager's identifier. It must not wait for a disk.
	Registered func(rmIdentifier int64)
}

// Updater registers the node and sends its heartbeats.
type Updater struct {
	o    Options
	kick chan struct{}

	// These belong to Run.
	responseID int32
	offered    records.Resource              // to containers
	sequence   int64                         // sequence number of delegation tokens
	reported   map[records.ContainerID]bool  // containers whose end was reported
	grown      map[records.ContainerID]int32 // reported versions of containers that grew
	memory     map[records.ContainerID]int64 // bytes that containers use, as reported
	outputs    toldOutputs
	unsure     bool // the node ended before its registration was answered: the ResourceManager may know it

	updates sync.WaitGroup // changes of containers' sizes under way

	mu         sync.Mutex
	registered bool
	lastBeat   time.Time
}

// New returns an updater.
func New(o Options) *Updater {
	return &Updater{o: o, kick: make(chan struct{}, 1), offered: o.Resource}
}

// Kick makes a heartbeat go out at once. It never blocks.
func (u *Updater) Kick() {
	select {
	case u.kick <- struct{}{}:
	default:
	}
}

// State returns whether the node is registered, and when the ResourceManager last answered a heartbeat.
func (u *Updater) State() (registered bool, lastBeat time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.registered, u.lastBeat
}

// Run registers and sends heartbeats. It returns nil when ctx ends. It fails with ErrShutdown if the ResourceManager
// refuses the node, and with another error if it can't be reached for longer than the tracker's patience.
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
			u.o.Log.Warnf("node is out of sync with the ResourceManager, registering again: %s", resp.GetDiagnosticsMessage())
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

// ended returns nil for errors that only say that ctx has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits until the next heartbeat is due. It returns false if ctx has ended.
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

// register registers the node with everything that runs on it.
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
		if allocation.IsOnLent(c.ID()) {
			continue
		}
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
	if o.ShortTasks != nil {
		req.SetHeddleShortTasks(o.ShortTasks())
	}
	labels := u.labels(true)
	if labels != nil {
		req.SetNodeLabels(labels)
	}
	attributes := o.Attributes.Register()
	if attributes != nil {
		req.SetNodeAttributes(attributes)
	}
	u.responseID = 0
	u.reported, u.grown = make(map[records.ContainerID]bool), maps.Clone(grown)
	status, _ := u.status()
	req.SetNodeStatus(status)

	o.Keys.Expect()
	resp, err := protocol.RegisterNodeManager.Call(ctx, o.Tracker, req)
	if err != nil {
		u.unsure = ctx.Err() != nil
		if hint := notAdmitted(err); hint != "" {
			return fmt.Errorf("register node %s: %s: %w", o.Node, hint, err)
		}
		return fmt.Errorf("register node %s: %w", o.Node, err)
	}
	if resp.GetNodeAction() == pb.NodeAction_SHUTDOWN {
		return fmt.Errorf("%w when it registered: %s", ErrShutdown, resp.GetDiagnosticsMessage())
	}
	u.labelsTold(labels, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
	o.Attributes.Told(attributes, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
	// The keys come last: that of NM tokens admits callers, who need everything else.
	o.Registered(resp.GetRmIdentifier())
	u.lend(resp.GetHeddleLent())
	u.setLong(false) // until it is told, by the next heartbeat
	u.logged("Could not keep the keys for tokens", o.Keys.SetKeys(
		key(resp.HasContainerTokenMasterKey(), resp.GetContainerTokenMasterKey()), key(resp.HasNmTokenMasterKey(), resp.GetNmTokenMasterKey())))
	if u.o.Lend != nil && !resp.HasResource() {
		u.offer(o.Resource) // nothing is lent any more
	}
	u.setResource(resp.HasResource(), resp.GetResource())
	u.reported, u.grown, u.sequence, u.memory, u.outputs = reported, grown, 0, nil, toldOutputs{}
	if o.Warming != nil {
		o.Warming.Reset()
	}
	u.mu.Lock()
	u.registered = true
	u.mu.Unlock()
	o.Log.WithField("node", o.Node.String()).Infof("registered with the ResourceManager (Hadoop %s) with %s, %d containers and %d applications",
		resp.GetRmVersion(), o.Types.Format(o.Resource), len(statuses), len(running))
	return nil
}

// labels returns what a registration, or a heartbeat, says of the node's label.
func (u *Updater) labels(registers bool) *pb.NodeLabels {
	switch {
	case u.o.Labels == nil:
		return nil
	case registers:
		return u.o.Labels.Register()
	}
	return u.o.Labels.Beat()
}

func (u *Updater) labelsTold(said *pb.NodeLabels, accepted bool, why string) {
	if u.o.Labels != nil {
		u.o.Labels.Told(said, accepted, why)
	}
}

// lend tells what the node may use for short tasks.
func (u *Updater) lend(m *pb.Resource) {
	if u.o.Lend == nil {
		return
	}
	lent, err := u.o.Types.From(m)
	if err != nil {
		u.o.Log.WithError(err).Error("the ResourceManager lends resources of types that this node doesn't have")
	}
	u.o.Lend(lent)
}

// setLong says whether long tasks run on the node.
func (u *Updater) setLong(has bool) {
	if u.o.SetLong != nil {
		u.o.SetLong(has)
	}
}

// notAdmitted says how to mend a lack of trust between ResourceManager and node.
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
	req.SetHeddleSuspensions(u.suspensions())
	req.SetHeddleMemory(u.nodeMemory())
	if o.ShortTasks != nil {
		req.SetHeddleShortTasks(o.ShortTasks())
	}
	labels := u.labels(false)
	if labels != nil {
		req.SetNodeLabels(labels)
	}
	attributes := o.Attributes.Beat()
	if attributes != nil {
		req.SetNodeAttributes(attributes)
	}
	used, outputs := u.containerMemory(req), u.mapOutputs(req)
	inputs, staged := u.jobInputs(req), u.staged(req)
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
	u.memory, u.outputs = used, outputs
	u.labelsTold(labels, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
	o.Attributes.Told(attributes, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
	if o.Warming != nil {
		o.Warming.Told(inputs, staged)
	}
	u.responseID, u.sequence = resp.GetResponseId(), resp.GetTokenSequenceNo()
	u.mu.Lock()
	u.lastBeat = time.Now()
	u.mu.Unlock()
	return resp, nil
}

// Unregister tells the ResourceManager that the node leaves for good. Run must have returned.
func (u *Updater) Unregister(ctx context.Context) error {
	if registered, _ := u.State(); !registered && !u.unsure {
		return nil
	}
	req := &pb.UnRegisterNodeManagerRequest{}
	req.SetNodeId(u.o.Node.PB())
	if _, err := protocol.UnRegisterNodeManager.Call(ctx, u.o.Tracker, req); err != nil {
		return fmt.Errorf("unregister node %s: %w", u.o.Node, err)
	}
	return nil
}

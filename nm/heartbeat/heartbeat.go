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
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/machine"
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
	ShortTasks ShortTasks               // nil: the node takes no probes
	Collectors Collectors               // nil: there is no timeline version 2
	Log        *logrus.Entry

	// System is told the credentials that the ResourceManager has got for applications; nil: they don't matter.
	System func([]*pb.SystemCredentialsForApps) error

	// Registered is called after every registration with the ResourceManager's identifier. It must not wait for a disk.
	Registered func(rmIdentifier int64)
}

// Updater registers the node and sends its heartbeats.
type Updater struct {
	o        Options
	kick     chan struct{}
	features features
	size     *size
	updates  sync.WaitGroup // changes of containers' sizes under way

	// These belong to Run.
	responseID int32
	unsure     bool // the node ended before its registration was answered: the ResourceManager may know it

	mu         sync.Mutex
	registered bool
	lastBeat   time.Time
}

// New returns an updater.
func New(o Options) *Updater {
	u := &Updater{o: o, kick: make(chan struct{}, 1)}
	u.size = &size{Options: &u.o, own: o.Resource, offered: o.Resource}
	f := &u.features
	f.add(&containers{Options: &u.o, size: u.size, updates: &u.updates})
	f.add(&suspension{&u.o})
	f.add(&memory{Options: &u.o})
	f.add(u.size)
	if o.ShortTasks != nil {
		f.add(&shortTasks{&u.o})
	}
	if o.Labels != nil {
		f.add(&labels{Provider: o.Labels})
	}
	if o.Attributes != nil {
		f.add(&attributes{Provider: o.Attributes})
	}
	if o.Outputs != nil {
		f.add(&outputs{Outputs: o.Outputs})
	}
	if o.Warming != nil {
		f.add(&readAhead{Warmer: o.Warming})
	}
	if o.Logs != nil {
		f.add(&logs{LogReports: o.Logs})
	}
	if o.Collectors != nil {
		f.add(&collectors{o.Collectors})
	}
	if o.System != nil {
		f.add(&system{o.System, o.Log})
	}
	f.add(&keys{Keys: o.Keys, log: o.Log}) // the last one, as callers are admitted once the node has its keys
	return u
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
	req.SetNmVersion(o.Version)
	req.SetHeddleCapabilities(o.Capabilities)
	for _, f := range u.features.registering {
		f.Registering(req)
	}
	u.responseID = 0
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
	o.Registered(resp.GetRmIdentifier())
	for _, f := range u.features.registered {
		f.Registered(resp)
	}
	u.mu.Lock()
	u.registered = true
	u.mu.Unlock()
	o.Log.WithField("node", o.Node.String()).Infof("registered with the ResourceManager (Hadoop %s) with %s, %d containers and %d applications",
		resp.GetRmVersion(), o.Types.Format(u.size.own), len(req.GetContainerStatuses()), len(req.GetRunningApplications()))
	return nil
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

// beat sends a heartbeat.
func (u *Updater) beat(ctx context.Context) (*pb.NodeHeartbeatResponse, error) {
	req := &pb.NodeHeartbeatRequest{}
	for _, f := range u.features.reporting {
		f.Report(req)
	}
	req.GetNodeStatus().SetResponseId(u.responseID)
	resp, err := protocol.NodeHeartbeat.Call(ctx, u.o.Tracker, req)
	if err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
		for _, f := range u.features.lost {
			f.Lost()
		}
		if err != nil {
			return nil, fmt.Errorf("heartbeat of node %s: %w", u.o.Node, err)
		}
		return resp, nil
	}
	for _, f := range u.features.delivered {
		f.Delivered(resp)
	}
	u.responseID = resp.GetResponseId()
	u.mu.Lock()
	u.lastBeat = time.Now()
	u.mu.Unlock()
	return resp, nil
}

// apply starts what a heartbeat's reply asks for.
func (u *Updater) apply(ctx context.Context, resp *pb.NodeHeartbeatResponse) {
	for _, f := range u.features.applying {
		f.Apply(ctx, resp)
	}
	for _, m := range resp.GetApplicationsToCleanup() {
		for _, f := range u.features.appEnded {
			f.AppEnded(records.ApplicationIDFrom(m))
		}
	}
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

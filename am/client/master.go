package client

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// MasterOptions say who an ApplicationMaster is, and where others reach it.
type MasterOptions struct {
	Attempt records.AttemptID
	Token   token.Token // of kind token.KindAMRM
	// Host and Port are where the application's clients reach it (port -1: nowhere). TrackingURL is the address of its
	// web pages, and may be empty.
	Host        string
	Port        int32
	TrackingURL string
	// Hold is how long the ResourceManager may hold answers back if it can; 5 s by default, at most 10 s.
	Hold time.Duration
	// Racks places the hosts that requests prefer. The Master keeps it up to date. nil stands for a new one.
	Racks *Racks
	// Probes asks the ResourceManager for the nodes that take probes of short tasks.
	Probes bool
}

// Master is the dialogue of one ApplicationMaster with the ResourceManager. Its methods note requests, releases and
// blacklisted hosts at once. The next Allocate sends them, and sends them again to a ResourceManager that has taken
// over.
//
// All methods are safe for concurrent use. Calls of Allocate, Register and Finish wait for each other.
type Master struct {
	o     MasterOptions
	types records.ResourceTypes
	log   *logrus.Entry
	rm    *ipc.Failover
	at    string
	nm    *NMTokens

	calling sync.Mutex // held during Register, Allocate and Finish

	mu           sync.Mutex
	asks         *asks
	releases     map[records.ContainerID]bool // unconfirmed; true: sent
	blacklist    map[string]bool              // true: sent
	unlist       map[string]bool              // names to take off the blacklist
	known        map[records.ContainerID]bool // containers that the caller knows, those of earlier attempts included
	suspended    map[records.ContainerID]bool // as the caller knows
	fresh        bool                         // no answer has come since the registration
	progress     float32
	clusterNodes int
	responseID   int32
	hold         time.Duration // agreed with this ResourceManager; 0 if it answers at once
	holding      bool          // an Allocate call waits that Nudge can end
	unsure       bool          // the last call may have taken effect, but its answer is lost
	maximum      records.Resource
	backlog      []*pb.AllocateResponse // not applied yet
	stages       stages
	swaps        swaps
}

// Master returns the dialogue of an ApplicationMaster. Call Register first. Master fails if the configuration lacks a
// ResourceManager's address.
func (c *Cluster) Master(o MasterOptions) (*Master, error) {
	if o.Hold <= 0 {
		o.Hold = 5 * time.Second
	}
	o.Hold = min(o.Hold, maxHold)
	if o.Racks == nil {
		o.Racks = &Racks{}
	}
	patience := c.conf.Limit("yarn.resourcemanager.connect.max-wait.ms")
	rm, at, err := c.resourceManager(masterAddress, protocol.ApplicationMaster, ipc.Identity{Token: &o.Token}, patience)
	if err != nil {
		return nil, err
	}
	return &Master{
		o: o, types: c.types, log: c.log.WithField("attempt", o.Attempt.String()), rm: rm, at: at, nm: &NMTokens{},
		asks: newAsks(o.Racks.Of), releases: map[records.ContainerID]bool{}, blacklist: map[string]bool{},
		unlist: map[string]bool{}, known: map[records.ContainerID]bool{}, suspended: map[records.ContainerID]bool{},
	}, nil
}

// NMTokens returns the tokens for nodes that the ResourceManager has given. Allocate adds those that arrive later.
func (m *Master) NMTokens() *NMTokens { return m.nm }

// Registration is the ResourceManager's answer to a registration.
type Registration struct {
	Maximum records.Resource // of a container; zero if unknown
	Queue   string           // full path
	// ClientKey signs the tokens of the application's clients. It is empty without security.
	ClientKey []byte
	// Previous are containers of earlier attempts that still run.
	Previous []Container
	// Holds says that the ResourceManager holds answers back until there is something to report.
	Holds bool
}

// Register begins the dialogue.
func (m *Master) Register(ctx context.Context) (Registration, error) {
	m.calling.Lock()
	defer m.calling.Unlock()
	return m.register(ctx)
}

func (m *Master) register(ctx context.Context) (Registration, error) {
	req := &pb.RegisterApplicationMasterRequest{}
	req.SetHost(m.o.Host)
	req.SetRpcPort(m.o.Port)
	m.mu.Lock()
	req.SetTrackingUrl(m.o.TrackingURL)
	m.mu.Unlock()
	resp, err := protocol.RegisterApplicationMaster.Call(ctx, m.rm, req)
	if already(err) {
		// The answer to the first call was lost, and its contents with it.
		m.log.WithError(err).Warn("the attempt is registered already, but the ResourceManager's answer was lost")
		resp, err = &pb.RegisterApplicationMasterResponse{}, nil
	}
	if err != nil {
		return Registration{}, m.failed("registering", err)
	}
	r := Registration{
		Queue: resp.GetQueue(), ClientKey: resp.GetClientToAmTokenMasterKey(), Holds: resp.GetHeddleMaxWaitMs() > 0,
	}
	if r.Maximum, err = m.types.From(resp.GetMaximumCapability()); err != nil {
		m.log.WithError(err).Warn("the cluster has resource types that the configuration lacks")
	}
	m.nm.learn(resp.GetNmTokensFromPreviousAttempts())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.responseID, m.unsure, m.fresh = 0, false, true
	m.swaps.taken = resp.GetHeddleTakesSwaps()
	m.hold = min(m.o.Hold, time.Duration(resp.GetHeddleMaxWaitMs())*time.Millisecond)
	if !r.Maximum.IsZero() {
		m.maximum = r.Maximum
	}
	r.Previous = m.previous(resp.GetContainersFromPreviousAttempts())
	return r, nil
}

// already reports whether registering failed because an earlier call had succeeded.
func already(err error) bool {
	return ipc.IsClass(err, ipc.InvalidMasterRequest) && strings.Contains(err.Error(), "already registered")
}

// resync registers again with a ResourceManager that knows nothing of the attempt, and marks everything as unsent.
func (m *Master) resync(ctx context.Context) ([]Container, error) {
	r, err := m.register(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks.forget()
	for id := range m.releases {
		m.releases[id] = false
	}
	for name := range m.blacklist {
		m.blacklist[name] = false
	}
	clear(m.unlist)
	m.stages.forget()
	m.swaps.forget()
	return r.Previous, nil
}

// failed adds the attempt, the action and the ResourceManager's address to an error.
func (m *Master) failed(what string, err error) error {
	if ipc.IsClass(err, ipc.AttemptNotFound) || ipc.IsClass(err, ipc.InvalidToken) {
		err = fmt.Errorf("%w: %w", ErrDismissed, err)
	}
	return fmt.Errorf("%v: %s with the ResourceManager (%s): %w", m.o.Attempt, what, m.at, err)
}

// Request asks for containers. It fails with a *TooLargeError if no node of the cluster could have such a container.
func (m *Master) Request(r Request) (RequestID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := r.check(m.maximum, m.types); err != nil {
		return 0, err
	}
	return m.asks.add(r), nil
}

// Withdraw takes back up to count containers of a request that haven't arrived. It returns how many it took back.
func (m *Master) Withdraw(id RequestID, count int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks.withdraw(id, count)
}

// Outstanding returns the number of containers that are asked for and haven't arrived.
func (m *Master) Outstanding() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks.outstanding()
}

// Release gives containers back, whether they run or not.
func (m *Master) Release(ids ...records.ContainerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.release(id)
	}
}

func (m *Master) release(id records.ContainerID) {
	// A ResourceManager refuses the whole call if one of the containers belongs to another application.
	if _, twice := m.releases[id]; !twice && id.Attempt.App == m.o.Attempt.App {
		m.releases[id] = false
	}
}

// Blacklist keeps containers away from hosts (add), or allows them there again.
func (m *Master) Blacklist(add, remove []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range add {
		if _, on := m.blacklist[name]; !on && name != anyNode && name != "" {
			m.blacklist[name] = false
			delete(m.unlist, name)
		}
	}
	for _, name := range remove {
		if sent, on := m.blacklist[name]; on {
			delete(m.blacklist, name)
			if sent {
				m.unlist[name] = true
			}
		}
	}
}

// ClusterNodes returns how many nodes the cluster had at the last Allocate.
func (m *Master) ClusterNodes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusterNodes
}

// SetProgress sets how much of the work is done, from 0 to 1. The next Allocate sends it.
func (m *Master) SetProgress(p float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress = min(max(p, 0), 1)
}

// SetTrackingURL changes the address of the application's web pages. The next Allocate sends it.
func (m *Master) SetTrackingURL(url string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.o.TrackingURL = url
}

// Holds reports whether the ResourceManager holds answers back. If so, call Allocate again without a pause.
func (m *Master) Holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold > 0
}

// Nudge ends a waiting Allocate, so that the next one can send what has changed. It does nothing if none waits.
func (m *Master) Nudge(ctx context.Context) error {
	m.mu.Lock()
	holding := m.holding
	m.mu.Unlock()
	if !holding {
		return nil
	}
	return m.nudge(ctx)
}

func (m *Master) nudge(ctx context.Context) error {
	req := &pb.AllocateRequest{}
	req.SetHeddleNudge(true)
	// Failover isn't used here: another server might treat this call as an ordinary one.
	_, err := protocol.Allocate.Call(ctx, m.rm.Active(), req)
	return err
}

// Finish unregisters the attempt. It repeats the call until the ResourceManager has recorded it.
func (m *Master) Finish(ctx context.Context, status pb.FinalApplicationStatus, diagnostics, trackingURL string) error {
	m.calling.Lock()
	defer m.calling.Unlock()
	req := &pb.FinishApplicationMasterRequest{}
	req.SetFinalApplicationStatus(status)
	req.SetDiagnostics(diagnostics)
	req.SetTrackingUrl(trackingURL)
	if m.Holds() {
		// The ResourceManager may still hold an Allocate that the caller has given up. This call would queue behind
		// that.
		if err := m.nudge(ctx); err != nil {
			m.log.WithError(err).Debug("can't end the waiting Allocate early")
		}
	}
	for {
		resp, err := protocol.FinishApplicationMaster.Call(ctx, m.rm, req)
		switch {
		case err == nil && resp.GetIsUnregistered():
			return nil
		case ipc.IsClass(err, ipc.MasterNotRegistered):
			if _, err := m.register(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return m.failed("finishing", err)
		}
		select {
		case <-ctx.Done():
			return m.failed("finishing", ctx.Err())
		case <-time.After(finishPause):
		}
	}
}

// finishPause is how long to wait before Finish repeats a call that the ResourceManager hasn't recorded yet.
const finishPause = 100 * time.Millisecond

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

// MasterOptions say who an ApplicationMaster is.
type MasterOptions struct {
	Attempt records.AttemptID
	Token   token.Token // of kind token.KindAMRM
	// Where the application can be reached: host and port for its own clients (port -1: it has none), and the address of
	// its web pages, which may be empty.
	Host        string
	Port        int32
	TrackingURL string
	// Hold is how long answers may be held back by a ResourceManager that can do so; 5 s, at most 10 s.
	Hold time.Duration
	// Racks knows where hosts are, for requests that prefer hosts. It is kept up to date. nil: a new one.
	Racks *Racks
}

// Master is the conversation of one ApplicationMaster with the ResourceManager. What is asked for, released and
// blacklisted is noted down at once, told with the next Allocate, and told again to a ResourceManager that has taken over.
//
// All methods may be called by several goroutines, but there is one Allocate at a time.
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
	releases     map[records.ContainerID]bool // not yet confirmed; true: told
	blacklist    map[string]bool              // true: told
	unlist       map[string]bool              // names to be taken off the blacklist
	known        map[records.ContainerID]bool // containers that the caller has, or had from an earlier attempt
	progress     float32
	clusterNodes int
	responseID   int32
	hold         time.Duration // of this ResourceManager; 0 if it holds back nothing
	holding      bool          // an Allocate is under way that can be nudged
	unsure       bool          // the last call may have been taken without an answer having come
	maximum      records.Resource
	backlog      []*pb.AllocateResponse // not yet taken in
}

// Master returns the conversation of an ApplicationMaster, which begins with Register. It fails if the configuration lacks
// a ResourceManager's address.
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
		unlist: map[string]bool{}, known: map[records.ContainerID]bool{},
	}, nil
}

// NMTokens returns the tokens for nodes that the ResourceManager has given so far; they keep coming with Allocate.
func (m *Master) NMTokens() *NMTokens { return m.nm }

// Registration is what an ApplicationMaster learns when it registers.
type Registration struct {
	Maximum records.Resource // of a container; zero if it isn't known
	Queue   string           // full path
	// ClientKey is the key of the tokens that clients come with; empty without security.
	ClientKey []byte
	// Previous are containers of earlier attempts that go on.
	Previous []Container
	// Holds says that the ResourceManager holds answers back until there is something to tell.
	Holds bool
}

// Register begins the conversation.
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
		// An answer was lost on the way, and what was in it, too.
		m.log.WithError(err).Warn("the attempt was registered already; the ResourceManager's answer to that is lost")
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
	m.responseID, m.unsure = 0, false
	m.hold = min(m.o.Hold, time.Duration(resp.GetHeddleMaxWaitMs())*time.Millisecond)
	if !r.Maximum.IsZero() {
		m.maximum = r.Maximum
	}
	r.Previous = m.previous(resp.GetContainersFromPreviousAttempts())
	return r, nil
}

// already reports whether an attempt to register fails because an earlier one succeeded.
func already(err error) bool {
	return ipc.IsClass(err, ipc.InvalidMasterRequest) && strings.Contains(err.Error(), "already registered")
}

// resync tells everything anew to a ResourceManager that knows nothing.
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
	return r.Previous, nil
}

// failed explains an error.
func (m *Master) failed(what string, err error) error {
	if ipc.IsClass(err, ipc.AttemptNotFound) || ipc.IsClass(err, ipc.InvalidToken) {
		err = fmt.Errorf("%w: %w", ErrDismissed, err)
	}
	return fmt.Errorf("%v: %s with the ResourceManager (%s): %w", m.o.Attempt, what, m.at, err)
}

// Request asks for containers. It fails with a *TooLargeError if none of the cluster's nodes could have one.
func (m *Master) Request(r Request) (RequestID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := r.check(m.maximum, m.types); err != nil {
		return 0, err
	}
	return m.asks.add(r), nil
}

// Withdraw takes a number of a request's containers back that have not arrived, and returns how many those were.
func (m *Master) Withdraw(id RequestID, count int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks.withdraw(id, count)
}

// Outstanding is the number of containers that are asked for and have not arrived.
func (m *Master) Outstanding() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks.outstanding()
}

// Release gives containers back, running or not.
func (m *Master) Release(ids ...records.ContainerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.release(id)
	}
}

func (m *Master) release(id records.ContainerID) {
	// A ResourceManager refuses the whole call if one of the containers isn't this application's.
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
		if told, on := m.blacklist[name]; on {
			delete(m.blacklist, name)
			if told {
				m.unlist[name] = true
			}
		}
	}
}

// ClusterNodes is how many nodes the cluster has, as far as is known.
func (m *Master) ClusterNodes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusterNodes
}

// SetProgress notes down how much of the work is done, from 0 to 1.
func (m *Master) SetProgress(p float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress = min(max(p, 0), 1)
}

// SetTrackingURL changes the address of the application's web pages.
func (m *Master) SetTrackingURL(url string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.o.TrackingURL = url
}

// Holds reports whether the ResourceManager holds answers back, so that calling Allocate without pause costs nothing.
func (m *Master) Holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold > 0
}

// Nudge has an Allocate that waits for news return at once, as there is something to tell. It does nothing if there is
// no such call.
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
	// Not by way of Failover: another server might be one that takes this for an ordinary call.
	_, err := protocol.Allocate.Call(ctx, m.rm.Active(), req)
	return err
}

// Finish ends the conversation and repeats itself until the ResourceManager has taken it in.
func (m *Master) Finish(ctx context.Context, status pb.FinalApplicationStatus, diagnostics, trackingURL string) error {
	m.calling.Lock()
	defer m.calling.Unlock()
	req := &pb.FinishApplicationMasterRequest{}
	req.SetFinalApplicationStatus(status)
	req.SetDiagnostics(diagnostics)
	req.SetTrackingUrl(trackingURL)
	if m.Holds() {
		// An Allocate that the caller has given up is still held at the other end, and this call would queue behind it.
		if err := m.nudge(ctx); err != nil {
			m.log.WithError(err).Debug("can't end a call under way early")
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

// finishPause is how long to wait until a farewell is repeated that the ResourceManager has not yet written down.
const finishPause = 100 * time.Millisecond

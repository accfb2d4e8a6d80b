package am

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/client"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Master is a running ApplicationMaster. Its methods may be called from any goroutine.
type Master struct {
	o       Options
	env     environment
	log     *logrus.Entry
	cluster *client.Cluster
	rm      *client.Master
	nodes   *client.Nodes
	events  *queue

	registration Registration
	changed      chan struct{} // there is something to report, and a call may need to end for it
	pace         chan struct{} // likewise, for the pause between calls
	ctx          context.Context
	calls        sync.WaitGroup // to nodes
	hinted       Hinted         // converse's

	mu         sync.Mutex
	containers map[records.ContainerID]*tracked
	farewell   farewell
	told       float32 // progress for which a call was ended early
	toldAt     time.Time
	begun      uint64        // heartbeats
	answered   uint64        // the latest heartbeat that was answered
	answers    chan struct{} // closed with each answer
}

// tracked is a container that hasn't ended.
type tracked struct {
	Container
	state  state
	cancel context.CancelFunc  // of the start
	stop   bool                // stop it as soon as it is started
	over   *ContainerCompleted // to be reported once the start is answered
}

type state int

const (
	allocated state = iota
	starting
	started
)

type farewell struct {
	status      pb.FinalApplicationStatus
	diagnostics string
	url         string
}

// Final states of an application.
const (
	Succeeded = pb.FinalApplicationStatus_APP_SUCCEEDED
	Failed    = pb.FinalApplicationStatus_APP_FAILED
	Killed    = pb.FinalApplicationStatus_APP_KILLED
)

// Run registers an ApplicationMaster, calls main, and unregisters. The application has succeeded if main returns nil, and
// failed otherwise, with the error as its diagnostics, unless main has called SetResult. Run doesn't unregister if main returns
// because ctx has ended or the ResourceManager has dismissed the attempt; it then returns that. main's context ends with ctx
// and when the conversation with the ResourceManager ends.
func Run(ctx context.Context, o Options, main func(ctx context.Context, m *Master) error) error {
	m, err := newMaster(o)
	if err != nil {
		return err
	}
	defer m.cluster.Close()
	return m.run(ctx, main)
}

func newMaster(o Options) (*Master, error) {
	if o.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(l)
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = time.Second
	}
	env, err := o.environment()
	if err != nil {
		return nil, err
	}
	c, err := o.configuration()
	if err != nil {
		return nil, err
	}
	m := &Master{
		o: o, env: env, log: o.Log.WithField("application", env.attempt.App.String()), events: newQueue(),
		changed: make(chan struct{}, 1), pace: make(chan struct{}, 1), containers: map[records.ContainerID]*tracked{},
		answers: make(chan struct{}),
	}
	if m.cluster, err = client.NewCluster(c, m.log); err != nil {
		return nil, err
	}
	port := int32(o.Port)
	if port == 0 {
		port = -1
	}
	racks := &client.Racks{}
	m.rm, err = m.cluster.Master(client.MasterOptions{
		Attempt: env.attempt, Token: env.amrm, Host: env.host, Port: port, TrackingURL: o.TrackingURL, Hold: o.Hold,
		Racks: racks, Probes: o.Probes,
	})
	if err != nil {
		m.cluster.Close()
		return nil, err
	}
	m.nodes = m.cluster.Nodes(env.attempt, m.rm.NMTokens(), o.Calls)
	m.learnRacks(racks)
	return m, nil
}

// learnRacks finds out the racks of hosts. A stock ResourceManager serves requests for hosts only if they name the racks as
// well. Hosts whose rack is unknown count as being in the default rack; requests for them may be missed.
func (m *Master) learnRacks(racks *client.Racks) {
	apps, err := m.cluster.Applications("")
	if err != nil {
		m.log.WithError(err).Debug("can't find racks")
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	nodes, err := apps.NodeReports(ctx, pb.NodeState_NS_RUNNING)
	if err != nil {
		m.log.WithError(err).Warn("can't find racks; containers may be farther from their data than necessary")
		return
	}
	racks.Learn(nodes)
}

func (m *Master) run(ctx context.Context, main func(context.Context, *Master) error) error {
	var err error
	if m.registration, err = m.rm.Register(ctx); err != nil {
		return err
	}
	m.recovered(m.registration.Previous)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.ctx = ctx
	talking, hush := context.WithCancel(ctx)
	over := make(chan struct{}) // closed when main has returned
	var running sync.WaitGroup
	running.Go(func() { m.events.run(over) })
	running.Go(func() { m.nudge(talking) })
	running.Go(func() {
		defer m.events.close()
		if err := m.converse(talking); talking.Err() == nil {
			if errors.Is(err, ErrDismissed) {
				m.events.put(ShutdownRequested{err})
			} else {
				m.events.put(Error{err})
			}
			cancel(err)
		}
	})
	result := main(ctx, m)
	cause := context.Cause(ctx)
	hush()
	close(over)
	running.Wait()
	if cause != nil {
		cancel(cause)
		m.calls.Wait()
		return cause
	}
	err = m.leave(ctx, result)
	cancel(nil)
	m.calls.Wait()
	return err
}

// leave unregisters.
func (m *Master) leave(ctx context.Context, result error) error {
	m.mu.Lock()
	f := m.farewell
	m.mu.Unlock()
	if f.status == pb.FinalApplicationStatus_APP_UNDEFINED {
		f.status = Succeeded
		if result != nil {
			f.status, f.diagnostics = Failed, result.Error()
		}
	}
	if err := m.rm.Finish(ctx, f.status, f.diagnostics, f.url); err != nil {
		return errors.Join(result, err)
	}
	return result
}

// SetResult decides the final status, whatever main returns. An empty trackingURL means none.
func (m *Master) SetResult(status pb.FinalApplicationStatus, diagnostics, trackingURL string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.farewell = farewell{status, diagnostics, trackingURL}
}

// Events returns the events. The channel is closed after ShutdownRequested or Error.
func (m *Master) Events() <-chan Event { return m.events.out }

// Attempt returns the id of this attempt.
func (m *Master) Attempt() records.AttemptID { return m.env.attempt }

// Registration returns the ResourceManager's answer to the registration.
func (m *Master) Registration() Registration { return m.registration }

// Credentials returns the attempt's credentials, among them those that its submitter gave it.
func (m *Master) Credentials() *token.Credentials { return m.env.creds }

// Host returns the name under which other hosts know this one.
func (m *Master) Host() string { return m.env.host }

// Request asks for containers. It fails if a container of that size can't exist in the cluster.
func (m *Master) Request(r Request) (RequestID, error) {
	id, err := m.rm.Request(r)
	if err != nil {
		return 0, fmt.Errorf("%v: %w", m.env.attempt, err)
	}
	m.change()
	return id, nil
}

// Withdraw withdraws containers of a request that have not been granted, and returns how many those were.
func (m *Master) Withdraw(id RequestID, count int) int {
	n := m.rm.Withdraw(id, count)
	m.change()
	return n
}

// Outstanding returns the number of containers that are asked for and not yet granted.
func (m *Master) Outstanding() int { return m.rm.Outstanding() }

// Release gives containers back. Those that run are killed.
func (m *Master) Release(ids ...records.ContainerID) {
	m.rm.Release(ids...)
	m.change()
}

// Blacklist keeps containers away from hosts (add), or allows them there again.
func (m *Master) Blacklist(add, remove []string) {
	m.rm.Blacklist(add, remove)
	m.change()
}

// ClusterNodes returns how many nodes the cluster has, as far as is known.
func (m *Master) ClusterNodes() int { return m.rm.ClusterNodes() }

// SetTrackingURL changes the address of the application's web pages.
func (m *Master) SetTrackingURL(url string) {
	m.rm.SetTrackingURL(url)
	m.change()
}

// progressPause is how long a ResourceManager that holds answers back need not hear of progress.
const progressPause = time.Second

// Confirm returns when the ResourceManager has answered a heartbeat that began after the call: the attempt was the current one
// then. It fails when ctx ends, as main's does when the attempt is dismissed.
func (m *Master) Confirm(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for after := m.begun; m.answered <= after; {
		answers := m.answers
		m.mu.Unlock()
		m.change()
		var err error
		select {
		case <-answers:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		m.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Swap suspends a running container, if the ResourceManager wants that as well, and gives its room to a request of the application; with
// 0 to the next one. ContainersSuspended says that it is suspended, SwapRefused that it runs on. A stock ResourceManager refuses.
func (m *Master) Swap(id records.ContainerID, to RequestID) error {
	err := m.rm.Swap(id, to)
	m.change()
	return err
}

// Unswap resumes a container that was to be suspended, as soon as its node has room for it. ContainersResumed says so.
func (m *Master) Unswap(id records.ContainerID) {
	m.rm.Unswap(id)
	m.change()
}

// SetStages says where the stages of the application's work are.
func (m *Master) SetStages(r StageReport) { m.rm.SetStages(r) }

// SetPerformance says how long tasks of a type have taken on a node, in all. The ResourceManager shares what applications have learned.
func (m *Master) SetPerformance(p Performance) { m.rm.SetPerformance(p) }

// AddTry tells of a try of a task that is over, for the application's receipt.
func (m *Master) AddTry(t TaskTry) { m.rm.AddTry(t) }

// WantHints asks for the event Hinted.
func (m *Master) WantHints() { m.rm.WantHints() }

// SetProgress tells how much of the work is done, from 0 to 1.
func (m *Master) SetProgress(p float32) {
	m.rm.SetProgress(p)
	m.mu.Lock()
	news := (p-m.told >= 0.01 || p < m.told) && time.Since(m.toldAt) >= progressPause
	if news {
		m.told, m.toldAt = p, time.Now()
	}
	m.mu.Unlock()
	if news {
		m.change()
	}
}

func (m *Master) change() {
	signal(m.changed)
	signal(m.pace)
}

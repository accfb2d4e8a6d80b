package container

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"

	"heddle/nm/admission"
	"heddle/nm/allocation"
	"heddle/nm/cgroup"
	"heddle/nm/enclosure"
	"heddle/nm/kept"
	"heddle/nm/launch"
	"heddle/nm/monitor"
	"heddle/nm/suspend"
	"heddle/nm/turn"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Container is one container. Its methods may be called from several goroutines.
type Container struct {
	m   *Manager
	log *logrus.Entry

	ctx  context.Context // ends when the container is to be killed, or the manager is closed
	stop context.CancelFunc
	done chan struct{} // closed when the state is Done

	turns     *turn.Queue   // of commands; see command.go
	unsettled chan struct{} // has something if there is more to settle

	box   *enclosure.Enclosure // of its processes
	place *admission.Place     // in the node's room

	ladder *suspend.Ladder // by which it is suspended and resumed

	mu    sync.Mutex
	state State
	grant allocation.Grant
	grown int32  // version of grant by which it got more, when it last did
	token []byte // the identifier of the newest token

	context  *pb.ContainerLaunchContext
	paths    map[string]string             // of localized resources, by link
	counters string                        // what localization cost, for the environment
	asked    map[string]LocalizationStatus // by link: what Localize was called for
	reinit   *reinit                       // a change of the launch context under way
	previous *version                      // the target of Rollback

	record    kept.Record
	late      *kill // that came in state Exited
	forgotten bool  // the store is to have nothing of it any more
	session   *launch.Session
	usage     monitor.Usage
	archived  func() // to be called when the container has ended; see JavaArchives

	ordering int32 // version of the order that is being carried out; 0: none is
	settling bool  // a goroutine brings the ladder where it is to be

	interrupt context.CancelFunc // makes the goroutine look whether there is another launch context
}

// kill is the reason of a container's kill.
type kill = kept.Kill

func (m *Manager) newContainer(g allocation.Grant, launch *pb.ContainerLaunchContext) *Container {
	c := &Container{
		m: m, grant: g, context: launch, done: make(chan struct{}), asked: make(map[string]LocalizationStatus),
		log:    m.Log.WithFields(logrus.Fields{"container": g.ID.String(), "application": g.ID.Attempt.App.String()}),
		record: kept.Record{Started: time.Now().UnixMilli(), ExitCode: records.ExitInvalid},
		place:  m.room.Place(g.Counted(), g.Master()), turns: turn.New(), unsettled: make(chan struct{}, 1),
		box: enclosure.New(m.Groups, &m.cfg.Rules, g.ID.String(), g.Resource),
	}
	c.place.Yields(yieldsBy(c, g))
	c.ladder = suspend.NewLadder(processes{c}, &m.ladders)
	c.ctx, c.stop = context.WithCancel(m.ctx)
	return c
}

// ID returns the container's id.
func (c *Container) ID() records.ContainerID { return c.grant.ID } // never changes

// Grant returns what the newest token says of the container.
func (c *Container) Grant() allocation.Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.grant
}

// State returns the container's state.
func (c *Container) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Status is a container's state at a moment.
type Status struct {
	Grant       allocation.Grant
	State       State
	ExitCode    int // records.ExitInvalid while it has not ended
	Diagnostics string
	Started     time.Time     // when it was accepted
	Localized   time.Time     // zero until then
	Cold        bool          // some of its files had to be fetched
	Launched    time.Time     // zero until then
	Finished    time.Time     // zero until then
	Starved     time.Duration // in which it could have run and had no processor; known once it has ended
	PID         int           // of its session's leader; 0 when there is none
	WorkDir     string
	LogDirs     []string
	Suspended   bool
	Suspension  suspend.State
	Usage       monitor.Usage
	Grown       int32 // version of the Grant by which the container got more, when it last did; 0: it never has
}

// Status returns the container's status.
func (c *Container) Status() Status {
	suspension := c.ladder.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{
		Grant: c.grant, State: c.state, ExitCode: c.record.ExitCode, Diagnostics: c.record.Diagnostics,
		Started: time.UnixMilli(c.record.Started), WorkDir: c.record.Places.Work, LogDirs: c.record.Places.Logs,
		Suspended: c.record.Suspended, Suspension: suspension, Usage: c.usage, Grown: c.grown,
	}
	if c.record.Localized > 0 {
		s.Localized, s.Cold = time.UnixMilli(c.record.Localized), c.record.Cold
	}
	if c.record.Launched > 0 {
		s.Launched = time.UnixMilli(c.record.Launched)
	}
	if c.record.Finished > 0 {
		s.Finished, s.Starved = time.UnixMilli(c.record.Finished), time.Duration(c.record.Starved)*time.Millisecond
	}
	if c.session != nil && c.state != Done {
		s.PID = c.session.PID()
	}
	return s
}

// LaunchContext returns what the container runs. It must not be changed.
func (c *Container) LaunchContext() *pb.ContainerLaunchContext {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.context
}

// Group returns the container's processes, or nil when it has none.
func (c *Container) Group() cgroup.Group {
	return c.box.Group()
}

// WaitDone returns when the container is Done, or with the error of ctx.
func (c *Container) WaitDone(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill has the container ended. exitCode is the status it will have (records.Exit…), why goes to its diagnostics, and
// should end its line. The first call counts; one that has ended stays as it is. Kill waits for nothing: see WaitDone for
// the end, and Saved for the time from which no restart of the NodeManager makes it forgotten.
func (c *Container) Kill(exitCode int, why string) {
	k := &kill{ExitCode: exitCode, Why: why}
	c.mu.Lock()
	switch {
	case c.record.Kill != nil || c.state.over():
		c.mu.Unlock()
		return
	case c.state == Exited:
		c.late = k // it counts if the process is to be started again
		c.mu.Unlock()
	default:
		c.kill(k)
		saved := c.begin() // if that fails, it is killed all the same
		c.mu.Unlock()
		c.logged(saved)
		c.log.WithField("status", exitCode).Infof("killing: %s", strings.TrimSpace(why))
	}
	c.stop()
}

// kill notes why the container is killed. The lock is held.
func (c *Container) kill(k *kill) {
	c.record.Kill, c.record.ExitCode = k, k.ExitCode
	c.diagnose(k.Why)
}

func (c *Container) killed() *kill {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record.Kill
}

// stampLayout is how diagnostics are dated.
const stampLayout = "2006-01-02 15:04:05.000"

// Diagnose appends to the container's diagnostics.
func (c *Container) Diagnose(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diagnose(text)
}

// diagnose is Diagnose with the lock held. Invalid UTF-8, as a program may write it, becomes U+FFFD. Too much is cut at the beginning.
func (c *Container) diagnose(text string) {
	d := c.record.Diagnostics + "[" + time.Now().Format(stampLayout) + "]" + strings.ToValidUTF8(text, string(utf8.RuneError))
	if limit := c.m.cfg.MaxDiagnostics; limit > 0 && len(d) > limit {
		d = strings.ToValidUTF8(d[len(d)-limit:], "") // drops the rest of a character that was cut in two
	}
	c.record.Diagnostics = d
}

func (c *Container) String() string { return fmt.Sprintf("%s (%s)", c.grant.ID, c.State()) }

package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/internal/within"
	"heddle/nm/admission"
	"heddle/nm/allocation"
	"heddle/nm/application"
	"heddle/nm/cgroup"
	"heddle/nm/disks"
	"heddle/nm/enclosure"
	"heddle/nm/gpu"
	"heddle/nm/image"
	"heddle/nm/jvmarchive"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/stopped"
	"heddle/nm/suspend"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Localizer brings the files that containers need (nm/localizer).
type Localizer interface {
	InitApplication(user string, app records.ApplicationID) ([]string, error)
	Localize(ctx context.Context, req localizer.Request) (localizer.Result, error)
	Release(id records.ContainerID)
	Retain(req localizer.Request) map[string]string
	EndApplication(user string, app records.ApplicationID) error
}

// Logs deals with the logs that applications leave (nm/logs).
type Logs interface {
	application.Logs
	// ContainerStarted says that there may be logs of a container from now on, which may have been here before.
	ContainerStarted(g allocation.Grant)
	ContainerFinished(g allocation.Grant, exitCode int)
}

// AuxServices are the services that run beside containers, for instance the shuffle.
type AuxServices interface {
	Metadata() map[string][]byte
	StartContainer(g allocation.Grant)
	StopContainer(g allocation.Grant)
	// StartApplication hands a service what a container of an application has for it, and returns when it knows that, or ctx ends. It may come several times.
	StartApplication(ctx context.Context, service string, app records.ApplicationID, user string, data []byte)
	StopApplication(app records.ApplicationID)
}

// Deleter removes files in the background (nm/deletion).
type Deleter interface {
	Delete(paths ...string) error
	DeleteNow(paths ...string) error
}

// JavaArchives make the start of Java programs quick (nm/jvmarchive).
type JavaArchives interface {
	// Prepare may change a container's script. The function that it returns, if any, is called when the container has
	// ended and its files are still there.
	Prepare(script *launch.Script, c jvmarchive.Container) (ended func())
}

// Bucket keeps records (nm/store).
type Bucket interface {
	// Begin sets a key, and BeginDelete removes one. They don't wait for the disk; the channel that they return
	// gets the outcome. Writes take effect in the order in which they are begun.
	Begin(key string, value []byte) <-chan error
	BeginDelete(key string) <-chan error
	// BeginAll sets several keys, all or none of them.
	BeginAll(values map[string][]byte) <-chan error
	Delete(key string) error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Config is the settings of a node that containers notice.
type Config struct {
	Node     records.NodeID
	HTTPPort int
	Types    records.ResourceTypes
	enclosure.Rules

	Home         string   // yarn.nodemanager.user-home-dir
	EnvWhitelist []string // yarn.nodemanager.env-whitelist
	AdminEnv     string   // yarn.nodemanager.admin-env
	ForcePath    string   // yarn.nodemanager.force.path
	Environ      func(name string) (string, bool)

	DebugInfo      bool          // yarn.nodemanager.log-container-debug-info.enabled
	DeleteDelay    time.Duration // yarn.nodemanager.delete.debug-delay-sec; negative: nothing is deleted
	KillGrace      time.Duration // yarn.nodemanager.sleep-delay-before-sigkill.ms
	KillWait       time.Duration // how long a kill may take before that is reported; it continues nevertheless
	StderrPattern  string        // yarn.nodemanager.container.stderr.pattern
	StderrTail     int64         // yarn.nodemanager.container.stderr.tail.bytes
	MaxDiagnostics int           // yarn.nodemanager.container-diagnostics-maximum-size, in bytes
	RetryMinimum   time.Duration // yarn.nodemanager.container-retry-minimum-interval-ms
	VirtualRatio   float64       // yarn.nodemanager.vmem-pmem-ratio
	TrackStopped   time.Duration // yarn.nodemanager.duration-to-track-stopped-containers

	// BreathAllowance is how many bytes of memory the node keeps in hand for suspended containers that run for a moment.
	BreathAllowance int64
	// BreathLength is how long such a container runs; 0: as long as its heartbeats need.
	BreathLength       time.Duration
	OpportunisticQueue int  // yarn.nodemanager.opportunistic-containers-max-queue-length
	PauseOpportunistic bool // yarn.nodemanager.opportunistic-containers-use-pause-for-preemption
	// GPUs are handed to containers; nil: the node has none, or doesn't mind who uses them.
	GPUs *gpu.Pool

	// Runtimes apply where containers run as users.
	Runtimes launch.Runtimes
	// Owner returns the user that containers of a submitting user run as; nil: this process's own.
	Owner func(user string) (*userfiles.User, error)
	// RunsAs returns the name of that user; nil: it is the submitting user's.
	RunsAs func(user string) string
}

// Options configure a Manager. All must be set but for Archives, Images, Localized, Observed, Pressure and Doubt.
type Options struct {
	Config    Config
	Disks     *disks.Disks
	Groups    cgroup.Handler
	Localizer Localizer
	Logs      Logs
	Aux       AuxServices
	Deleter   Deleter
	Archives  JavaArchives
	Images    *image.Runner // nil: none are run
	// Localized is told what was localized for a container, by link. It returns at once.
	Localized func(g allocation.Grant, paths map[string]string)
	Observed  func(c *Container, from, to State) // is told of each transition after it was made, without the container's lock; it returns at once
	Log       *logrus.Entry

	ContainerRecords, AppRecords Bucket
	StoppedRecords               Bucket // ids of ended containers; nil: they are forgotten with this process

	// Pressure tells how the machine's memory is; nil: it isn't watched.
	Pressure suspend.PressureReader

	// Changed is called, from any goroutine and with no lock held, when a status has changed in a way that the
	// ResourceManager should know of soon.
	Changed func()
	// Doubt checks the disks at once, and returns when that is done, or ctx ends; nil: they aren't checked. It is called, with no lock held, when
	// something could not be written.
	Doubt func(ctx context.Context)
}

// worded is an error in Hadoop's words, which keep to their own rules of punctuation.
type worded string

func (w worded) Error() string { return string(w) }

// Errors of calls about one container.
const (
	ErrUnknown       = worded("is not handled by this NodeManager")
	ErrStoppedBefore = worded("was recently stopped on node manager.")
	ErrExists        = worded("Attempt to relaunch the same container")
	ErrNotRunning    = worded("is not running")
	ErrNotSuspended  = worded("is not suspended")
	ErrClosed        = worded("the NodeManager is shutting down")
)

// Manager holds a node's applications and containers. Its methods may be called from several goroutines.
type Manager struct {
	Options
	cfg Config

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	lives  sync.WaitGroup

	ladders suspend.Node
	breaths *suspend.Breaths
	inhale  sync.Once // begins the breaths
	vigil   suspend.Vigil

	settlePause time.Duration // settlePause but in tests
	apps        *application.Set
	room        *admission.Room
	counters    counters

	mu         sync.Mutex
	resource   records.Resource // what the node has for containers
	containers map[records.ContainerID]*Container
	stopped    *stopped.Set // containers that the ResourceManager has forgotten
	blocked    bool         // nothing is started any more
}

// NewManager returns a manager without containers. Call Recover before anything else, and Close at the end.
func NewManager(o Options) *Manager {
	m := &Manager{
		Options: o, cfg: o.Config,
		containers: make(map[records.ContainerID]*Container),
		room:       admission.New(o.Config.Resource),
		resource:   o.Config.Resource, settlePause: settlePause,
	}
	m.breaths = suspend.NewBreaths(o.Config.BreathAllowance, o.Pressure.Spares)
	m.ladders.Full, m.ladders.Due, m.ladders.Awaited, m.ladders.BreathLength = o.Pressure.Full, m.breaths.Due, m.room.Awaited, o.Config.BreathLength
	m.room.Waits = func() { cool(m) }
	m.room.SetOpportunism(o.Config.OpportunisticQueue)
	m.stopped = stopped.New(o.StoppedRecords, m.cfg.TrackStopped, o.Log)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.apps = application.NewSet(m.ctx, application.Options{
		Folders: o.Localizer, Logs: o.Logs, Services: o.Aux, Records: o.AppRecords, DeleteDelay: m.cfg.DeleteDelay,
		Private: m.removePrivate, Gone: m.gone, Go: m.background, Log: o.Log,
	})
	return m
}

// background runs f, unless the manager is closed: then the next one continues with whatever it is.
func (m *Manager) background(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() == nil {
		m.lives.Go(f)
	}
}

// Close stops looking after containers, which continue, and returns when no goroutine is left but those that a disk doesn't
// answer. A manager made later takes them up with Recover.
func (m *Manager) Close() {
	m.mu.Lock()
	m.blocked = true
	m.mu.Unlock()
	m.cancel()
	if !within.Wait(&m.lives, closePatience) {
		m.Log.Warn("left what waits for a disk that doesn't answer")
	}
}

// closePatience is how long Close waits for disks that don't answer.
const closePatience = 15 * time.Second

// Start accepts a container; it is localized and started in the background. A refused container leaves no
// trace: a container of that id which is here or was (ErrExists), anything after Block (ErrClosed).
func (m *Manager) Start(g allocation.Grant, launch *pb.ContainerLaunchContext, token []byte) error {
	m.mu.Lock()
	switch was := m.stopped.Has(g.ID); {
	case m.blocked:
		m.mu.Unlock()
		return fmt.Errorf("container %s: %w", g.ID, ErrClosed)
	case m.containers[g.ID] != nil || was:
		m.mu.Unlock()
		return fmt.Errorf("container %s: %w", g.ID, ErrExists)
	}
	c := m.newContainer(g, launch)
	c.token = token
	m.containers[g.ID] = c
	fresh := m.apps.Open(firstOf(g, launch))
	m.mu.Unlock()

	err := c.saveRequest()
	if err == nil && fresh {
		err = m.apps.Save(g.ID.Attempt.App)
	}
	if err != nil {
		// Unsaved means unaccepted: the AM will place its task elsewhere.
		m.mu.Lock()
		delete(m.containers, g.ID)
		m.mu.Unlock()
		c.forget()
		return err
	}
	m.counters.accepted.Add(1)
	if !m.apps.Add(c) {
		c.Kill(records.ExitKilledAfterAppCompletion, "Application no longer running.\n")
	}
	m.lives.Go(func() { life{c}.live(freshStart) })
	return nil
}

// Container returns the container of that id, as long as it is here: until the ResourceManager lets go of it.
func (m *Manager) Container(id records.ContainerID) (*Container, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.containers[id]; c != nil {
		return c, nil
	}
	if m.stopped.Has(id) {
		return nil, &notHere{id, ErrStoppedBefore}
	}
	return nil, &notHere{id, ErrUnknown}
}

// notHere is the refusal of a call about a container that is not here, in Hadoop's words.
type notHere struct {
	id  records.ContainerID
	why worded
}

func (e *notHere) Error() string { return fmt.Sprintf("Container %s %s", e.id, e.why) }
func (e *notHere) Unwrap() error { return e.why }

// Containers returns all containers that are here, by id.
func (m *Manager) Containers() []*Container {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Container, 0, len(m.containers))
	for _, c := range m.containers {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *Container) int { return a.grant.ID.Compare(b.grant.ID) })
	return out
}

// Forget lets go of containers that have ended and whose end the ResourceManager has acknowledged. One that has not
// ended stays.
func (m *Manager) Forget(ids ...records.ContainerID) {
	for _, id := range ids {
		m.mu.Lock()
		c := m.containers[id]
		done := c != nil && c.State() == Done
		if done {
			delete(m.containers, id)
			m.stopped.Add(id, allocation.Expiry(c.token))
		}
		m.mu.Unlock()
		if done {
			c.forget()
		}
	}
}

// SetResource changes what the node has for containers. Those that run already continue even if they are too many.
func (m *Manager) SetResource(r records.Resource) {
	m.mu.Lock()
	m.resource = r
	m.mu.Unlock()
	m.room.Resize(r)
}

// Block keeps new containers out.
func (m *Manager) Block() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocked = true
}

// KillAll kills all containers, for instance because the ResourceManager has sent the node away, and returns when they
// have ended or ctx has.
func (m *Manager) KillAll(ctx context.Context, exitCode int, why string) error {
	m.Block()
	for _, c := range m.Containers() {
		c.Kill(exitCode, why)
	}
	for _, c := range m.Containers() {
		if err := c.WaitDone(ctx); err != nil {
			return fmt.Errorf("container %s has not ended: %w", c.grant.ID, err)
		}
	}
	return nil
}

// WaitIdle returns when there are no applications any more, or ctx ends.
func (m *Manager) WaitIdle(ctx context.Context) error {
	for {
		left := m.apps.Len()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d applications have not been cleaned up: %w", left, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (m *Manager) changed() {
	if m.Changed != nil {
		m.Changed()
	}
}

// doubt reports whether an error may be a disk's fault, and has the disks checked then. It returns when they are, or ctx ends.
func (m *Manager) doubt(ctx context.Context, err error) bool {
	if !slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, localizer.ErrNoDirectory}, func(of error) bool { return errors.Is(err, of) }) {
		return false
	}
	if m.Doubt != nil {
		_, _ = within.Do(ctx, func() (struct{}, error) { // a container that is killed waits for no disk
			m.Doubt(ctx)
			return struct{}{}, nil
		})
	}
	return true
}

func (m *Manager) owner(user string) (*userfiles.User, error) {
	if m.cfg.Owner == nil {
		return nil, nil
	}
	o, err := m.cfg.Owner(user)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", user, err)
	}
	return o, nil
}

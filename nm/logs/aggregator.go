package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/nm/logs/tfile"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Store keeps the state of aggregation across restarts of the NodeManager. When Put or Delete has returned, the change
// is durable.
type Store interface {
	Put(key string, value []byte) error
	Delete(key string) error
	ForEach(prefix string, fn func(key string, value []byte) error) error
}

// Config configures an Aggregator. Dirs, Remote, Place.Root and Node must be set.
type Config struct {
	Dirs   Dirs
	Remote Remote
	Place  Place
	Node   records.NodeID
	Store  Store         // nil: a restart loses the state
	Log    *logrus.Entry // nil: nothing is logged

	// UID returns the uid of the operating system's user for the containers of user, who must own logs. nil: any
	// user may own them, because all containers run as the NodeManager's user.
	UID func(user string) (int, error)

	// Credentials returns the credentials with which to write an application's logs, for those that one of its containers brought. nil: the latter.
	Credentials func(app records.ApplicationID, brought []byte) []byte

	Format      Format // format of files; default TFile
	Group       string // that the root of logs is given if it is made here; "": none
	Compression string // yarn.nodemanager.log-aggregation.compression-type: none (default) or gz
	Policy      string // yarn.nodemanager.log-aggregation.policy.class
	Parameters  string // yarn.nodemanager.log-aggregation.policy.parameters
	// Roll is how often to upload the logs of running applications that ask for it
	// (…log-aggregation.roll-monitoring-interval-seconds); 0 or less: never. Names of such files end in the time of the
	// upload.
	Roll time.Duration
	// MaxRolled is how many files a node keeps for an application with rolling logs
	// (…log-aggregation.num-log-files-per-app); default 30.
	MaxRolled int
	Uploads   int // limit of uploads at a time (yarn.nodemanager.logaggregation.threadpool-size-max); default 100

	// RetryFor is how long to repeat a failing final upload; default 10 minutes. Pauses double from RetryFirst (default
	// 1 s) to a minute.
	RetryFor   time.Duration
	RetryFirst time.Duration

	// Finished is called when the logs of an application need no more work. err is nil if they are remote and removed
	// here; otherwise it says why they are still here. A goroutine of the Aggregator makes the call.
	Finished func(app records.ApplicationID, err error)
	// Reported is called when TakeReports has something to return.
	Reported func()

	Now func() time.Time // default time.Now
}

// statusesKept is how long an application's outcome is remembered.
const statusesKept = 10 * time.Minute

// Aggregator uploads the logs of applications. It is safe for concurrent use.
type Aggregator struct {
	cfg    Config
	log    *logrus.Entry
	policy Policy
	ctx    context.Context // ends with Stop
	stop   context.CancelFunc
	wg     sync.WaitGroup
	slots  chan struct{}

	rootSeen atomic.Bool // the remote root directory exists
	rootOurs atomic.Bool // the Aggregator made it

	mu       sync.Mutex
	stopped  bool
	apps     map[records.ApplicationID]*application
	reports  []Report
	statuses map[records.ApplicationID]lastStatus
}

type lastStatus struct {
	status pb.LogAggregationStatus
	at     time.Time
}

// NewAggregator returns an Aggregator. Call Recover before anything else, and Stop at the end.
func NewAggregator(cfg Config) (*Aggregator, error) {
	if cfg.Dirs == nil || cfg.Remote == nil {
		return nil, errors.New("log aggregation: Dirs and Remote must be set")
	}
	if cfg.Place.Root == "" {
		return nil, errors.New("yarn.nodemanager.remote-app-log-dir is not set")
	}
	if cfg.Log == nil {
		log := logrus.New()
		log.SetOutput(io.Discard)
		cfg.Log = logrus.NewEntry(log)
	}
	if cfg.Compression == "" {
		cfg.Compression = tfile.None
	}
	if cfg.Compression != tfile.None && cfg.Compression != tfile.GZ {
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.compression-type: %q is not supported: want %s or %s",
			cfg.Compression, tfile.None, tfile.GZ)
	}
	policy, err := NewPolicy(cfg.Policy, cfg.Parameters)
	if err != nil {
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.policy.class: %w", err)
	}
	if cfg.MaxRolled <= 0 {
		cfg.MaxRolled = 30
	}
	if cfg.Uploads <= 0 {
		cfg.Uploads = 100
	}
	if cfg.RetryFor == 0 {
		cfg.RetryFor = 10 * time.Minute
	}
	if cfg.RetryFirst <= 0 {
		cfg.RetryFirst = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Credentials == nil {
		cfg.Credentials = func(_ records.ApplicationID, brought []byte) []byte { return brought }
	}
	a := &Aggregator{
		cfg: cfg, log: cfg.Log, policy: policy,
		slots:    make(chan struct{}, cfg.Uploads),
		apps:     map[records.ApplicationID]*application{},
		statuses: map[records.ApplicationID]lastStatus{},
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Start describes an application that begins on this node.
type Start struct {
	App    records.ApplicationID
	User   string
	Tokens []byte            // credentials of one of its containers, by which the logs are written
	ACLs   map[string]string // ViewApp, ModifyApp
	Wishes Wishes
}

var errStopped = errors.New("log aggregation has stopped")

// StartApplication takes charge of an application's logs. It may be called again.
func (a *Aggregator) StartApplication(s Start) error {
	app, err := a.newApplication(s)
	if err != nil {
		return fmt.Errorf("application %s: %w", s.App, err)
	}
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return errStopped
	}
	if a.apps[s.App] != nil {
		a.mu.Unlock()
		return nil
	}
	a.apps[s.App] = app
	a.wg.Add(1)
	a.mu.Unlock()
	a.save(app)
	go a.run(app)
	return nil
}

// newApplication returns the application for a Start.
func (a *Aggregator) newApplication(s Start) (*application, error) {
	app := &application{
		Start: s, policy: a.policy, uid: userfiles.Anybody,
		containers: map[records.ContainerID]*container{},
		finish:     make(chan struct{}),
	}
	log := a.log.WithField("application", s.App.String())
	var err error
	if a.cfg.UID != nil {
		if app.uid, err = a.cfg.UID(s.User); err != nil {
			return nil, err
		}
	}
	if app.whole, err = newFilter(s.Wishes.Include, s.Wishes.Exclude); err != nil {
		log.WithError(err).Warn("invalid log aggregation context; using defaults")
	}
	if app.rolled, err = newFilter(s.Wishes.RolledInclude, s.Wishes.RolledExclude); err != nil {
		log.WithError(err).Warn("invalid log aggregation context; using defaults")
	}
	// Parameters without a class apply to the node's policy.
	if s.Wishes.Policy != "" || s.Wishes.Parameters != "" {
		class, parameters := s.Wishes.Policy, s.Wishes.Parameters
		if class == "" {
			class = a.cfg.Policy
		}
		if parameters == "" {
			parameters = a.cfg.Parameters
		}
		p, err := NewPolicy(class, parameters)
		if err != nil {
			log.WithError(err).Warn("using the node's log aggregation policy instead")
		} else {
			app.policy = p
		}
	}
	return app, nil
}

// ContainerStarted registers a container, so that its rolling logs are uploaded while it runs.
func (a *Aggregator) ContainerStarted(id records.ContainerID, master bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if app := a.apps[id.Attempt.App]; app != nil && app.containers[id] == nil {
		app.containers[id] = &container{Ended: Ended{ID: id, Master: master}, uploaded: map[string]bool{}}
	}
}

// ContainerFinished says that a container has written its last log.
func (a *Aggregator) ContainerFinished(e Ended) {
	a.mu.Lock()
	app := a.apps[e.ID.Attempt.App]
	if app == nil {
		a.mu.Unlock()
		return
	}
	c := app.containers[e.ID]
	if c == nil {
		c = &container{uploaded: map[string]bool{}}
		app.containers[e.ID] = c
	}
	c.Ended, c.finished = e, true
	a.mu.Unlock()
	a.saveContainer(app, e.ID)
}

// FinishApplication says that an application has ended on this node. Its logs are uploaded for the last time, and
// removed here. Config.Finished reports when that is done. An unknown application is finished at once.
func (a *Aggregator) FinishApplication(id records.ApplicationID) {
	a.mu.Lock()
	app := a.apps[id]
	first := app != nil && !app.finishing
	if first {
		app.finishing = true
	}
	a.mu.Unlock()
	switch {
	case first:
		a.save(app)
		close(app.finish)
	case app == nil && a.cfg.Finished != nil:
		a.cfg.Finished(id, nil)
	}
}

// Stop ends the aggregation. With upload set, as when the node leaves the cluster for good, it first uploads the logs
// of all applications until ctx ends. Otherwise the next start uploads the rest.
func (a *Aggregator) Stop(ctx context.Context, upload bool) {
	a.mu.Lock()
	a.stopped = true
	var open []records.ApplicationID
	for id := range a.apps {
		open = append(open, id)
	}
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		a.wg.Wait()
		close(done)
	}()
	if upload {
		for _, id := range open {
			a.FinishApplication(id)
		}
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	a.stop()
	<-done
}

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

// Store keeps the aggregation's state over a restart of the NodeManager. A Put or Delete that returned is durable.
type Store interface {
	Put(key string, value []byte) error
	Delete(key string) error
	ForEach(prefix string, fn func(key string, value []byte) error) error
}

// Config is what an Aggregator works with. Dirs, Remote, Place.Root and Node must be set.
type Config struct {
	Dirs   Dirs
	Remote Remote
	Place  Place
	Node   records.NodeID
	Store  Store         // nil: nothing is kept
	Log    *logrus.Entry // nil: nothing is logged

	// UID gives the user of the operating system that containers of user run as, to whom logs must belong. nil: they may
	// belong to anybody, as it is when all containers run as the NodeManager does.
	UID func(user string) (int, error)

	Format      Format // of files; default TFile
	Compression string // yarn.nodemanager.log-aggregation.compression-type: none (default) or gz
	Policy      string // yarn.nodemanager.log-aggregation.policy.class
	Parameters  string // yarn.nodemanager.log-aggregation.policy.parameters
	// Roll is how often the logs of applications that ask for it are uploaded while they run
	// (…log-aggregation.roll-monitoring-interval-seconds); not positive: never. Then a file's name ends in the time of
	// its upload.
	Roll time.Duration
	// MaxRolled is how many files a node keeps for an application that rolls (…log-aggregation.num-log-files-per-app);
	// default 30.
	MaxRolled int
	Uploads   int // at the same time (yarn.nodemanager.logaggregation.threadpool-size-max); default 100

	// RetryFor is how long a final upload that fails is tried again; default 10 minutes. Waits double from RetryFirst
	// (default 1 s) to a minute.
	RetryFor   time.Duration
	RetryFirst time.Duration

	// Finished is told when an application's logs are dealt with: err is nil if they are remote and gone here, else the
	// reason why they are still here. Called by a goroutine of the Aggregator.
	Finished func(app records.ApplicationID, err error)
	// Reported is called when there is something for TakeReports.
	Reported func()

	Now func() time.Time // default time.Now
}

// statusesKept is how long the outcome for an application is remembered.
const statusesKept = 10 * time.Minute

// Aggregator uploads the logs of applications. Its methods may be called from any goroutine.
type Aggregator struct {
	cfg    Config
	log    *logrus.Entry
	policy Policy
	ctx    context.Context // ends with Stop
	stop   context.CancelFunc
	wg     sync.WaitGroup
	slots  chan struct{}

	rootSeen atomic.Bool // the remote root directory is there
	rootOurs atomic.Bool // and was made by us

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
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.compression-type: %q is not supported: want %s or %s", cfg.Compression, tfile.None, tfile.GZ)
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
	a := &Aggregator{
		cfg: cfg, log: cfg.Log, policy: policy,
		slots:    make(chan struct{}, cfg.Uploads),
		apps:     map[records.ApplicationID]*application{},
		statuses: map[records.ApplicationID]lastStatus{},
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Start is an application that begins on this node.
type Start struct {
	App    records.ApplicationID
	User   string
	ACLs   map[string]string // ViewApp, ModifyApp
	Wishes Wishes
}

var errStopped = errors.New("log aggregation has stopped")

// StartApplication takes charge of an application's logs. Doing so again is harmless.
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

// newApplication turns a Start into what is known of an application.
func (a *Aggregator) newApplication(s Start) (*application, error) {
	app := &application{
		Start: s, policy: a.policy, uid: userfiles.Anybody,
		containers: map[records.ContainerID]*container{},
		finish:     make(chan struct{}),
	}
	log := a.log.WithField("app", s.App.String())
	var err error
	if a.cfg.UID != nil {
		if app.uid, err = a.cfg.UID(s.User); err != nil {
			return nil, err
		}
	}
	if app.whole, err = newFilter(s.Wishes.Include, s.Wishes.Exclude); err != nil {
		log.WithError(err).Warn("log aggregation context")
	}
	if app.rolled, err = newFilter(s.Wishes.RolledInclude, s.Wishes.RolledExclude); err != nil {
		log.WithError(err).Warn("log aggregation context")
	}
	// Parameters that come without a class are for the node's.
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
			log.WithError(err).Warn("the node's log aggregation policy is used instead")
		} else {
			app.policy = p
		}
	}
	return app, nil
}

// ContainerStarted makes a container known, so that its rolled logs are uploaded while it runs.
func (a *Aggregator) ContainerStarted(id records.ContainerID, master bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if app := a.apps[id.Attempt.App]; app != nil && app.containers[id] == nil {
		app.containers[id] = &container{Ended: Ended{ID: id, Master: master}, uploaded: map[string]bool{}}
	}
}

// ContainerFinished says that a container writes no more.
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

// FinishApplication says that an application has ended on this node: its logs are uploaded for good, and removed here.
// Config.Finished tells when. An unknown application is finished at once.
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

// Stop ends the aggregation. With upload set, as when the node leaves the cluster for good, the logs of all applications
// are uploaded first, as far as ctx allows; else what isn't uploaded is left to the next start.
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

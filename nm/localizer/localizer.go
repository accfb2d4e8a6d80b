package localizer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/nm/localizer/turns"
	"heddle/yarn/records"
)

// Dirs returns the usable local directories (yarn.nodemanager.local-dirs). All paths are absolute.
type Dirs interface {
	Writable() []string // healthy and not full
	Readable() []string // the writable ones and full ones
}

// Store keeps records across restarts of the NodeManager. When Put or Delete has returned, the change is durable.
type Store interface {
	Put(key string, value []byte) error
	Delete(key string) error
	// ForEach calls fn for every key with the prefix, until fn returns an error. fn may keep value, but must not call
	// the store.
	ForEach(prefix string, fn func(key string, value []byte) error) error
}

// Config configures a Localizer. Dirs, Source and Log must be set.
type Config struct {
	Dirs   Dirs
	Source Source
	Store  Store         // nil: no records; see Wipe
	Log    *logrus.Entry // the NodeManager's log

	// Owner returns the operating system's user for the containers of user. If it is nil, or returns nil, they run as
	// the NodeManager's own user.
	Owner func(user string) (*userfiles.User, error)

	TargetSize int64 // bytes that PUBLIC and PRIVATE resources together may keep (…localizer.cache.target-size-mb); default 10 GiB
	Interval   time.Duration
	// Threads is the number of downloads at a time (…localizer.fetch.thread-count), for each user, and for all PUBLIC
	// resources together; default 4. Of the latter each user gets a share at once, whatever others download.
	Threads int
	// Credentials returns the credentials with which to read an application's files, for those that its container brought. nil: the latter.
	Credentials func(app records.ApplicationID, brought []byte) []byte
	// MaxFiles bounds the entries of a directory in a cache (yarn.nodemanager.local-cache.max-files-per-directory);
	// more than 36, default 8192.
	MaxFiles int
	// Reserve is the number of bytes that downloads leave free on a disk, a tenth of it at most; default 256 MiB, negative for none.
	Reserve int64

	Now    func() time.Time            // default time.Now
	Random func(n uint64) uint64       // a number in [0, n); default math/rand/v2
	Space  func(string) (Space, error) // default DiskSpace
}

// Localizer downloads and caches resources. It is safe for concurrent use.
type Localizer struct {
	cfg     Config
	metrics *metrics
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	wg      sync.WaitGroup // downloads

	mu     sync.Mutex
	closed bool
	caches map[scope]*cache
	held   map[records.ContainerID]map[*entry]struct{}
	pools  map[string]*turns.Turns // of downloads, by user; "" for PUBLIC

	unready map[string]bool // local directories that Recover has not finished
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("the localizer is closed")

// New returns a Localizer. Call Recover or Wipe before anything else, and Close at the end.
func New(cfg Config) (*Localizer, error) {
	if cfg.Dirs == nil || cfg.Source == nil {
		return nil, errors.New("localizer: Dirs and Source must be set")
	}
	if cfg.Log == nil {
		log := logrus.New()
		log.SetOutput(io.Discard)
		cfg.Log = logrus.NewEntry(log)
	}
	if cfg.TargetSize == 0 {
		cfg.TargetSize = 10 << 30
	}
	if cfg.Interval == 0 {
		cfg.Interval = 10 * time.Minute
	}
	if cfg.Threads == 0 {
		cfg.Threads = 4
	}
	if cfg.MaxFiles == 0 {
		cfg.MaxFiles = 8192
	}
	if cfg.Reserve == 0 {
		cfg.Reserve = 256 << 20
	}
	cfg.Reserve = max(cfg.Reserve, 0)
	switch {
	case cfg.TargetSize < 0:
		return nil, fmt.Errorf("yarn.nodemanager.localizer.cache.target-size-mb: %d bytes is negative", cfg.TargetSize)
	case cfg.Interval < 0:
		return nil, fmt.Errorf("yarn.nodemanager.localizer.cache.cleanup.interval-ms: %v is negative", cfg.Interval)
	case cfg.Threads < 0:
		return nil, fmt.Errorf("yarn.nodemanager.localizer.fetch.thread-count: %d is not positive", cfg.Threads)
	case cfg.MaxFiles <= fanOut:
		return nil, fmt.Errorf("yarn.nodemanager.local-cache.max-files-per-directory: %d is not greater than %d", cfg.MaxFiles, fanOut)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Uint64N
	}
	if cfg.Space == nil {
		cfg.Space = DiskSpace
	}
	l := &Localizer{
		cfg:    cfg,
		caches: map[scope]*cache{},
		held:   map[records.ContainerID]map[*entry]struct{}{},
		pools:  map[string]*turns.Turns{}, unready: map[string]bool{},
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.metrics = newMetrics(l)
	return l, nil
}

// Close cancels running downloads, and waits for their end. Localized resources stay.
func (l *Localizer) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
}

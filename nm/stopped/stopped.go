// Package stopped remembers the ids of containers that have ended and whose end the ResourceManager has acknowledged. A
// token with which a container was started stays valid for a while. A client that sends it once more must not have the
// container run a second time, and neither must that happen after a restart of the NodeManager.
//
// YARN remembers the ids of ended containers for yarn.nodemanager.duration-to-track-stopped-containers
// (NodeStatusUpdaterImpl), and in its state store those of started ones until their tokens expire
// (NMContainerTokenSecretManager). Heddle does both at once.
package stopped

import (
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
)

// Records keep ids across restarts (nm/store).
type Records interface {
	// Begin sets a key, and BeginDelete removes one, without waiting for the disk. The channels get the outcomes.
	Begin(key string, value []byte) <-chan error
	BeginDelete(key string) <-chan error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// most bounds how long an id is remembered, whatever its token says.
const most = 7 * 24 * time.Hour

// Set is the ids of ended containers. It is safe for concurrent use.
type Set struct {
	records Records // nil: they are forgotten with this process
	track   time.Duration
	now     func() time.Time
	log     *logrus.Entry

	mu    sync.Mutex
	until map[records.ContainerID]time.Time
	swept time.Time
}

// sweepEvery is how often ids are looked for that needn't be remembered any more.
const sweepEvery = 10 * time.Second

// New returns an empty set. track is the least time for which an id is remembered. kept may be nil.
func New(kept Records, track time.Duration, log *logrus.Entry) *Set {
	return &Set{records: kept, track: track, now: time.Now, log: log, until: map[records.ContainerID]time.Time{}}
}

// Recover reads the ids that an earlier process has kept. Those that make no sense are removed.
func (s *Set) Recover() error {
	if s.records == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records.ForEach("", func(key string, value []byte) error {
		id, err := records.ParseContainerID(key)
		ms, err2 := strconv.ParseInt(string(value), 10, 64)
		until := time.UnixMilli(ms)
		if err != nil || err2 != nil || until.Before(s.now()) {
			s.remove(key)
			return nil
		}
		s.until[id] = s.bounded(until)
		return nil
	})
}

func (s *Set) bounded(until time.Time) time.Time {
	if last := s.now().Add(most); until.After(last) {
		return last
	}
	return until
}

// Add remembers an id for the time that New was given, and at least until its token expires (ms since 1970; 0: unknown).
// It doesn't wait for the disk.
func (s *Set) Add(id records.ContainerID, expires int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	until := s.now().Add(s.track)
	if expiry := time.UnixMilli(expires); expiry.After(until) {
		until = s.bounded(expiry)
	}
	s.until[id] = until
	if s.records != nil {
		s.outcome(s.records.Begin(id.String(), []byte(strconv.FormatInt(until.UnixMilli(), 10))))
	}
}

// Has reports whether an id is remembered.
func (s *Set) Has(id records.ContainerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, yes := s.until[id]
	return yes
}

// sweep forgets what needn't be remembered any more. The caller has the lock.
func (s *Set) sweep() {
	now := s.now()
	if now.Sub(s.swept).Abs() < sweepEvery {
		return
	}
	s.swept = now
	for id, until := range s.until {
		if until.Before(now) {
			delete(s.until, id)
			s.remove(id.String())
		}
	}
}

func (s *Set) remove(key string) {
	if s.records != nil {
		s.outcome(s.records.BeginDelete(key))
	}
}

// outcome logs the failure of a write.
func (s *Set) outcome(done <-chan error) {
	go func() {
		if err := <-done; err != nil {
			s.log.WithError(err).Error("could not record that a container has ended: after a restart of the NodeManager it could be started again")
		}
	}()
}

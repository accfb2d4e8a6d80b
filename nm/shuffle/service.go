package shuffle

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/writable"
)

// Name is the service's name in applications' service_data.
const Name = "mapreduce_shuffle"

// Dirs returns the readable local directories (yarn.nodemanager.local-dirs).
type Dirs interface {
	Readable() []string
}

// Store keeps the secrets across restarts of the NodeManager. When Put or Delete has returned, the change is durable.
type Store interface {
	Put(key string, value []byte) error
	Delete(key string) error
	ForEach(prefix string, fn func(key string, value []byte) error) error
}

// Config configures a Service. Dirs must be set.
type Config struct {
	Addr  string // host:port to listen on (mapreduce.shuffle.port); port 0 lets the system choose
	Dirs  Dirs
	Store Store         // nil: secrets are lost at a restart
	Log   *logrus.Entry // nil: nothing is logged
	TLS   *tls.Config   // not nil: speak HTTPS (mapreduce.shuffle.ssl.enabled)

	// UID returns the uid of the operating system's user for the containers of user, who must own map outputs.
	// nil: any user may own them, because all containers run as the NodeManager's user.
	UID func(user string) (int, error)

	MaxConnections int           // mapreduce.shuffle.max.connections; 0: any number
	MaxOpenFiles   int           // mapreduce.shuffle.max.session-open-files, for each connection; default 3
	KeepAlive      bool          // mapreduce.shuffle.connection-keep-alive.enable, for reducers that don't ask for it
	KeepAliveFor   time.Duration // mapreduce.shuffle.connection-keep-alive.timeout; default 5 s, at least 1 s
	// HeadTimeout bounds how long a connection may take to send its first request; default 2 min.
	HeadTimeout time.Duration
	// StallTimeout bounds how long a reducer may take for one MiB. The default of 15 min lets suspended reducers keep
	// their connections for a while.
	StallTimeout time.Duration
}

// Service is the auxiliary service. It is safe for concurrent use.
type Service struct {
	cfg     Config
	log     *logrus.Entry
	metrics *metrics
	indexes *indexCache
	totals  totals
	fetched rate
	port    int

	listener net.Listener
	wg       sync.WaitGroup
	active   atomic.Int64 // connections

	mu    sync.RWMutex
	jobs  map[string]job // by job id: job_<timestamp>_<number>
	conns map[net.Conn]struct{}
	done  bool

	stopped chan struct{} // closed by Stop
}

// job is a job that the service knows.
type job struct {
	app    records.ApplicationID
	user   string
	secret []byte
}

// New returns a service that doesn't listen yet. Call Recover, if at all, and then Start.
func New(cfg Config) (*Service, error) {
	if cfg.Dirs == nil {
		return nil, errors.New("shuffle: Dirs must be set")
	}
	if cfg.Log == nil {
		log := logrus.New()
		log.SetOutput(io.Discard)
		cfg.Log = logrus.NewEntry(log)
	}
	if cfg.MaxConnections < 0 {
		return nil, fmt.Errorf("mapreduce.shuffle.max.connections: %d is negative", cfg.MaxConnections)
	}
	if cfg.MaxOpenFiles == 0 {
		cfg.MaxOpenFiles = 3
	}
	if cfg.MaxOpenFiles < 0 {
		return nil, fmt.Errorf("mapreduce.shuffle.max.session-open-files: %d is not positive", cfg.MaxOpenFiles)
	}
	if cfg.KeepAliveFor == 0 {
		cfg.KeepAliveFor = 5 * time.Second
	}
	cfg.KeepAliveFor = max(cfg.KeepAliveFor, time.Second)
	if cfg.HeadTimeout == 0 {
		cfg.HeadTimeout = 2 * time.Minute
	}
	if cfg.StallTimeout == 0 {
		cfg.StallTimeout = 15 * time.Minute
	}
	s := &Service{
		cfg: cfg, log: cfg.Log, jobs: map[string]job{}, conns: map[net.Conn]struct{}{},
		indexes: newIndexCache(indexCacheSize), totals: totals{apps: map[records.ApplicationID]*seen{}},
		stopped: make(chan struct{}),
	}
	s.metrics = newMetrics(s)
	return s, nil
}

// Keys of the store.
const (
	jobPrefix = "shuffle/job/"
	portKey   = "shuffle/port"
)

// savedJob is a record of the store; its key ends in the application id.
type savedJob struct {
	User   string `json:"user"`
	Secret []byte `json:"secret"`
}

// Recover restores the applications that an earlier NodeManager served, and returns them. Call it before Start.
func (s *Service) Recover() ([]records.ApplicationID, error) {
	if s.cfg.Store == nil {
		return nil, nil
	}
	var apps []records.ApplicationID
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.cfg.Store.ForEach(jobPrefix, func(key string, value []byte) error {
		app, err := records.ParseApplicationID(strings.TrimPrefix(key, jobPrefix))
		var saved savedJob
		if err == nil {
			err = json.Unmarshal(value, &saved)
		}
		if err != nil {
			s.log.WithField("key", key).WithError(err).Error("removing the secret of a job, which is damaged: its reducers are refused")
			return s.cfg.Store.Delete(key)
		}
		s.jobs[JobID(app)] = job{app: app, user: saved.User, secret: saved.Secret}
		apps = append(apps, app)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("shuffle: recover the secrets: %w", err)
	}
	slices.SortFunc(apps, records.ApplicationID.Compare)
	return apps, nil
}

// Start listens, and serves until Stop. If the port is 0, it first tries the port of the last run, because running
// reducers remember that.
func (s *Service) Start() error {
	ln, err := s.listen()
	if err != nil {
		return fmt.Errorf("shuffle: %w: choose another mapreduce.shuffle.port, or stop the process that has this one", err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if s.cfg.Store != nil {
		if err := s.cfg.Store.Put(portKey, []byte(strconv.Itoa(port))); err != nil {
			ln.Close()
			return fmt.Errorf("shuffle: record the port: %w", err)
		}
	}
	s.run(ln, port)
	s.log.WithField("address", ln.Addr().String()).Info("shuffle service is listening")
	return nil
}

// run serves ln. Reducers sign the port as part of their requests.
func (s *Service) run(ln net.Listener, port int) {
	s.listener, s.port = ln, port
	s.wg.Go(s.accept)
}

func (s *Service) listen() (net.Listener, error) {
	host, port, err := net.SplitHostPort(s.cfg.Addr)
	if err != nil {
		return nil, err
	}
	if port == "0" && s.cfg.Store != nil {
		last := ""
		err := s.cfg.Store.ForEach(portKey, func(_ string, value []byte) error {
			last = string(value)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if last != "" {
			if ln, err := net.Listen("tcp", net.JoinHostPort(host, last)); err == nil {
				return ln, nil
			}
			s.log.WithField("port", last).Warn("the port of the last run is taken: reducers that still run will not find their map outputs")
		}
	}
	return net.Listen("tcp", s.cfg.Addr)
}

// Addr returns the address on which the service listens.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// Port returns the port on which the service listens.
func (s *Service) Port() int { return s.port }

// Metadata returns the service's data for containers: its port, four bytes big-endian.
func (s *Service) Metadata() []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(s.port))
}

// Stop ends the service. It closes idle connections at once, and those that transmit when ctx ends.
func (s *Service) Stop(ctx context.Context) {
	s.mu.Lock()
	if !s.done {
		s.done = true
		close(s.stopped)
	}
	s.mu.Unlock()
	if s.listener == nil {
		return
	}
	s.listener.Close()
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	s.closeIdle()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	<-ended
}

// closeIdle ends the connections that wait for a request.
func (s *Service) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.SetReadDeadline(time.Unix(1, 0))
	}
}

// InitApplication takes the secret of an application from the service_data of one of its containers: a serialized token
// whose password is the secret. It may be called again with the same data.
func (s *Service) InitApplication(user string, app records.ApplicationID, serviceData []byte) error {
	t, err := token.Read(writable.NewReader(serviceData))
	if err != nil {
		return fmt.Errorf("application %s: service data for %s is not a token: %w", app, Name, err)
	}
	j := job{app: app, user: user, secret: t.Password}
	s.mu.Lock()
	old, known := s.jobs[JobID(app)]
	s.jobs[JobID(app)] = j
	s.mu.Unlock()
	if s.cfg.Store == nil || known && old.user == user && bytes.Equal(old.secret, j.secret) {
		return nil
	}
	value, err := json.Marshal(savedJob{User: user, Secret: t.Password})
	if err == nil {
		err = s.cfg.Store.Put(jobPrefix+app.String(), value)
	}
	if err != nil {
		return fmt.Errorf("application %s: record its shuffle secret: %w", app, err)
	}
	return nil
}

// StopApplication forgets an application. Its outputs are refused from then on.
func (s *Service) StopApplication(app records.ApplicationID) error {
	s.mu.Lock()
	delete(s.jobs, JobID(app))
	s.mu.Unlock()
	s.indexes.drop(app)
	s.totals.forget(app)
	if s.cfg.Store == nil {
		return nil
	}
	if err := s.cfg.Store.Delete(jobPrefix + app.String()); err != nil {
		return fmt.Errorf("application %s: delete its shuffle secret: %w", app, err)
	}
	return nil
}

func (s *Service) job(id string) (job, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	j, ok := s.jobs[id]
	return j, ok
}

// JobID returns MapReduce's name of an application.
func JobID(app records.ApplicationID) string {
	return "job_" + strings.TrimPrefix(app.String(), "application_")
}

// accept accepts connections until the listener is closed.
func (s *Service) accept() {
	delay := time.Duration(0)
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// The process most likely has no free file descriptors. Connections that end free some.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			s.log.WithFields(logrus.Fields{logrus.ErrorKey: err, "delay": delay}).Warn("cannot accept a shuffle connection")
			time.Sleep(delay)
			continue
		}
		delay = 0
		if !s.track(c) {
			c.Close()
			continue
		}
		n := s.active.Add(1)
		s.wg.Go(func() {
			defer s.active.Add(-1)
			defer s.untrack(c)
			defer c.Close()
			s.serve(c, s.cfg.MaxConnections > 0 && n > int64(s.cfg.MaxConnections))
		})
	}
}

func (s *Service) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Service) untrack(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Service) stopping() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.done
}

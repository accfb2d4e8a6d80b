package javahost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/nm/allocation"
	"heddle/yarn/records"
)

// Service is an auxiliary service that is a Java class.
type Service struct {
	Name      string
	Class     string
	ClassPath string   // of its own, beside that of all; "": none
	Files     []File   // its class path, if there is no ClassPath
	System    []string // classes that don't come from its own class path; nil: Hadoop's list

	Properties []string // keys and values in turn, of its configuration alone
}

// File is a jar or archive in any file system, which the JVM fetches.
type File struct {
	Source string
	Type   string // STATIC: taken as it is; ARCHIVE: unpacked; "": as its name ends
}

// Config configures a Host. All fields must be set but for Properties.
type Config struct {
	jvm.Config
	Recovery   string    // services keep their state below it, each in a folder of its name. It must exist, and be the user's
	Services   []Service // with which it starts
	Properties []string  // keys and values in turn, which replace those of the files
	Hostname   string    // for _HOST in the principal
	Dirs       Dirs      // local folders
	Types      records.ResourceTypes

	// Patience is how long services may take until all are started, and how long each call may take afterwards. Then the JVM is killed.
	Patience time.Duration
	Bucket   Bucket
}

// Dirs are the node's local folders that are usable now.
type Dirs interface {
	Writable() []string
	Readable() []string
}

// Host keeps a JVM with services. It is safe for concurrent use.
type Host struct {
	cfg  Config
	jar  string
	log  *logrus.Entry
	wake chan struct{} // has room for one: there are events

	ctx     context.Context
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the last JVM has ended
	started atomic.Bool

	mu       sync.Mutex
	services []Service // that run, or would if there were a JVM
	ledger   *ledger
	queue    []*event
	ready    chan struct{} // closed while services run and know what lives; another one afterwards
	up       bool          // ready is closed
	jvm      *jvm.Process  // while up
	metadata map[string][]byte
	status   Status

	late int // starts in a row that took too long; keep's alone
}

// Status is how a Host's JVM is.
type Status struct {
	Up       bool
	PID      int
	Since    time.Time
	Restarts int
	Trouble  string // why there is no JVM, or was none the last time; "": there has always been one
}

// maxQueue bounds the events that wait for services. If there are more, services are as good as hung: a new JVM needs to be told only what lives.
const maxQueue = 20000

// New returns a host without a JVM.
func New(cfg Config) (*Host, error) {
	h := &Host{
		cfg: cfg, log: cfg.Log, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		ready: make(chan struct{}), services: slices.Clone(cfg.Services),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	var err error
	h.ledger, err = load(cfg.Bucket, cfg.Types, func(err error) {
		h.log.WithError(err).Error("A record of an application that auxiliary services know is damaged or could not be written")
	})
	if err != nil {
		return nil, err
	}
	h.jar, err = jvm.WriteJar(cfg.Dir)
	return h, err
}

// Start starts the services. It fails if one of them, or Java, refuses to start. If they take longer than Config.Patience, it returns nil, and they
// are started again in the background.
func (h *Host) Start() error {
	first := make(chan error, 1)
	h.started.Store(true)
	go h.keep(first)
	return <-first
}

// pauses between two JVMs: the first, and the longest.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// keep starts one JVM after the other until Close. first gets the outcome of the first start.
func (h *Host) keep(first chan<- error) {
	defer close(h.ended)
	decided := false
	decide := func(err error) {
		if !decided {
			decided = true
			first <- err
		}
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := h.life(!decided, func() { decide(nil) })
		if !decided && !errors.Is(err, context.DeadlineExceeded) {
			h.cancel()
		}
		if h.ctx.Err() != nil {
			decide(err)
			return
		}
		decide(nil)
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		h.log.WithError(err).Errorf("the auxiliary services are down; their JVM starts again in %v", pause)
		select {
		case <-time.After(pause):
		case <-h.ctx.Done():
			return
		}
	}
}

// life runs one JVM until it ends, and returns why. It calls started when all services have started. The first one isn't told what lives: see Recovered.
func (h *Host) life(first bool, started func()) (err error) {
	j, err := h.cfg.Start(h.jar, jvm.ServicesMain)
	if err != nil {
		return h.down(err)
	}
	defer context.AfterFunc(h.ctx, func() { h.hasten(j) })()
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) {
			j.Dump()
			j.Wait(time.Second) // until the log has it
		}
		err = h.down(h.explain(j, err))
		j.Kill()
	}()
	services := h.running()
	metadata, err := h.launch(j, services)
	if errors.Is(err, context.DeadlineExceeded) {
		h.late++
	}
	if err != nil {
		return err
	}
	h.late = 0
	var told int
	h.mu.Lock()
	h.queue = h.leavers(services, metadata)
	if !first {
		retold := h.ledger.retell(h.runs)
		told, h.queue = len(retold), append(h.queue, retold...)
	}
	h.metadata, h.jvm = metadata, j
	h.status.PID, h.status.Since = j.PID, time.Now()
	h.up, h.status.Up = true, true
	close(h.ready)
	h.mu.Unlock()
	h.log.Infof("auxiliary services %s have started in JVM %d; calls to tell them what lives: %d", names(services),
		j.PID, told)
	started()
	return h.serve(j)
}

// hasten ends a JVM at Close: at once while services start, or else when they don't stop in time.
func (h *Host) hasten(j *jvm.Process) {
	h.mu.Lock()
	up := h.up
	h.mu.Unlock()
	if up && j.Wait(quitLimit+time.Second) {
		return
	}
	j.Signal(syscall.SIGKILL)
}

func names(services []Service) string {
	var names []string
	for _, s := range services {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// explain adds to the error of a life how the JVM has ended, if it has.
func (h *Host) explain(j *jvm.Process, err error) error {
	if err == nil || h.ctx.Err() != nil {
		return err
	}
	var refused *jvm.Refused
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w (heddle.nodemanager.java.patience-ms is %d); the log has what its threads did", err,
			h.cfg.Patience.Milliseconds())
	}
	if j.Wait(4*time.Second) && j.Ended() != nil {
		return fmt.Errorf("%s: %w; the log has what it printed", h.cfg.Java, j.Ended())
	}
	return err
}

// down notes that there is no JVM.
func (h *Host) down(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.up {
		h.ready, h.up = make(chan struct{}), false
	}
	for _, e := range h.queue {
		e.over(errDied)
	}
	h.queue = nil
	h.status.Up, h.status.PID = false, 0
	if err != nil && h.ctx.Err() == nil {
		h.status.Trouble = err.Error()
		h.status.Restarts++
	}
	return err
}

var errDied = errors.New("the JVM of the auxiliary services has ended")

// lost is the error of a call during which the JVM has ended, or was ended since it took too long.
type lost struct{ why error }

func (l *lost) Error() string        { return fmt.Sprintf("%v: %v", errDied, l.why) }
func (l *lost) Is(target error) bool { return target == errDied }

// patience returns how long services may take to start. It grows with each start that took longer: a machine may be that slow.
func (h *Host) patience() time.Duration { return h.cfg.Patience << min(h.late, 3) }

// launch has a JVM initialise and start all services, and returns what they have for applications. patience is for all of that.
func (h *Host) launch(j *jvm.Process, services []Service) (map[string][]byte, error) {
	deadline := time.Now().Add(h.patience())
	var hello jvm.Message
	hello.Texts(h.cfg.Properties).Texts(h.cfg.Dirs.Writable()).Texts(h.cfg.Dirs.Readable()).Text(h.cfg.Hostname)
	if _, err := j.Call(opHello, hello.B, time.Until(deadline)); err != nil {
		return nil, fmt.Errorf("the JVM of the auxiliary services: %w", err)
	}
	for _, s := range services {
		if _, err := j.Call(opInit, h.request(s), time.Until(deadline)); err != nil {
			return nil, fmt.Errorf("auxiliary service %s (%s) can't be initialised: %w%s", s.Name, s.Class, err, remedy(s, err))
		}
	}
	b, err := j.Call(opStart, nil, time.Until(deadline))
	if err != nil {
		return nil, fmt.Errorf("start auxiliary services: %w", err)
	}
	metadata, err := decodeStarted(b)
	for name, data := range metadata {
		if data == nil {
			delete(metadata, name) // as in Hadoop, a service without data isn't there for ApplicationMasters
		}
	}
	return metadata, err
}

// remedy says how to mend a class that isn't found.
func remedy(s Service, err error) string {
	if text := err.Error(); !strings.Contains(text, "ClassNotFoundException") && !strings.Contains(text, "NoClassDefFoundError") {
		return ""
	}
	return fmt.Sprintf(": name its jar in yarn.nodemanager.aux-services.%s.classpath or heddle.nodemanager.java.class-path, or take %[1]s out of yarn.nodemanager.aux-services", s.Name)
}

// dirsInterval is how often services hear which local folders are usable.
const dirsInterval = 10 * time.Second

// serve hands events to services until the JVM ends, or Close.
func (h *Host) serve(j *jvm.Process) error {
	tick := time.NewTicker(dirsInterval)
	defer tick.Stop()
	var dirs string
	for {
		if err := h.drain(j); err != nil {
			return err
		}
		select {
		case <-h.wake:
		case <-j.Done():
			return errDied
		case <-tick.C:
			var m jvm.Message
			m.Texts(h.cfg.Dirs.Writable()).Texts(h.cfg.Dirs.Readable())
			if now := string(m.B); now != dirs {
				if _, err := j.Call(opDirs, m.B, h.cfg.Patience); err != nil {
					return err
				}
				dirs = now
			}
		case <-h.ctx.Done():
			return h.quit(j)
		}
	}
}

// drain hands over the events that wait.
func (h *Host) drain(j *jvm.Process) error {
	for h.ctx.Err() == nil {
		e := h.take()
		if e == nil {
			return nil
		}
		reply, err := j.Call(e.op, e.args, h.cfg.Patience)
		var refused *jvm.Refused
		if err != nil && !errors.As(err, &refused) {
			e.over(&lost{err})
			return fmt.Errorf("%s%s: %w", e.what, e.of(), err)
		}
		if err != nil && e.took == nil { // else the caller says it
			h.log.WithError(err).WithField("application", e.app.String()).Warnf("an auxiliary service has failed in %s", e.what)
		}
		if err == nil && e.took != nil {
			err = e.took(reply)
		}
		if e.op == opApplicationStop {
			h.mu.Lock()
			h.ledger.forget(e.app)
			h.mu.Unlock()
		}
		e.over(err)
	}
	return nil
}

func (h *Host) take() *event {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		return nil
	}
	e := h.queue[0]
	h.queue = h.queue[1:]
	return e
}

// quitLimit is how long services may take to stop.
const quitLimit = 5 * time.Second

// quit hands over what waits still, and stops services.
func (h *Host) quit(j *jvm.Process) error {
	deadline := time.Now().Add(quitLimit)
	for e := h.take(); e != nil; e = h.take() {
		_, err := j.Call(e.op, e.args, time.Until(deadline))
		e.over(err)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err == nil && e.op == opApplicationStop {
			h.mu.Lock()
			h.ledger.forget(e.app)
			h.mu.Unlock()
		}
	}
	_, err := j.Call(opQuit, nil, time.Until(deadline))
	if err == nil {
		j.Wait(time.Until(deadline))
	}
	j.Kill()
	return err
}

// Close stops the services, and returns when nothing is left of their JVM. No caller may wait for a call.
func (h *Host) Close() {
	h.cancel()
	if h.started.Load() {
		<-h.ended
	}
}

// enter changes the ledger, and has services called. The lock makes one order of both.
func (h *Host) enter(e *event, change func(*ledger)) (ready <-chan struct{}, queued bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h.ledger)
	if !h.up || h.ctx.Err() != nil {
		return h.ready, false
	}
	if len(h.queue) >= maxQueue {
		h.log.Error("too many calls wait for auxiliary services: their JVM is ended")
		h.jvm.Signal(syscall.SIGKILL)
		return h.ready, false
	}
	h.queue = append(h.queue, e)
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return nil, true
}

// StartContainer tells all services of a container.
func (h *Host) StartContainer(g allocation.Grant) {
	h.enter(containerEvent(opContainerInit, g, h.cfg.Types), func(l *ledger) { l.beginContainer(g) })
}

// StopContainer tells all services that a container has ended.
func (h *Host) StopContainer(g allocation.Grant) {
	h.enter(containerEvent(opContainerStop, g, h.cfg.Types), func(l *ledger) { l.endContainer(g.ID) })
}

// maxData bounds what an application may give to a service, bytes. It is kept until the application ends. Services of Spark, Tez and MapReduce get a few hundred.
const maxData = 1 << 20

// StartApplication tells a service what an application has for it. It returns when the service knows it, or ctx ends. Without a JVM, services
// hear of it when there is one.
func (h *Host) StartApplication(ctx context.Context, service string, app records.ApplicationID, user string, data []byte) error {
	if len(data) > maxData {
		return &jvm.Refused{Text: fmt.Sprintf("the application has %d bytes for the service, and %d are allowed", len(data), maxData)}
	}
	e := applicationInit(service, app, user, data)
	e.done = make(chan error, 1)
	ready, queued := h.enter(e, func(l *ledger) { l.beginApplication(service, app, user, data) })
	if !queued {
		select {
		case <-ready:
			return nil
		case <-h.ctx.Done():
			return h.ctx.Err()
		case <-ctx.Done():
			return fmt.Errorf("%w: the service is told later", errDied)
		}
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the service has not answered yet: %w", ctx.Err())
	}
}

// StopApplication tells all services that an application is over.
func (h *Host) StopApplication(app records.ApplicationID) {
	h.enter(applicationStop(app), func(l *ledger) { l.endApplication(app) })
}

// Recovered tells services of the applications of the last life: of those that still live, unless a container has brought them already, and of
// the end of the others.
func (h *Host) Recovered(lives func(records.ApplicationID) bool) {
	h.mu.Lock()
	over, left := h.ledger.recovered(lives, h.runs)
	h.mu.Unlock()
	for _, e := range left {
		h.enter(e, func(*ledger) {})
	}
	for _, id := range over {
		h.StopApplication(id)
	}
}

// Metadata returns what services have for applications, by their names. It stays while they are started again.
func (h *Host) Metadata() map[string][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string][]byte, len(h.metadata))
	for name, data := range h.metadata {
		out[name] = data
	}
	return out
}

// Status returns how the JVM is.
func (h *Host) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

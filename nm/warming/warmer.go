package warming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
)

// Further jobs are not warmed.
const (
	maxJobs   = 256    // that are warmed at a time
	maxInputs = 64     // of jobs whose ApplicationMasters run here
	maxHeld   = 200000 // splits of these
	jobsRead  = 2      // whose splits are read at a time
	maxTold   = 500    // changes of what is in memory that a heartbeat carries
)

// File is an open file.
type File = io.ReadSeekCloser

// Config configures a Warmer. All fields but the last three must be set.
type Config struct {
	Window  int64 // bytes that were read for maps that still wait, at most
	Rate    int64 // bytes a second that all readers read together
	Readers int   // ranges that are read at a time
	// Open opens a file as a user for reading from this host's DataNode. It fails if it is on another file system than the cluster's.
	Open func(ctx context.Context, user, file string) (File, error)
	Log  *logrus.Entry
	// NameNode caches files of jobs whose ApplicationMasters run here, CacheMost bytes of them at a time, by directives that hold for CacheLease. nil: it caches none.
	NameNode   NameNode
	CacheMost  int64
	CacheLease time.Duration
}

// Range is a part of a file that a map will read on this node. Position is its place among all ranges of the job that this node's host
// has, from 0 on.
type Range struct {
	File           string
	Offset, Length int64
	Position       int
}

// Order says which ranges of a job are to be warmed. One without Ranges changes how many maps wait.
type Order struct {
	App     records.ApplicationID
	User    string
	Ranges  []Range // in the order of the maps; nil: as before
	Total   int     // ranges of the job that this host has; 0: none of its maps waits any more, anywhere
	Waiting int     // of their maps, those that haven't started; 0 ends the order
}

// Staged is for how many maps of a job that wait the input is in memory.
type Staged struct {
	App  records.ApplicationID
	Host string // "": on this node
	Maps int
}

// place is where input of a job is in memory.
type place struct {
	app  records.ApplicationID
	host string // "": on this node
}

// Warmer warms the input of jobs. Its methods are safe for concurrent use and return at once, but for Run and Learn.
type Warmer struct {
	cfg     Config
	pace    pace
	metrics metrics
	wake    chan struct{} // has a value when there may be something to read
	reading chan struct{} // has a value for each job whose splits are being read

	mu     sync.Mutex
	inputs []report
	jobs   []*job
	reads  []*reading                     // under way
	told   map[place]int                  // for how many maps, as the ResourceManager knows it
	begun  map[records.ApplicationID]bool // jobs whose ApplicationMasters have started here, and that haven't ended
	cache  *cache                         // nil: the NameNode caches nothing
}

// report is a job's input that the ResourceManager is to be told of.
type report struct {
	*Input
	told bool
}

// job is an order that is being carried out.
type job struct {
	Order
	next int    // of Ranges: the first one that hasn't been begun
	held []held // that were begun, and whose maps wait
	read int64  // bytes in held
}

// held is a range that was read, or is.
type held struct {
	position int
	bytes    int64
	done     bool // it was read
}

// reading is a range that a reader reads for a job, until its context ends.
type reading struct {
	*job
	Range
	ctx context.Context
	end context.CancelFunc
}

// New returns a Warmer. Run makes it work.
func New(cfg Config) *Warmer {
	w := &Warmer{
		cfg: cfg, pace: pace{rate: cfg.Rate}, wake: make(chan struct{}, 1),
		reading: make(chan struct{}, jobsRead), told: map[place]int{}, begun: map[records.ApplicationID]bool{},
	}
	if cfg.NameNode != nil {
		w.cache = newCache(cfg.NameNode, cfg.CacheMost, cfg.CacheLease, cfg.Log)
	}
	w.metrics = newMetrics(w)
	return w
}

// Begin says that the ApplicationMaster of a user's job starts here: Learn may follow until End.
func (w *Warmer) Begin(app records.ApplicationID, user string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[app] = true
	if w.cache != nil {
		w.cache.begin(app, user)
	}
}

// Learn takes the input of a job that has begun, which is reported until End. Nodes don't read ahead input that the NameNode caches. Learn may wait for the NameNode.
func (w *Warmer) Learn(ctx context.Context, in *Input) {
	if w.cache != nil {
		in = w.cache.take(ctx, in)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun[in.App] {
		return
	}
	w.forget(in.App)
	splits := len(in.Splits)
	for _, r := range w.inputs {
		splits += len(r.Splits)
	}
	if len(w.inputs) < maxInputs && splits <= maxHeld {
		w.inputs = append(w.inputs, report{Input: in})
	}
}

// forget removes a job's input. The lock is held.
func (w *Warmer) forget(app records.ApplicationID) {
	w.inputs = slices.DeleteFunc(w.inputs, func(r report) bool { return r.App == app })
}

// Inputs returns those that the ResourceManager hasn't been told of. Told says that it has.
func (w *Warmer) Inputs() []*Input {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*Input
	for _, r := range w.inputs {
		if !r.told {
			out = append(out, r.Input)
		}
	}
	return out
}

// Staged returns what has changed since the ResourceManager was told of it. Told says that it has.
func (w *Warmer) Staged() (out []Staged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := map[place]int{}
	for _, j := range w.jobs {
		for _, h := range j.held {
			if h.done {
				is[place{app: j.App}]++
			}
		}
	}
	if w.cache != nil {
		w.cache.staged(is)
	}
	for at := range w.told {
		if _, still := is[at]; !still {
			is[at] = 0
		}
	}
	for at, maps := range is {
		if w.told[at] != maps {
			out = append(out, Staged{at.app, at.host, maps})
		}
	}
	slices.SortFunc(out, func(a, b Staged) int { return cmp.Or(a.App.Compare(b.App), cmp.Compare(a.Host, b.Host)) })
	return out[:min(len(out), maxTold)]
}

// Told records that the ResourceManager has heard of inputs, and of what is in memory.
func (w *Warmer) Told(all []*Input, staged []Staged) {
	if len(all)+len(staged) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range staged {
		if at := (place{s.App, s.Host}); s.Maps == 0 {
			delete(w.told, at)
		} else {
			w.told[at] = s.Maps
		}
	}
	for i := range w.inputs {
		if slices.Contains(all, w.inputs[i].Input) {
			w.inputs[i].told = true
		}
	}
}

// Reset is called when the node registers: the ResourceManager may be another one, which knows nothing of inputs and orders.
func (w *Warmer) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = nil
	clear(w.told)
	for i := range w.inputs {
		w.inputs[i].told = false
	}
}

// End forgets an application that has ended.
func (w *Warmer) End(app records.ApplicationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(app)
	w.drop(app)
	w.stop(app)
	w.uncache(app)
	delete(w.begun, app)
}

// stop ends what is being read for a job: a DataNode may be slow, and others wait for the readers. The lock is held.
func (w *Warmer) stop(app records.ApplicationID) {
	for _, r := range w.reads {
		if r.App == app {
			r.end()
		}
	}
}

// uncache ends what the NameNode caches of a job.
func (w *Warmer) uncache(app records.ApplicationID) {
	if w.cache != nil {
		w.cache.end(app)
	}
}

// drop ends the order for a job. The lock is held.
func (w *Warmer) drop(app records.ApplicationID) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool { return j.App == app })
}

// Order takes an order of the ResourceManager.
func (w *Warmer) Order(o Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.jobs, func(j *job) bool { return j.App == o.App })
	switch {
	case o.Waiting <= 0:
		w.drop(o.App)
		if o.Total <= 0 {
			w.stop(o.App)
			w.uncache(o.App)
		}
	case o.Ranges == nil && i >= 0:
		w.jobs[i].Waiting = min(o.Waiting, w.jobs[i].Waiting) // an older word may come late
		w.jobs[i].release()
	case o.Ranges != nil && i >= 0:
		w.jobs[i] = &job{Order: o}
	case o.Ranges != nil && len(w.jobs) < maxJobs:
		w.jobs = append(w.jobs, &job{Order: o})
	}
	w.rouse()
}

func (w *Warmer) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// started returns the position below which maps have started: MapReduce takes those of a host in the order of its list.
func (j *job) started() int { return j.Total - j.Waiting }

// release lets go of what was read for maps that have started.
func (j *job) release() {
	j.held = slices.DeleteFunc(j.held, func(h held) bool {
		if h.position >= j.started() {
			return false
		}
		j.read -= h.bytes
		return true
	})
	for j.next < len(j.Ranges) && j.Ranges[j.next].Position < j.started() {
		j.next++
	}
}

// take picks what is read next: of the job for which least was read. It returns nil if there is nothing, or no room for it. over must be called afterwards.
func (w *Warmer) take(ctx context.Context) *reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	var total int64
	var best *job
	for _, j := range w.jobs {
		j.release()
		total += j.read
		if j.next < len(j.Ranges) && (best == nil || j.read < best.read) {
			best = j
		}
	}
	if best == nil {
		return nil
	}
	r := best.Ranges[best.next]
	r.Length = min(r.Length, w.cfg.Window)
	if total+r.Length > w.cfg.Window {
		return nil
	}
	best.next++
	best.held = append(best.held, held{position: r.Position, bytes: r.Length})
	best.read += r.Length
	now := &reading{job: best, Range: r}
	now.ctx, now.end = context.WithCancel(ctx)
	w.reads = append(w.reads, now)
	return now
}

// over says that nothing of a range is being read any more.
func (w *Warmer) over(r *reading) {
	r.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = slices.DeleteFunc(w.reads, func(other *reading) bool { return other == r })
}

// Run warms until ctx ends.
func (w *Warmer) Run(ctx context.Context) {
	var readers sync.WaitGroup
	defer readers.Wait()
	if w.cache != nil {
		readers.Go(func() { w.cache.run(ctx) })
	}
	for range w.cfg.Readers {
		readers.Go(func() { w.work(ctx) })
	}
}

func (w *Warmer) work(ctx context.Context) {
	buffer := make([]byte, 1<<18)
	for {
		r := w.take(ctx)
		if r == nil {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			continue
		}
		w.rouse() // another reader, if there is more
		err := w.warm(r.ctx, r.User, r.Range, buffer)
		ended := r.ctx.Err() != nil // before over ends it
		w.over(r)
		switch {
		case err == nil:
			w.done(r.job, r.Position)
		case ctx.Err() != nil:
			return
		case !ended:
			w.fail(r.job, err)
		}
	}
}

// done records that a range was read.
func (w *Warmer) done(j *job, position int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range j.held {
		if j.held[i].position == position {
			j.held[i].done = true
		}
	}
}

// warm reads a range and throws the bytes away.
func (w *Warmer) warm(ctx context.Context, user string, r Range, buffer []byte) (err error) {
	f, err := w.cfg.Open(ctx, user, r.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(r.Offset, io.SeekStart); err != nil {
		return err
	}
	for left := r.Length; left > 0; {
		n, err := f.Read(buffer[:min(left, int64(len(buffer)))])
		left -= int64(n)
		w.metrics.bytes.Add(float64(n))
		switch {
		case err == io.EOF: // the file has become shorter
			return nil
		case err != nil:
			return fmt.Errorf("range of %d bytes at %d: %w", r.Length, r.Offset, err)
		}
		if err := w.pace.wait(ctx, int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the warming of a job.
func (w *Warmer) fail(j *job, err error) {
	w.metrics.failures.Inc()
	w.cfg.Log.WithError(err).WithField("application", j.App.String()).Info("the input of the job is not warmed any more")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = slices.DeleteFunc(w.jobs, func(other *job) bool { return other == j })
	w.rouse()
}

// pace lets a number of bytes pass in a second.
type pace struct {
	rate int64

	mu  sync.Mutex
	due time.Time // when the next bytes may pass
}

// wait returns when the next bytes may be read after n have been.
func (p *pace) wait(ctx context.Context, n int64) error {
	p.mu.Lock()
	if now := time.Now(); p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	delay := time.Until(p.due)
	p.mu.Unlock()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

type metrics struct {
	bytes, failures prometheus.Counter
	all             []prometheus.Collector
}

func newMetrics(w *Warmer) metrics {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "heddle", Subsystem: "nm_warming", Name: name, Help: help}
	}
	m := metrics{
		bytes:    prometheus.NewCounter(prometheus.CounterOpts(opts("bytes_read_total", "Bytes of maps' input that were read ahead of them."))),
		failures: prometheus.NewCounter(prometheus.CounterOpts(opts("failures_total", "Jobs whose input could not be read ahead."))),
	}
	m.all = []prometheus.Collector{m.bytes, m.failures, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts(opts("held_bytes", "Bytes that were read ahead of maps that still wait.")), func() float64 { return float64(w.Held()) })}
	return m
}

// Held returns how many bytes were read, or are being read, for maps that wait.
func (w *Warmer) Held() (bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		bytes += j.read
	}
	return bytes
}

// Collectors returns the Prometheus metrics, for the caller's registry.
func (w *Warmer) Collectors() []prometheus.Collector { return w.metrics.all }

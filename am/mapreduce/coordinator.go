package mapreduce

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/yarn/records"
)

// containers is what a coordinator needs of am.Master.
type containers interface {
	Request(r am.Request) (am.RequestID, error)
	Withdraw(id am.RequestID, count int) int
	Release(ids ...records.ContainerID)
	Start(id records.ContainerID, l am.Launch)
}

// Priorities of requests: those of Hadoop's MapReduce, by which a ResourceManager can tell the stages apart.
const (
	mapPriority    = 20
	reducePriority = 10
)

// coordinator knows the tasks of a job and gives them to workers.
type coordinator struct {
	spec    *spec
	splits  []split
	output  string // folder for parts of the output; the task's name is added
	cluster containers
	launch  am.Launch // of workers
	app     records.ApplicationID
	log     *logrus.Entry
	now     func() time.Time

	mu       sync.Mutex
	changed  chan struct{} // closed with every change
	version  int64
	maps     []*taskState
	reduces  []*taskState
	workers  map[string]*workerState
	asks     map[am.RequestID]*taskState // for which a container was asked for
	events   []mapOutput
	counters Counters // of the job itself
	failures []Failure
	useless  int // containers in a row that ended before their worker said a word
	starved  time.Time
	err      error
	over     bool // all tasks are done, or err is set
	ended    bool // nothing will change any more
	told     bool // the user's side has heard of the end
	asked    time.Time
}

type taskState struct {
	kind     kind
	index    int
	phase    phase
	attempt  int // the current one, if it isn't waiting
	begun    int // attempts
	failed   int // attempts that count
	lost     int // times that its output was lost
	worker   *workerState
	progress float64
	counters Counters
	part     string // of the output
	ask      am.RequestID
	avoid    map[string]bool // hosts on which it has failed
	failedAt time.Time
}

type phase int

const (
	waiting phase = iota
	running
	done
)

func (t *taskState) id() taskID { return taskID{t.kind, t.index, t.attempt} }

type workerState struct {
	am.Container
	host    string
	url     string
	heard   bool // it has called
	task    *taskState
	abandon bool        // its task is no longer its own
	outputs map[int]int // attempts by map
}

func newCoordinator(s *spec, splits []split, app records.ApplicationID, log *logrus.Entry) *coordinator {
	c := &coordinator{
		spec: s, splits: splits, app: app, log: log, now: time.Now, changed: make(chan struct{}),
		workers: map[string]*workerState{}, asks: map[am.RequestID]*taskState{}, counters: Counters{},
	}
	for i := range splits {
		c.maps = append(c.maps, &taskState{kind: mapTask, index: i})
	}
	for i := range s.Job.Reduces {
		c.reduces = append(c.reduces, &taskState{kind: reduceTask, index: i})
	}
	return c
}

// change lets everybody see what has changed, and asks for as many containers as are wanted now.
func (c *coordinator) change() {
	if !c.over && c.count(c.maps, done) == len(c.maps) && c.count(c.reduces, done) == len(c.reduces) {
		c.over = true
	}
	c.adjust()
	c.publish()
}

func (c *coordinator) publish() {
	c.version++
	c.wake()
}

func (c *coordinator) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *coordinator) count(tasks []*taskState, p phase) (n int) {
	for _, t := range tasks {
		if t.phase == p {
			n++
		}
	}
	return n
}

// fail ends the job.
func (c *coordinator) fail(err error) {
	if !c.over {
		c.err, c.over = err, true
	}
}

// begin asks for the first containers.
func (c *coordinator) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change()
}

// reducing reports whether reduce tasks may begin: they only wait at first, and must not take the maps' places.
func (c *coordinator) reducing() bool {
	return c.count(c.maps, waiting) == 0 && float64(c.count(c.maps, done)) >= c.spec.SlowStart*float64(len(c.maps))
}

// wanted lists the tasks that a worker could begin with now.
func (c *coordinator) wanted() []*taskState {
	if c.over {
		return nil
	}
	var out []*taskState
	for _, t := range c.maps {
		if t.phase == waiting {
			out = append(out, t)
		}
	}
	if c.reducing() {
		for _, t := range c.reduces {
			if t.phase == waiting {
				out = append(out, t)
			}
		}
	}
	return out
}

// free is the number of workers that have no task, or are on their way.
func (c *coordinator) free() (n int) {
	for _, w := range c.workers {
		if w.task == nil && (!w.heard || c.suits(w)) {
			n++
		}
	}
	return n
}

// suits reports whether a worker is large enough for what there is to do.
func (c *coordinator) suits(w *workerState) bool {
	return c.count(c.maps, waiting) > 0 || c.fits(w, c.spec.ReduceSize)
}

// fits compares memory only: a stock ResourceManager that doesn't count cores grants one, however many were asked for.
func (c *coordinator) fits(w *workerState, s size) bool { return w.Resource[0] >= s.resource()[0] }

// adjust asks for containers for the tasks that wait, or takes back what isn't needed any more.
func (c *coordinator) adjust() {
	wanted := c.wanted()
	n := max(0, len(wanted)-c.free()) - len(c.asks)
	for id, t := range c.asks {
		if n >= 0 {
			break
		}
		if t.phase != waiting || c.over {
			n += c.withdraw(id, t)
		}
	}
	for id, t := range c.asks {
		if n >= 0 {
			break
		}
		n += c.withdraw(id, t)
	}
	for _, t := range wanted {
		if n <= 0 {
			return
		}
		if t.ask != 0 {
			continue
		}
		r := am.Request{Priority: mapPriority, Resource: c.spec.MapSize.resource(), RelaxLocality: true, Tags: []string{string(t.kind)}}
		if t.kind == reduceTask {
			r.Priority, r.Resource = reducePriority, c.spec.ReduceSize.resource()
		} else {
			r.Hosts = c.splits[t.index].Hosts
		}
		id, err := c.cluster.Request(r)
		if err != nil {
			c.fail(fmt.Errorf("containers for %s tasks: %w", t.kind, err))
			return
		}
		t.ask = id
		c.asks[id] = t
		n--
	}
}

func (c *coordinator) withdraw(id am.RequestID, t *taskState) int {
	n := c.cluster.Withdraw(id, 1)
	if n > 0 {
		delete(c.asks, id)
		t.ask = 0
	}
	return n
}

// allocated takes containers in, and gives back those that there is nothing to do for.
func (c *coordinator) allocated(list []am.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range list {
		if t := c.asks[x.Request]; t != nil {
			delete(c.asks, x.Request)
			t.ask = 0
		}
		if len(c.wanted()) <= c.free() {
			c.cluster.Release(x.ID)
			continue
		}
		c.workers[x.ID.String()] = &workerState{Container: x, host: x.Node.Host, outputs: map[int]int{}}
		c.counters.Add(jobGroup, launchedWorkers, 1)
		c.cluster.Start(x.ID, c.launch)
	}
	c.change()
}

// refused takes in that the ResourceManager refuses requests.
func (c *coordinator) refused(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(fmt.Errorf("the ResourceManager refuses containers: %w", err))
	c.change()
}

// uselessLimit is how many containers in a row may end before their worker has said a word.
const uselessLimit = 8

// completed takes in that a container has ended, or couldn't be started.
func (c *coordinator) completed(id records.ContainerID, exit int32, diagnostics string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[id.String()]
	if w == nil {
		return
	}
	delete(c.workers, id.String())
	if c.over {
		return
	}
	taken := exit == records.ExitAborted || exit == records.ExitDisksFailed || exit == records.ExitPreempted
	why := fmt.Sprintf("its container %v ended with status %d: %s", id, exit, diagnostics)
	if !w.heard && !taken {
		c.log.WithField("container", id.String()).Warnf("The worker did not start: %s", why)
		if c.useless++; c.useless >= uselessLimit {
			c.fail(fmt.Errorf("workers don't start; the last on %s: %s", w.host, why))
		}
	}
	if t := w.task; t != nil && !w.abandon {
		c.end(t, Failure{Task: t.id().String(), Host: w.host, Error: why}, !taken)
	}
	for m, attempt := range w.outputs {
		c.lose(m, attempt)
	}
	c.change()
}

// lose notes that a map task's output isn't there any more. It is made again if a reduce task may need it.
func (c *coordinator) lose(m, attempt int) {
	t := c.maps[m]
	if t.phase != done || t.attempt != attempt || c.count(c.reduces, done) == len(c.reduces) {
		return
	}
	c.log.WithField("task", t.id().String()).Warn("Its output is lost")
	t.phase, t.progress = waiting, 0
	c.events = append(c.events, mapOutput{Map: m, Attempt: attempt, Lost: true})
	c.counters.Add(jobGroup, lostMaps, 1)
	if t.worker != nil {
		delete(t.worker.outputs, m)
	}
	if t.lost++; t.lost > lostLimit {
		c.fail(fmt.Errorf("the output of map task %d was lost %d times", m, t.lost))
	}
}

// lostLimit is how often a map task's output may be lost.
const lostLimit = 20

// end ends the current attempt at a task without success.
func (c *coordinator) end(t *taskState, f Failure, counts bool) {
	if t.worker != nil {
		t.worker.task = nil
	}
	t.phase, t.worker, t.progress = waiting, nil, 0
	if !counts {
		return
	}
	if c.failures = append(c.failures, f); len(c.failures) > failuresKept {
		c.failures = c.failures[1:]
	}
	tries, counter := c.spec.MapTries, failedMaps
	if t.kind == reduceTask {
		tries, counter = c.spec.ReduceTries, failedReduces
	}
	c.counters.Add(jobGroup, counter, 1)
	c.log.Warnf("Failed: %v", f)
	if t.avoid == nil {
		t.avoid = map[string]bool{}
	}
	t.avoid[f.Host], t.failedAt = true, c.now()
	if t.failed++; t.failed >= tries {
		c.fail(fmt.Errorf("%s task %d failed %d times, at last %v", t.kind, t.index, t.failed, f))
	}
}

const failuresKept = 100

// longPoll is how long a worker waits for an answer.
const longPoll = 10 * time.Second

// wait releases the lock until something changes; it reports false when it's time to answer.
func (c *coordinator) wait(ctx context.Context, deadline <-chan time.Time) bool {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return true
	case <-deadline:
	case <-ctx.Done():
	}
	return false
}

// next gives a worker something to do.
func (c *coordinator) next(ctx context.Context, r *nextRequest) (nextResponse, error) {
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return nextResponse{}, errGone
	}
	w.url = r.URL
	if !w.heard {
		w.heard = true
		c.useless = 0
	}
	if w.abandon {
		w.task, w.abandon = nil, false
	}
	for {
		if c.workers[r.Worker] != w {
			return nextResponse{}, errGone
		}
		if w.task != nil {
			return nextResponse{Task: c.assignment(w.task)}, nil // the answer was lost
		}
		if t := c.pick(w); t != nil && ctx.Err() == nil {
			t.phase, t.worker, t.progress = running, w, 0
			t.attempt = t.begun
			t.begun++
			w.task = t
			c.launched(t, w)
			c.change()
			return nextResponse{Task: c.assignment(t)}, nil
		}
		if c.over || c.dispensable(w) {
			delete(c.workers, r.Worker)
			c.change()
			return nextResponse{Exit: true}, nil
		}
		if !c.wait(ctx, deadline.C) {
			return nextResponse{}, nil
		}
	}
}

func (c *coordinator) launched(t *taskState, w *workerState) {
	if t.kind == reduceTask {
		c.counters.Add(jobGroup, launchedReduces, 1)
		return
	}
	c.counters.Add(jobGroup, launchedMaps, 1)
	switch hosts := c.splits[t.index].Hosts; {
	case slices.Contains(hosts, w.host):
		c.counters.Add(jobGroup, localMaps, 1)
	case len(hosts) > 0:
		c.counters.Add(jobGroup, otherMaps, 1)
	}
}

func (c *coordinator) assignment(t *taskState) *assignment {
	a := &assignment{ID: t.id()}
	if t.kind == mapTask {
		a.Split = &c.splits[t.index]
	}
	if t.kind == reduceTask || len(c.reduces) == 0 {
		a.Output = c.output + "/" + a.ID.name(c.app)
	}
	return a
}

// elsewhere is how long a task that has failed on a host waits for a worker on another one, where there are such: what is
// missing on a node, or broken, is so the next time as well.
const elsewhere = 3 * time.Second

// may reports whether a worker may have a task that waits.
func (c *coordinator) may(w *workerState, t *taskState) bool {
	if !t.avoid[w.host] || c.now().Sub(t.failedAt) >= elsewhere {
		return true
	}
	for _, other := range c.workers {
		if !t.avoid[other.host] {
			return false
		}
	}
	return true
}

// pick returns a task for a worker: a map whose input is on its host, another one, or a reduce.
func (c *coordinator) pick(w *workerState) *taskState {
	if c.over {
		return nil
	}
	var best *taskState
	rank := func(t *taskState) int {
		hosts := c.splits[t.index].Hosts
		switch {
		case slices.Contains(hosts, w.host):
			return 2
		case len(hosts) == 0:
			return 1
		}
		return 0
	}
	for _, t := range c.maps {
		if t.phase == waiting && (best == nil || rank(t) > rank(best)) && c.may(w, t) {
			if best = t; rank(t) == 2 {
				break
			}
		}
	}
	if best != nil || !c.reducing() || !c.fits(w, c.spec.ReduceSize) {
		return best
	}
	for _, t := range c.reduces {
		if t.phase == waiting && c.may(w, t) {
			return t
		}
	}
	return nil
}

// dispensable reports whether a worker without a task can go: nothing waits, and nobody needs what it has.
func (c *coordinator) dispensable(w *workerState) bool {
	return len(w.outputs) == 0 && c.count(c.maps, waiting) == 0 &&
		(c.count(c.reduces, waiting) == 0 || !c.fits(w, c.spec.ReduceSize))
}

// almost is the progress of a task that isn't done: its command may work on when it has read everything.
const almost = 0.95

// progress takes in how a task gets on.
func (c *coordinator) progress(_ context.Context, r *progressReport) (progressResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return progressResponse{}, errGone
	}
	if w.abandon || w.task == nil || w.task.id() != r.ID || c.over {
		return progressResponse{Abandon: true}, nil
	}
	if p := min(r.Progress, almost); w.task.progress != p {
		w.task.progress = p
		c.publish()
	}
	return progressResponse{}, nil
}

// finished takes in that a task is done, or has failed.
func (c *coordinator) finished(_ context.Context, r *doneReport) (struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return struct{}{}, errGone
	}
	t := w.task
	if t == nil || w.abandon || t.id() != r.ID || c.over {
		return struct{}{}, nil
	}
	if r.Error != "" {
		c.end(t, Failure{Task: t.id().String(), Host: w.host, Error: r.Error, Stderr: r.Stderr}, true)
		c.change()
		return struct{}{}, nil
	}
	w.task = nil
	t.phase, t.progress, t.counters, t.part = done, 1, r.Counters, r.Output
	if t.kind == mapTask && len(c.reduces) > 0 {
		w.outputs[t.index] = t.attempt
		c.events = append(c.events, mapOutput{Map: t.index, Attempt: t.attempt, URL: w.url})
	}
	c.change()
	return struct{}{}, nil
}

// whereabouts tells where the outputs of map tasks are.
func (c *coordinator) whereabouts(ctx context.Context, r *outputsRequest) (outputsResponse, error) {
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for r.From >= len(c.events) && !c.over && c.wait(ctx, deadline.C) {
	}
	if c.over && c.err != nil {
		return outputsResponse{}, errGone
	}
	from := max(0, min(r.From, len(c.events)))
	return outputsResponse{Events: slices.Clone(c.events[from:]), Next: len(c.events)}, nil
}

// unfetchable takes in that a reduce task can't get the output of a map task.
func (c *coordinator) unfetchable(_ context.Context, f *fetchFailure) (struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Map < 0 || f.Map >= len(c.maps) {
		return struct{}{}, fmt.Errorf("no map task %d", f.Map)
	}
	if !c.over {
		c.lose(f.Map, f.Attempt)
		c.change()
	}
	return struct{}{}, nil
}

// starving is how long a map task waits while only reduce tasks run, until one of those, which all wait for its output, goes.
const starving = 5 * time.Second

// relieve makes room for map tasks that have to be repeated, and lets workers look for tasks that have waited long enough.
func (c *coordinator) relieve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
	stuck := !c.over && c.count(c.maps, waiting) > 0 && c.free() == 0 && c.count(c.maps, running) == 0 && c.count(c.reduces, running) > 0
	switch {
	case !stuck:
		c.starved = time.Time{}
	case c.starved.IsZero():
		c.starved = c.now()
	case c.now().Sub(c.starved) >= starving:
		c.starved = time.Time{}
		for _, t := range slices.Backward(c.reduces) {
			if t.phase == running {
				c.log.WithField("task", t.id().String()).Info("Makes room for a map task")
				t.worker.abandon = true
				t.phase, t.worker, t.progress = waiting, nil, 0
				c.counters.Add(jobGroup, killedReduces, 1)
				c.change()
				return
			}
		}
	}
}

// await returns when all tasks are done, or the job has failed.
func (c *coordinator) await(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over {
		if !c.wait(ctx, nil) {
			return context.Cause(ctx)
		}
	}
	return c.err
}

// parts are the files that make up the job's output, in the order of the tasks.
func (c *coordinator) parts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, t := range append(slices.Clone(c.maps), c.reduces...) {
		if t.part != "" {
			out = append(out, t.part)
		}
	}
	return out
}

// conclude makes the outcome known to the user's side.
func (c *coordinator) conclude(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.over, c.ended = err, true, true
	c.publish()
}

// statusPoll is how long a question for the status waits for a change.
const statusPoll = 2 * time.Second

type statusRequest struct{ Version int64 }

// status tells the user's side where the job is, as soon as that isn't what it knows already.
func (c *coordinator) status(ctx context.Context, r *statusRequest) (Status, error) {
	deadline := time.NewTimer(statusPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = c.now()
	for r.Version == c.version && c.wait(ctx, deadline.C) {
	}
	c.asked = c.now()
	s := c.snapshot()
	if s.Ended && !c.told {
		c.told = true
		c.wake()
	}
	return s, nil
}

func (c *coordinator) snapshot() Status {
	s := Status{
		Maps: stage(c.maps), Reduces: stage(c.reduces), Counters: Counters{}, Failures: slices.Clone(c.failures),
		Version: c.version, Ended: c.ended,
	}
	s.Counters.AddAll(c.counters)
	for _, t := range append(slices.Clone(c.maps), c.reduces...) {
		if t.phase == done {
			s.Counters.AddAll(t.counters)
		}
	}
	if c.ended && c.err != nil {
		s.Error = c.err.Error()
	}
	return s
}

func stage(tasks []*taskState) Stage {
	s := Stage{Total: len(tasks)}
	for _, t := range tasks {
		switch t.phase {
		case running:
			s.Running++
		case done:
			s.Done++
		}
		s.Failed += t.failed
		s.Progress += t.progress
	}
	if s.Total > 0 {
		s.Progress /= float64(s.Total)
	} else {
		s.Progress = 1
	}
	return s
}

// fraction is how much of the job is done.
func (c *coordinator) fraction() float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, r := stage(c.maps), stage(c.reduces)
	if r.Total == 0 {
		return float32(m.Progress)
	}
	return float32(m.Progress+r.Progress) / 2
}

// heard waits until the user's side knows the outcome, if it's there or may still come.
func (c *coordinator) heard(ctx context.Context, limit time.Duration) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && c.now().Sub(c.asked) > limit+statusPoll {
		return // it has gone
	}
	for !c.told && c.wait(ctx, deadline.C) {
	}
}

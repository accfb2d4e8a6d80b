package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/slowstart"
	"heddle/am/speculate"
	"heddle/am/stage"
	"heddle/yarn/records"
)

// containers has the methods of am.Master that a coordinator needs.
type containers interface {
	Request(r am.Request) (am.RequestID, error)
	Withdraw(id am.RequestID, count int) int
	Release(ids ...records.ContainerID)
	Start(id records.ContainerID, l am.Launch)
	Blacklist(add, remove []string)
	ClusterNodes() int
	Swap(id records.ContainerID, to am.RequestID) error
	Unswap(id records.ContainerID)
	SetStages(r am.StageReport)
	SetPerformance(p am.Performance)
	AddTry(t am.TaskTry)
}

// Priorities of requests: those of Hadoop's MapReduce, by which a ResourceManager can tell the stages apart.
const (
	mapPriority    = 20
	reducePriority = 10
)

// coordinator lets a stage.Planner run a job: it turns messages of workers and events of the cluster into the planner's events,
// and does what the planner wants. The work for a message takes the same time however many tasks and workers there are:
// thousands of workers share its lock.
type coordinator struct {
	spec    *job.Spec
	splits  []input.Split // by map
	divided []input.Split // what a map that stops does itself, and what it leaves to others
	output  string        // folder for parts of the output; the task's name is added
	cluster containers
	launch  am.Launch // of workers
	shuffle []byte    // what nodes' shuffle services are told; nil: they serve no outputs
	app     records.ApplicationID
	log     *logrus.Entry
	now     func() time.Time

	mu       sync.Mutex
	began    time.Time
	changed  chan struct{} // closed with every change
	news     chan struct{} // closed when there are events
	version  int64
	planner  *stage.Planner
	nodes    int
	workers  map[string]*workerState // by container, those that the planner has
	slots    []*workerState          // by slot
	hosts    neighbours
	knock    func(ports []string) answer // at ports of a host
	unserved map[string]bool             // hosts that don't serve outputs, or have refused one
	requests map[am.RequestID]stage.RequestID
	asks     map[stage.RequestID]am.RequestID
	events   []job.MapOutput
	counters job.Counters // of the job itself
	finals   job.Counters // of tasks that are done
	results  map[stage.TaskID]result
	report   *job.DoneReport // that is being taken in
	failures []job.Failure
	err      error
	overAt   time.Duration
	over     bool // all tasks are done, or err is set
	ended    bool // nothing will change any more
	told     bool // the user's side has learned of the end
	asked    time.Time
	course   course
	learned  learned
}

// result is the outcome of a finished task.
type result struct {
	counters job.Counters
	part     string // of the output
}

// workerState is a container.
type workerState struct {
	am.Container
	slot    stage.SlotID
	host    string
	url     string
	started bool
	task    *job.Assignment // nil: it has none
	stop    *job.Stop       // that its task is told, until it has answered
	orders  int             // to stop that its tasks were given
	stopped *job.Stopped    // what it has answered last
	exit    bool            // it is to go
	wake    chan struct{}   // closed when it has got a task, or lost one that it may still do, or is to go
	toldAt  time.Time       // when it was last told of events
	heard   time.Time       // when it last said something
	broken  time.Time       // when a connection of its last broke that was to bring it an answer
}

func newCoordinator(s *job.Spec, splits []input.Split, app records.ApplicationID, log *logrus.Entry) *coordinator {
	c := &coordinator{
		spec: s, splits: splits, app: app, log: log, now: time.Now, began: time.Now(),
		changed: make(chan struct{}), news: make(chan struct{}),
		workers: map[string]*workerState{}, unserved: map[string]bool{}, hosts: neighbours{}, knock: knock,
		requests: map[am.RequestID]stage.RequestID{}, asks: map[stage.RequestID]am.RequestID{},
		counters: job.Counters{}, finals: job.Counters{}, results: map[stage.TaskID]result{},
	}
	silence := s.Timeout
	if silence > 0 {
		silence = max(silence, leastSilence)
	}
	of := stage.Job{
		Maps: len(splits), Reduces: s.Job.Reduces, Hosts: func(i int) []string { return splits[i].Hosts },
		ReduceMemory: s.ReduceSize.MemoryMB, Tries: [2]int{s.MapTries, s.ReduceTries}, NodeFailures: s.NodeFailures,
		Silence: silence,
		Starter: starter(s), Freezes: s.Job.Freeze, NodesServe: s.NodesServe,
	}
	of.Speculator, of.Splitter = speculator(s)
	c.planner = stage.New(of)
	return c
}

// starter returns the rule by which a job's reduces begin.
func starter(s *job.Spec) stage.Starter {
	switch s.Start {
	case job.StartLazily:
		return &slowstart.OMO{}
	case job.StartAtFraction:
		return slowstart.Ramp{Fraction: slowstart.Fraction(s.SlowStart)}
	}
	return slowstart.AfterMaps(s.SlowStart)
}

// speculator returns the rule by which a job's tasks are copied, and that by which they are divided; nil if they aren't.
func speculator(s *job.Spec) (stage.Speculator, stage.Splitter) {
	switch s.Job.Speculation {
	case job.SpeculateESplash:
		return &speculate.ESplash{}, nil
	case job.SpeculateLate:
		return &speculate.Late{}, nil
	case job.SpeculateSplit:
		p := &speculate.Split{}
		return p, p
	}
	return nil, nil
}

// leastSilence is how long a worker may be silent at least: it waits for answers for a third of that.
const leastSilence = 3 * job.LongPoll

// silenceSetting names the setting, and what it is where a worker may be silent for longer.
func silenceSetting(set time.Duration) string {
	if set < leastSilence {
		return fmt.Sprintf("%s is %v; a worker may be silent for %v at least", job.KeyTimeout, set, leastSilence)
	}
	return job.KeyTimeout
}

// kindOf and idOf return the names in messages for the planner's kinds and ids.
func kindOf(s stage.Stage) job.Kind {
	if s == stage.Map {
		return job.Map
	}
	return job.Reduce
}

func idOf(a stage.AttemptID) job.TaskID {
	return job.TaskID{Kind: kindOf(a.Stage), Index: a.Index, Attempt: a.Number}
}

func attemptOf(id job.TaskID) stage.AttemptID {
	a := stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Map, Index: id.Index}, Number: id.Attempt}
	if id.Kind == job.Reduce {
		a.Stage = stage.Reduce
	}
	return a
}

// step tells the planner of an event and does what it wants.
func (c *coordinator) step(e stage.Event) {
	now := c.now().Sub(c.began)
	if n := c.cluster.ClusterNodes(); n != c.nodes {
		c.nodes = n
		c.act(c.planner.Step(now, stage.Nodes{Count: n}))
	}
	for refused := c.act(c.planner.Step(now, e)); refused != nil; {
		refused = c.act(c.planner.Step(now, stage.Refused{Err: refused}))
	}
}

// act does what the planner wants. The error is that of requests that can't be made.
func (c *coordinator) act(actions []stage.Action) (refused error) {
	for _, a := range actions {
		switch a := a.(type) {
		case stage.Want:
			if err := c.want(a); err != nil {
				refused = err
			}
		case stage.Withdraw:
			if id, ok := c.asks[a.Request]; ok {
				c.cluster.Withdraw(id, 1)
				delete(c.asks, a.Request)
				delete(c.requests, id)
			}
		case stage.Start:
			w := c.slots[a.Slot]
			w.started = true
			c.workers[w.ID.String()] = w
			c.counters.Add(job.JobGroup, job.LaunchedWorkers, 1)
			c.cluster.Start(w.ID, launchOn(c, w.host))
		case stage.GiveBack:
			c.giveBack(a)
		case stage.Launch:
			w := c.slots[a.Slot]
			w.task, w.stop, w.stopped = c.assignment(a.Attempt), nil, nil
			wake(&w.wake)
			c.launched(a, w)
		case stage.Cancel:
			c.cancel(a)
		case stage.Stop:
			c.slots[a.Slot].hasToStop(a)
		case stage.Divide:
			c.divide(a)
		case stage.Freeze:
			freeze(c, a)
		case stage.Thaw:
			c.cluster.Unswap(c.slots[a.Slot].ID)
		case stage.Accept:
			c.accept(a)
		case stage.Revoke:
			c.revoke(a.Attempt)
		case stage.Fault:
			c.fault(a.AttemptError)
		case stage.Avoid:
			tellAvoided(c.log, a)
			c.cluster.Blacklist([]string{a.Host}, nil)
		case stage.Forgive:
			tellForgiven(c.log, a)
			c.cluster.Blacklist(nil, a.Hosts)
		case stage.End:
			c.err, c.over, c.overAt = a.Err, true, c.now().Sub(c.began)
			wake(&c.news)
		}
	}
	if len(actions) > 0 {
		c.publish()
	}
	return refused
}

// hasToStop has a worker stop its task.
func (w *workerState) hasToStop(a stage.Stop) {
	w.orders++
	w.stop = &job.Stop{Order: w.orders, At: a.At, Parts: a.Parts}
	wake(&w.wake)
}

func tellAvoided(log *logrus.Entry, a stage.Avoid) {
	log = log.WithField("host", a.Host)
	if a.Failures == 0 {
		log.Warn("neither its workers nor its NodeManager answer, and others do: its outputs and tasks are made elsewhere")
	} else {
		log.Warnf("%d failures: no more tasks there", a.Failures)
	}
}

func tellForgiven(log *logrus.Entry, a stage.Forgive) {
	if a.Answers {
		log.Infof("%v answers again, and may have tasks", a.Hosts)
	} else {
		log.Warnf("no other nodes give containers: tasks go to %v again, where they have failed", a.Hosts)
	}
}

func (c *coordinator) want(a stage.Want) error {
	r := am.Request{
		Priority: mapPriority, Resource: c.spec.MapSize.Resource(), Hosts: a.Hosts, RelaxLocality: !a.Strict,
		Tags: []string{string(kindOf(a.Task.Stage))},
	}
	if a.Task.Stage == stage.Reduce {
		r.Priority, r.Resource = reducePriority, c.spec.ReduceSize.Resource()
	}
	id, err := c.cluster.Request(r)
	if err != nil {
		return fmt.Errorf("for %v tasks: %w", a.Task.Stage, err)
	}
	c.asks[a.Request], c.requests[id] = id, a.Request
	return nil
}

func (c *coordinator) giveBack(a stage.GiveBack) {
	w := c.slots[a.Slot]
	delete(c.workers, w.ID.String())
	if a.Lost {
		c.log.WithField("container", w.ID.String()).Warnf("the worker on %s doesn't answer any more: it is given up", w.host)
	}
	if a.Room {
		c.log.WithField("container", w.ID.String()).Warnf("the container on %s is given up with the outputs of its maps: nothing runs, and what waits may need its room", w.host)
	}
	if a.Lost || !w.started {
		c.cluster.Release(w.ID)
	}
	w.task, w.exit = nil, true
	wake(&w.wake)
}

func (c *coordinator) launched(a stage.Launch, w *workerState) {
	if a.Attempt.Stage == stage.Reduce {
		c.counters.Add(job.JobGroup, job.LaunchedReduces, 1)
		return
	}
	c.counters.Add(job.JobGroup, job.LaunchedMaps, 1)
	switch hosts := c.splits[a.Attempt.Index].Hosts; {
	case slices.Contains(hosts, w.host):
		c.counters.Add(job.JobGroup, job.LocalMaps, 1)
	case len(hosts) > 0:
		c.counters.Add(job.JobGroup, job.OtherMaps, 1)
	}
}

func (c *coordinator) cancel(a stage.Cancel) {
	w := c.slots[a.Slot]
	w.task = nil
	wake(&w.wake)
	tellTry(c, a.Attempt, client.TryEnded)
	switch a.Why {
	case stage.InTheWay:
		c.log.WithField("task", a.Attempt.String()).Info("makes room for a map task")
	case stage.Overtaken:
		c.learned.overtaken(&c.planner.Attempts(a.Attempt.TaskID)[a.Attempt.Number])
	}
	counter := job.KilledMaps
	if a.Attempt.Stage == stage.Reduce {
		counter = job.KilledReduces
	}
	c.counters.Add(job.JobGroup, counter, 1)
}

func (c *coordinator) accept(a stage.Accept) {
	w := c.slots[a.Slot]
	w.task = nil
	tellTry(c, a.Attempt, client.TrySucceeded)
	c.learned.learn(&c.planner.Attempts(a.Attempt.TaskID)[a.Attempt.Number], w.host, c.cluster.SetPerformance)
	c.results[a.Attempt.TaskID] = result{c.report.Counters, c.report.Output}
	c.finals.AddAll(c.report.Counters)
	if a.Attempt.Stage == stage.Map && c.spec.Job.Reduces > 0 {
		c.tell(job.MapOutput{Map: a.Attempt.Index, Attempt: a.Attempt.Number, URL: w.url, Node: nodeServing(c, w, c.report)})
	}
}

func (c *coordinator) revoke(id stage.AttemptID) {
	c.log.WithField("task", id.String()).Warn("its output is lost")
	c.finals.Sub(c.results[id.TaskID].counters)
	delete(c.results, id.TaskID)
	c.tell(job.MapOutput{Map: id.Index, Attempt: id.Number, Lost: true})
	c.counters.Add(job.JobGroup, job.LostMaps, 1)
}

const failuresKept = 100

// fault notes the failure of an attempt.
func (c *coordinator) fault(e *stage.AttemptError) {
	tellTry(c, e.ID, client.TryFailed)
	if w := c.slots[c.planner.Attempts(e.ID.TaskID)[e.ID.Number].Slot]; w.task != nil && w.task.ID == idOf(e.ID) {
		w.task = nil
		wake(&w.wake)
	}
	f := job.Failure{Task: e.ID.String(), Host: e.Host, Error: e.Err.Error()}
	var told *workError
	var silent *stage.SilenceError
	switch {
	case errors.As(e.Err, &told):
		f.Error, f.Stderr = told.text, told.stderr
	case errors.As(e.Err, &silent):
		f.Error = fmt.Sprintf("its worker, %v, said nothing for %v (%s)", c.slots[silent.Slot].ID, silent.Limit,
			silenceSetting(c.spec.Timeout))
	}
	if c.failures = append(c.failures, f); len(c.failures) > failuresKept {
		c.failures = c.failures[1:]
	}
	counter := job.FailedMaps
	if e.ID.Stage == stage.Reduce {
		counter = job.FailedReduces
	}
	c.counters.Add(job.JobGroup, counter, 1)
	c.log.Warnf("failed: %v", f)
}

// workError is a failure that a worker reports.
type workError struct {
	text   string
	stderr []string
}

func (e *workError) Error() string {
	text := e.text
	for _, line := range e.stderr {
		text += "\n    " + line
	}
	return text
}

// publish lets the user's side see what has changed.
func (c *coordinator) publish() {
	c.version++
	wake(&c.changed)
}

func wake(ch *chan struct{}) {
	close(*ch)
	*ch = make(chan struct{})
}

// wait releases the lock until a channel is closed; it reports false when it's time to answer.
func (c *coordinator) wait(ctx context.Context, changed <-chan struct{}, deadline <-chan time.Time) bool {
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

// begin asks for the first containers.
func (c *coordinator) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(stage.Tick{})
}

// relieve lets the planner do what is due because time has passed. It is called every second.
func (c *coordinator) relieve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(stage.Tick{})
	reach(c)
	c.course.note(c)
	if c.spec.Job.Reduces > 0 || usesHints(c.spec) {
		c.cluster.SetStages(c.learned.reportOf(c.planner.Facts()))
	}
}

// await returns when all tasks are done, or the job has failed.
func (c *coordinator) await(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over {
		if !c.wait(ctx, c.changed, nil) {
			return context.Cause(ctx)
		}
	}
	return c.err
}

// parts returns the files that make up the job's output, in the order of the tasks.
func (c *coordinator) parts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for s, n := range []int{len(c.splits), c.spec.Job.Reduces} {
		for i := range n {
			if p := c.results[stage.TaskID{Stage: stage.Stage(s), Index: i}].part; p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// conclude makes the outcome known to the user's side.
func (c *coordinator) conclude(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.over, c.ended = err, true, true
	for _, w := range c.slots {
		if !w.exit {
			w.exit = true
			wake(&w.wake)
		}
	}
	wake(&c.news)
	c.publish()
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
	for !c.told && c.wait(ctx, c.changed, deadline.C) {
	}
}

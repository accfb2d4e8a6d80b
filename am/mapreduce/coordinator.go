package mapreduce

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/yarn/records"
)

// containers is what a coordinator needs of am.Master.
type containers interface {
	Request(r am.Request) (am.RequestID, error)
	Withdraw(id am.RequestID, count int) int
	Release(ids ...records.ContainerID)
	Start(id records.ContainerID, l am.Launch)
	Blacklist(add, remove []string)
	ClusterNodes() int
}

// Priorities of requests: those of Hadoop's MapReduce, by which a ResourceManager can tell the stages apart.
const (
	mapPriority    = 20
	reducePriority = 10
)

// coordinator knows the tasks of a job and gives them to workers. What it does for a message takes the same time however many
// tasks and workers there are: thousands of workers share its lock.
type coordinator struct {
	spec    *job.Spec
	splits  []input.Split
	output  string // folder for parts of the output; the task's name is added
	cluster containers
	launch  am.Launch // of workers
	app     records.ApplicationID
	log     *logrus.Entry
	now     func() time.Time

	mu       sync.Mutex
	changed  chan struct{} // closed with every change
	work     chan struct{} // closed when workers without a task should look for one
	news     chan struct{} // closed when there are events
	version  int64
	maps     *table
	reduces  *table
	workers  map[string]*workerState
	idle     [classes]int // workers
	hosts    map[string]int
	nodes    nodes
	asks     map[am.RequestID]*taskState // for which a container was asked for
	stale    map[am.RequestID]*taskState // those of asks whose tasks don't wait any more
	events   []job.MapOutput
	counters job.Counters // of the job itself
	finals   job.Counters // of tasks that are done
	failures []job.Failure
	useless  int // containers in a row that ended before their worker said a word
	starved  time.Time
	stirred  bool // workers without a task should look for one
	seen     outlook
	err      error
	over     bool // all tasks are done, or err is set
	ended    bool // nothing will change any more
	told     bool // the user's side has heard of the end
	asked    time.Time
}

// outlook is what decides whether a worker without a task waits, goes, or gets a task.
type outlook struct{ over, reducing, noMaps, noReduces bool }

func newCoordinator(s *job.Spec, splits []input.Split, app records.ApplicationID, log *logrus.Entry) *coordinator {
	c := &coordinator{
		spec: s, splits: splits, app: app, log: log, now: time.Now,
		changed: make(chan struct{}), work: make(chan struct{}), news: make(chan struct{}),
		workers: map[string]*workerState{}, hosts: map[string]int{}, nodes: newNodes(),
		asks: map[am.RequestID]*taskState{}, stale: map[am.RequestID]*taskState{}, counters: job.Counters{}, finals: job.Counters{},
	}
	c.maps = newTable(job.Map, len(splits), func(i int) []string { return splits[i].Hosts })
	c.reduces = newTable(job.Reduce, s.Job.Reduces, func(int) []string { return nil })
	return c
}

// change lets everybody see what has changed, and asks for as many containers as are wanted now.
func (c *coordinator) change() {
	if !c.over && c.maps.count[done] == len(c.maps.all) && c.reduces.count[done] == len(c.reduces.all) {
		c.over = true
	}
	c.adjust()
	now := outlook{c.over, c.reducing(), c.maps.count[waiting] == 0, c.reduces.count[waiting] == 0}
	if c.stirred || now != c.seen {
		c.stirred, c.seen = false, now
		wake(&c.work)
	}
	if now.over {
		wake(&c.news)
	}
	c.publish()
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
	return c.maps.count[waiting] == 0 && float64(c.maps.count[done]) >= c.spec.SlowStart*float64(len(c.maps.all))
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

// parts are the files that make up the job's output, in the order of the tasks.
func (c *coordinator) parts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, t := range slices.Concat(c.maps.all, c.reduces.all) {
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
	wake(&c.work)
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

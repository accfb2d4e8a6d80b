package mapreduce

import (
	"context"
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

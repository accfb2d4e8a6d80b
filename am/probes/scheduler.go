package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/pool"
	"heddle/am/sched"
	"heddle/internal/pause"
	"heddle/yarn/wire"
)

// Options of a Scheduler.
type Options struct {
	ID       string  // tells the schedulers of an application apart; drawn by chance if empty
	MemoryMB int64   // of a task, 512 by default
	VCores   int64   // likewise, 1 by default
	Ratio    float64 // probes for a task, 2 by default
	// Estimate is how long a task is expected to take in the mean, until some have ended; 0: not known.
	Estimate time.Duration
	// CloneBelow is the mean wait of tasks below which a second copy of them runs where nothing else waits, and the first result counts. 0: never.
	CloneBelow time.Duration
	// Decline is the wait that a node expects above which its probes go elsewhere, if they can. 0: never.
	Decline time.Duration
	// Early binds tasks as soon as the probed nodes have reported their load, to those with the least. There they share the processors, and need no
	// more than memory (early binding with processor sharing). Otherwise a node asks for a task when it has room for it (late binding).
	Early bool
	Nice  int // by how much the priority of its tasks is below that of the user, 0 to 1000
	// Credentials are the user's tokens of file systems, in the form of container_tokens: nodes read inputs ahead and write logs with them, and tasks have them. nil: there are none.
	Credentials []byte
	Losses      int // a task that was lost so often is given up; 4 by default
	Nodes       int // most nodes that it connects to; 1000 by default
	Log         *logrus.Entry
}

// Target is a node that takes probes.
type Target struct {
	Node    string // its id
	Address string // host:port for probes
	Name    []byte // the identifier of the token for it
	Secret  []byte // that of the token's password (wire.SecretOf)
	Long    bool   // it is busy with long tasks: probes go elsewhere, as long as there is another node
	Short   bool   // it is of the short partition: probes that others reject for long tasks go there at last
}

// Scheduler runs tasks. Its methods may be called from any goroutine.
type Scheduler struct {
	o      Options
	log    *logrus.Entry
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	going  sync.WaitGroup

	mu      sync.Mutex
	sched   *sched.Scheduler
	nodes   []*node // by sched.Node
	of      map[string]*node
	up      []sched.Node // nodes that are connected
	jobs    map[sched.ID]*Job
	current *Job // of Submit
	places  map[*pool.Task]*place
	err     error
	longs   sched.Bitmap // nodes with long tasks
	refused string       // why a node has last refused us
	took    estimate
	changed chan struct{}

	lastTask time.Time // when a node has last got a task, or there was none
}

// Job is tasks that are placed together. Tasks may be added as long as it isn't closed.
type Job struct {
	s     *Scheduler
	id    sched.ID
	tasks []*place // by number; nil: it is over
	open  int      // tasks that aren't over
	begun bool
	took  estimate
	told  time.Duration             // what nodes were told last of how long its tasks take
	again time.Time                 // when it is probed again if no node has its probes
	wait  time.Duration             // from then to the next time
	reads map[string][]int32        // which tasks read a file, of those that name one
	named map[*node]map[string]bool // what probes have named to a node, which may have it by now
}

// place is a task in a job.
type place struct {
	task     *pool.Task
	job      *Job
	number   int32
	losses   int
	attempts []*attempt // that run
	canceled bool
	alone    bool // it gets no clones any more
	over     bool
}

// attempt is a task at a node.
type attempt struct {
	place  *place
	node   *node
	id     uint64 // of the node's ask
	at     time.Time
	output []chunk // kept until it is known whether it counts, if there may be clones
	kept   int     // bytes of output
}

type chunk struct {
	stream int
	bytes  []byte
}

// New returns a Scheduler without nodes.
func New(o Options) *Scheduler {
	if o.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(l)
	}
	if o.ID == "" {
		o.ID = fmt.Sprintf("%016x", rand.Uint64())
	}
	o.MemoryMB, o.VCores = cmp.Or(o.MemoryMB, 512), cmp.Or(o.VCores, 1)
	o.Ratio, o.Losses, o.Nodes = cmp.Or(o.Ratio, 2), cmp.Or(o.Losses, 4), cmp.Or(o.Nodes, 1000)
	s := &Scheduler{
		o: o, log: o.Log, began: time.Now(), of: map[string]*node{}, jobs: map[sched.ID]*Job{}, places: map[*pool.Task]*place{},
		took: begin(o.Estimate), changed: make(chan struct{}, 1),
	}
	cfg := sched.Config{Ratio: o.Ratio, Sticky: !o.Early, Rounds: rounds, CloneBelow: o.CloneBelow, Decline: o.Decline}
	if o.Early {
		cfg.Early = nurseTime
	}
	s.sched = sched.New(cfg, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.going.Go(s.nurse)
	return s
}

// rounds are those of probes that nodes with long tasks reject: Eagle's.
const rounds = 2

// Close ends all connections, by which executors end. Tasks that have not ended get pool.ErrClosed.
func (s *Scheduler) Close() {
	s.Fail(pool.ErrClosed)
	s.cancel()
	s.going.Wait()
}

// Fail ends all tasks, those too that are submitted later, with an error.
func (s *Scheduler) Fail(err error) {
	s.mu.Lock()
	s.err = cmp.Or(s.err, err)
	err = s.err
	var all []*place
	for _, p := range s.places {
		s.finish(p)
		all = append(all, p)
		for _, a := range p.attempts {
			delete(a.node.attempts, a.id)
			a.node.say(&wire.Cancel{ID: a.id})
		}
	}
	s.mu.Unlock()
	for _, n := range s.known() {
		n.awaitOutput()
	}
	for _, p := range all {
		p.task.Done(wire.Ended{}, err)
	}
	s.change()
}

func (s *Scheduler) known() []*node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// finish takes a task out. The lock is held.
func (s *Scheduler) finish(p *place) {
	p.over = true
	delete(s.places, p.task)
	j := p.job
	j.tasks[p.number] = nil
	if j.open--; j.open > 0 {
		return
	}
	// Its probes are of no use any more. Tasks that come later are another job.
	for _, n := range s.nodes {
		if n.probed[j.id] {
			n.unprobed(j.id)
			n.say(&wire.Drop{Job: uint64(j.id)})
		}
		n.decline(j.id)
	}
	s.sched.Forget(j.id)
	delete(s.jobs, j.id)
	j.begun, j.tasks, j.reads, j.named = false, nil, nil, nil
}

// withdraw removes the probes of a job all of whose tasks were given out: nodes would ask for others, and keep room free until they hear that there are none. A task
// that fails is probed for again. The lock is held.
func (j *Job) withdraw() {
	for _, n := range j.s.nodes {
		n.withdraw(j.id)
	}
}

// withdraw removes the probes of a job at a node, unless clones may be given for them. The lock is held.
func (n *node) withdraw(id sched.ID) {
	if !n.probed[id] || n.unanswered[id] > 0 || n.s.o.CloneBelow > 0 || n.s.o.Early {
		return // the verdict that is still to come would count probes that aren't there any more
	}
	n.s.sched.GaveBack(id, n.at, 1<<30)
	n.unprobed(id)
	n.say(&wire.Drop{Job: uint64(id)})
}

func (s *Scheduler) now() time.Duration { return time.Since(s.began) }

// Submit takes tasks. Tasks of one call are placed together.
func (s *Scheduler) Submit(tasks ...*pool.Task) {
	s.mu.Lock()
	if s.current == nil {
		s.current = &Job{s: s}
	}
	j := s.current
	s.mu.Unlock()
	j.Submit(tasks...)
}

// Job returns a job without tasks. Nodes prefer jobs of which less is left to do.
func (s *Scheduler) Job() *Job { return &Job{s: s} }

// Submit takes tasks of the job. Their Done may be called before it returns.
func (j *Job) Submit(tasks ...*pool.Task) {
	s := j.s
	s.mu.Lock()
	if err := s.err; err != nil {
		s.mu.Unlock()
		for _, t := range tasks {
			t.Done(wire.Ended{}, err)
		}
		return
	}
	if len(tasks) == 0 {
		s.mu.Unlock()
		return
	}
	if !j.begun {
		j.id, _ = s.sched.Submit(s.now(), sched.Job{Alone: s.o.CloneBelow <= 0})
		j.begun = true
		s.took.tell()
		j.took = s.took
		s.jobs[j.id] = j
	}
	for _, t := range tasks {
		p := &place{task: t, job: j, number: int32(len(j.tasks))}
		j.tasks = append(j.tasks, p)
		s.places[t] = p
		j.note(p)
	}
	if len(s.places) == len(tasks) {
		s.lastTask = time.Now()
	}
	j.open += len(tasks)
	s.probe(j, s.sched.Grow(s.now(), j.id, len(tasks), nil))
	s.mu.Unlock()
	s.change()
}

// maxAtOnce is how many probes a message places. Nodes of earlier releases take no more than twice as many.
const maxAtOnce = 10000

// probe sends probes of a job. Nodes that have got long tasks meanwhile reject them. The lock is held.
func (s *Scheduler) probe(j *Job, to []sched.Node) { s.send(j, to, true) }

// send sends probes of a job. Nodes accept them although they have long tasks if that is known already, as then there is no better one, or if nothing is to be avoided.
// The lock is held.
func (s *Scheduler) send(j *Job, to []sched.Node, avoid bool) {
	if len(to) == 0 {
		return
	}
	left, _ := s.sched.Left(j.id)
	waited, takes := s.sched.Waited(s.now(), j.id), j.took.tell()
	var first []*node
	for _, at := range to {
		n := s.nodes[at]
		if n.batch == 0 {
			first = append(first, n)
		}
		n.batch++
	}
	j.told = takes
	for _, n := range first {
		n.probed[j.id], n.room = true, 0
		n.unanswered[j.id] += n.batch
		for n.batch > 0 {
			count := min(n.batch, maxAtOnce)
			n.batch -= count
			n.say(&wire.Probe{
				Job: uint64(j.id), Count: uint64(count), Left: uint64(max(left, 1)), EstimateUS: uint64(takes.Microseconds()), WaitedUS: uint64(waited.Microseconds()),
				MemoryMB: uint64(s.o.MemoryMB), VCores: uint64(s.o.VCores), Nice: uint64(max(s.o.Nice, 0)), Inputs: j.inputs(n, count), Early: s.o.Early,
				Avoid: avoid && !n.long(),
			})
		}
	}
}

// Cancel ends a task. Done is called as always.
func (s *Scheduler) Cancel(t *pool.Task) {
	s.mu.Lock()
	p := s.places[t]
	if p == nil || p.canceled {
		s.mu.Unlock()
		return
	}
	p.canceled = true
	for _, a := range p.attempts {
		a.node.say(&wire.Cancel{ID: a.id})
	}
	if len(p.attempts) > 0 {
		s.mu.Unlock()
		return
	}
	s.sched.Finished(p.job.id, p.number, nowhere)
	s.finish(p)
	s.mu.Unlock()
	t.Done(wire.Ended{Why: wire.Canceled}, nil)
}

const nowhere = sched.Node(-1)

// State is how much there is to do, and where.
type State struct {
	Tasks int // that aren't over
	Nodes int // that are connected
	// Refused is the reason of the last node that refused to work for us; "" if none has.
	Refused string
}

// State returns the present state.
func (s *Scheduler) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{Tasks: len(s.places), Nodes: len(s.up), Refused: s.refused}
}

// Changed gets something when the state has changed.
func (s *Scheduler) Changed() <-chan struct{} { return s.changed }

func (s *Scheduler) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Jobs without probes at any node are looked for every nurseTime, and probed again less and less often while no node takes any.
const (
	nurseTime = 20 * time.Millisecond
	maxNursed = time.Second
)

// nurse sends new probes for jobs whose probes were all rejected or lost, and to nodes that have said that they have room.
func (s *Scheduler) nurse() {
	var looked time.Time
	for pause.For(s.ctx, nurseTime) == nil {
		s.mu.Lock()
		for _, n := range s.nodes {
			if n.leaves && len(n.attempts) == 0 {
				n.hangUp()
			}
		}
		s.grant(s.sched.Settle(s.now()))
		if now := time.Now(); now.Sub(looked) >= ageTime {
			looked = now
			s.age(now)
		}
		if len(s.up) > 0 {
			var hungry []*Job
			now := time.Now()
			s.sched.Starving(func(id sched.ID) {
				if j := s.jobs[id]; !now.Before(j.again) {
					hungry = append(hungry, j)
				}
			})
			for _, j := range hungry {
				j.wait = min(max(2*j.wait, nurseTime), maxNursed)
				j.again = now.Add(j.wait)
				s.probe(j, s.sched.Reprobe(j.id))
			}
			s.forgive(now)
			for _, at := range s.up {
				if s.nodes[at].feed() {
					break
				}
			}
		}
		s.mu.Unlock()
	}
}

// ended takes the end of an attempt. The caller has the lock, which it lets go.
func (s *Scheduler) ended(a *attempt, m *wire.Ended) {
	p, n := a.place, a.node
	p.drop(a)
	if m.Why == wire.Gone || m.Why == wire.Canceled && !p.canceled {
		loss := m.Why == wire.Gone
		s.mu.Unlock()
		s.lose(a, loss, fmt.Sprintf("on node %s: %s", n.Node, m.Fault))
		return
	}
	if m.Why == wire.Ran {
		took := time.Since(a.at)
		s.took.learn(took)
		p.job.took.learn(took)
		p.job.took.tell()
		p.job.inform()
	}
	s.sched.Finished(p.job.id, p.number, n.at)
	for _, other := range p.attempts { // a clone, or that of which this is one
		delete(other.node.attempts, other.id)
		other.node.say(&wire.Cancel{ID: other.id})
	}
	s.finish(p)
	s.mu.Unlock()
	a.flush()
	p.task.Done(*m, nil)
	s.change()
}

func (p *place) drop(a *attempt) {
	delete(a.node.attempts, a.id)
	for i, x := range p.attempts {
		if x == a {
			p.attempts = append(p.attempts[:i], p.attempts[i+1:]...)
			return
		}
	}
}

// lose runs a task again when an attempt of it is lost, unless another one runs. A loss is one that counts. The lock isn't held.
func (s *Scheduler) lose(a *attempt, loss bool, why string) {
	p := a.place
	s.mu.Lock()
	if p.over {
		s.mu.Unlock()
		return
	}
	if loss {
		p.losses++
	}
	var err error
	if p.losses >= s.o.Losses {
		err = fmt.Errorf("%w: %d executors have died while they ran it, the last one %s", pool.ErrLost, p.losses, why)
	}
	alone := len(p.attempts) == 0
	if alone && (err != nil || p.canceled) {
		s.sched.Finished(p.job.id, p.number, a.node.at)
		s.finish(p)
		s.mu.Unlock()
		ended := wire.Ended{}
		if err == nil {
			ended.Why = wire.Canceled
		}
		p.task.Done(ended, err)
		s.change()
		return
	}
	s.mu.Unlock()
	if alone && p.task.Restart != nil {
		p.task.Restart()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.over {
		s.probe(p.job, s.sched.Failed(p.job.id, p.number, a.node.at))
	}
}

// errDuplicate says that a node asks twice with one number.
var errDuplicate = errors.New("the node asks for a task twice")

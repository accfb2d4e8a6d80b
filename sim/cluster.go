package sim

import (
	"fmt"
	"slices"

	"heddle/internal/prefetch"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Nodes describes the nodes of a cluster.
type Nodes struct {
	Count    int
	PerRack  int // 0: all are in one rack
	Capacity records.Resource
	Names    []string // names of the first nodes, such as hosts that a trace names
	Racks    []string // racks of Names
	// Ability is what they can do with containers from which preemption takes resources.
	Ability drive.Ability
	Paging  Paging
	Labels  []Label // the last nodes have them
	// Attributes are those of hosts. Each is one of the last nodes', whatever others these have.
	Attributes []Attribute
}

// Cluster simulates the life of jobs on nodes.
type Cluster struct {
	engine *Engine
	sched  *eventlog.Recorder
	jobs   []Job
	total  records.Resource

	states  []jobState
	apps    []int32 // job by application's handle
	running []int32 // job by container's handle
	lives   []life  // lives of containers by handle
	lacks   []lack  // of those of which something was taken, by handle
	granted int64   // number of containers so far
	asks    []scheduler.Ask
	named   [1]scheduler.ContainerHandle // for its memory
	killed  []scheduler.ContainerHandle
	still   int // tasks that are suspended
	wakes   Wakes
	woken   int64 // when Step is called next because of a delay, ms
	round   int64 // when Step is called next for a round of preemption, ms

	used    records.Resource
	metrics *metrics

	paging Paging
	nodes  []node                      // by handle
	coming []scheduler.ContainerHandle // containers that end next

	// Watch, if it is set, is told of each change of what the containers of a job hold on their nodes.
	Watch func(now Time, job int, change records.Resource)
}

type jobState struct {
	app   scheduler.AppHandle
	am    scheduler.ContainerHandle
	stage int
	begun int32   // started tasks of the stage
	ended int32   // ended tasks of the stage
	done  Time    // work of ended tasks
	again []int32 // tasks to start again
}

// life is the life of a container.
type life struct {
	generation int32 // number of the life among those with this handle; a lost container counts twice
	task       int32
	node       scheduler.NodeHandle
	reduced    bool // something was taken of it, which lacks tell
	begun      Time

	left  Time    // work that was left of the task at since
	since Time    // when its rate changed last
	rate  float64 // at which the task continues, 0 to 1
}

// lack is what a container lacks, of which something was taken: apart from its life, as most never lose any, and there are many.
type lack struct {
	of      records.Resource // what it doesn't hold of what it claims
	swapped int64            // bytes of its memory that are paged out
}

// lackOf returns what a container lacks.
func (c *Cluster) lackOf(h scheduler.ContainerHandle) *lack {
	for len(c.lacks) <= int(h) {
		c.lacks = append(c.lacks, lack{})
	}
	return &c.lacks[h]
}

// amRequest is the allocation request id of ApplicationMasters' containers. Those of stages count from 0.
const amRequest = -1

// NewCluster enters nodes into a scheduler. Jobs must be in the order of their submission. Containers are preempted if
// the queues' settings say so. A task whose container is killed begins again, on any node. One that is suspended or shrunk continues
// later, or more slowly. Jobs don't give containers back before they are preempted. ApplicationMasters are never preempted.
func NewCluster(s *eventlog.Recorder, nodes Nodes, jobs []Job) (*Cluster, error) {
	c := &Cluster{engine: &Engine{}, sched: s, jobs: jobs, states: make([]jobState, len(jobs)), paging: nodes.Paging}
	if !slices.IsSortedFunc(jobs, func(a, b Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) }) {
		return nil, fmt.Errorf("the jobs are not in the order of their submission")
	}
	labels, err := nodes.labels()
	if err != nil {
		return nil, err
	}
	for _, l := range nodes.Labels {
		s.Apply(&eventlog.Event{Op: eventlog.SetExclusive, Label: l.Name, Open: l.Exclusive})
	}
	for i := range nodes.Count {
		spec := scheduler.NodeSpec{Host: fmt.Sprintf("node%d", i+1), Rack: "/default-rack", Capability: nodes.Capacity}
		if nodes.PerRack > 0 {
			spec.Rack = fmt.Sprintf("/rack%d", i/nodes.PerRack+1)
		}
		if i < len(nodes.Names) {
			spec.Host, spec.Rack = nodes.Names[i], nodes.Racks[i]
		}
		spec.Label = labels[i]
		if attributes := nodes.attributes(i); len(attributes) > 0 {
			s.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: spec.Host, Attributes: attributes})
		}
		added := eventlog.Added(spec)
		s.Apply(&added)
		n := added.Node
		for len(c.nodes) <= int(n) {
			c.nodes = append(c.nodes, node{})
		}
		c.nodes[n].free = nodes.Capacity.MemoryMB() << 20
		if nodes.Ability != (drive.Ability{}) {
			s.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: n, Ability: &nodes.Ability})
		}
		c.total = c.total.Add(nodes.Capacity)
	}
	for i := range jobs {
		if err := c.check(&jobs[i], nodes.Capacity); err != nil {
			return nil, err
		}
	}
	c.metrics = newMetrics(jobs)
	c.engine.coming = c.fetch
	return c, nil
}

// fetch has memory come of the containers that end next. Each is at another node, which no cache has.
func (c *Cluster) fetch(soon []event) {
	c.coming = c.coming[:0]
	for i := range soon {
		if _, ends := soon[i].to.(completion); ends {
			h := scheduler.ContainerHandle(int32(soon[i].arg))
			prefetch.Of(&c.lives[h])
			prefetch.Of(&c.running[h])
			c.coming = append(c.coming, h)
		}
	}
	c.sched.Fetch(c.coming)
}

// check refuses jobs that could never end.
func (c *Cluster) check(j *Job, largest records.Resource) error {
	if !j.AM.FitsIn(largest) {
		return fmt.Errorf("job %s: its ApplicationMaster needs %v, but a node has only %v", j.Name, j.AM, largest)
	}
	for i := range j.Stages {
		if r := j.Stages[i].Resource; len(j.Stages[i].Tasks) > 0 && (!r.FitsIn(largest) || r.IsZero()) {
			return fmt.Errorf("job %s: its tasks need %v, but a node has only %v", j.Name, r, largest)
		}
	}
	return nil
}

// Run simulates until the last job has ended, and returns the report. It returns an error as well if some jobs can't
// end.
func (c *Cluster) Run() (*Report, error) {
	if len(c.jobs) > 0 {
		c.engine.At(c.jobs[0].Submit, arrival{c}, 0)
	}
	for c.engine.Step() {
		before := c.metrics.decisions
		c.schedule()
		if c.wakes.InVain(c.engine, c.metrics.decisions > before) {
			break
		}
	}
	r := c.metrics.report(c)
	if r.Unfinished > 0 {
		return r, fmt.Errorf("%d of %d jobs did not end: limits of their queues don't admit them, or nodes are too small", r.Unfinished, len(c.jobs))
	}
	return r, nil
}

// schedule lets the scheduler decide after the events of a time, and starts what it grants.
func (c *Cluster) schedule() {
	now := c.engine.Now()
	for c.decide(now) {
		continue
	}
	c.wakes.At(c.engine, c.sched.NextWake(), &c.woken)
	if _, more := c.engine.Next(); more || c.still > 0 { // without other events a round changes nothing, except for resumes
		c.wakes.At(c.engine, c.sched.NextRound(), &c.round)
	}
	c.metrics.use(now, c.used, c.total)
}

// decide lets the scheduler decide once. It returns true if containers were preempted, so that the scheduler must
// decide again.
func (c *Cluster) decide(now Time) bool {
	c.killed = c.killed[:0]
	decisions := c.sched.Step(now.Millis())
	for i := range decisions {
		c.metrics.decisions++
		switch d := &decisions[i]; d.Kind {
		case drive.Allocate:
			c.start(d)
		case drive.Suspend, drive.Shrink, drive.Resume:
			c.hold(d)
		case drive.Kill:
			c.killed = append(c.killed, d.Container)
		}
	}
	for _, h := range c.killed {
		c.lose(h)
	}
	return len(c.killed) > 0
}

// arrival submits a job, and enters the arrival of the next one.
type arrival struct{ *Cluster }

func (c arrival) Handle(job int64) {
	if next := job + 1; int(next) < len(c.jobs) {
		c.engine.At(c.jobs[next].Submit, c, next)
	}
	j, s := &c.jobs[job], &c.states[job]
	submitted := eventlog.Submitted(drive.AppSpec{
		AppSpec: scheduler.AppSpec{Priority: j.Priority, Seq: job + 1, Queue: j.Queue, User: j.User, AM: j.AM, Label: j.Label},
		ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(job) + 1}, SpareMaster: true,
	})
	c.sched.Apply(&submitted)
	s.app = submitted.App
	for len(c.apps) <= int(s.app) {
		c.apps = append(c.apps, 0)
	}
	c.apps[s.app] = int32(job)
	c.sched.Apply(&eventlog.Event{Op: eventlog.Name, App: s.app, Name: j.Name})
	if j.AM.IsZero() {
		s.stage = -1
		c.nextStage(int32(job))
		return
	}
	c.ask(j, amRequest, 0, j.AM, 1)
	c.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: s.app, Asks: c.asks})
}

// masterReady lets an ApplicationMaster begin to ask.
type masterReady struct{ *Cluster }

func (c masterReady) Handle(job int64) {
	c.states[job].stage = -1
	c.nextStage(int32(job))
}

// ask starts a request with the row for any node.
func (c *Cluster) ask(j *Job, id int64, priority int32, r records.Resource, n int) {
	c.asks = append(c.asks[:0], scheduler.Ask{
		Priority: priority, AllocationRequestID: id, Name: scheduler.Any, Capability: r, Count: int32(n), RelaxLocality: true, Label: j.Label,
	})
}

// nextStage asks for the containers of a job's next stage, or ends the job.
func (c *Cluster) nextStage(job int32) {
	j, s := &c.jobs[job], &c.states[job]
	s.begun, s.ended, s.again = 0, 0, nil
	for s.stage++; s.stage < len(j.Stages); s.stage++ {
		st := &j.Stages[s.stage]
		if len(st.Tasks) == 0 {
			continue
		}
		c.ask(j, int64(s.stage), st.Priority, st.Resource, len(st.Tasks))
		if c.asks[0].Scheduling = st.Scheduling; st.Scheduling == nil {
			c.prefer(st)
		}
		c.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: s.app, Asks: c.asks})
		return
	}
	if !j.AM.IsZero() {
		c.release(s.am, j.AM)
	}
	c.sched.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: s.app})
	c.metrics.ended(job, c.engine.Now())
}

// prefer adds the rows for hosts and racks that tasks prefer.
func (c *Cluster) prefer(st *Stage) {
	first := c.asks[0]
	at := map[string]int{}
	for i := range st.Tasks {
		t := &st.Tasks[i]
		for _, name := range []string{t.Host, t.Rack} {
			if name == "" {
				continue
			}
			k, ok := at[name]
			if !ok {
				k = len(c.asks)
				at[name] = k
				first.Name, first.Count, first.Label = name, 0, "" // the label belongs to the row for any node
				c.asks = append(c.asks, first)
			}
			c.asks[k].Count++
		}
	}
}

// start runs what a grant is for: an ApplicationMaster, or the next task of a stage.
func (c *Cluster) start(d *drive.Decision) {
	job := c.apps[d.App]
	j, s := &c.jobs[job], &c.states[job]
	for len(c.running) <= int(d.Container) {
		c.running, c.lives = append(c.running, 0), append(c.lives, life{})
	}
	c.running[d.Container] = job
	now := c.engine.Now()
	c.granted++
	l := &c.lives[d.Container]
	*l = life{generation: l.generation + 1, begun: now, rate: 1, node: d.Node}
	c.takes(d.Container, d.Resource)
	master := d.AllocationRequestID == amRequest
	c.named[0] = d.Container
	c.sched.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: c.granted, AM: master, Containers: c.named[:]})
	if master {
		s.am = d.Container
		c.engine.At(now+j.AMStart, masterReady{c}, int64(job))
		return
	}
	wait := c.admission(d.Node)
	if n := len(s.again); n > 0 {
		l.task, s.again = s.again[n-1], s.again[:n-1]
	} else {
		l.task = s.begun
		s.begun++
		c.metrics.started(job, now+wait-j.Submit)
	}
	l.left = wait + j.Stages[s.stage].Tasks[l.task].Duration
	c.awaitEnd(d.Container)
}

// awaitEnd enters when a task ends if it continues as it does from now on.
func (c *Cluster) awaitEnd(h scheduler.ContainerHandle) {
	l := &c.lives[h]
	if l.since = c.engine.Now(); l.rate > 0 {
		c.engine.At(l.since+Time(float64(l.left)/l.rate), completion{c}, int64(l.generation)<<32|int64(h))
	}
}

// hold has the task of a container continue with what it holds from now on: at the rate at which it has least of what it claims.
func (c *Cluster) hold(d *drive.Decision) {
	l, job := &c.lives[d.Container], c.running[d.Container]
	claim := c.jobs[job].Stages[c.states[job].stage].Resource
	now := c.engine.Now()
	if d.Kind == drive.Suspend {
		c.metrics.suspended++
	}
	if l.rate == 0 {
		c.still--
	}
	l.left = max(l.left-Time(float64(now-l.since)*l.rate), 0)
	l.rate = c.paging.rate(d.Resource, claim)
	if d.Kind == drive.Suspend {
		l.rate = 0
	}
	if l.rate == 0 {
		c.still++
	}
	k := c.lackOf(d.Container)
	if !l.reduced {
		*k, l.reduced = lack{}, true
	}
	l.left += Time(float64(c.page(l.node, k, d.Resource, claim)) * l.rate)
	lacks := claim.Sub(d.Resource)
	c.takes(d.Container, k.of.Sub(lacks))
	k.of = lacks
	l.generation++
	c.awaitEnd(d.Container)
}

// completion ends a task, if its container still lives.
type completion struct{ *Cluster }

func (c completion) Handle(container int64) {
	h := scheduler.ContainerHandle(int32(container))
	l := &c.lives[h]
	if l.generation != int32(container>>32) {
		return
	}
	job := c.running[h]
	s := &c.states[job]
	c.release(h, c.jobs[job].Stages[s.stage].Resource)
	if j := &c.jobs[job]; j.Work > 0 {
		s.done += j.Stages[s.stage].Tasks[l.task].Duration
		c.sched.Apply(&eventlog.Event{Op: eventlog.SetProgress, App: s.app, Part: float64(s.done) / float64(j.Work)})
	}
	if s.ended++; int(s.ended) == len(c.jobs[job].Stages[s.stage].Tasks) {
		c.nextStage(job)
	}
}

// lose ends the container of a task, and asks for another container.
func (c *Cluster) lose(h scheduler.ContainerHandle) {
	l, job := &c.lives[h], c.running[h]
	s := &c.states[job]
	st := &c.jobs[job].Stages[s.stage]
	c.metrics.lost(job, l.task, c.engine.Now()-l.begun)
	s.again = append(s.again, l.task)
	l.generation++
	c.release(h, st.Resource)
	c.ask(&c.jobs[job], int64(s.stage), st.Priority, st.Resource, len(st.Tasks)-int(s.begun)+len(s.again))
	c.asks[0].Scheduling = st.Scheduling
	c.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: s.app, Asks: c.asks})
}

// takes enters that a container takes so much more of its node.
func (c *Cluster) takes(h scheduler.ContainerHandle, change records.Resource) {
	c.used = c.used.Add(change)
	if c.paging != (Paging{}) { // else nobody asks
		c.nodes[c.lives[h].node].free -= change.MemoryMB() << 20
	}
	if c.Watch != nil {
		c.Watch(c.engine.Now(), int(c.running[h]), change)
	}
}

func (c *Cluster) release(h scheduler.ContainerHandle, r records.Resource) {
	l := &c.lives[h]
	back := records.Resource{}.Sub(r)
	if l.reduced {
		back, l.reduced = c.lacks[h].of.Sub(r), false
	}
	c.takes(h, back)
	if l.rate == 0 {
		l.rate = 1
		c.still--
	}
	c.sched.Apply(&eventlog.Event{Op: eventlog.Free, Container: h})
}

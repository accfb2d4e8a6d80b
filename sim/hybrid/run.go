package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"heddle/am/sched"
	"heddle/internal/prefetch"
	"heddle/nm/probe"
	"heddle/rm/scheduler/policy/partition"
	"heddle/sim"
)

// Times of the papers' simulations.
const (
	oneWay    = sim.Time(500 * time.Microsecond)
	roundTrip = 2 * oneWay
	sampling  = sim.Time(5 * time.Second)
	heartbeat = sim.Time(8 * time.Second) // of DLWL
	victims   = 10                        // workers that an idle one tries to steal from
	most      = 10_000                    // probes that are stolen at once
	largest   = 1_000_000                 // workers of a cluster: each takes memory from the beginning
	mostSlots = 1000                      // of a worker
)

// Options are a simulation's parameters.
type Options struct {
	Mode    string
	Workers int
	Cutoff  time.Duration // jobs with a longer mean are long
	Short   float64       // percent of the workers that are the short partition
	Seed    uint64
	Exact   bool // durations aren't cut to whole seconds
	// Slots of a worker; 0: one. Several are for mode sparrow alone: long tasks, inputs and clones are known by their worker.
	Slots int
	// WarmUp is how many of the first jobs reports leave out, for the time until as much is under way as later.
	WarmUp int
	// Ratio is how many probes a job sends for each task, drawn without repetition; 0: as many as the mode does, with repetition.
	Ratio float64
	// Early binds tasks to probed workers as soon as these have reported their load. All tasks of a worker share its processor.
	Early bool
	// Dice grows the short partition, and suspends long tasks; nil: it doesn't. It takes a mode with a short partition.
	Dice *partition.Dice
	// Eirene stages inputs and clones tasks of short jobs; nil: it doesn't.
	Eirene *Eirene
}

// settings divide the workers. They are checked.
func (o *Options) settings() (partition.Settings, error) {
	s := partition.Settings{Cutoff: o.Cutoff, Short: o.Short, Dice: o.Dice}
	switch {
	case o.Workers < 1:
		return s, fmt.Errorf("a cluster of %d workers: there must be one at least", o.Workers)
	case o.Workers > largest:
		return s, fmt.Errorf("a cluster of %d workers: there can be %d at most", o.Workers, largest)
	case o.Slots < 0 || o.Slots > mostSlots:
		return s, fmt.Errorf("workers of %d slots: give 1 to %d", o.Slots, mostSlots)
	case o.Slots > 1 && (o.Mode != "sparrow" || o.Early || o.Dice != nil || o.Eirene != nil):
		return s, fmt.Errorf("workers of %d slots: only mode sparrow has such, with late binding", o.Slots)
	case o.WarmUp < 0:
		return s, fmt.Errorf("a warm-up of %d jobs: give 0 or more", o.WarmUp)
	}
	return s, s.Check()
}

// job is one stage of a job of the trace. A simulation handles it by its number, which is also its handle in workers' queues.
type job struct {
	id        sched.ID
	record    int32
	stage     int32
	long      bool
	central   bool
	submit    sim.Time
	estimate  sim.Time
	durations []sim.Time
	table     *table // with Eirene
}

// record is a job of the trace.
type record struct {
	submit, end sim.Time
	estimate    sim.Time // mean duration of its tasks
	priority    int32    // of its probes in workers' queues
	long        bool
	waited      bool         // some task didn't start at once
	stages      [][]sim.Time // durations of tasks
}

// worker is a node with one slot. What an offer of a probe needs comes first: most offers are refused.
type worker struct {
	held       held         // the long task that is suspended, or about to be
	seen       sched.Bitmap // that came with the newest long probe
	preload    *preload     // with Eirene
	generation int32
	runs       running // with Eirene: the task that runs; it ends early if its copy elsewhere was faster
	queue      probe.Worker
}

// offered is how many bytes of a worker an offer needs.
const offered = 192

// cluster is a simulation under way.
type cluster struct {
	Options
	mode     mode
	settings partition.Settings
	sizer    *partition.Sizer
	now      sim.Time
	event    event // that is handled
	agenda   agenda
	pcg      *pcg
	rng      *rand.Rand // by it
	sched    *sched.Scheduler
	central  *central
	workers  []worker
	preloads preloads  // with Eirene
	shares   []sharing // with early binding, by worker: all its tasks
	node     probe.Config
	known    probe.Jobs
	jobs     []job
	records  []record
	general  int // the first worker of the general partition
	stolen   []probe.Handle
	targets  []sched.Node
	inMemory []int32
	invited  []int32 // workers that Dice asked to suspend long work in this window, in modes in which they reject probes
	pool     []int32 // the general partition, in any order, for Dice
	busy     int
	metrics  metrics
}

var slot = probe.Amount{MemoryMB: 1, VCores: 1}

// Run simulates the jobs of a trace.
func Run(jobs []sim.Job, o Options) (*Report, error) {
	c, err := newCluster(jobs, o)
	if err != nil {
		return nil, err
	}
	return c.run(), nil
}

func newCluster(jobs []sim.Job, o Options) (*cluster, error) {
	m, err := modeOf(o.Mode)
	if err != nil {
		return nil, err
	}
	settings, err := o.settings()
	if err != nil {
		return nil, err
	}
	c := &cluster{Options: o, mode: m, settings: settings, pcg: &pcg{wide{o.Seed, 0x9e3779b97f4a7c15}}, node: m.node}
	c.rng = rand.New(c.pcg)
	if !m.whole {
		c.general = settings.Size(o.Workers)
	}
	if o.Dice != nil {
		if m.whole || m.central != current {
			return nil, fmt.Errorf("mode %s has no short partition that Dice could size; use hawk or eagle", o.Mode)
		}
		c.sizer = partition.NewSizer(settings, 0)
		c.node.Suspensions = o.Dice.Times
		for w := c.general; w < o.Workers; w++ {
			c.pool = append(c.pool, int32(w))
		}
	}
	if o.Eirene != nil {
		if err := c.setEirene(); err != nil {
			return nil, err
		}
	}
	lent := slot
	lent.MemoryMB, lent.VCores = int64(max(1, o.Slots)), int64(max(1, o.Slots))
	if o.Early {
		if err := c.setEarly(); err != nil {
			return nil, err
		}
		lent.MemoryMB = math.MaxInt32 // memory is no limit
	}
	if o.Ratio > 0 {
		c.mode.sched.Ratio, c.mode.sched.Least, c.mode.sched.Repeat = o.Ratio, 1, false
	}
	c.sched = sched.New(c.mode.sched, c.rng)
	c.sched.SetNodes(nodesOf(o.Workers, c.general))
	c.central = newCentral(o.Workers, c.general, m.central)
	c.workers = make([]worker, o.Workers)
	for i := range c.workers {
		c.workers[i].queue.Init(&c.node, &c.known, lent)
	}
	c.records = make([]record, len(jobs))
	for i := range jobs {
		c.records[i] = c.record(&jobs[i])
	}
	c.metrics.begin(c)
	return c, nil
}

// nodesOf returns all nodes, and those of long work where a short task goes that all others rejected.
func nodesOf(workers, general int) (all, last []sched.Node) {
	all = make([]sched.Node, workers)
	for i := range all {
		all[i] = sched.Node(i)
	}
	if general == 0 {
		return all, all // it must go somewhere, and waits behind long work
	}
	return all, all[:general]
}

// record makes a record of a job.
func (c *cluster) record(j *sim.Job) record {
	r := record{submit: j.Submit, end: -1, estimate: c.cut(j.Estimate), priority: j.Priority, stages: make([][]sim.Time, 0, len(j.Stages))}
	r.long = c.settings.Long(time.Duration(r.estimate))
	for i := range j.Stages {
		tasks := j.Stages[i].Tasks
		if len(tasks) == 0 {
			continue
		}
		durations := make([]sim.Time, len(tasks))
		for k := range tasks {
			durations[k] = c.cut(tasks[k].Duration)
		}
		r.stages = append(r.stages, durations)
	}
	return r
}

// cut cuts a time to whole seconds, unless it is to be exact.
func (c *cluster) cut(t sim.Time) sim.Time {
	if c.Exact {
		return t
	}
	return t - t%sim.Time(time.Second)
}

// run handles all events. Windows, samples, arrivals of jobs and heartbeats come in this order, before other events of the same time.
func (c *cluster) run() *Report {
	const forever = sim.Time(1 << 62)
	next, sample, beat, window := 0, sim.Time(0), forever, forever
	if c.mode.central == late {
		beat = 0
	}
	for {
		arrival := forever
		if next < len(c.records) {
			arrival = c.records[next].submit
		}
		if c.sizer != nil {
			window = sim.Time(c.sizer.Ends())
		}
		until := min(arrival, sample, beat, window)
		for {
			e, ok := c.agenda.pop(until, c.workers)
			if !ok {
				break
			}
			c.now, c.event = e.at, e
			c.handle(&e)
		}
		if arrival == forever && c.agenda.empty(until) {
			break
		}
		c.now, c.event = until, event{at: until}
		switch until {
		case window:
			c.resize()
		case sample:
			n := sim.Time(1)
			if c.agenda.empty(sample) { // all samples until then are alike
				n = max(n, (min(arrival, beat, window)-sample+sampling-1)/sampling)
			}
			c.metrics.sample(c.busy, int(n))
			sample += n * sampling
		case arrival:
			if next == c.warmUp(len(c.records)) {
				c.metrics.area, c.metrics.since, c.metrics.warm = 0, c.now, c.now
			}
			c.submit(int32(next), 0)
			if next++; next == len(c.records) {
				c.taken(0)
				c.metrics.busy = c.metrics.area / float64(max(1, c.now-c.metrics.warm)) / float64(c.slots())
				sample = forever // reports are of the time until now
			}
		default:
			c.central.beat()
			beat += heartbeat
		}
	}
	return c.metrics.report(c)
}

// slots returns those of all workers.
func (o *Options) slots() int { return o.Workers * max(1, o.Slots) }

// warmUp returns how many of the jobs come before the time of which the use of slots and the jobs that start at once are counted.
func (o *Options) warmUp(jobs int) int { return max(o.WarmUp, jobs/10) }

// empty reports whether nothing is to come from a time on.
func (a *agenda) empty(from sim.Time) bool {
	return a.oneWay.first() == nil && a.round.first() == nil && a.others.first() == nil && a.copying < from
}

// handle does what an event is for.
func (c *cluster) handle(e *event) {
	switch e.kind {
	case arrives:
		w := &c.workers[e.worker]
		if c.Early && !c.jobs[e.job].central {
			c.claim(e.worker, e.job)
			break
		}
		if c.jobs[e.job].central && c.mode.sched.Rounds > 0 {
			w.seen = c.central.bitmap(c.now)
		}
		w.queue.Add(probe.Handle(e.job))
		c.probed(e.worker, e.job)
		if !c.start(e.worker) {
			c.makeRoom(e.worker)
		}
		if w.held.invited {
			c.request(e.worker)
		}
	case refused:
		c.free(e.worker, probe.Slot(e.slot))
	case ended:
		c.end(e)
	case counted:
		c.count(e.job)
	case copied:
		c.copied(e)
	case bids:
		c.bid(e)
	case bound:
		c.bind(e)
	case pausing:
		c.suspend(e.worker)
	case expired:
		c.workers[e.worker].queue.Expire()
		c.resume(e.worker)
	}
}

// submit takes a stage of a job in.
func (c *cluster) submit(n int32, number int) {
	r := &c.records[n]
	if number == len(r.stages) {
		r.end = c.now
		return
	}
	durations := r.stages[number]
	j := job{
		record: n, stage: int32(number), long: r.long, central: c.mode.central != nobody && (r.long || c.mode.all),
		submit: c.now, estimate: r.estimate, durations: durations,
	}
	if c.mode.perfect && !j.central {
		c.sched.Learn(c.central.bitmap(c.now))
	}
	var targets []sched.Node
	j.id, targets = c.sched.Submit(time.Duration(c.now), sched.Job{Tasks: len(durations), Placed: j.central, Alone: r.long})
	h := c.known.Add(probe.Job{Estimate: time.Duration(j.estimate), Left: len(durations), Long: r.long && !c.mode.all, Priority: r.priority, Size: slot, Early: c.Early && !j.central})
	if c.Eirene != nil {
		j.table = newTable(len(durations))
	}
	c.jobs = append(c.jobs, j)
	switch {
	case j.central:
		c.place(&j, int32(h))
	case c.mode.sched.Rounds == 0:
		for _, w := range targets {
			if c.Early { // else they aren't counted
				c.sched.Answered(j.id, w, true, sched.Bitmap{})
			}
			c.send(&c.agenda.oneWay, oneWay, int32(w), int32(h))
		}
	default:
		c.negotiate(&j, h, targets)
	}
}

// send has a probe arrive at a worker.
func (c *cluster) send(l *lane, delay sim.Time, w, j int32) {
	l.push(c.agenda.next(event{at: c.now + delay, kind: arrives, worker: w, job: j}))
}

// place has the central scheduler place a probe for each task.
func (c *cluster) place(j *job, h int32) {
	from := c.general
	if c.mode.all && !j.long {
		from = 0
	}
	var workers []int32
	if c.mode.central == late {
		workers = c.central.placeLate(c.now, from, len(j.durations), j.estimate, heartbeat, c.pcg)
	} else {
		workers = c.central.place(c.now, from, len(j.durations), j.estimate)
	}
	c.central.sent(workers, j.estimate)
	for _, w := range workers {
		c.send(&c.agenda.oneWay, oneWay, w, h)
	}
}

// negotiate offers probes to workers in rounds, until they are accepted.
func (c *cluster) negotiate(j *job, h probe.Handle, targets []sched.Node) {
	lane, delay := &c.agenda.oneWay, oneWay
	for last := false; len(targets) > 0; {
		c.targets = append(c.targets[:0], targets...)
		targets = nil
		for i, w := range c.targets {
			if i+ahead < len(c.targets) {
				prefetch.First(&c.workers[c.targets[i+ahead]], offered)
			}
			x := &c.workers[w]
			accepted := last || c.accepts(x, h)
			if accepted {
				c.send(lane, delay, int32(w), int32(h))
			}
			if more, end := c.sched.Answered(j.id, w, accepted, x.seen); more != nil {
				targets, last = more, end
			}
		}
		lane, delay = &c.agenda.round, roundTrip
	}
}

// taken counts slots that were taken or freed.
func (c *cluster) taken(n int) {
	c.metrics.area += float64(c.busy) * float64(c.now-c.metrics.since)
	c.metrics.since = c.now
	c.busy += n
}

// start makes a worker ask for the next task, if it can.
func (c *cluster) start(n int32) bool {
	w := &c.workers[n]
	ask, ok := w.queue.Next(time.Duration(c.now))
	c.released(n)
	if !ok {
		return false
	}
	if !c.Early {
		c.taken(1)
	}
	j := &c.jobs[ask.Job]
	if j.central {
		c.central.runsSince(n, c.now, j.estimate)
	} else {
		c.central.runsSince(n, -1, 0)
	}
	a := c.sched.Ask(time.Duration(c.now), j.id, c.asking(n, ask.Job))
	if a.Kind == sched.None {
		w.queue.Bind(ask.Slot, probe.None)
		c.release(n, int32(ask.Job))
		c.agenda.round.push(c.agenda.next(event{at: c.now + roundTrip, kind: refused, worker: n, slot: int32(ask.Slot)}))
		return true
	}
	r := running{job: int32(ask.Job), task: a.Task, slot: int32(ask.Slot)}
	if a.Kind == sched.Clone {
		w.queue.Bind(ask.Slot, probe.Clone)
		r.clone = true
		c.endAt(c.now+roundTrip+c.duration(n, r), n, r)
		return true
	}
	if j.table != nil {
		j.table.launched(a.Task)
	}
	w.queue.Bind(ask.Slot, probe.Task)
	c.begun(j)
	c.endAt(c.now+roundTrip+c.duration(n, r), n, r)
	switch {
	case c.node.Strict:
		c.count(int32(ask.Job))
	case c.node.Ranking == probe.Shortest:
		c.agenda.round.push(c.agenda.next(event{at: c.now + roundTrip, kind: counted, job: int32(ask.Job)}))
	}
	return true
}

// begun notes that a task of a job has a slot.
func (c *cluster) begun(j *job) {
	wait := c.now - j.submit // a later stage doesn't wait while earlier ones run
	c.metrics.begun(c.now, j.long, wait)
	if wait > oneWay {
		c.records[j.record].waited = true
	}
	if c.sizer != nil && !j.long {
		c.sizer.Waited(time.Duration(wait), 1)
	}
}

// running is a task that has a slot.
type running struct {
	job, task, slot int32
	clone           bool
}

// endAt ends a task at a time.
func (c *cluster) endAt(at sim.Time, w int32, r running) {
	if c.Early {
		c.share(w, r, at-c.now)
		return
	}
	if c.jobs[r.job].long && c.sizer != nil {
		c.workers[w].held.runs(r, at)
	}
	generation := c.workers[w].held.generation
	if c.Eirene != nil && !c.jobs[r.job].long {
		c.workers[w].generation++
		c.workers[w].runs, generation = r, c.workers[w].generation
	}
	c.agenda.others.push(c.agenda.next(event{at: at, kind: ended, worker: w, slot: r.slot, job: r.job, task: r.task, generation: generation, clone: r.clone}))
}

// count tells workers that one more task of a job was launched.
func (c *cluster) count(n int32) {
	h := probe.Handle(n)
	if wait, _ := c.sched.Left(c.jobs[n].id); wait == 0 {
		c.known.SetLaunched(h)
	} else {
		c.known.SetLeft(h, c.known.Of(h).Left-1)
	}
}

// end ends a task.
func (c *cluster) end(e *event) {
	j := &c.jobs[e.job]
	switch w := &c.workers[e.worker]; {
	case c.Early && e.generation != w.generation:
		return // other tasks have come or gone since, so that it ends at another time
	case c.Early:
		c.shareEnds(e.worker)
	case j.long && e.generation != w.held.generation:
		return // it was suspended
	case !j.long && c.Eirene != nil && e.generation != w.generation:
		return // it was stopped
	}
	c.vacate(e.worker, running{job: e.job, task: e.task, slot: e.slot, clone: e.clone})
	if j.central {
		c.central.done(e.worker, j.estimate)
	}
	c.central.runsSince(e.worker, -1, 0)
	r := c.sched.Finished(j.id, e.task, sched.Node(e.worker))
	if r.First && e.clone {
		c.metrics.eirene.Won++
	}
	if r.Stop {
		c.stop(int32(r.At), e.job, e.task)
	}
	if r.Done {
		c.sched.Forget(j.id)
		c.submit(j.record, int(j.stage)+1)
	}
	c.free(e.worker, probe.Slot(e.slot))
}

// free gives a slot back. If nothing waits, the worker tries to steal.
func (c *cluster) free(n int32, s probe.Slot) {
	w := &c.workers[n]
	w.queue.Free(time.Duration(c.now), s)
	if !c.Early {
		c.taken(-1)
	}
	if c.resume(n) || c.start(n) || c.mode.steals == never {
		return
	}
	c.stolen = c.stolen[:0]
	var from int32
	for i := 0; i < victims && len(c.stolen) == 0; i++ {
		from = int32(c.general + c.rng.IntN(c.Workers-c.general))
		victim := &c.workers[from]
		if c.mode.steals == behindLong {
			c.stolen = victim.queue.Steal(c.stolen, most)
		} else {
			c.stolen = victim.queue.StealAny(c.stolen, most)
		}
	}
	for _, h := range c.stolen {
		c.release(from, int32(h))
		c.probed(n, int32(h))
		w.queue.Add(h)
		c.start(n)
	}
}

package mapreduce

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"heddle/am/slowstart"
	"heddle/am/speculate"
	"heddle/am/stage"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/sim"
	"heddle/yarn/records"
)

// master is a job and its ApplicationMaster.
type master struct {
	c       *cluster
	is      *Jobs
	name    string
	number  int // among all
	submit  sim.Time
	planner *stage.Planner
	app     scheduler.AppHandle
	runs    bool
	awake   bool // it is among those of the cluster that are
	over    bool
	err     error
	slots   []container
	running []*attempt // in the order in which they began
	tasks   [2][]TaskResult

	done   int       // maps
	share  []float64 // of the work of a map as it was submitted, by map
	made   float64   // of the outputs of all maps as they were submitted
	mapped sim.Time  // when all were
	first  sim.Time  // when the first attempt began
	ended  sim.Time
	cuts   int
	kept   float64 // of what the attempt did that was stopped last
	work   float64 // seconds in which containers ran

	open    [2][]stage.RequestID       // requests for any node, the oldest first
	strict  map[stage.RequestID]strict // requests for some nodes only
	changed [2]bool                    // what the scheduler doesn't know of open
	asks    []scheduler.Ask            // of strict, likewise
	asking  bool                       // it is among those of the cluster with news for the scheduler
	hinted  stage.Hints                // the last news of the job, if any
	heard   bool
}

type strict struct {
	stage stage.Stage
	hosts []string
}

// container is one that the job has, or had.
type container struct {
	handle  scheduler.ContainerHandle
	node    *node
	known   bool
	held    records.Resource
	started bool
	useful  bool     // an attempt has succeeded there
	attempt *attempt // that runs there
	still   bool
}

// strictID is the allocation request id of the first request for some nodes only; those of the stages are below.
const strictID = 16

func (c *cluster) newMaster(is *Jobs, name string, number int, submit sim.Time) *master {
	j := &master{c: c, is: is, name: name, number: number, submit: submit, first: -1, strict: map[stage.RequestID]strict{}}
	j.tasks = [2][]TaskResult{make([]TaskResult, is.Maps.Tasks), make([]TaskResult, is.Reduces.Tasks)}
	for _, list := range j.tasks {
		for i := range list {
			list[i].Attempts = []AttemptResult{} // a list also where there is none
		}
	}
	for range is.Maps.Tasks {
		j.share = append(j.share, 1)
	}
	return j
}

// submitted starts the ApplicationMaster, which runs elsewhere.
func (j *master) submitted(seq int64) {
	queue, user := j.is.Queue, j.is.User
	if queue == "" {
		queue = defaultQueue
	}
	if user == "" {
		user = "user"
	}
	j.app = j.c.sched.AddApp(drive.AppSpec{
		AppSpec: scheduler.AppSpec{Seq: seq, Queue: queue, User: user, Type: "MAPREDUCE"},
		ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(seq)}, SpareMaster: true,
	})
	for len(j.c.apps) <= int(j.app) {
		j.c.apps = append(j.c.apps, nil)
	}
	j.c.apps[j.app] = j
	set := &j.c.s.Settings
	spec := stage.Job{
		Maps: j.is.Maps.Tasks, Reduces: j.is.Reduces.Tasks, ReduceMemory: j.is.Reduces.Memory, Tries: [2]int{4, 4}, NodeFailures: 3,
		PerTask: set.Containers != "reused", NodesServe: set.Containers != "reused", Starter: starter(set), Freezes: set.Freezes,
	}
	spec.Speculator, spec.Splitter = speculator(set)
	j.planner = stage.New(spec)
	j.runs = true
	j.step(stage.Nodes{Count: len(j.c.nodes)})
	j.hear()
	j.step(stage.Tick{})
}

// restless reports whether each second counts for a job, though it has nothing: its rules for reduces or copies look at the time.
func (s *Settings) restless() bool {
	return s.SlowStart == "omo" || s.Speculation != "" && s.Speculation != "none"
}

// hear tells the job news of the cluster, if there is any.
func (j *master) hear() {
	h := j.c.hints()
	if j.heard && h.Hints == j.hinted {
		return // classes don't change
	}
	j.heard, j.hinted = true, h.Hints
	j.step(h)
}

func starter(s *Settings) stage.Starter {
	if s.SlowStart == "omo" {
		return &slowstart.OMO{}
	}
	part := slowstart.Fraction(defaultSlowStart)
	if s.SlowStart != "" {
		f, _ := strconv.ParseFloat(s.SlowStart, 64) // it was checked
		part = slowstart.Fraction(f)
	}
	if s.RampUp {
		return slowstart.Ramp{Fraction: part}
	}
	return part
}

func speculator(s *Settings) (stage.Speculator, stage.Splitter) {
	switch s.Speculation {
	case "esplash":
		return &speculate.ESplash{}, nil
	case "late":
		return &speculate.Late{}, nil
	case "split":
		p := &speculate.Split{}
		return p, p
	}
	return nil, nil
}

// offered returns how much a reduce could have fetched by now, all what it has to fetch, in MB.
func (j *master) offered() float64 {
	return j.made * j.is.Maps.Output / float64(j.is.Reduces.Tasks)
}

func (j *master) all() float64 {
	return float64(j.is.Maps.Tasks) * j.is.Maps.Output / float64(j.is.Reduces.Tasks)
}

// complete reports whether all outputs are there.
func (j *master) complete() bool { return j.done == len(j.share) }

// step tells the planner of an event, and does what it wants.
func (j *master) step(e stage.Event) {
	now := j.c.engine.Now()
	if !j.awake && j.runs {
		j.awake, j.c.awake = true, with(j.c.awake, j)
	}
	for _, a := range j.planner.Step(time.Duration(now), e) {
		switch a := a.(type) {
		case stage.Want:
			j.want(a)
		case stage.Withdraw:
			j.withdraw(a.Request)
		case stage.Start:
			j.c.engine.At(now+seconds(j.c.setting(j.c.s.Settings.Start, defaultStart)), readies{j}, int64(a.Slot))
		case stage.GiveBack:
			j.drop(a.Slot)
		case stage.Launch:
			j.launch(a)
		case stage.Cancel:
			j.stop(a.Attempt, "cancelled")
			j.c.engine.At(now, readies{j}, int64(a.Slot))
		case stage.Stop:
			if i := j.runsAt(a.Attempt); i >= 0 {
				x := j.running[i]
				x.stop = a
				j.c.engine.At(now, stops{j}, x.index)
			}
		case stage.Divide:
			j.divide(a)
		case stage.Freeze:
			j.freeze(a)
		case stage.Thaw:
			if x := &j.slots[a.Slot]; x.known {
				j.c.sched.Unswap(x.handle)
			}
		case stage.Accept:
			j.outputs(a.Attempt, 1)
		case stage.Revoke:
			j.outputs(a.Attempt, -1)
		case stage.Avoid:
			j.c.sched.UpdateBlacklist(j.app, []string{a.Host}, nil)
		case stage.Forgive:
			j.c.sched.UpdateBlacklist(j.app, nil, a.Hosts)
		case stage.End:
			j.err = a.Err
			j.close()
		}
	}
}

// readies is a worker that asks for a task.
type readies struct{ *master }

func (j readies) Handle(slot int64) {
	x := &j.slots[slot]
	switch {
	case !x.known || x.attempt != nil || x.still:
	case !x.node.down:
		x.started = true
		j.step(stage.Ready{Slot: stage.SlotID(slot)})
	case !x.started:
		j.c.engine.At(j.c.engine.Now()+connecting*second, unreachable(j), slot)
	}
}

// connecting is for how many seconds an ApplicationMaster tries to start a container
// (Hadoop: yarn.client.nodemanager-connect.max-wait-ms).
const connecting = 180

// unreachable is a container that can't be started, as its node doesn't answer.
type unreachable struct{ *master }

func (j unreachable) Handle(slot int64) {
	if x := &j.slots[slot]; x.known && !x.started {
		j.drop(stage.SlotID(slot))
		j.step(stage.Gone{Slot: stage.SlotID(slot), Fault: true, Err: fmt.Errorf("%s can't be reached", x.node.name)})
	}
}

// outputs counts maps that are done.
func (j *master) outputs(id stage.AttemptID, more int) {
	if id.Stage == stage.Reduce {
		return
	}
	for _, a := range j.running {
		if a.fetches {
			a.settle()
		}
	}
	j.made += float64(more) * j.share[id.Index]
	if j.done += more; j.complete() {
		j.mapped = j.c.engine.Now()
	}
	j.c.sched.NoteOutputs(j.app, int64(j.done), int64(j.made*j.is.Maps.Output*megabyte))
	for _, a := range j.running {
		if a.fetches {
			a.plan()
		}
	}
}

// tick lets a second pass, and reports whether anything is under way.
func (j *master) tick() (busy bool) {
	j.hear()
	now := j.c.engine.Now()
	for _, a := range slices.Clone(j.running) {
		busy = busy || a.moves
		if since := int64((now - a.began) / second); since > 0 && since%report == 0 && !a.over && !a.still && !a.node.down {
			a.settle()
			a.tell()
		}
	}
	if j.runs {
		j.step(stage.Tick{})
	}
	if j.runs && !j.c.s.Settings.restless() && stage.Rests(j.planner) {
		j.awake, j.c.awake = false, without(j.c.awake, j)
	}
	return busy
}

// granted takes a container in.
func (j *master) granted(d *drive.Decision, n *node) {
	slot := stage.SlotID(len(j.slots))
	j.slots = append(j.slots, container{handle: d.Container, node: n, held: d.Resource, known: true})
	n.slots = append(n.slots, holder{j, slot})
	var r stage.RequestID
	if d.AllocationRequestID >= strictID {
		r = stage.RequestID(d.AllocationRequestID - strictID)
		delete(j.strict, r)
	} else if open := j.open[d.AllocationRequestID]; len(open) > 0 {
		r, j.open[d.AllocationRequestID] = open[0], open[1:]
	}
	if j.over {
		j.drop(slot)
		return
	}
	j.step(stage.Granted{Request: r, Slot: slot, Host: n.name, Memory: d.Resource[0]})
}

// drop gives a container back. Its work is done if an attempt has succeeded there.
func (j *master) drop(slot stage.SlotID) {
	x := &j.slots[slot]
	if !x.known {
		return
	}
	x.known = false
	j.c.use(records.Resource{}.Sub(x.held))
	if x.useful {
		j.c.sched.Free(x.handle)
	} else {
		j.c.sched.Fail(x.handle)
	}
	x.node.slots = slices.DeleteFunc(x.node.slots, func(h holder) bool { return h.job == j && h.slot == slot })
}

// lost is told that a container is over: its node is lost, or it was taken.
func (j *master) lost(slot stage.SlotID, node bool) {
	x := &j.slots[slot]
	if !x.known {
		return
	}
	if x.attempt != nil {
		outcome := "preempted"
		if node {
			outcome = "lost with its node"
		}
		j.stop(x.attempt.id, outcome)
	}
	j.drop(slot)
	if !j.over {
		j.step(stage.Gone{Slot: slot, Err: fmt.Errorf("its container on %s is gone", x.node.name)})
	}
}

func (j *master) nodeLost(n *node) {
	if j.runs {
		j.step(stage.NodeLost{Host: n.name})
	}
}

// launch begins with an attempt.
func (j *master) launch(l stage.Launch) {
	c, x := j.c, &j.slots[l.Slot]
	of := &j.is.Maps
	if l.Attempt.Stage == stage.Reduce {
		of = &j.is.Reduces
	}
	a := &attempt{
		job: j, id: l.Attempt, slot: l.Slot, node: x.node, copy: l.Copy, began: c.engine.Now(), at: c.engine.Now(), index: int64(len(c.attempts)),
		fetches: l.Attempt.Stage == stage.Reduce,
	}
	a.total = c.work(of.Seconds)
	if l.Attempt.Stage == stage.Map {
		a.total *= j.share[l.Attempt.Index]
	}
	a.left = a.total
	if j.first < 0 {
		j.first = a.began
	}
	x.attempt = a
	c.attempts = append(c.attempts, a)
	j.running = append(j.running, a)
	x.node.share(func() { x.node.attempts = append(x.node.attempts, a) })
	a.plan()
}

// finished is an attempt that has done its work.
func (j *master) finished(a *attempt) {
	j.stop(a.id, "succeeded")
	j.slots[a.slot].useful = true
	out := 0.
	if a.id.Stage == stage.Map {
		out = j.is.Maps.Output * megabyte * j.share[a.id.Index]
	}
	j.step(stage.Finished{Slot: a.slot, Attempt: a.id, OutBytes: int64(out)})
	if j.slots[a.slot].known && j.runs {
		j.c.engine.At(j.c.engine.Now(), readies{j}, int64(a.slot))
	}
}

// stop notes the end of an attempt.
func (j *master) stop(id stage.AttemptID, outcome string) {
	i := j.runsAt(id)
	if i < 0 {
		return
	}
	a := j.running[i]
	a.end()
	j.slots[a.slot].attempt = nil
	j.c.released++
	now := j.c.engine.Now()
	j.work += (now - a.began).Seconds()
	r := &j.tasks[id.Stage][id.Index]
	r.Attempts = append(r.Attempts, AttemptResult{
		Number: id.Number, Node: a.node.name, Start: a.began.Seconds(), End: now.Seconds(), Copy: a.copy, Fetched: a.ready.Seconds(), Outcome: outcome,
	})
}

// want takes a request of the planner's.
func (j *master) want(w stage.Want) {
	if !w.Strict {
		j.open[w.Task.Stage] = append(j.open[w.Task.Stage], w.Request)
		j.change(w.Task.Stage)
		return
	}
	x := strict{w.Task.Stage, w.Hosts}
	j.strict[w.Request] = x
	j.askStrictly(w.Request, x, 1)
}

func (j *master) withdraw(r stage.RequestID) {
	for s := range j.open {
		if i, open := slices.BinarySearch(j.open[s], r); open { // they are numbered in the order in which they were made
			j.open[s] = slices.Delete(j.open[s], i, i+1)
			j.change(stage.Stage(s))
			return
		}
	}
	if x, ok := j.strict[r]; ok {
		delete(j.strict, r)
		j.askStrictly(r, x, 0)
	}
}

// askStrictly asks for a container on some hosts, or takes that back.
func (j *master) askStrictly(r stage.RequestID, x strict, count int32) {
	a := j.ask(x.stage, int64(r)+strictID, int(count))
	a.RelaxLocality = false
	for _, name := range append([]string{scheduler.Any, rack}, x.hosts...) {
		a.Name = name
		j.asks = append(j.asks, a)
	}
	j.note()
}

// change notes that the scheduler doesn't know of all requests for any node.
func (j *master) change(s stage.Stage) {
	j.changed[s] = true
	j.note()
}

// note records that the job has news for the scheduler.
func (j *master) note() {
	if !j.asking {
		j.asking = true
		j.c.asking = append(j.c.asking, j)
	}
}

// Priorities of requests are those of Hadoop's MapReduce.
var priorities = [2]int32{20, 10}

func (j *master) ask(s stage.Stage, id int64, count int) scheduler.Ask {
	return scheduler.Ask{
		Priority: priorities[s], AllocationRequestID: id, Name: scheduler.Any, Capability: j.size(s), Count: int32(count), RelaxLocality: true,
	}
}

func (j *master) size(s stage.Stage) records.Resource {
	t := &j.is.Maps
	if s == stage.Reduce {
		t = &j.is.Reduces
	}
	return records.NewResource(t.Memory, max(t.VCores, 1))
}

// tellAsks tells the scheduler what has changed of what the job wants.
func (j *master) tellAsks() {
	j.asking = false
	if !j.runs {
		return
	}
	for s := range j.open {
		if j.changed[s] {
			j.changed[s] = false
			j.asks = append(j.asks, j.ask(stage.Stage(s), int64(s), len(j.open[s])))
		}
	}
	if len(j.asks) > 0 {
		j.c.sched.UpdateAsks(j.app, j.asks)
		j.asks = j.asks[:0]
	}
}

// close ends the job: whatever it still has is freed.
func (j *master) close() {
	j.runs, j.over, j.ended = false, true, j.c.engine.Now()
	for _, a := range slices.Clone(j.running) {
		j.stop(a.id, "cancelled")
	}
	for i := range j.slots {
		j.drop(stage.SlotID(i))
	}
	j.c.sched.RemoveApp(j.app)
	j.c.live, j.c.awake = without(j.c.live, j), without(j.c.awake, j)
}

package copies

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/handle"
	"heddle/sim"
	"heddle/yarn/records"
)

// Setup is a cluster and how its jobs are served.
type Setup struct {
	Nodes    int
	Node     records.Resource
	Policy   string            // ordering policy
	Settings map[string]string // of it, such as epsilon
	How      Speculation
	Budget   float64 // part of the cluster that only copies may use
	Beat     int64   // ms between two times at which containers end and are given out
	Remote   float64 // by which a task takes longer away from its input
	Groups   bool    // jobs report the β of their user's tasks
	Silent   bool    // jobs don't say that they make copies, so that no slots are kept for these
	Last     bool    // no copy is made while any job has tasks that wait; for SRPT and Fair
	Later    bool    // a job makes no copies while tasks of its own wait
}

// Outcome is how a job went.
type Outcome struct {
	Ended  int64 // ms
	Copies int
	Useful int // of these
	Local  int // originals that ran next to their input
}

// world is a simulation under way.
type world struct {
	Setup
	driver  *drive.Driver
	engine  sim.Engine
	jobs    []state
	out     []Outcome
	apps    []int32 // job, by application's handle
	nodes   map[handle.Node]int32
	dirty   []int32
	woken   int64 // when Step is to be called, as it was entered last
	fits    map[string]*shape
	failure error
}

// Run simulates jobs in the order of their coming.
func Run(x Setup, jobs []Job) ([]Outcome, error) {
	tree, err := x.tree()
	if err != nil {
		return nil, err
	}
	w := &world{
		Setup: x, driver: drive.New(scheduler.Config{Tree: tree, Minimum: records.NewResource(1, 1)}), jobs: make([]state, len(jobs)), out: make([]Outcome, len(jobs)),
		nodes: map[handle.Node]int32{}, fits: map[string]*shape{},
	}
	for i := range x.Nodes {
		w.nodes[w.driver.AddNode(scheduler.NodeSpec{Host: host(int32(i)), Rack: "/r", Capability: x.Node})] = int32(i)
	}
	for i := range jobs {
		w.jobs[i] = state{Job: &jobs[i], number: int32(i)}
		w.out[i].Ended = -1
		w.at(jobs[i].At, arrival{w}, int64(i))
	}
	for w.failure == nil && w.engine.Step() {
		w.schedule()
	}
	for i := range w.out {
		if w.failure == nil && w.out[i].Ended < 0 {
			w.failure = fmt.Errorf("job %d didn't end: no node has room for its tasks", i+1)
		}
	}
	return w.out, w.failure
}

// apart reports whether copies are asked for by an application of their own.
func (x *Setup) apart() bool { return x.Budget > 0 || x.Last }

func host(node int32) string { return fmt.Sprint("n", node) }

// Queues of tasks, and of copies where these have a budget.
var queues = [2]string{"root.tasks", "root.copies"}

func (x *Setup) tree() (*queue.Tree, error) {
	all := map[string]string{
		"root.queues": "tasks", "maximum-applications": "1000000", "maximum-am-resource-percent": "1", "node-locality-delay": "-1",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}
	parts := [2]float64{100 * (1 - x.Budget), 100 * x.Budget}
	if x.Budget > 0 {
		all["root.queues"] = "tasks,copies"
	}
	for i, q := range queues {
		if parts[i] == 0 {
			continue
		}
		maps.Copy(all, map[string]string{
			q + ".capacity": fmt.Sprintf("%.4f", parts[i]), q + ".maximum-capacity": fmt.Sprintf("%.4f", min(100, parts[i]+1e-3)), // for what is rounded off
			q + ".ordering-policy":   x.Policy,
			q + ".user-limit-factor": "100", q + ".minimum-user-limit-percent": "100",
		})
		for name, value := range x.Settings {
			all[q+".ordering-policy."+x.Policy+"."+name] = value
		}
	}
	return queue.ParseCapacity(all)
}

// at enters an event at the next beat.
func (w *world) at(ms int64, to sim.Handler, arg int64) {
	beat := max(w.Beat, 1)
	w.engine.At(sim.Time((ms+beat-1)/beat*beat)*1e6, to, arg)
}

func (w *world) now() int64 { return w.engine.Now().Millis() }

// arrival submits a job.
type arrival struct{ *world }

func (w arrival) Handle(i int64) {
	s := &w.jobs[i]
	for k, q := range queues {
		if k == 1 && !w.apart() {
			s.apps[1] = s.apps[0]
			break
		}
		if w.Budget == 0 {
			q = queues[0]
		}
		a := w.driver.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: i + 1, Queue: q, User: s.User}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: int32(2*i) + int32(k) + 1},
		})
		for len(w.apps) <= int(a) {
			w.apps = append(w.apps, 0)
		}
		w.apps[a], s.apps[k] = int32(i), a
	}
	s.begin()
	w.touch(s)
}

// touch records that a job may have news.
func (w *world) touch(s *state) {
	if !s.dirty {
		s.dirty = true
		w.dirty = append(w.dirty, s.number)
	}
}

// seen: a task has run for long enough.
type seen struct{ *world }

// A task in an event is its job, its phase and its number.
const taskBits, phaseBits = 20, 8

func packed(s *state, task int32) int64 {
	return int64(s.number)<<(taskBits+phaseBits) | int64(s.phase)<<taskBits | int64(task)
}

func (w *world) unpack(arg int64) (s *state, task int32, current bool) {
	s, task = &w.jobs[arg>>(taskBits+phaseBits)], int32(arg&(1<<taskBits-1))
	return s, task, s.ended == 0 && s.phase == int(arg>>taskBits&(1<<phaseBits-1))
}

func (w seen) Handle(arg int64) {
	s, task, current := w.unpack(arg)
	if !current || s.tasks[task].done {
		return
	}
	s.mature(task)
	s.watch(task, w.How, w.now())
	w.touch(s)
}

func (s *state) mature(task int32) {
	if r := &s.tasks[task]; r.young {
		r.young = false
		s.young--
	}
}

// over: an attempt has done its work.
type over struct {
	*world
	copy int
}

func (w over) Handle(arg int64) {
	s, task, current := w.unpack(arg)
	if !current || s.tasks[task].done {
		return
	}
	r := &s.tasks[task]
	r.done = true
	s.mature(task)
	s.unwatch(task)
	if r.containers[1] != nothing {
		s.copied--
	}
	if w.copy == 1 {
		w.out[s.number].Useful++
	}
	w.learn(s, task, w.copy == 1)
	for _, c := range r.containers {
		if c != nothing {
			w.driver.Free(c)
		}
	}
	w.touch(s)
	if s.left--; s.left > 0 {
		return
	}
	if s.phase++; s.phase < len(s.Phases) {
		s.begin()
		return
	}
	s.ended = max(w.now(), 1)
	w.out[s.number].Ended = w.now()
	for k, a := range s.apps {
		if k == 0 || w.apart() {
			w.driver.RemoveApp(a)
		}
	}
}

// schedule passes on the jobs' requests, and starts what the scheduler grants.
func (w *world) schedule() {
	now := w.now()
	for again := true; again && w.failure == nil; {
		again = false
		for _, i := range w.dirty {
			w.tell(&w.jobs[i], now)
		}
		w.dirty = w.dirty[:0]
		for _, d := range w.driver.Step(now) {
			if d.Kind == drive.Allocate {
				again = true
				w.start(&d, now)
			}
		}
	}
	next := w.driver.NextWake()
	if _, more := w.engine.Next(); more && next > 0 && next != w.woken { // without other events nothing would change
		w.woken = next
		w.at(max(next, now+1), wake{}, 0)
	}
}

// wake is an event whose only effect is a call of the scheduler.
type wake struct{}

func (wake) Handle(int64) {}

// start runs a task or a copy in a container.
func (w *world) start(d *drive.Decision, now int64) {
	s := &w.jobs[w.apps[d.App]]
	w.touch(s)
	k := 0
	if d.App != s.apps[0] {
		k = 1
	}
	s.asked[k]--
	if s.local != nil {
		s.rows = append(s.rows, w.nodes[d.Node])
	}
	if w.copies(s) && (k == 1 || !w.apart()) {
		if task := s.straggler(w.How, now); task >= 0 {
			s.unwatch(task)
			s.copied++
			w.out[s.number].Copies++
			w.place(s, task, 1, d, now)
			return
		}
	}
	if task := s.fresh(w.nodes[d.Node]); task >= 0 && (k == 0 || !w.apart()) {
		s.waits--
		r := &s.tasks[task]
		r.begun, r.began = true, now
		if s.Detection > 0 {
			r.young = true
			s.young++
			w.at(now+s.Detection, seen{w}, packed(s, task))
		}
		w.place(s, task, 0, d, now)
		return
	}
	w.driver.Free(d.Container) // the tasks that it was for have ended, or have little left
}

// copies reports whether a job makes copies now.
func (w *world) copies(s *state) bool { return s.Detection > 0 && (!w.Later || s.waits == 0) }

// place runs an attempt: the original is 0, the copy is 1.
func (w *world) place(s *state, task int32, attempt int, d *drive.Decision, now int64) {
	t, r := &s.Phases[s.phase].Tasks[task], &s.tasks[task]
	takes := t.Original
	if attempt == 1 {
		takes = t.Copy
	}
	if len(t.Inputs) > 0 {
		local := slices.Contains(t.Inputs, w.nodes[d.Node])
		if !local {
			takes = int64(math.Round(float64(takes) * max(w.Remote, 1)))
		}
		if attempt == 0 {
			if local {
				w.out[s.number].Local++
			}
			for _, n := range t.Inputs {
				s.local[n]--
				s.rows = append(s.rows, n)
			}
		}
	}
	r.containers[attempt], r.ends[attempt] = d.Container, now+max(takes, 1)
	w.at(r.ends[attempt], over{w, attempt}, packed(s, task))
}

// tell tells the scheduler what a job wants, and what it has to report.
func (w *world) tell(s *state, now int64) {
	s.dirty = false
	if s.ended != 0 {
		return
	}
	worth := 0
	if w.copies(s) {
		worth = s.worth(w.How, now)
	}
	if w.apart() {
		w.ask(s, 0, int32(s.waits))
		w.ask(s, 1, int32(worth))
	} else {
		w.ask(s, 0, int32(s.waits+worth))
	}
	r := scheduler.TaskReport{Left: int64(s.left), Copies: s.Detection > 0 && !w.Silent, Detection: s.Detection}
	if s.Detection > 0 {
		r.Young = int64(s.waits + s.young)
	}
	if len(s.Phases) > s.phase+1 { // readers wait until all is there
		r.ToRead, r.ToMake = int64(len(s.tasks))<<20, int64(s.left)<<20
	}
	if w.Groups {
		r.Beta, r.Ended = w.fits[s.User].beta()
	}
	if !s.told || r != s.report {
		s.told, s.report = true, r
		for k, a := range s.apps {
			if k == 1 && !w.apart() {
				break
			}
			if k == 1 && w.Last {
				r.Left += behindAll
			}
			w.driver.NoteTasks(a, r)
		}
	}
}

// behindAll is by how many tasks an application is larger than any, so that it comes last.
const behindAll = 1 << 40

// ask asks for so many containers, if the scheduler doesn't know that.
func (w *world) ask(s *state, k int, count int32) {
	row := scheduler.Ask{Priority: 1, Name: scheduler.Any, Count: count, Capability: s.Size, RelaxLocality: true}
	rows := []scheduler.Ask{row}
	switch {
	case s.asked[k] == count && len(s.rows) == 0:
		return
	case k == 0 && s.local != nil:
		slices.Sort(s.rows)
		row.Name, row.Count = "/r", int32(s.waits)
		rows = append(rows, row)
		for _, n := range slices.Compact(s.rows) {
			row.Name, row.Count = host(n), s.local[n]
			rows = append(rows, row)
		}
	}
	s.rows = s.rows[:0]
	s.asked[k] = count
	w.driver.UpdateAsks(s.apps[k], rows)
}

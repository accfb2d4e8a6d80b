package hopper_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/handle"
	_ "heddle/rm/scheduler/policy/hopper"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

var slot = records.NewResource(1024, 1)

// task is one of a job of the world.
type task struct {
	original, copy int64 // how long they take, in ms
	runs           [2]handle.Container
	begun          [2]int64
	done           bool
}

const nothing handle.Container = -1

// job has tasks in containers of one slot. Its ApplicationMaster runs elsewhere.
type job struct {
	name    string
	at      int64 // when it comes, in ms
	tasks   []task
	seen    int64 // after how long a straggler is seen; 0: it makes no copies
	reports bool
	lie     func(leaf.TaskReport) leaf.TaskReport
	asks    int32 // more containers than it needs

	handle handle.App
	came   bool
	ended  int64
	idle   []handle.Container // that it has no work for
	report leaf.TaskReport
	held   int32
	most   int32 // that it ever held
}

func newJob(name string, at int64, lengths ...int64) *job {
	j := &job{name: name, at: at, ended: -1}
	for _, n := range lengths {
		j.tasks = append(j.tasks, task{original: n, copy: n, runs: [2]handle.Container{nothing, nothing}})
	}
	return j
}

// same is so many tasks of one length.
func same(n int, length int64) []int64 { return slices.Repeat([]int64{length}, n) }

// world runs jobs under the policy, with the scheduler that runs live, in steps of time.
type world struct {
	t      *testing.T
	driver *drive.Driver
	jobs   []*job
	step   int64 // ms
	log    []string
	watch  func(now int64)
}

func treeOf(t *testing.T, settings map[string]string) *queue.Tree {
	t.Helper()
	all := map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": "hopper", "root.a.user-limit-factor": "100", "maximum-applications": "1000000",
		"root.a.minimum-user-limit-percent": "100", "maximum-am-resource-percent": "1", "node-locality-delay": "-1",
	}
	maps.Copy(all, settings)
	tree, err := queue.ParseCapacity(all)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func newWorld(t *testing.T, slots int64, settings map[string]string, jobs ...*job) *world {
	t.Helper()
	w := &world{
		t: t, jobs: jobs, step: 1000, driver: drive.New(scheduler.Config{Tree: treeOf(t, settings), Minimum: records.NewResource(1, 1)}),
	}
	w.driver.AddNode(scheduler.NodeSpec{Host: "n", Rack: "/r", Capability: slot.Times(slots)})
	return w
}

// run runs until all jobs have ended, or a time.
func (w *world) run(until int64) {
	for now := int64(0); now <= until; now += w.step {
		left := false
		for i, j := range w.jobs {
			if j.ended >= 0 {
				continue
			}
			if left = true; !j.came && now >= j.at {
				j.came = true
				j.handle = w.driver.AddApp(drive.AppSpec{
					AppSpec: scheduler.AppSpec{Seq: int64(i + 1), Queue: "root.a", User: "u"}, ID: records.ApplicationID{ID: int32(i + 1)},
				})
			}
			if j.came {
				w.end(j, now)
			}
		}
		for _, j := range w.jobs {
			if j.came && j.ended < 0 {
				w.ask(j, now)
			}
		}
		for w.place(now) {
		}
		if w.watch != nil {
			w.watch(now)
		}
		if !left {
			return
		}
	}
}

// end ends what is done.
func (w *world) end(j *job, now int64) {
	left := false
	for i := range j.tasks {
		x := &j.tasks[i]
		for k, length := range []int64{x.original, x.copy} {
			x.done = x.done || x.runs[k] != nothing && now >= x.begun[k]+length
		}
		left = left || !x.done
		for k, c := range x.runs {
			if x.done && c != nothing {
				w.driver.Free(c)
				j.held--
				x.runs[k] = nothing
			}
		}
	}
	for _, c := range j.idle {
		w.driver.Free(c)
		j.held--
	}
	if j.idle = nil; !left {
		j.ended = now
		w.driver.ClearAsks(j.handle)
		w.driver.RemoveApp(j.handle)
	}
}

// straggler is the task with most left that is worth a copy now; nil if there is none.
func (j *job) straggler(now int64) (worst *task) {
	for i := range j.tasks {
		x := &j.tasks[i]
		left := x.begun[0] + x.original - now
		if !x.done && x.runs[0] != nothing && x.runs[1] == nothing && j.seen > 0 && now-x.begun[0] >= j.seen && left > x.copy &&
			(worst == nil || left > worst.begun[0]+worst.original-now) {
			worst = x
		}
	}
	return worst
}

// counts are tasks that wait, that are worth a copy, that are left, and that are too young to judge, waiting ones included.
func (j *job) counts(now int64) (waiting, copies int32, left, young int64) {
	for i := range j.tasks {
		x := &j.tasks[i]
		switch {
		case x.done:
			continue
		case x.runs[0] == nothing:
			waiting++
			young++
		case now-x.begun[0] < j.seen:
			young++
		case j.seen > 0 && x.runs[1] == nothing && x.begun[0]+x.original-now > x.copy:
			copies++
		}
		left++
	}
	return waiting, copies, left, young
}

// ask has the ApplicationMaster ask for tasks and copies, and report.
func (w *world) ask(j *job, now int64) {
	waiting, copies, left, young := j.counts(now)
	w.driver.UpdateAsks(j.handle, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Count: waiting + copies + j.asks, Capability: slot, RelaxLocality: true}})
	r := leaf.TaskReport{Left: left, Copies: j.seen > 0, Young: young, Detection: j.seen}
	if j.lie != nil {
		r = j.lie(r)
	}
	if j.reports && r != j.report {
		j.report = r
		w.driver.NoteTasks(j.handle, r)
	}
}

// place gives out containers, a job's copies first.
func (w *world) place(now int64) (some bool) {
	for _, d := range w.driver.Step(now) {
		if d.Kind != drive.Allocate {
			continue
		}
		some = true
		j := w.jobs[slices.IndexFunc(w.jobs, func(j *job) bool { return j.came && j.ended < 0 && j.handle == d.App })]
		j.held++
		j.most = max(j.most, j.held)
		if x := j.straggler(now); x != nil {
			x.runs[1], x.begun[1] = d.Container, now
			w.log = append(w.log, fmt.Sprint(now/1000, j.name, slices.IndexFunc(j.tasks, func(y task) bool { return y.runs[1] == d.Container })+1, "+"))
			continue
		}
		i := slices.IndexFunc(j.tasks, func(x task) bool { return !x.done && x.runs[0] == nothing })
		if i < 0 {
			j.idle = append(j.idle, d.Container)
			continue
		}
		j.tasks[i].runs[0], j.tasks[i].begun[0] = d.Container, now
		w.log = append(w.log, fmt.Sprint(now/1000, j.name, i+1))
	}
	if some { // they report what runs now
		for _, j := range w.jobs {
			if j.came && j.ended < 0 {
				w.ask(j, now)
			}
		}
	}
	return some
}

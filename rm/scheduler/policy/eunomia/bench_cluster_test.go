package eunomia_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// nodeSpec is a node of the text's clusters.
type nodeSpec struct {
	host  string
	speed float64
	size  records.Resource
}

// job is a job of equal tasks; hosts are those that it may use, all of them if there are none.
type job struct {
	at     int64 // ms
	tasks  int32
	length float64 // of a task at speed 1, in ms
	size   records.Resource
	hosts  []string
}

// world runs jobs under a policy, with the scheduler that runs live.
type world struct {
	t        rapid.TB
	driver   *drive.Driver
	nodes    map[string]nodeSpec
	on       map[handle.Node]string
	jobs     []job
	apps     map[handle.App]int
	of       []handle.App
	left     []int32            // tasks that aren't granted, by job
	running  []int32            // by job
	progress []map[string]int32 // tasks by host, by job
	events   events
	ended    []int64 // when jobs ended, in ms
	observe  func(now int64)
	until    int64   // when it ends, if jobs haven't ended before; 0 for never
	spread   float64 // of the lengths of tasks: 0.1 is 10 % more or less
	dice     *rand.Rand
	users    int // jobs are of so many users in turn
}

type event struct {
	at        int64
	job       int
	container handle.Container // -1: the job comes
	host      string
	seq       int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(t rapid.TB, policy string, nodes []nodeSpec, jobs []job) *world {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": policy, "root.a.user-limit-factor": "100",
		"root.a.minimum-user-limit-percent": "100", "maximum-am-resource-percent": "1",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator", "node-locality-delay": "-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, nodes: map[string]nodeSpec{}, on: map[handle.Node]string{}, jobs: jobs, apps: map[handle.App]int{},
		driver: drive.New(scheduler.Config{Tree: tree, Minimum: records.NewResource(1, 1), Heartbeat: time.Second}),
		users:  2, dice: rand.New(rand.NewPCG(1, 1)),
		of: make([]handle.App, len(jobs)), left: make([]int32, len(jobs)), running: make([]int32, len(jobs)), ended: make([]int64, len(jobs)),
	}
	for _, m := range nodes {
		w.nodes[m.host] = m
		w.driver.NoteSpeed(m.host, survey.Map, m.speed)
		w.on[w.driver.AddNode(scheduler.NodeSpec{Host: m.host, Rack: "/r", Capability: m.size})] = m.host
	}
	for i, j := range jobs {
		w.left[i] = j.tasks
		w.progress = append(w.progress, map[string]int32{})
		w.push(event{at: j.at, job: i, container: -1})
	}
	return w
}

func (w *world) push(e event) {
	e.seq = len(w.events) + int(e.at)
	heap.Push(&w.events, e)
}

// run runs until all jobs have ended.
func (w *world) run() {
	for w.events.Len() > 0 {
		now := w.events[0].at
		if w.until > 0 && now > w.until {
			return
		}
		for w.events.Len() > 0 && w.events[0].at == now {
			w.play(heap.Pop(&w.events).(event))
		}
		w.step(now)
		if w.observe != nil {
			w.observe(now)
		}
	}
}

func (w *world) play(e event) {
	if e.container < 0 {
		w.of[e.job] = w.driver.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: int64(e.job + 1), Queue: "root.a", User: fmt.Sprint("u", e.job%w.users)}, ID: records.ApplicationID{ID: int32(e.job + 1)},
		})
		w.apps[w.of[e.job]] = e.job
		w.ask(e.job)
		return
	}
	w.driver.Free(e.container)
	w.progress[e.job][e.host]--
	if w.running[e.job]--; w.running[e.job] == 0 && w.left[e.job] == 0 {
		w.ended[e.job] = e.at
		w.driver.RemoveApp(w.of[e.job])
	}
}

// ask says what a job still wants, and where.
func (w *world) ask(i int) {
	j := &w.jobs[i]
	row := func(name string, relax bool) scheduler.Ask {
		return scheduler.Ask{Priority: 1, Name: name, Count: w.left[i], Capability: j.size, RelaxLocality: relax}
	}
	free := len(j.hosts) == 0
	rows := []scheduler.Ask{row(scheduler.Any, free)}
	if !free {
		rows = append(rows, row("/r", false))
		for _, h := range j.hosts {
			rows = append(rows, row(h, true))
		}
	}
	w.driver.UpdateAsks(w.of[i], rows)
}

func (w *world) step(now int64) {
	granted := map[int]bool{}
	for {
		some := false
		for _, d := range w.driver.Step(now) {
			if d.Kind != drive.Allocate {
				continue
			}
			some = true
			i, m := w.apps[d.App], w.nodes[w.on[d.Node]]
			w.left[i]--
			w.running[i]++
			w.progress[i][m.host]++
			granted[i] = true
			length := w.jobs[i].length * (1 + w.spread*(2*w.dice.Float64()-1))
			w.push(event{at: now + int64(length/m.speed), job: i, container: d.Container, host: m.host})
		}
		if !some {
			return
		}
		for i := range w.jobs {
			if granted[i] {
				w.ask(i)
			}
		}
	}
}

// share is S of equation 5.1.
func (w *world) share(i int) float64 {
	mine, all := 0., 0.
	for host, n := range w.progress[i] {
		mine += float64(n) * w.nodes[host].speed
	}
	for _, m := range w.nodes {
		all += float64(m.size[records.Memory]/w.jobs[i].size[records.Memory]) * m.speed
	}
	return mine / all
}

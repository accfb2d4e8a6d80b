// Package progress simulates jobs on nodes of different speeds, some of which may use some nodes only, under a leaf policy of the real scheduler.
package progress

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Node is a node, and its speed beside that of others.
type Node struct {
	Host  string
	Speed float64
	Size  records.Resource
}

// Job is tasks of one kind. Times are in ms.
type Job struct {
	At     int64
	Tasks  int32
	Length float64 // of a task, on a node of speed 1
	Size   records.Resource
	Hosts  []string // that it may use; nil: all
}

// Outcome is when a job's first task began and its last one ended, in ms.
type Outcome struct{ Began, Ended int64 }

type event struct {
	at        int64
	job       int
	container handle.Container // −1: the job comes
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

// world is a simulation under way.
type world struct {
	driver  *drive.Driver
	nodes   map[handle.Node]Node
	jobs    []Job
	apps    []int // job, by application's handle
	of      []scheduler.AppHandle
	left    []int32
	running []int32
	out     []Outcome
	events  events
	seq     int
	random  *rand.Rand
	noise   float64
	granted map[int]bool
}

// Run simulates jobs, in the order of their coming, under an ordering policy. Tasks take up to a part more or less than their length.
func Run(policy string, nodes []Node, jobs []Job, noise float64, seed uint64) ([]Outcome, error) {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": policy, "root.a.user-limit-factor": "100", "maximum-applications": "1000000",
		"root.a.minimum-user-limit-percent": "100", "maximum-am-resource-percent": "1", "node-locality-delay": "-1",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	})
	if err != nil {
		return nil, err
	}
	w := &world{
		driver: drive.New(scheduler.Config{Tree: tree, Minimum: records.NewResource(1, 1), Heartbeat: time.Second}), nodes: map[handle.Node]Node{}, jobs: jobs,
		of: make([]scheduler.AppHandle, len(jobs)), left: make([]int32, len(jobs)), running: make([]int32, len(jobs)), out: make([]Outcome, len(jobs)),
		random: rand.New(rand.NewPCG(seed, 6)), noise: noise, granted: map[int]bool{},
	}
	for _, m := range nodes {
		w.driver.NoteSpeed(m.Host, survey.Map, m.Speed)
		w.nodes[w.driver.AddNode(scheduler.NodeSpec{Host: m.Host, Rack: "/r", Capability: m.Size})] = m
	}
	for i := range jobs {
		w.left[i], w.out[i] = jobs[i].Tasks, Outcome{-1, -1}
		w.push(event{at: jobs[i].At, job: i, container: -1})
	}
	for w.events.Len() > 0 {
		now := w.events[0].at
		for w.events.Len() > 0 && w.events[0].at == now {
			w.play(heap.Pop(&w.events).(event))
		}
		w.step(now)
	}
	for i := range w.out {
		if w.out[i].Ended < 0 {
			return nil, fmt.Errorf("job %d didn't end: no node that it may use has room for its tasks", i+1)
		}
	}
	return w.out, nil
}

func (w *world) push(e event) {
	w.seq++
	e.seq = w.seq
	heap.Push(&w.events, e)
}

// play submits a job, or ends a task.
func (w *world) play(e event) {
	if e.container < 0 {
		a := w.driver.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: int64(e.job + 1), Queue: "root.a", User: fmt.Sprint("u", e.job%2)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: int32(e.job + 1)},
		})
		for len(w.apps) <= int(a) {
			w.apps = append(w.apps, 0)
		}
		w.of[e.job], w.apps[a] = a, e.job
		w.ask(e.job)
		return
	}
	w.driver.Free(e.container)
	if w.running[e.job]--; w.running[e.job] == 0 && w.left[e.job] == 0 {
		w.out[e.job].Ended = e.at
		w.driver.RemoveApp(w.of[e.job])
	}
}

// ask says what a job still wants, and where.
func (w *world) ask(i int) {
	j := &w.jobs[i]
	row := func(name string, relax bool) scheduler.Ask {
		return scheduler.Ask{Priority: 1, Name: name, Count: w.left[i], Capability: j.Size, RelaxLocality: relax}
	}
	rows := []scheduler.Ask{row(scheduler.Any, len(j.Hosts) == 0)}
	if len(j.Hosts) > 0 {
		rows = append(rows, row("/r", false))
		for _, h := range j.Hosts {
			rows = append(rows, row(h, true))
		}
	}
	w.driver.UpdateAsks(w.of[i], rows)
}

// step starts what the scheduler grants.
func (w *world) step(now int64) {
	for {
		clear(w.granted)
		for _, d := range w.driver.Step(now) {
			if d.Kind != drive.Allocate {
				continue
			}
			i := w.apps[d.App]
			w.left[i]--
			w.running[i]++
			w.granted[i] = true
			if w.out[i].Began < 0 {
				w.out[i].Began = now
			}
			length := w.jobs[i].Length * (1 + w.noise*(2*w.random.Float64()-1)) / w.nodes[d.Node].Speed
			w.push(event{at: now + max(1, int64(length)), job: i, container: d.Container})
		}
		if len(w.granted) == 0 {
			return
		}
		for i := range w.jobs {
			if w.granted[i] {
				w.ask(i)
			}
		}
	}
}

package stages_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Random jobs, as Hadoop's ApplicationMaster runs them: it asks for maps at priority 20, for those that have failed at 5, and for reduces at
// 10 when some maps are done. Reduces need all maps. When maps find no room for a while, it ends a reduce (RMContainerAllocator).

const (
	second   = 1000
	preempts = 20 * second // how long maps find no room until a reduce is ended
	idle     = 14 * second // for how long nothing may happen
	vacant   = 4 * second  // for how long a turn of FRESH may keep room free: it waits for 3 s itself
)

type kind string

const (
	normal      kind = "normal"
	mapOnly     kind = "maps only"
	reducesOnly kind = "reduces only"
	uber        kind = "uber"
	other       kind = "not MapReduce"
)

type task struct {
	job    *job
	reduce bool
	ends   int64 // 0: never, as it waits for maps
	takes  int64
	handle scheduler.ContainerHandle
	node   scheduler.NodeHandle
	size   records.Resource
}

type job struct {
	kind          kind
	app           scheduler.AppHandle
	size          [2]records.Resource // of a map, of a reduce
	maps, reduces int                 // that haven't been granted
	reruns        int
	left          [2]int // that haven't ended
	slowstart     int    // so many maps may be left when reduces are asked for
	failures      int    // maps that will fail
	losses        int    // maps whose output will be lost when reduces run
	starved       int64  // since when maps find no room
	since         int64  // when the last map ended
	asked         map[int32]int
}

type world struct {
	t       *rapid.T
	d       *eventlog.Recorder
	now     int64
	jobs    []*job
	running []*task
	random  func(name string, least, most int) int
	touched int64 // when something was granted or ended last

	fresh bool // the policy
	free  map[scheduler.NodeHandle]records.Resource
	held  int64 // since when a request is held though a node has room for it, and nothing was granted; 0: none is
}

func gb(n int) records.Resource { return records.NewResource(int64(n)<<10, int64(n)) }

// run goes on until all jobs have ended.
func (w *world) run() {
	for w.now = second; len(w.jobs) > 0; w.now += second {
		for _, x := range slices.Clone(w.running) {
			if x.ends != 0 && x.ends <= w.now {
				w.ended(x)
			}
		}
		w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
			if over := j.left[0]+j.left[1] == 0; !over {
				w.ask(j)
				return false
			}
			w.d.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: j.app})
			return true
		})
		for _, x := range w.d.Step(w.now) {
			if x.Kind == drive.Allocate {
				w.granted(x)
			}
		}
		if w.now%(3*second) == 0 {
			w.check()
		}
		if w.fresh {
			w.vacancy()
		}
	}
}

func (w *world) job(app scheduler.AppHandle) *job {
	return w.jobs[slices.IndexFunc(w.jobs, func(j *job) bool { return j.app == app })]
}

func (w *world) granted(x drive.Decision) {
	j := w.job(x.App)
	t := &task{job: j, reduce: x.Priority == 10, handle: x.Container, node: x.Node, size: x.Resource, takes: int64(w.random("s", 1, 30)) * second}
	w.touched, w.held = w.now, 0
	w.free[x.Node] = w.free[x.Node].Sub(x.Resource)
	j.asked[x.Priority]--
	switch {
	case t.reduce:
		j.reduces--
	case x.Priority == 5:
		j.reruns--
	default:
		j.maps--
	}
	if !t.reduce {
		j.starved = 0
	}
	if !t.reduce || j.left[0] == 0 || j.kind == other {
		t.ends = w.now + t.takes
	}
	w.running = append(w.running, t)
}

func (w *world) ended(t *task) {
	j := t.job
	w.touched = w.now
	w.running = slices.DeleteFunc(w.running, func(x *task) bool { return x == t })
	switch {
	case t.reduce && j.losses > 0 && j.kind != reducesOnly && j.kind != other: // it can't fetch an output: a map has to run again
		j.losses--
		j.left[0]++
		j.reruns++
		t.ends = 0
		w.running = append(w.running, t)
		return
	case !t.reduce && j.failures > 0:
		j.failures--
		j.reruns++
		w.release(t, true)
		return
	case t.reduce:
		j.left[1]--
	default:
		j.left[0]--
		w.d.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: j.app, Maps: int64(w.random("maps", 0, 5)), Bytes: int64(w.random("MB", 0, 5000)) << 20})
	}
	w.release(t, false)
	if !t.reduce && j.left[0] == 0 {
		j.since = w.now
		for _, x := range w.running {
			if x.job == j && x.ends == 0 {
				x.ends = w.now + x.takes
			}
		}
	}
}

func (w *world) release(t *task, failed bool) {
	w.free[t.node] = w.free[t.node].Add(t.size)
	w.d.Apply(&eventlog.Event{Op: eventlog.Free, Container: t.handle, Failed: failed})
}

// vacancy looks whether room is kept from those who wait for it.
func (w *world) vacancy() {
	keeps := ""
	for _, j := range w.jobs {
		if len(w.d.Reservations()) > 0 {
			break // a request larger than any room has what there is
		}
		for _, r := range w.d.Explain(j.app) {
			if r.Limit != explain.LeafPolicy || !strings.Contains(r.Text, "it is the turn of") {
				continue
			}
			for _, free := range w.free {
				if r.Ask.Capability.FitsIn(free) {
					keeps = r.Text
				}
			}
		}
	}
	switch {
	case keeps == "":
		w.held = 0
	case w.held == 0:
		w.held = w.now
	case w.now-w.held > vacant:
		w.t.Fatalf("%d ms: for %d ms room is kept from who waits for it: %s", w.now, w.now-w.held, keeps)
	}
}

// ask is a heartbeat of an ApplicationMaster.
func (w *world) ask(j *job) {
	want := map[int32]int{20: j.maps, 5: j.reruns}
	if j.left[0] <= j.slowstart {
		want[10] = j.reduces
	}
	if j.maps+j.reruns > 0 && j.starved == 0 {
		j.starved = w.now
	}
	if j.maps+j.reruns == 0 {
		j.starved = 0
	}
	if j.starved != 0 && w.now-j.starved >= preempts {
		for _, x := range w.running {
			if x.job == j && x.reduce {
				w.running = slices.DeleteFunc(w.running, func(y *task) bool { return y == x })
				w.release(x, true)
				j.reduces++
				j.starved, w.touched = w.now, w.now
				break
			}
		}
		want[10] = 0 // they are asked for again when the maps have got their room
	}
	for _, p := range []int32{5, 10, 20} {
		if want[p] != j.asked[p] {
			j.asked[p] = want[p]
			size := j.size[0]
			if p == 10 {
				size = j.size[1]
			}
			w.d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: j.app, Asks: []scheduler.Ask{{Priority: p, Name: scheduler.Any, Count: int32(want[p]), Capability: size, RelaxLocality: true}}})
		}
	}
}

// check looks whether anybody waits in vain.
func (w *world) check() {
	pending := false
	for _, j := range w.jobs {
		for p, n := range j.asked {
			if n == 0 {
				continue
			}
			pending = true
			for _, r := range w.d.Explain(j.app) {
				if r.Ask.Priority != p || r.Limit != explain.LeafPolicy {
					continue
				}
				switch {
				case strings.HasSuffix(r.Text, "at the most"): // its reasons follow
					w.t.Fatalf("%d ms: the policy doesn't say what it waits for: %s", w.now, r.Text)
				case j.kind == other || j.kind == uber:
					w.t.Fatalf("%d ms: a job that is %s waits for the policy: %s", w.now, j.kind, r.Text)
				case p == 5:
					w.t.Fatalf("%d ms: a map that has failed waits: %s", w.now, r.Text)
				case p == 20 && !w.reducesWait():
					w.t.Fatalf("%d ms: maps wait, though no reduces do: %s", w.now, r.Text)
				case p == 10 && j.left[0] == 0 && !w.mapsWait():
					w.t.Fatalf("%d ms: reduces wait, though all maps have ended: %s", w.now, r.Text)
				}
			}
		}
	}
	if !pending {
		return
	}
	if moving := slices.ContainsFunc(w.running, func(x *task) bool { return x.ends != 0 }); moving {
		return
	}
	if w.now-w.touched > max(idle, preempts+2*second) {
		var why []string
		for _, j := range w.jobs {
			for _, r := range w.d.Explain(j.app) {
				why = append(why, fmt.Sprintf("\n%+v of %+v: %s", r.Ask, *j, r.Text))
			}
		}
		w.t.Fatalf("%d ms: nothing has happened for %d ms, and containers are pending: %v", w.now, w.now-w.touched, why)
	}
}

func (w *world) mapsWait() bool {
	return slices.ContainsFunc(w.jobs, func(j *job) bool { return j.kind != other && j.asked[20]+j.asked[5] > 0 })
}

func (w *world) reducesWait() bool {
	return slices.ContainsFunc(w.jobs, func(j *job) bool { return j.kind != other && j.asked[10] > 0 && j.left[0] == 0 })
}

// queues with a stage policy, by their schedulers.
func source(scheduler, policy string) *eventlog.Source {
	s := &eventlog.Source{Keys: map[string]string{"yarn.resourcemanager.scheduler.class": scheduler, "heddle.scheduler.stage-policy": policy}}
	if scheduler == "fair" {
		s.Allocation = "<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault><queue name='a'/></allocations>"
		return s
	}
	for k, v := range map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a.user-limit-factor": "100", "maximum-am-resource-percent": "1"} {
		s.Keys["yarn.scheduler.capacity."+k] = v
	}
	return s
}

// Whatever jobs come, all end; nothing waits for a policy while nothing else happens; who isn't of the pattern never waits, nor do maps that
// have failed; reduces never wait once all maps have ended; no turn of FRESH keeps room free that the other stage could take. Each log replays.
func TestNoJobWaitsInVain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom([]string{"capacity", "fair"}).Draw(t, "scheduler")
		randomJobs(t, source(class, rapid.SampledFrom([]string{"fresh", "omo"}).Draw(t, "policy")))
	})
}

func randomJobs(t *rapid.T, queues *eventlog.Source) {
	tree, _, err := queues.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	writer := eventlog.NewWriter(&log)
	d, err := eventlog.New(scheduler.Config{Tree: tree, Minimum: gb(1)}, writer, queues, eventlog.Header{Heddle: "test", Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, d: d, fresh: queues.Keys["heddle.scheduler.stage-policy"] == "fresh", free: map[scheduler.NodeHandle]records.Resource{}, random: func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }}
	for i := range w.random("nodes", 1, 3) {
		size := gb(w.random("GB", 3, 6))
		w.free[eventlogtest.AddNode(d, scheduler.NodeSpec{Host: fmt.Sprint("n", i), Rack: "/r", Capability: size})] = size
	}
	for i := range w.random("jobs", 1, 4) {
		j := &job{
			kind: rapid.SampledFrom([]kind{normal, normal, normal, mapOnly, reducesOnly, uber, other}).Draw(t, "kind"), asked: map[int32]int{},
			size: [2]records.Resource{gb(w.random("map", 1, 2)), gb(w.random("reduce", 1, 3))},
		}
		if j.kind != reducesOnly && j.kind != uber {
			j.maps = w.random("maps", 1, 9)
			j.failures, j.slowstart = w.random("failures", 0, 2), w.random("slowstart", 0, j.maps)
		}
		if j.kind != mapOnly && j.kind != uber {
			j.reduces, j.losses = w.random("reduces", 1, 6), w.random("losses", 0, 1)
		}
		j.left = [2]int{j.maps, j.reduces}
		typ := "MAPREDUCE"
		if j.kind == other {
			typ = "SPARK"
		}
		j.app = eventlogtest.AddApp(d, drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: int64(i + 1), Queue: "root.a", User: "u", Type: typ}, ID: records.ApplicationID{ID: int32(i + 1)},
		})
		w.jobs = append(w.jobs, j)
	}
	w.run()
	if err := writer.Flush(); err != nil {
		t.Fatal(err)
	}
	replay := eventlog.NewReplay(&log)
	for {
		if _, err := replay.Step(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

package shorttasks_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/am/sched"
	"heddle/integration/shorttasks"
	"heddle/nm/probe"
)

// rules simulates nodes and a scheduler: their rules are those of live ones, their messages take a time, and processors none.
type rules struct {
	hop    time.Duration // of a message, in the mean
	each   time.Duration // of a task
	within float64       // a node asks ahead if a task ends once in so many round trips
	hand   bool          // executors begin tasks that were sent ahead
	drop   bool          // the scheduler removes probes of jobs whose tasks were all given out

	now    time.Duration
	entry  int
	events agenda
	rng    *rand.Rand
	sched  *sched.Scheduler
	nodes  []*simNode
	jobs   map[sched.ID]*simJob
	took   []time.Duration
	none   int // asks that got no task
}

type simJob struct {
	id   sched.ID
	came time.Duration
	open int
}

type simNode struct {
	*probe.Worker
	at      sched.Node
	known   probe.Jobs
	handles map[*simJob]probe.Handle
	of      map[probe.Handle]*simJob
	runs    map[probe.Slot]*simRun
	ahead   []probe.Slot // at the executor
	untold  bool
	trip    time.Duration
	gap     time.Duration
	last    time.Duration
}

type simRun struct {
	job   *simJob
	asked time.Duration
	task  int32
	waits bool // the task has come, and has no room yet
	begun bool
}

type event struct {
	at    time.Duration
	entry int
	do    func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, k int) bool {
	return a[i].at < a[k].at || a[i].at == a[k].at && a[i].entry < a[k].entry
}
func (a agenda) Swap(i, k int) { a[i], a[k] = a[k], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }

func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

func (s *rules) after(d time.Duration, do func()) {
	s.entry++
	heap.Push(&s.events, event{s.now + d, s.entry, do})
}

// send has a message arrive.
func (s *rules) send(do func()) {
	s.after(time.Duration((0.5+0.5*s.rng.ExpFloat64())*float64(s.hop)), do)
}

// run simulates jobs that come at these times, and returns how long they take.
func (s *rules) run(arrivals []time.Duration, tasks, nodes, slots int) []time.Duration {
	s.rng = rand.New(rand.NewPCG(5, 5))
	s.sched = sched.New(sched.Config{Ratio: 2, Sticky: true}, rand.New(rand.NewPCG(1, 2)))
	s.jobs = map[sched.ID]*simJob{}
	cfg := &probe.Config{Ranking: probe.Shortest, Bound: 5, Sticky: true, Late: true, Fitting: true}
	var up []sched.Node
	for i := range nodes {
		n := &simNode{at: sched.Node(i), handles: map[*simJob]probe.Handle{}, of: map[probe.Handle]*simJob{}, runs: map[probe.Slot]*simRun{}}
		n.Worker = probe.New(cfg, &n.known, probe.Amount{MemoryMB: math.MaxInt32, VCores: int64(slots)})
		s.nodes, up = append(s.nodes, n), append(up, n.at)
	}
	s.sched.SetNodes(up, nil)
	for _, at := range arrivals {
		s.after(at, func() {
			id, to := s.sched.Submit(s.now, sched.Job{Alone: true, Tasks: tasks})
			s.jobs[id] = &simJob{id, s.now, tasks}
			s.probe(s.jobs[id], slices.Clone(to))
		})
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	return s.took
}

// probe sends probes.
func (s *rules) probe(j *simJob, to []sched.Node) {
	left, _ := s.sched.Left(j.id)
	for _, at := range slices.Compact(slices.Sorted(slices.Values(to))) {
		n := s.nodes[at]
		count := 0
		for _, x := range to {
			if x == at {
				count++
			}
		}
		s.send(func() {
			h, known := n.handles[j]
			if !known {
				h = n.known.Add(probe.Job{Estimate: s.each, Left: left, Size: probe.Amount{MemoryMB: 1, VCores: 1}})
				n.handles[j], n.of[h] = h, j
			}
			n.untold = true
			for range count {
				n.Add(h)
			}
			s.pump(n)
		})
	}
}

// pump does what nm/shorttasks does.
func (s *rules) pump(n *simNode) {
	for slot, ok := n.Start(s.now); ok; slot, ok = n.Start(s.now) {
		n.runs[slot].waits = false
		s.send(func() {
			if at := slices.Index(n.ahead, slot); at >= 0 {
				n.ahead = slices.Delete(n.ahead, at, at+1)
			}
			s.begin(n, slot)
		})
	}
	gap, ahead := max(n.gap, s.now-n.last, 1), 0
	if float64(gap) <= s.within*float64(n.trip) {
		ahead = int(math.Ceil(min(float64(n.trip)/float64(gap), 64)))
	}
	n.SetAhead(ahead)
	for a, ok := n.Next(s.now); ok; a, ok = n.Next(s.now) {
		s.ask(n, a)
	}
	lent, used := n.Use()
	if _, waiting := n.Queued(); n.untold && waiting == 0 && lent.VCores > used.VCores {
		n.untold = false
		s.send(func() {
			for _, p := range slices.Clone(s.sched.Steal(n.at, int(lent.VCores-used.VCores))) {
				s.probe(s.jobs[p.Job], []sched.Node{n.at})
			}
		})
	}
}

// ask asks the scheduler for a task.
func (s *rules) ask(n *simNode, a probe.Ask) {
	r := &simRun{job: n.of[a.Job], asked: s.now}
	n.runs[a.Slot] = r
	s.send(func() {
		got := s.sched.Ask(s.now, r.job.id, sched.Asking{Node: n.at, Others: n.Others()})
		if s.drop && got.Kind == sched.Task && got.Left == 0 {
			s.remove(r.job)
		}
		s.send(func() { s.answer(n, a, got) })
	})
}

func (s *rules) answer(n *simNode, a probe.Ask, got sched.Answer) {
	r := n.runs[a.Slot]
	n.trip += (s.now - r.asked - n.trip) / 16
	if got.Left == 0 {
		n.known.SetLaunched(a.Job)
	} else {
		n.known.SetLeft(a.Job, int(got.Left))
	}
	if got.Kind == sched.None {
		s.none++
		n.Bind(a.Slot, probe.None)
		n.Free(s.now, a.Slot)
		delete(n.runs, a.Slot)
		s.pump(n)
		return
	}
	r.task = got.Task
	n.Bind(a.Slot, probe.Task)
	if !n.Early(a.Slot) {
		s.send(func() { s.begin(n, a.Slot) })
		return
	}
	r.waits = true
	if s.hand {
		s.send(func() {
			if r.waits {
				n.ahead = append(n.ahead, a.Slot)
			}
		})
	}
}

// begin has the executor run a task, unless it does.
func (s *rules) begin(n *simNode, slot probe.Slot) {
	if n.runs[slot].begun {
		return
	}
	n.runs[slot].begun = true
	s.after(s.each, func() {
		next := probe.Slot(-1)
		if len(n.ahead) > 0 {
			next, n.ahead = n.ahead[0], n.ahead[1:]
			n.runs[next].waits = false
			s.begin(n, next)
		}
		s.send(func() {
			n.gap += (s.now - n.last - n.gap) / 16
			n.last = s.now
			r := n.runs[slot]
			delete(n.runs, slot)
			n.Free(s.now, slot)
			if next >= 0 {
				n.Began(s.now, next)
			}
			s.pump(n)
			s.send(func() { s.ended(n, r) })
		})
	})
}

func (s *rules) ended(n *simNode, r *simRun) {
	s.sched.Finished(r.job.id, r.task, n.at)
	if r.job.open--; r.job.open == 0 {
		s.took = append(s.took, s.now-r.job.came)
		s.sched.Forget(r.job.id)
		s.remove(r.job)
	}
}

// remove removes a job's probes.
func (s *rules) remove(j *simJob) {
	for _, n := range s.nodes {
		s.send(func() {
			if h, known := n.handles[j]; known {
				n.Cancel(h)
				s.pump(n)
			}
		})
	}
}

// TestWhatRulesLose says what part of the delay of `heddle-lab bench probes` is that of the rules, and what messages add: with messages that take no time, probes of two nodes place
// jobs as one queue of all slots does. With messages of 0.12 ms, removed probes and tasks that are sent ahead make up for more than a third of what is lost.
func TestWhatRulesLose(t *testing.T) {
	const each, tasks, nodes, slots = 10 * time.Millisecond, 10, 2, 8
	var arrivals []time.Duration
	draw := rand.New(rand.NewPCG(1, 17))
	for at := time.Duration(0); at < 8*time.Second; at += time.Duration(draw.ExpFloat64() / 0.8 / nodes / slots * tasks * float64(each)) {
		arrivals = append(arrivals, at)
	}
	mean := func(all []time.Duration) (sum time.Duration) {
		for _, d := range all {
			sum += d
		}
		return sum / time.Duration(len(all))
	}
	ideal := mean(shorttasks.Ideal(arrivals, slices.Repeat([][]time.Duration{slices.Repeat([]time.Duration{each}, tasks)}, len(arrivals)), nodes*slots))
	over := func(s rules) (time.Duration, int) {
		s.each, s.within = each, 8
		took := s.run(arrivals, tasks, nodes, slots)
		if len(took) != len(arrivals) {
			t.Fatalf("%d of %d jobs have ended", len(took), len(arrivals))
		}
		return mean(took) - ideal, s.none
	}
	if lost, _ := over(rules{}); lost != 0 {
		t.Errorf("without any delay jobs take %v longer", lost)
	}
	const hop = 120 * time.Microsecond
	before, asked := over(rules{hop: hop})
	after, fewer := over(rules{hop: hop, hand: true, drop: true})
	t.Logf("jobs take %v longer than %v, and %v with both; %d and %d asks get no task", before, ideal, after, asked, fewer)
	if after > before*2/3 || fewer > asked/2 {
		t.Errorf("%v and %v longer, %d and %d asks without a task", before, after, asked, fewer)
	}
}

package sched

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Config is how a Scheduler works.
type Config struct {
	Ratio  float64 // probes for a task (d): 2
	Least  int     // probes for a job at least: Eagle's 20
	Repeat bool    // one job may probe a node twice, as in the simulators of Hawk and Eagle
	Sticky bool    // nodes keep the probe of a task, and ask again with it
	Rounds int     // rounds after which what was rejected goes to the short partition (Eagle: 2); 0: nodes don't reject for long work
	// CloneBelow is the mean time from the submission of tasks to their start below which late probes get clones; 0: never. Eirene's text has no such bound: there the
	// longest time (math.MaxInt64) stands for it. Ours keeps clones out of a cluster that has no room for them.
	CloneBelow time.Duration
	// Decline is the quoted wait (Quoted) above which probes go elsewhere, if they can; 0: never.
	Decline time.Duration
	// Early is how long bids of nodes are collected at most before tasks are bound (early binding, Bid); 0: tasks are bound when nodes have room (late binding, Ask).
	Early time.Duration
}

// Scheduler places the tasks of its jobs. It isn't safe for concurrent use.
type Scheduler struct {
	cfg   Config
	rng   *rand.Rand
	nodes []Node // that are up, in any order
	short []Node // of these, the short partition
	dense bool   // nodes are 0, 1, 2 and so on, as long as no draw changes their order
	known Bitmap // from the ResourceManager
	jobs  []job
	free  []int32
	wait  float64 // ns: moving mean of waiting times, from a task's submission to its first start
	draws []Node
	clear []Node
	out   []Probe
}

// Probe is one that is to be sent.
type Probe struct {
	Job  ID
	Node Node
}

// New returns a Scheduler without nodes and jobs.
func New(cfg Config, rng *rand.Rand) *Scheduler { return &Scheduler{cfg: cfg, rng: rng} }

// SetNodes says which nodes are up, and which of them are the short partition. It keeps the slices.
func (s *Scheduler) SetNodes(nodes, short []Node) {
	s.nodes, s.short, s.dense = nodes, short, true
	for i, n := range nodes {
		s.dense = s.dense && n == Node(i)
	}
}

// Learn records the ResourceManager's bitmap of nodes with long work. First rounds of probes avoid these nodes.
func (s *Scheduler) Learn(b Bitmap) {
	if s.known.Words == nil || b.At >= s.known.At {
		s.known = b
	}
}

// MeanWait returns the moving mean of the time from a task's submission to its start.
func (s *Scheduler) MeanWait() time.Duration { return time.Duration(s.wait) }

func (s *Scheduler) find(id ID) *job {
	i := uint32(id)
	if int(i) >= len(s.jobs) || s.jobs[i].generation != uint32(id>>32) || !s.jobs[i].live {
		return nil
	}
	return &s.jobs[i]
}

// Submit takes a job in, and returns the nodes to which probes of it go.
func (s *Scheduler) Submit(now time.Duration, given Job) (ID, []Node) {
	var i int32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = int32(len(s.jobs))
		s.jobs = append(s.jobs, job{})
	}
	j := &s.jobs[i]
	*j = job{
		generation: j.generation + 1, live: true, alone: given.Alone, waits: waits{batches: j.waits.batches[:0]},
		nodes: given.Nodes, tasks: j.tasks[:0], retry: j.retry[:0], probed: j.probed[:0], newest: Bitmap{At: never},
	}
	if given.Nodes != nil {
		j.allowed = make(map[Node]bool, len(given.Nodes))
		for _, n := range given.Nodes {
			j.allowed[n] = true
		}
	}
	id := ID(j.generation)<<32 | ID(i)
	if given.Placed {
		j.enter(now, given.Tasks)
		return id, nil
	}
	return id, s.grow(now, j, given.Tasks, given.Where)
}

const never = time.Duration(-1 << 63)

// Grow adds tasks to a job, and returns the nodes to which probes for them go. Their numbers follow those that the job has; where are the nodes
// of each, as in Job.Where.
func (s *Scheduler) Grow(now time.Duration, id ID, tasks int, where [][]Node) []Node {
	j := s.find(id)
	if j == nil {
		return nil
	}
	return s.grow(now, j, tasks, where)
}

func (s *Scheduler) grow(now time.Duration, j *job, tasks int, where [][]Node) []Node {
	if tasks <= 0 {
		return nil
	}
	before := len(j.tasks)
	j.enter(now, tasks)
	if where != nil || j.where != nil {
		j.constrain(before, where)
		return s.sent(j, s.drawEach(j, before))
	}
	n := s.probes(tasks)
	if before == 0 {
		n = max(n, s.cfg.Least)
	}
	return s.sent(j, s.draw(j, n, s.known))
}

// enter adds tasks that wait.
func (j *job) enter(now time.Duration, tasks int) {
	j.waits.enter(now, len(j.tasks), tasks)
	j.tasks = slices.Grow(j.tasks, tasks)
	for range tasks {
		j.tasks = append(j.tasks, task{first: nowhere, clone: nowhere})
	}
	j.left += int32(tasks)
}

// probes returns how many are sent for so many tasks.
func (s *Scheduler) probes(tasks int) int { return max(1, int(math.Ceil(s.cfg.Ratio*float64(tasks)))) }

// sent notes that probes go to these nodes.
func (s *Scheduler) sent(j *job, to []Node) []Node {
	j.unanswered += int32(len(to))
	return to
}

// Answered says whether a node accepted a probe, and which bitmap of long work it has; it may have none. When the last probe of a round is
// answered, it returns where the next ones go. Last says that these go to the short partition: no other round follows.
//
// In a simulation whose nodes accept everything it needn't be called.
func (s *Scheduler) Answered(id ID, node Node, accepted bool, b Bitmap) (next []Node, last bool) {
	j := s.find(id)
	if j == nil {
		return nil, false
	}
	if b.Words != nil && b.At > j.newest.At {
		j.newest = b
	}
	if accepted {
		j.out++
		j.probed = append(j.probed, node)
	} else {
		j.rejected++
	}
	return s.close(j)
}

// GaveBack says that a node has dropped probes of a job that it had accepted. If none is left, Starving lists the job.
func (s *Scheduler) GaveBack(id ID, node Node, probes int) {
	j := s.find(id)
	if j == nil {
		return
	}
	before := len(j.probed)
	j.probed = slices.DeleteFunc(j.probed, func(n Node) bool {
		if n != node || probes == 0 {
			return false
		}
		probes--
		return true
	})
	j.out = max(0, j.out-int32(before-len(j.probed)))
}

// close ends a round when all of its probes are answered.
func (s *Scheduler) close(j *job) (next []Node, last bool) {
	if j.unanswered--; j.unanswered > 0 {
		return nil, false
	}
	missing := int(j.rejected)
	j.unanswered, j.rejected = 0, 0
	if missing == 0 || j.left == 0 {
		j.round = 0
		return nil, false
	}
	j.round++
	switch {
	case int(j.round) < s.cfg.Rounds:
		return s.sent(j, s.draw(j, missing, j.newest)), false
	case int(j.round) == s.cfg.Rounds && len(s.short) > 0 && j.nodes == nil && j.where == nil:
		s.draws = s.draws[:0]
		s.drawFrom(s.short, missing, Bitmap{})
		return s.sent(j, s.draws), true
	}
	j.round = 0
	j.short += int32(missing)
	return nil, false
}

// Starving calls f with the jobs of which tasks wait, and of which no probe is out.
func (s *Scheduler) Starving(f func(ID)) {
	for i := range s.jobs {
		if j := &s.jobs[i]; j.live && j.left > 0 && j.out <= 0 && j.unanswered == 0 {
			f(ID(j.generation)<<32 | ID(i))
		}
	}
}

// Reprobe returns nodes to which new probes of a job go, in place of those that no node accepted: Ratio for each task that waits, at most.
func (s *Scheduler) Reprobe(id ID) []Node {
	j := s.find(id)
	if j == nil || j.left == 0 {
		return nil
	}
	n := s.probes(int(j.left))
	if j.out > 0 {
		n = min(n, int(j.short))
	}
	j.short = 0
	if j.where == nil {
		return s.sent(j, s.draw(j, n, s.known))
	}
	s.draws = s.draws[:0]
	for t := range j.tasks {
		if j.tasks[t].state == waiting {
			s.drawTask(j, int32(t), s.probes(1))
		}
	}
	return s.sent(j, s.draws)
}

// Probed returns the nodes that accepted probes of a job, each as often as it did. They may have asked for tasks since.
func (s *Scheduler) Probed(id ID) []Node {
	if j := s.find(id); j != nil {
		return j.probed
	}
	return nil
}

// Left returns how many tasks of a job wait, and how many aren't done.
func (s *Scheduler) Left(id ID) (wait, open int) {
	j := s.find(id)
	if j == nil {
		return 0, 0
	}
	return int(j.left), len(j.tasks) - int(j.ended)
}

// Waits reports whether a task of a job waits: no attempt of it was launched, or all have failed.
func (s *Scheduler) Waits(id ID, t int32) bool {
	j := s.find(id)
	return j != nil && t >= 0 && int(t) < len(j.tasks) && j.tasks[t].state == waiting
}

// Forget drops a job, done or not. Nodes that ask for tasks of it get none.
func (s *Scheduler) Forget(id ID) {
	if j := s.find(id); j != nil {
		j.live, j.where, j.byNode, j.nodes, j.allowed = false, nil, nil, nil, nil
		j.newest, j.bids = Bitmap{}, nil
		s.free = append(s.free, int32(uint32(id)))
	}
}

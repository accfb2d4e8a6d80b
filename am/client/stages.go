package client

import (
	"cmp"
	"math"
	"slices"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// StageReport is where the stages of an application's work are, in all. A Heddle ResourceManager estimates by it how long shuffles take, and
// how often containers become free. Others ignore it.
type StageReport struct {
	Maps        int64 // that have outputs
	OutputBytes int64 // of these
	Released    int64 // how often a container has become free for another task
	Available   int64 // containers that will by themselves

	// For the ordering policy Hopper.
	Left      int64         // tasks of the phase that runs which haven't ended, those that run included
	Copies    bool          // slow tasks are copied
	Young     int64         // tasks that wait or run, of which it isn't known yet whether they are slow
	Detection time.Duration // how long a task must have run until it is
	ToRead    int64         // bytes that the next phase has still to read; 0, as ToMake, in the last one
	ToMake    int64         // bytes that this phase has still to put out
	Ended     int64         // tasks of which Beta was found; below 50 it doesn't count
	Beta      float64       // shape of the Pareto distribution of how long tasks take; 0: it isn't known
}

// Performance is how long tasks have taken on a node, in all.
type Performance struct {
	Host   string
	Reduce bool // else maps
	Tasks  int64
	Mean   float64 // seconds
}

// TaskTry is a try of a task in a container that is over, for the application's receipt.
type TaskTry struct {
	Container records.ContainerID
	Reduce    bool // else a map
	Index     int
	From, To  time.Time
	Fetched   time.Time // of a reduce: when it had its input; zero: it never had
	Outcome   TryOutcome
	Copy      bool // another try of the task ran when it began
	Remote    bool // its input was on other hosts
}

// TryOutcome says how a try ended.
type TryOutcome = pb.TryOutcome

// Outcomes of tries.
const (
	TrySucceeded = pb.TryOutcome_TRY_SUCCEEDED
	TryFailed    = pb.TryOutcome_TRY_FAILED
	TryEnded     = pb.TryOutcome_TRY_ENDED // as another try was faster, or its slot was needed
)

// Hints are a Heddle ResourceManager's knowledge of an application's queue. A field is 0 where it knows nothing.
type Hints struct {
	Frequency float64 // containers of the application's size that are released per second
	Available float64 // those that will be
	Jobs      int     // applications that have containers
	Bandwidth float64 // at which outputs of maps are fetched, in bytes per second
	Divides   bool    // the queue has slots for copies of tasks
	Copies    int     // containers that the application may have for these, besides those for tasks, if it does
}

// NodeClass is how fast a node is among those of the cluster: higher classes are faster; 0: unknown.
type NodeClass struct {
	Host  string
	Class int
}

// Bounds of what one message says.
const (
	maxReports = 1000
	maxTries   = 256 // the newest
	maxClass   = 1000
)

// stages has a Master's reports of its application's stages, and which of them the ResourceManager has.
type stages struct {
	wants     bool
	report    StageReport
	sent      StageReport
	ran       map[place]*performance
	unsent    []place // of ran
	tries     []TaskTry
	triesSent uint64 // how many have left tries
}

// place is a node for a type of tasks.
type place struct {
	host   string
	reduce bool
}

type performance struct {
	Performance
	waits bool // to be sent
}

// SetStages says where the stages are. The next Allocate sends it if it has changed.
func (m *Master) SetStages(r StageReport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stages.report = r
}

// SetPerformance says how long tasks of a type have taken on a node, in all. The next Allocate sends it.
func (m *Master) SetPerformance(p Performance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.stages
	if s.ran == nil {
		s.ran = map[place]*performance{}
	}
	at := place{p.Host, p.Reduce}
	x := s.ran[at]
	if x == nil {
		x = &performance{}
		s.ran[at] = x
	}
	x.Performance = p
	s.await(at, x)
}

func (s *stages) await(at place, x *performance) {
	if !x.waits {
		x.waits = true
		s.unsent = append(s.unsent, at)
	}
}

// AddTry tells of a try of a task that is over. The next Allocate sends it.
func (m *Master) AddTry(t TaskTry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.stages
	if s.tries = append(s.tries, t); len(s.tries) > maxTries {
		s.dropTries(1)
	}
}

func (s *stages) dropTries(n int) {
	s.tries = slices.Delete(s.tries, 0, n)
	s.triesSent += uint64(n)
}

// WantHints has Allocate return hints and classes of nodes, from a ResourceManager that knows them.
func (m *Master) WantHints() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stages.wants = true
}

// stageNews are the reports of stages in one call.
type stageNews struct {
	report *StageReport // nil: nothing is new
	ran    []Performance
	tries  []TaskTry
	upTo   uint64 // stages.triesSent once these have been sent
}

// news gathers what hasn't been sent yet.
func (s *stages) news() (n stageNews) {
	if s.report != s.sent {
		r := s.report
		n.report = &r
	}
	for _, at := range s.unsent[:min(len(s.unsent), maxReports)] {
		n.ran = append(n.ran, s.ran[at].Performance)
	}
	n.tries, n.upTo = slices.Clone(s.tries), s.triesSent+uint64(len(s.tries))
	return n
}

// markSent records that the ResourceManager has got news. Later changes are sent again.
func (s *stages) markSent(n stageNews) {
	if n.report != nil {
		s.sent = *n.report
	}
	if n.upTo > s.triesSent {
		s.dropTries(int(n.upTo - s.triesSent))
	}
	for _, p := range n.ran {
		at := place{p.Host, p.Reduce}
		if x := s.ran[at]; x.waits && x.Performance == p {
			x.waits = false
		}
	}
	if len(n.ran) > 0 {
		s.unsent = slices.DeleteFunc(s.unsent, func(at place) bool { return !s.ran[at].waits })
	}
}

// forget marks everything to be sent again, as another ResourceManager has taken over.
func (s *stages) forget() {
	s.sent = StageReport{}
	s.unsent = s.unsent[:0]
	for at, x := range s.ran {
		x.waits = true
		s.unsent = append(s.unsent, at)
	}
	slices.SortFunc(s.unsent, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(boolInt(a.reduce), boolInt(b.reduce)))
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// write adds news to a call.
func (n *stageNews) write(req *pb.AllocateRequest, wants bool) {
	n.writeTries(req, time.Now())
	if wants {
		req.SetHeddleWantsHints(true)
		req.SetHeddleWantsLevels(true)
	}
	if r := n.report; r != nil {
		p := &pb.StageReport{}
		p.SetMaps(r.Maps)
		p.SetOutputBytes(r.OutputBytes)
		p.SetReleased(r.Released)
		p.SetAvailable(r.Available)
		p.SetLeft(r.Left)
		p.SetCopies(r.Copies)
		p.SetYoung(r.Young)
		p.SetDetection(r.Detection.Milliseconds())
		p.SetToRead(r.ToRead)
		p.SetToMake(r.ToMake)
		if r.Beta > 0 {
			p.SetEnded(r.Ended)
			p.SetBeta(r.Beta)
		}
		req.SetHeddleStages(p)
	}
	if len(n.ran) == 0 {
		return
	}
	list := make([]*pb.NodePerformance, len(n.ran))
	for i, p := range n.ran {
		kind := pb.TaskType_TASK_MAP
		if p.Reduce {
			kind = pb.TaskType_TASK_REDUCE
		}
		list[i] = &pb.NodePerformance{}
		list[i].SetHost(p.Host)
		list[i].SetType(kind)
		list[i].SetTasks(p.Tasks)
		list[i].SetMean(p.Mean)
	}
	req.SetHeddlePerformance(list)
}

// writeTries adds tries to a call that is made now.
func (n *stageNews) writeTries(req *pb.AllocateRequest, now time.Time) {
	if len(n.tries) == 0 {
		return
	}
	list := make([]*pb.TaskTry, len(n.tries))
	ago := func(t time.Time) int64 { return max(now.Sub(t).Milliseconds(), 0) }
	for i, t := range n.tries {
		m := &pb.TaskTry{}
		m.SetContainer(t.Container.ID)
		if t.Reduce {
			m.SetType(pb.TaskType_TASK_REDUCE)
		}
		m.SetIndex(int32(t.Index))
		m.SetFrom(ago(t.From))
		m.SetTo(ago(t.To))
		if !t.Fetched.IsZero() {
			m.SetFetched(ago(t.Fetched))
		}
		m.SetOutcome(t.Outcome)
		m.SetCopy(t.Copy)
		m.SetRemote(t.Remote)
		list[i] = m
	}
	req.SetHeddleTries(list)
}

// hinted takes hints and classes out of an answer. Numbers that can't be are left out.
func hinted(resp *pb.AllocateResponse, out *Allocation) {
	if h := resp.GetHeddleHints(); h != nil {
		out.Hints = &Hints{
			Frequency: sane(h.GetFrequency()), Available: sane(h.GetAvailable()), Jobs: int(max(0, h.GetJobs())),
			Bandwidth: sane(h.GetBandwidth()),
			Divides:   h.HasCopies(), Copies: int(min(max(0, h.GetCopies()), math.MaxInt32)),
		}
	}
	for _, l := range resp.GetHeddleLevels() {
		out.Classes = append(out.Classes, NodeClass{l.GetHost(), int(min(max(0, l.GetLevel()), maxClass))})
	}
}

// sane returns a number that is above 0 and finite, or 0.
func sane(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	return x
}

package mapreduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Scenario is what is simulated. Times are in seconds, memory and data in MB.
type Scenario struct {
	Seed  uint64  `json:"seed"`
	Limit float64 `json:"limit"` // of the simulated time; 0: 1,000,000
	// Scheduler is fair, capacity or fifo; "" is fair. Properties are those of yarn-site.xml and capacity-scheduler.xml for it,
	// Allocations is the text of fair-scheduler.xml.
	Scheduler   string            `json:"scheduler"`
	Properties  map[string]string `json:"properties"`
	Allocations string            `json:"allocations"`
	Settings    Settings          `json:"settings"`
	Nodes       []Nodes           `json:"nodes"`
	Changes     []Change          `json:"changes"`
	Jobs        []Jobs            `json:"jobs"`

	warnings []FileError
}

// Settings are of all jobs.
type Settings struct {
	// SlowStart is omo, or the part of the maps that is done when reduces may begin; "" is 0.05.
	SlowStart string `json:"slowstart"`
	// RampUp limits how many reduces begin while maps wait, as heddle mr and Hadoop's MapReduce do on YARN.
	RampUp bool `json:"rampUp"`
	// StagePolicy is fresh, omo or none, the ResourceManager's for all queues that name no other in Properties or Allocations; "" is none.
	// It makes reduces wait that a job has asked for; with a slowstart of 0 the job leaves it to the policy.
	StagePolicy string `json:"stagePolicy"`
	// Speculation is esplash, late, split or none; "" is none.
	Speculation string `json:"speculation"`
	// Containers is task, one for each task, or reused, by one task after the other of the job; "" is task.
	Containers string `json:"containers"`
	// Classes is measured, by each job alone, or configured, as nodes have it; "" is measured.
	Classes string `json:"levels"`
	// Freezes suspends attempts for the sake of copies, on nodes that can do that: where copies find no slot, or have overtaken them.
	// Preemption is on then, and suspends, unless Properties or Allocations say something else.
	Freezes bool `json:"freezes"`
	// Hints tells jobs how often containers of the whole cluster are released, and how many jobs run.
	Hints bool `json:"hints"`

	Bandwidth  float64    `json:"bandwidth"` // at which a reduce fetches, MB/s; 0: 64
	Noise      float64    `json:"noise"`     // deviation of the logarithm of the work of attempts
	Start      float64    `json:"start"`     // from a container's grant to its first task; 0: 1 s
	Expiry     float64    `json:"expiry"`    // until a lost node is noticed; 0: 10 s
	Stragglers Stragglers `json:"stragglers"`
}

// Stragglers are attempts that take longer, wherever they run.
type Stragglers struct {
	Share  float64 `json:"share"`  // of all attempts, from 0 to 1
	Factor float64 `json:"factor"` // how many times as long they take
}

// Nodes are nodes that are alike. Where there are several, their names are Name1, Name2, ….
type Nodes struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"` // 0: 1
	Memory int64   `json:"memory"`
	VCores int64   `json:"vcores"`
	Speed  float64 `json:"speed"` // 0: 1
	// Speeds are for types of tasks: a job's type and the stage, as in "sort.map", or one of the two. The most precise one counts.
	Speeds map[string]float64 `json:"speeds"`
	Class  int                `json:"level"` // if classes are configured; from 1, higher ones are faster
	// Parallel is how many tasks work at the speed at a time; more of them share what so many do. 0: any number does.
	Parallel float64 `json:"parallel"`
}

// Change is what becomes of a node, or of all nodes of a name.
type Change struct {
	At    float64  `json:"at"`
	Node  string   `json:"node"`
	Speed *float64 `json:"speed"` // times its speed at first; 0: nothing gets on there
	Down  *bool    `json:"down"`
}

// Jobs are jobs that are alike, submitted one after the other. Where there are several, their names are Name1, Name2, ….
type Jobs struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Count   int     `json:"count"` // 0: 1
	Submit  float64 `json:"submit"`
	Every   float64 `json:"every"` // between two of them
	Queue   string  `json:"queue"` // "": root.default
	User    string  `json:"user"`
	Maps    Tasks   `json:"maps"`
	Reduces Tasks   `json:"reduces"`
}

// Tasks are those of a stage.
type Tasks struct {
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"` // of work; of a reduce: after it has fetched
	Memory  int64   `json:"memory"`  // of a container
	VCores  int64   `json:"vcores"`  // 0: 1
	Output  float64 `json:"output"`  // of each map
}

// Bounds of scenarios.
const (
	mostNodes   = 100_000
	mostTasks   = 1_000_000
	mostSeconds = 1e6
)

// flaw is what is wrong with a part of a scenario, by its path in the file, such as jobs[0].maps.tasks.
type flaw struct {
	path string
	text string
}

// review collects the first flaw.
type review struct{ first *flaw }

func (r *review) bad(path, format string, args ...any) {
	if r.first == nil {
		r.first = &flaw{path, fmt.Sprintf(format, args...)}
	}
}

func (r *review) number(path string, v, least, most float64) {
	if !(v >= least && v <= most) {
		r.bad(path, "%v is out of range: give a number from %v to %v", v, least, most)
	}
}

func (r *review) word(path, v string, words ...string) {
	if v != "" && !slices.Contains(words, v) {
		r.bad(path, "%q isn't known: give one of %q", v, words)
	}
}

// check returns what is wrong with a scenario; nil if nothing is.
func (s *Scenario) check() *flaw {
	r := &review{}
	r.number("limit", s.Limit, 0, mostSeconds)
	r.word("scheduler", s.Scheduler, "fair", "capacity", "fifo")
	s.Settings.check(r)
	if p := s.Settings.StagePolicy; s.Scheduler == "fifo" && p != "" && p != "none" {
		r.bad("settings.stagePolicy", "%s needs fair or capacity as the scheduler: fifo has no stage policies", p)
	}
	names, memory, cores := s.checkNodes(r)
	if names == nil {
		return r.first
	}
	for i := range s.Changes {
		c, path := &s.Changes[i], fmt.Sprintf("changes[%d]", i)
		r.number(path+".at", c.At, 0, mostSeconds)
		if !names[c.Node] {
			r.bad(path+".node", "there is no node %q", c.Node)
		}
		if c.Speed == nil && c.Down == nil {
			r.bad(path, "nothing changes: give speed or down")
		}
		if c.Speed != nil {
			r.number(path+".speed", *c.Speed, 0, 1000)
		}
	}
	if len(s.Jobs) == 0 {
		r.bad("jobs", "there are none: give at least one")
	}
	tasks, jobs := 0, map[string]bool{}
	for i := range s.Jobs {
		j, path := &s.Jobs[i], fmt.Sprintf("jobs[%d]", i)
		j.check(r, path, memory, cores)
		s.checkRoom(r, j, path)
		if r.first != nil {
			return r.first
		}
		for _, name := range numbered(j.Name, j.Count) {
			if jobs[name] {
				r.bad(path+".name", "there are two jobs %q", name)
			}
			jobs[name] = true
		}
		if tasks += max(j.Count, 1) * (j.Maps.Tasks + j.Reduces.Tasks); tasks > mostTasks {
			r.bad(path, "these are more than %d tasks in all", mostTasks)
		}
	}
	return r.first
}

// checkNodes checks the nodes. It returns their names, nil if there are too many to look at all, and the most that one has.
func (s *Scenario) checkNodes(r *review) (names map[string]bool, memory, cores int64) {
	if len(s.Nodes) == 0 {
		r.bad("nodes", "there are none: a cluster has at least one node")
	}
	names = map[string]bool{}
	nodes := 0
	for i := range s.Nodes {
		n, path := &s.Nodes[i], fmt.Sprintf("nodes[%d]", i)
		n.check(r, path)
		nodes += max(n.Count, 1)
		if nodes > mostNodes {
			r.bad(path+".count", "these are more than %d nodes in all", mostNodes)
			return nil, 0, 0
		}
		for _, name := range n.names() {
			if names[name] {
				r.bad(path+".name", "there are two nodes %q", name)
			}
			names[name] = true
		}
		names[n.Name] = true
		memory, cores = max(memory, n.Memory), max(cores, n.VCores)
	}
	return names, memory, cores
}

func (s *Settings) check(r *review) {
	const at = "settings."
	if f, err := strconv.ParseFloat(s.SlowStart, 64); s.SlowStart != "" && s.SlowStart != "omo" && (err != nil || !(f >= 0 && f <= 1)) {
		r.bad(at+"slowstart", `%q isn't known: give "omo", or a number from 0 to 1 in quotes`, s.SlowStart)
	}
	r.word(at+"stagePolicy", s.StagePolicy, "fresh", "omo", "none")
	r.word(at+"speculation", s.Speculation, "esplash", "late", "split", "none")
	r.word(at+"containers", s.Containers, "task", "reused")
	r.word(at+"levels", s.Classes, "measured", "configured")
	r.number(at+"bandwidth", s.Bandwidth, 0, 1e6)
	r.number(at+"noise", s.Noise, 0, 3)
	r.number(at+"start", s.Start, 0, mostSeconds)
	r.number(at+"expiry", s.Expiry, 0, mostSeconds)
	r.number(at+"stragglers.share", s.Stragglers.Share, 0, 1)
	r.number(at+"stragglers.factor", s.Stragglers.Factor, 0, 1e6)
	if s.Stragglers.Share > 0 && s.Stragglers.Factor < 1 {
		r.bad(at+"stragglers.factor", "%v makes stragglers faster: give a number from 1", s.Stragglers.Factor)
	}
}

func (n *Nodes) check(r *review, path string) {
	if n.Name == "" {
		r.bad(path, "it has no name")
	}
	r.number(path+".count", float64(n.Count), 0, mostNodes)
	r.number(path+".memory", float64(n.Memory), 1, math.MaxInt32)
	r.number(path+".vcores", float64(n.VCores), 1, math.MaxInt32)
	r.number(path+".speed", n.Speed, 0, 1000)
	r.number(path+".level", float64(n.Class), 0, 1000)
	if n.Parallel != 0 {
		r.number(path+".parallel", n.Parallel, .01, 1e6)
	}
	for _, t := range slices.Sorted(maps.Keys(n.Speeds)) {
		if v := n.Speeds[t]; !(v > 0 && v <= 1000) {
			r.bad(path+".speeds."+t, "%v is out of range: give a number above 0, to 1000", v)
		}
	}
}

func (j *Jobs) check(r *review, path string, memory, cores int64) {
	if j.Name == "" {
		r.bad(path, "it has no name")
	}
	r.number(path+".count", float64(j.Count), 0, mostTasks)
	r.number(path+".submit", j.Submit, 0, mostSeconds)
	r.number(path+".every", j.Every, 0, mostSeconds)
	if j.Maps.Tasks+j.Reduces.Tasks <= 0 {
		r.bad(path, "it has no tasks")
	}
	for i, t := range []*Tasks{&j.Maps, &j.Reduces} {
		stage := []string{"maps", "reduces"}[i]
		at := path + "." + stage
		r.number(at+".tasks", float64(t.Tasks), 0, mostTasks)
		r.number(at+".seconds", t.Seconds, 0, mostSeconds)
		r.number(at+".output", t.Output, 0, 1e12)
		if t.Tasks == 0 {
			continue
		}
		r.number(at+".memory", float64(t.Memory), 1, float64(memory))
		r.number(at+".vcores", float64(t.VCores), 0, float64(cores))
		if stage == "reduces" && t.Output > 0 {
			r.bad(at+".output", "only maps have outputs that others fetch")
		}
	}
}

// checkRoom finds containers that no node has room for, though one has the memory and another one the vcores.
func (s *Scenario) checkRoom(r *review, j *Jobs, path string) {
	for _, stage := range []struct {
		name string
		of   *Tasks
	}{{"maps", &j.Maps}, {"reduces", &j.Reduces}} {
		t := stage.of
		fits := func(n Nodes) bool { return n.Memory >= t.Memory && n.VCores >= t.VCores }
		if t.Tasks > 0 && !slices.ContainsFunc(s.Nodes, fits) {
			r.bad(path+"."+stage.name, "no node has both %d MB and %d vcores for a container", t.Memory, t.VCores)
		}
	}
}

// names returns those of the nodes.
func (n *Nodes) names() []string { return numbered(n.Name, n.Count) }

func numbered(name string, count int) []string {
	if count <= 1 {
		return []string{name}
	}
	out := make([]string, count)
	for i := range out {
		out[i] = name + strconv.Itoa(i+1)
	}
	return out
}

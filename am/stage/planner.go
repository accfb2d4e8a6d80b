package stage

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// never is a time that isn't noted.
const never time.Duration = -1 << 62

// Planner decides what the slots of a job do, by the state of its stages. It may be used by one goroutine at a time.
//
// It has many methods because each event of a job and each decision is one. They change the same slots, tasks and requests, so that only what has
// a state of its own is a part: a table of tasks, a pool of slots and requests, and the copies that are pending.
type Planner struct {
	job  Job
	now  time.Duration
	acts []Action

	tables     [stages]table
	inputs     [][]host // by map, of which there may be more than the job had at first
	slots      []slot   // by SlotID
	live       []SlotID // that the job has
	pools      [stages]pool
	nodes      []node
	names      map[string]host // only looked up
	hosts      int             // that have slots
	requests   []request       // by RequestID
	asking     [stages]int     // of them that are open and for no copies
	copies     copies
	freezes    freezes
	cuts       cuts
	fetching   int      // attempts at reduces that shuffle
	deserted   []SlotID // that were given up with outputs that were no longer needed
	classified bool     // the classes of nodes are known
	holds      bool     // a slot serves an output of a map, or has done so

	clusterNodes int
	bad          int // nodes
	forgiven     bool
	barren       time.Duration // since when nothing can run because of bad nodes
	starved      time.Duration // since when maps wait and only reduces run
	relieved     bool          // a reduce made way for maps, and none runs yet
	idleSince    time.Duration // since when nothing runs and slots hold outputs
	sought       time.Duration // when it last looked for slots that are to make room
	helpless     bool          // it found none then
	rooms        int           // how often such slots have made room
	starts       moments       // from a container's grant to its worker's first word
	useless      int           // containers in a row that ended before their worker said a word
	released     int           // how often a slot has become free
	due          bool          // reduces may begin
	stirred      bool          // slots without a task should look for one
	seen         outlook
	over         bool
	told         bool // that it is over
	err          error
	facts        Facts
}

// outlook has the numbers that decide whether a slot without a task waits, goes, or gets a task.
type outlook struct{ over, due, noMaps, noReduces, fetched bool }

// request is for a container.
type request struct {
	task  TaskID
	open  bool
	stale bool // its task doesn't wait any more
	copy  bool
}

// New returns a Planner of a job. It does nothing before its first Step.
func New(j Job) *Planner {
	m := &Planner{
		job: j, names: map[string]host{}, requests: make([]request, 1), inputs: make([][]host, j.Maps), barren: never,
		starved: never, idleSince: never,
	}
	m.copies.m, m.freezes.m, m.cuts.m = m, m, m
	for s, n := range [stages]int{j.Maps, j.Reduces} {
		b := &m.tables[s]
		b.all = make([]task, n)
		b.count[waiting], b.begun = n, n
		for i := range b.all {
			t := &b.all[i]
			t.id, t.winner, t.share = TaskID{Stage(s), i}, -1, millionths
			if Stage(s) == Map && j.Hosts != nil {
				for _, name := range j.Hosts(i) {
					m.inputs[i] = append(m.inputs[i], m.host(name))
				}
			}
			b.await(t, m.inputsOf(t))
		}
	}
	return m
}

func (m *Planner) inputsOf(t *task) []host {
	if t.id.Stage == Map {
		return m.inputs[t.id.Index]
	}
	return nil
}

func (m *Planner) do(a Action) { m.acts = append(m.acts, a) }

// Step takes an event in and returns what is to be done, in this order. The actions are good until the next Step.
func (m *Planner) Step(now time.Duration, e Event) []Action {
	m.now = max(m.now, now)
	clear(m.acts)
	m.acts = m.acts[:0]
	switch e := e.(type) {
	case Tick:
		m.tick()
	case Nodes:
		m.clusterNodes = e.Count
	case Granted:
		m.granted(e)
	case Refused:
		m.end(fmt.Errorf("the ResourceManager refuses containers: %w", e.Err))
	case Ready:
		m.ready(e.Slot)
	case Heard:
		if s := m.slot(e.Slot); s != nil {
			s.seen = m.now
		}
	case Progressed:
		m.progressed(e)
	case Stopped:
		m.cuts.stopped(e)
	case Finished:
		m.finished(e)
	case Failed:
		if s := m.slot(e.Slot); s != nil {
			if s.seen = m.now; s.busy && s.task == e.Attempt && !m.over {
				m.fail(e.Attempt, e.Err, true)
			}
		}
	case Gone:
		m.gone(e)
	case Suspended:
		m.freezes.suspended(e.Slot)
	case Resumed:
		m.freezes.resumed(e.Slot)
	case Unfrozen:
		m.freezes.refused(e.Slot)
	case NodeLost:
		m.nodeLost(e)
	case Unreachable:
		unreachable(m, e)
	case Reachable:
		reachable(m, e)
	case Hinted:
		m.hinted(e)
	case Unfetchable:
		m.unfetchable(e)
	}
	m.settle()
	return m.acts
}

// slot returns a slot that the job has; nil if it hasn't.
func (m *Planner) slot(id SlotID) *slot {
	if id < 0 || int(id) >= len(m.slots) || !m.slots[id].known {
		return nil
	}
	return &m.slots[id]
}

func (m *Planner) task(id TaskID) *task { return &m.tables[id.Stage].all[id.Index] }

func (m *Planner) attempt(id AttemptID) *Attempt { return &m.task(id.TaskID).attempts[id.Number] }

// end ends the job.
func (m *Planner) end(err error) {
	if !m.over {
		m.err, m.over = err, true
	}
}

// settle draws the consequences of what has changed.
func (m *Planner) settle() {
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	if maps.count[done] == len(maps.all) && reduces.count[done] == len(reduces.all) {
		m.end(nil)
	}
	m.due = !m.over && len(reduces.all) > 0 && m.reducesDue()
	m.adjust()
	now := outlook{m.over, m.due, maps.count[waiting] == 0, reduces.count[waiting] == 0, m.fetched()}
	if m.stirred || now != m.seen {
		m.stirred, m.seen = false, now
		m.match()
		m.adjust()
	}
	if m.over && !m.told {
		m.told = true
		m.copies.dropAll()
		m.freezes.thawAll()
		m.do(End{m.err})
	}
}

// reducesDue reports whether reduces may begin. When all maps are done, or were before outputs made room, nothing else can.
func (m *Planner) reducesDue() bool {
	maps := &m.tables[Map]
	if maps.count[done] == len(maps.all) || m.rooms > 0 { // where room is made for reduces, they are to have it
		return true
	}
	return m.job.Starter.Due(m.Facts())
}

// Facts returns where the job is. They are good until the next call.
func (m *Planner) Facts() *Facts {
	f := &m.facts
	f.Now, f.Slots, f.Released = m.now, len(m.live), m.released
	f.Maps, f.Reduces = m.tables[Map].stat(), m.tables[Reduce].stat()
	f.Available, f.Start = f.Maps.Running, m.starts.mean()
	phase := &f.Maps
	if f.Maps.Done == f.Maps.Tasks {
		f.Available += f.Reduces.Running
		phase = &f.Reduces
	}
	if f.Young, f.Detection = 0, 0; m.job.Speculator != nil {
		f.Detection = detection(m.job.Speculator)
		f.Young = phase.Waiting + min(m.copies.young, phase.Running)
	}
	return f
}

func (b *table) stat() Stat {
	return Stat{
		Tasks: len(b.all), Waiting: b.count[waiting], Running: b.count[running], Done: b.count[done],
		Mean: b.took.mean(), OutBytes: b.outBytes,
	}
}

// Stage returns where a stage is, how many attempts have failed, and which share of it is done.
func (m *Planner) Stage(s Stage) (stat Stat, failed int, progress float64) {
	b := &m.tables[s]
	progress = 1
	if b.begun > 0 {
		progress = min(1, float64(b.progress)/millionths/float64(b.begun))
	}
	return b.stat(), b.failed, progress
}

// Attempts returns the attempts at a task, in order. They are the Planner's own.
func (m *Planner) Attempts(id TaskID) []Attempt { return m.task(id).attempts }

// Over reports whether the job is over, and how it ended.
func (m *Planner) Over() (bool, error) { return m.over, m.err }

// tick does what is due because time has passed.
func (m *Planner) tick() {
	m.bury()
	m.overtake()
	m.forgive()
	if len(m.tables[Map].picky)+len(m.tables[Reduce].picky) > 0 {
		m.stirred = true
	}
	m.relieve()
	makeRoom(m)
	m.copies.round()
	m.freezes.round()
	m.cuts.round()
}

// Rests reports whether Ticks change nothing until the planner hears of something else, given that the last step was one: the job has no slot, no
// node is to be forgiven, and running attempts aren't watched. Its Starter must not count time.
func Rests(m *Planner) bool {
	return len(m.live) == 0 && m.bad == 0 && m.job.Speculator == nil && m.job.Splitter == nil && len(m.tables[Map].picky)+len(m.tables[Reduce].picky) == 0
}

// hinted records the ResourceManager's hints.
func (m *Planner) hinted(e Hinted) {
	m.facts.Hints, m.classified = e.Hints, e.Classes != nil
	for i := range m.nodes {
		m.nodes[i].speedClass = 0
	}
	for _, name := range slices.Sorted(maps.Keys(e.Classes)) {
		m.nodes[m.host(name)].speedClass = e.Classes[name]
	}
}

// starving is how long a map waits while only reduces run, until one of those, which all wait for its output, goes.
const starving = 5 * time.Second

// relieve makes room for maps.
func (m *Planner) relieve() {
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	if maps.count[waiting] == 0 || maps.count[running] > 0 {
		m.relieved = false
	}
	stuck := !m.over && maps.count[waiting] > 0 && m.free(m.poolOf(Map)) == 0 && maps.count[running] == 0 && reduces.count[running] > 0
	switch {
	case !stuck:
		m.starved = never
	case m.starved == never:
		m.starved = m.now
	case m.now-m.starved >= starving:
		m.starved, m.relieved = never, true
		for i := len(reduces.all) - 1; i >= 0; i-- {
			t := &reduces.all[i]
			if t.phase != running {
				continue
			}
			for n := range t.attempts {
				if a := &t.attempts[n]; a.State == Active {
					m.cancel(a.ID, InTheWay)
					m.devote(a.Slot, Map)
				}
			}
			m.shift(t, waiting)
			return
		}
	}
}

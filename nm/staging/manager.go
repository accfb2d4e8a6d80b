package staging

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Config limits what a node stages.
type Config struct {
	Concurrent int   // copies at a time for waiting probes (CM): 10
	PerProbe   int   // tasks that are staged for a probe (MPP): 2
	Capacity   int64 // bytes of the RAM disk
	// Named has nothing drawn by chance: the caller says by Wanted what is to be staged, as its schedulers draw for their probes.
	Named bool
}

// Job is a job at a node, by a number of the caller's.
type Job int32

// Table is the status of a job's tasks as the scheduler has told it (TST).
type Table interface {
	Tasks() int
	Waits(task int32) bool // it hasn't been launched anywhere
	Next(task int32) int32 // the first one from this on that waits; Tasks() if none does
	Size(task int32) int64 // bytes of its input; 0: it has none that could be staged
}

// Action tells a node to copy a task's input, or to delete the copy.
type Action struct {
	Job    Job
	Task   int32
	Delete bool
}

// status of the input of a task here. There is no entry for one that isn't staged (the migration status table, MST).
type status uint8

const (
	queued status = iota
	copying
	staged
	failed
)

// use holds what the task of an input has done here.
type use uint8

const (
	unread use = iota
	taken      // it has started here
	read       // it has read the input
	ended      // it has ended while the input was copied
)

type input struct {
	bytes  int64
	task   int32
	status status
	use    use
	fast   bool // it is in the fast lane
}

type job struct {
	id     Job
	owner  *owner
	refs   int32 // probes and running tasks
	staged int32 // inputs that are
	table  Table
	inputs []input
	first  uint64   // the number of its first probe
	few    [4]input // room for inputs: most jobs have no more on a node
}

// known is a job by its id, and its place in Manager.kept. It has no pointer, so that eight lie in a line of memory: most of the time is spent on finding jobs.
type known struct {
	id Job
	at int32
}

// holder is a job by the number of its first probe.
type holder struct {
	first uint64
	*job
}

type request struct {
	job  Job
	task int32
}

// Manager decides for a node. It isn't safe for concurrent use.
type Manager struct {
	cfg     Config
	rng     *rand.Rand
	jobs    []known  // in the order of their ids: a node of a simulation has some ten, and is one of many
	found   int      // where a job was found last: the next call is often for the same one
	live    int      // jobs with probes or running tasks
	kept    []*job   // at their places, and those that are forgotten
	holders []holder // that have staged inputs, in the order of their first probes, for evictions
	probes  uint64   // so many jobs have come
	owners  []*owner // users that have had jobs
	fasts   int      // requests in fast lanes
	waits   int      // inputs in the queues, and their bytes
	waiting int64
	deletes fifo[Action]
	spare   []int32 // places of those that are forgotten
	slow    int     // copies under way that the queue asked for
	copies  int     // for the queue at a time
	limit   int     // of these; 0: there is none
	reads   bool    // some copy was read before its task ended
	used    int64   // bytes of copies, made or under way

	few struct { // room for what most nodes of a simulation have, beside the rest, as these wait for memory most of the time
		owners  [1]*owner
		owner   owner
		known   [8]known
		kept    [4]*job
		holders [4]holder
		queue   [4]request
		fast    [2]request
		deletes [4]Action
		spare   [4]int32
		jobs    [2]job
	}
}

// fifo is a queue in the order of arrival.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(x T) {
	if len(f.items) == cap(f.items) && 2*f.head >= len(f.items) {
		f.items, f.head = f.items[:copy(f.items, f.items[f.head:])], 0
	}
	f.items = append(f.items, x)
}

func (f *fifo[T]) pop() (x T) {
	x = f.items[f.head]
	if f.head++; f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
	return x
}

// New returns a Manager with nothing staged.
func New(cfg Config, rng *rand.Rand) *Manager {
	m := &Manager{}
	m.Init(cfg, rng)
	return m
}

// Init makes a Manager what New returns. It must not be copied then.
func (m *Manager) Init(cfg Config, rng *rand.Rand) {
	*m = Manager{cfg: cfg, rng: rng, copies: cfg.Concurrent}
	f := &m.few
	m.jobs, m.kept, m.holders, m.spare = f.known[:0], f.kept[:0], f.holders[:0], f.spare[:0]
	f.owner = owner{queue: fifo[request]{items: f.queue[:0]}, fast: fifo[request]{items: f.fast[:0]}}
	m.owners, m.deletes.items = append(f.owners[:0], &f.owner), f.deletes[:0]
	for i := range m.few.jobs {
		m.kept, m.spare = append(m.kept, &m.few.jobs[i]), append(m.spare, int32(i))
	}
}

// enlist makes the entry of a job of which nothing is known.
func (m *Manager) enlist(at int, id Job) *job {
	m.probes++
	var j *job
	var place int32
	if n := len(m.spare); n > 0 {
		place, m.spare = m.spare[n-1], m.spare[:n-1]
		j = m.kept[place]
		j.id, j.refs, j.staged, j.first, j.inputs = id, 0, 0, m.probes, j.inputs[:0]
	} else {
		j, place = &job{id: id, first: m.probes}, int32(len(m.kept))
		m.kept = append(m.kept, j)
	}
	j.owner = m.owners[0]
	if cap(j.inputs) == 0 {
		j.inputs = j.few[:0]
	}
	m.jobs = slices.Insert(m.jobs, at, known{id, place})
	m.found = at
	return j
}

// Waiting reports whether a request waits for the end of a copy. Next may have more to do then.
func (m *Manager) Waiting() bool {
	for _, o := range m.owners {
		if o.queue.len()+o.fast.len() > 0 {
			return true
		}
	}
	return false
}

// Unused reports whether no probe is left, no request waits, and no copy is kept: at most, copies are under way that go once they are made. With their ends a Manager is as new.
func (m *Manager) Unused() bool { return m.live == 0 && !m.Waiting() }

// Used returns the bytes of copies, those under way included.
func (m *Manager) Used() int64 { return m.used }

// job returns what is known of a job; nil: nothing is.
func (m *Manager) job(id Job) *job {
	if at, found := m.placeOf(id); found {
		return m.kept[m.jobs[at].at]
	}
	return nil
}

// placeOf returns where a job is among all, or would be. It and index make no call for each comparison: simulations come here with each ask.
func (m *Manager) placeOf(id Job) (int, bool) {
	if m.found < len(m.jobs) && m.jobs[m.found].id == id {
		return m.found, true
	}
	low, high := 0, len(m.jobs)
	for low < high {
		if at := (low + high) / 2; m.jobs[at].id < id {
			low = at + 1
		} else {
			high = at
		}
	}
	m.found = low
	return low, low < len(m.jobs) && m.jobs[low].id == id
}

// index returns where the input of a task is in j.inputs; below 0, it isn't.
func (j *job) index(task int32) int {
	for i := range j.inputs {
		if j.inputs[i].task == task {
			return i
		}
	}
	return -1
}

// drop forgets the input at an index.
func (m *Manager) drop(j *job, i int) {
	m.leaves(&j.inputs[i])
	j.inputs = j.inputs[:i+copy(j.inputs[i:], j.inputs[i+1:])]
}

// leaves counts an input that waits in a queue no more, if it does.
func (m *Manager) leaves(x *input) {
	if x.status == queued && !x.fast {
		m.waits--
		m.waiting -= x.bytes
	}
}

func (j *job) find(task int32) *input {
	if i := j.index(task); i >= 0 {
		return &j.inputs[i]
	}
	return nil
}

// Probed says that a probe of a job was queued.
func (m *Manager) Probed(id Job, t Table) {
	at, found := m.placeOf(id)
	var j *job
	if found {
		j = m.kept[m.jobs[at].at]
	} else {
		j = m.enlist(at, id)
	}
	j.table = t
	if j.refs++; j.refs == 1 {
		m.live++
	}
	if !m.cfg.Named {
		for range m.cfg.PerProbe {
			m.request(j, false)
		}
	}
}

// Wanted has the input of a waiting task of a job staged, in the fast lane or not. One that is staged, or that was tried in vain, isn't again.
func (m *Manager) Wanted(id Job, task int32, fast bool) {
	if j := m.job(id); j != nil && j.table.Waits(task) && j.table.Size(task) > 0 && j.find(task) == nil {
		m.enter(j, task, fast)
	}
}

// request enters one of the waiting tasks that aren't staged, drawn by chance.
func (m *Manager) request(j *job, fast bool) {
	n := j.table.Tasks()
	if n == 0 {
		return
	}
	fits := func(task int32) bool { return j.table.Waits(task) && j.table.Size(task) > 0 && j.find(task) == nil }
	task := int32(-1)
	for range 4 { // most of a job's tasks wait when its probes come
		if x := int32(m.rng.IntN(n)); fits(x) {
			task = x
			break
		}
	}
	if task < 0 {
		from := m.rng.IntN(n)
		for i := 0; i < min(n, 256); i++ {
			x := int32((from + i) % n)
			if next := j.table.Next(x); next > x {
				i += int(next-x) - 1
			} else if fits(x) {
				task = x
				break
			}
		}
	}
	if task >= 0 {
		m.enter(j, task, fast)
	}
}

// enter puts a task into one of the queues.
func (m *Manager) enter(j *job, task int32, fast bool) {
	j.inputs = append(j.inputs, input{task: task, fast: fast, bytes: j.table.Size(task)})
	if fast {
		m.fasts++
		j.owner.fast.push(request{j.id, task})
	} else {
		m.waits++
		m.waiting += j.table.Size(task)
		j.owner.queue.push(request{j.id, task})
	}
}

// Staged appends the waiting tasks of a job whose inputs are in memory here.
func (m *Manager) Staged(id Job, dst []int32) []int32 {
	j := m.job(id)
	if j == nil || j.staged == 0 {
		return dst
	}
	for _, x := range j.inputs {
		if x.status == staged && x.use == unread {
			dst = append(dst, x.task)
		}
	}
	return dst
}

// Took says that a task of a job starts here. It reports whether the task's input is in memory; that stays there until Read or Ended. The job's next task goes to the fast lane, unless the caller names it (Config.Named). The table has what the scheduler's answer said.
func (m *Manager) Took(id Job, task int32, t Table) (hit bool) {
	j := m.job(id)
	if j == nil {
		return false
	}
	j.table = t
	if x := j.find(task); x != nil {
		x.use = max(x.use, taken)
		hit = x.status == staged
	}
	if !m.cfg.Named {
		m.request(j, true)
	}
	return hit
}

// Read says that a task which started here has read its input, so that the copy may make room for others.
func (m *Manager) Read(id Job, task int32) {
	if j := m.job(id); j != nil {
		if x := j.find(task); x != nil && x.use != unread {
			x.use, m.reads = max(x.use, read), true
		}
	}
}

// Ended says that a task is over for this node. Its copy goes; one that is under way goes once it is made.
func (m *Manager) Ended(id Job, task int32) {
	j := m.job(id)
	if j == nil {
		return
	}
	i := j.index(task)
	switch {
	case i < 0:
	case j.inputs[i].status == staged:
		m.remove(j, i)
	case j.inputs[i].status == copying:
		j.inputs[i].use = ended
	default: // one that waits is dropped when its turn comes
		m.drop(j, i)
	}
}

// Copied says that a copy was made, or that it failed.
func (m *Manager) Copied(id Job, task int32, ok bool) {
	j := m.job(id)
	if j == nil {
		return
	}
	x := j.find(task)
	if x == nil || x.status != copying {
		return
	}
	if !x.fast {
		m.slow--
	}
	switch {
	case !ok:
		x.status = failed
		m.take(j, -x.bytes)
		m.deletes.push(Action{Job: id, Task: task, Delete: true})
	case j.refs == 0 || x.use == ended:
		m.remove(j, j.index(task))
	default:
		x.status = staged
		if j.staged++; j.staged == 1 {
			m.holders = slices.Insert(m.holders, m.holderOf(j), holder{j.first, j})
		}
	}
	m.forget(j)
}

// remove deletes a copy.
func (m *Manager) remove(j *job, i int) {
	x := j.inputs[i]
	m.take(j, -x.bytes)
	if x.status == staged {
		if j.staged--; j.staged == 0 {
			at := m.holderOf(j)
			m.holders = slices.Delete(m.holders, at, at+1)
		}
	}
	m.deletes.push(Action{Job: j.id, Task: x.task, Delete: true})
	m.drop(j, i)
}

// take counts bytes of copies, which a job has more, or less.
func (m *Manager) take(j *job, bytes int64) {
	m.used += bytes
	j.owner.used += bytes
}

// Released says that a probe of a job has left, and that its task, if it had one, has ended. With the last one all copies go.
func (m *Manager) Released(id Job) {
	j := m.job(id)
	if j == nil {
		return
	}
	if j.refs--; j.refs > 0 {
		return
	}
	if j.refs == 0 {
		m.live--
	}
	for i := len(j.inputs) - 1; i >= 0; i-- {
		switch j.inputs[i].status {
		case staged:
			m.remove(j, i)
		case queued, failed:
			m.drop(j, i)
		}
	}
	m.forget(j)
}

// forget drops a job that has no probe left. Copies under way are waited for.
func (m *Manager) forget(j *job) {
	if j.refs > 0 {
		return
	}
	for i := range j.inputs {
		if j.inputs[i].status == copying {
			return
		}
	}
	at, _ := m.placeOf(j.id)
	m.spare = append(m.spare, m.jobs[at].at)
	m.jobs = slices.Delete(m.jobs, at, at+1)
}

// holderOf returns the place of a job among the holders, or where it would be.
func (m *Manager) holderOf(j *job) int {
	at := len(m.holders)
	for at > 0 && m.holders[at-1].first >= j.first {
		at--
	}
	return at
}

// Next returns what is to be done next. Deletions come first, as copies may need their room.
func (m *Manager) Next() (Action, bool) {
	full, whose := int64(math.MaxInt64), (*owner)(nil) // what takes so much has found no room, of this user
	for {
		if m.deletes.len() > 0 {
			return m.deletes.pop(), true
		}
		o, from := m.nextRequest()
		if o == nil {
			return Action{}, false
		}
		if o != whose {
			full, whose = math.MaxInt64, o
		}
		r := from.items[from.head]
		j := m.job(r.job)
		var x *input
		if j != nil {
			x = j.find(r.task)
		}
		if x == nil || x.status != queued {
			m.pop(o, from)
			continue
		}
		waits := j.table.Waits(r.task)
		if !waits || x.bytes >= full || !m.fits(o, x.bytes) {
			if waits {
				full = min(full, x.bytes)
			}
			m.pop(o, from)
			m.drop(j, j.index(r.task))
			continue
		}
		if m.deletes.len() > 0 {
			continue // room was made
		}
		m.pop(o, from)
		m.leaves(x)
		x.status = copying
		m.take(j, x.bytes)
		if !x.fast {
			m.slow++
		}
		return Action{Job: r.job, Task: r.task}, true
	}
}

// pop takes the first request out of a queue of a user.
func (m *Manager) pop(o *owner, from *fifo[request]) {
	if from.pop(); from == &o.fast {
		m.fasts--
	}
}

// Limit has at most so many copies made at a time for waiting probes, whatever Config says: at least 1, or 0 for no limit.
func (m *Manager) Limit(n int) { m.limit = n }

// atATime returns how many copies are made at a time for waiting probes.
func (m *Manager) atATime() int {
	if m.limit > 0 {
		return min(m.copies, m.limit)
	}
	return m.copies
}

// fits reports whether a copy of a user fits in. It evicts copies for it that won't be read here: first those that were read, then those whose tasks
// started elsewhere, then those of others above their share.
func (m *Manager) fits(o *owner, bytes int64) bool {
	switch {
	case bytes > m.cfg.Capacity:
		return false
	case m.room(bytes):
		return true
	case m.reads && m.evict(bytes, true):
		return true
	}
	return m.evict(bytes, false) || len(m.owners) > 1 && m.reclaim(o, bytes)
}

func (m *Manager) room(bytes int64) bool { return m.used+bytes <= m.cfg.Capacity }

// evict removes copies until there is room: those that were read, or whose task started elsewhere. It reports whether there is.
func (m *Manager) evict(bytes int64, afterRead bool) bool {
	for k := 0; k < len(m.holders); {
		j := m.holders[k].job
		for i := len(j.inputs) - 1; i >= 0; i-- {
			if x := &j.inputs[i]; x.status == staged && (afterRead && x.use == read || !afterRead && x.use == unread && !j.table.Waits(x.task)) {
				if m.remove(j, i); m.room(bytes) {
					return true
				}
			}
		}
		if j.staged > 0 { // else it holds nothing any more, and the next one has its place
			k++
		}
	}
	return false
}

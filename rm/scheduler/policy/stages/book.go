package stages

import (
	"cmp"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// Book holds the facts of the applications of a leaf. Its zero value is ready. It is told what a leaf.Watcher is told, and read
// between that. The same calls lead to the same Book.
type Book struct {
	Now  int64            // of the last Tick, in ms
	Free records.Resource // in the leaf, as of the last Tick
	Jobs []*Job           // all applications of the leaf, by submission; only those with Stages have Tallies

	of         []*Job // by handle
	containers []held // by handle
	ended      []end  // since the last Tick
	summed     int64  // when Due was true last, in ms
	size       amounts
	types      int
	used       [None + 1]amounts
	all        [None]Tally // of all jobs: what they took
	spare      spare
	released   float64 // share of the leaf that stages have given back in all
}

// Job is an application.
type Job struct {
	Handle  handle.App
	Seq     int64
	Stages  bool // it is a MapReduce application
	Of      [None]Tally
	Outputs struct{ Maps, Bytes int64 } // of maps, as far as nodes tell
	Spare   bool                        // reduces may begin in spare room, as Early has found

	pending  map[request]int64
	began    int64 // when it was heard of first, in ms
	waiting  bool  // for its first Tick
	finished amounts
	running  amounts
	since    amounts // running, each times when it was granted
	last     int64   // when its last pending map was granted, in ms
}

type request struct {
	priority int32
	id       int64
}

// held is a container that runs.
type held struct {
	job   *Job
	stage Stage
	since int64
	size  records.Resource
}

type end struct {
	held
	failed bool
}

// amounts are resources times anything.
type amounts [records.MaxResourceTypes]float64

func (a *amounts) add(r *records.Resource, times float64) {
	for i, n := range r {
		a[i] += float64(n) * times
	}
}

// Job returns what is known of an application; nil if nothing is.
func (b *Book) Job(h handle.App) *Job {
	if h < 0 || int(h) >= len(b.of) {
		return nil
	}
	return b.of[h]
}

// job finds or makes what is known of an application.
func (b *Book) job(a *leaf.App) *Job {
	if j := b.Job(a.Handle); j != nil {
		return j
	}
	for len(b.of) <= int(a.Handle) {
		b.of = append(b.of, nil)
	}
	j := &Job{Handle: a.Handle, Seq: a.Seq, Stages: a.Type == Type, began: b.Now, waiting: true, pending: map[request]int64{}}
	b.of[a.Handle] = j
	at, _ := slices.BinarySearchFunc(b.Jobs, a.Seq, func(x *Job, seq int64) int { return cmp.Compare(x.Seq, seq) })
	b.Jobs = slices.Insert(b.Jobs, at, j)
	return j
}

// Asked records how many containers a request is for.
func (b *Book) Asked(k leaf.Ask) *Job {
	j := b.job(&k.App)
	s, rerun := Of(&k.App, k.Priority)
	if s == None {
		return j
	}
	j.ask(s, rerun, request{k.Priority, k.RequestID}, int64(k.Count))
	if k.Count > 0 {
		j.Of[s].Size = k.Capability
	}
	return j
}

func (j *Job) ask(s Stage, rerun bool, r request, count int64) {
	more := count - j.pending[r]
	if count > 0 {
		j.pending[r] = count
	} else {
		delete(j.pending, r)
	}
	j.Of[s].Pending += more
	if rerun {
		j.Of[s].reruns += more
	}
}

// Granted records a container, and returns its stage.
func (b *Book) Granted(a leaf.App, g leaf.Grant) (*Job, Stage) {
	j := b.job(&a)
	s, rerun := Of(&a, g.Ask.Priority)
	for len(b.containers) <= int(g.Container) {
		b.containers = append(b.containers, held{})
	}
	b.containers[g.Container] = held{j, s, g.Since, g.Resource}
	j.running.add(&g.Resource, 1)
	j.since.add(&g.Resource, float64(g.Since))
	b.used[s].add(&g.Resource, 1)
	if s == None {
		return j, s
	}
	t := &j.Of[s]
	if t.Running++; !rerun {
		t.Granted++
	}
	if !g.Restored {
		j.ask(s, rerun, request{g.Ask.Priority, g.Ask.RequestID}, int64(g.Ask.Count))
	}
	if t.Size.IsZero() {
		t.Size = g.Resource
	}
	if s == Map && t.Pending == 0 {
		j.last = g.Since
	}
	return j, s
}

// Ended records that a container has ended, and returns its job; nil for a container that the book doesn't have. How long it took is known
// with the next Tick.
func (b *Book) Ended(o leaf.Outcome) *Job {
	if int(o.Container) >= len(b.containers) || b.containers[o.Container].job == nil {
		return nil
	}
	x := b.containers[o.Container]
	b.containers[o.Container] = held{}
	x.job.running.add(&x.size, -1)
	x.job.since.add(&x.size, -float64(x.since))
	b.used[x.stage].add(&x.size, -1)
	if x.stage != None {
		x.job.Of[x.stage].Running--
		b.released += b.Share(&x.size)
	}
	b.ended = append(b.ended, end{x, o.Failed})
	return x.job
}

// NoteOutputs records the known outputs of an application's maps.
func (b *Book) NoteOutputs(a leaf.App, maps, bytes int64) *Job {
	j := b.job(&a)
	j.Outputs.Maps, j.Outputs.Bytes = maps, bytes
	return j
}

// Left forgets an application.
func (b *Book) Left(h handle.App) {
	j := b.Job(h)
	if j == nil {
		return
	}
	b.of[h] = nil
	b.Jobs = slices.DeleteFunc(b.Jobs, func(x *Job) bool { return x == j })
	for c := range b.containers {
		if x := &b.containers[c]; x.job == j { // it was moved with them
			b.used[x.stage].add(&x.size, -1)
			*x = held{}
		}
	}
	b.ended = slices.DeleteFunc(b.ended, func(x end) bool { return x.job == j })
}

// Tick records the time, in ms, and the present leaf.
func (b *Book) Tick(now int64, q *leaf.Queue) {
	b.Now = max(b.Now, now)
	for _, x := range b.ended {
		took := float64(max(0, b.Now-x.since)) / 1000
		x.job.finished.add(&x.size, took)
		if x.stage == None || x.failed {
			continue
		}
		t := &x.job.Of[x.stage]
		t.took, t.samples = t.took+took, t.samples+1
		b.all[x.stage].took, b.all[x.stage].samples = b.all[x.stage].took+took, b.all[x.stage].samples+1
	}
	b.ended = b.ended[:0]
	for _, j := range b.Jobs {
		if j.waiting {
			j.waiting, j.began = false, b.Now
		}
	}
	b.Free = q.Free
	b.spare.note(b.Now, q.Free)
	b.types, b.size = q.Types, amounts{}
	for i := range b.types {
		b.size[i] = b.used[Map][i] + b.used[Reduce][i] + float64(max(0, q.Free[i]))
	}
}

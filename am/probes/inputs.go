package probes

import (
	"iter"
	"math/rand/v2"
	"slices"

	"heddle/am/sched"
	"heddle/yarn/wire"
)

// perProbe is for how many waiting tasks a probe has inputs staged (Eirene's MPP), maxNamed is how many files a message names at most.
const (
	perProbe = 2
	maxNamed = 64
	looked   = 1024 // tasks: the last ones, as tasks start in their order
)

// note remembers what a task reads. The Scheduler's lock is held.
func (j *Job) note(p *place) {
	if p.task.Input == "" {
		return
	}
	if j.reads == nil {
		j.reads = map[string][]int32{}
	}
	j.reads[p.task.Input] = append(j.reads[p.task.Input], p.number)
}

// inputs names files that waiting tasks read and that a node wasn't told of yet, drawn by chance, for so many probes. The Scheduler's lock is held.
func (j *Job) inputs(n *node, probes int) (files []string) {
	if len(j.reads) == 0 {
		return nil
	}
	known := j.named[n]
	if known == nil {
		if known = map[string]bool{}; j.named == nil {
			j.named = map[*node]map[string]bool{}
		}
		j.named[n] = known
	}
	want := min(perProbe*probes, maxNamed)
	for file := range j.awaited() {
		if len(files) == want {
			break
		}
		if !known[file] {
			known[file] = true
			files = append(files, file)
		}
	}
	return files
}

// unprobed records that a node has no probes of a job any more, and with them no inputs of it. The Scheduler's lock is held.
func (n *node) unprobed(id sched.ID) {
	delete(n.probed, id)
	if j := n.s.jobs[id]; j != nil {
		delete(j.named, n)
	}
}

// awaited returns the inputs of tasks that wait, of the last ones, from one on that is drawn by chance. The Scheduler's lock is held.
func (j *Job) awaited() iter.Seq[string] {
	return func(yield func(string) bool) {
		last := j.tasks[max(0, len(j.tasks)-looked):]
		from := rand.IntN(len(last))
		for i := range last {
			if p := last[(from+i)%len(last)]; p.waits() && p.task.Input != "" && !yield(p.task.Input) {
				return
			}
		}
	}
}

// preloads says what a node that has staged some files should do about the job's inputs now. The Scheduler's lock is held.
func (j *Job) preloads(staged []string) (s wire.Preloads) {
	if len(j.reads) == 0 {
		return s
	}
	for _, file := range staged {
		if !slices.ContainsFunc(j.reads[file], func(number int32) bool { return j.tasks[number].waits() }) {
			s.Gone = append(s.Gone, file)
		}
	}
	for file := range j.awaited() {
		if !slices.Contains(staged, file) {
			s.Next = file
			break
		}
	}
	return s
}

// waits reports whether a task runs nowhere, and isn't over. The Scheduler's lock is held.
func (p *place) waits() bool { return p != nil && len(p.attempts) == 0 }

// readers returns the tasks that read one of some files. The Scheduler's lock is held.
func (j *Job) readers(files []string) (tasks []int32) {
	for _, file := range files {
		tasks = append(tasks, j.reads[file]...)
	}
	return tasks
}

package probes

import (
	"math/rand/v2"
	"slices"

	"heddle/yarn/wire"
)

// perProbe is for how many waiting tasks a probe has inputs staged (Eirene's MPP), mostNamed is how many files a message names at most.
const (
	perProbe  = 2
	mostNamed = 64
	looked    = 1024 // tasks: the last ones, as tasks start in their order
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

// inputs names files that waiting tasks read, drawn by chance, for so many probes. The Scheduler's lock is held.
func (j *Job) inputs(probes int) (files []string) {
	if len(j.reads) == 0 {
		return nil
	}
	want := min(perProbe*probes, mostNamed)
	last := j.tasks[max(0, len(j.tasks)-looked):]
	from := rand.IntN(len(last))
	for i := range last {
		if len(files) == want {
			break
		}
		if p := last[(from+i)%len(last)]; p != nil && len(p.attempts) == 0 && p.task.Input != "" {
			files = append(files, p.task.Input)
		}
	}
	return files
}

// stages says what a node that has staged some files should do about the job's inputs now. The Scheduler's lock is held.
func (j *Job) stages(staged []string) (s wire.Stages) {
	if len(j.reads) == 0 {
		return s
	}
	for _, file := range staged {
		if !slices.ContainsFunc(j.reads[file], j.waits) {
			s.Gone = append(s.Gone, file)
		}
	}
	last := j.tasks[max(0, len(j.tasks)-looked):]
	from := rand.IntN(len(last))
	for i := range last {
		if p := last[(from+i)%len(last)]; p != nil && len(p.attempts) == 0 && p.task.Input != "" && !slices.Contains(staged, p.task.Input) {
			s.Next = p.task.Input
			break
		}
	}
	return s
}

// waits reports whether a task of the job runs nowhere, and isn't over. The Scheduler's lock is held.
func (j *Job) waits(number int32) bool {
	p := j.tasks[number]
	return p != nil && len(p.attempts) == 0
}

// readers are the tasks that read one of some files. The Scheduler's lock is held.
func (j *Job) readers(files []string) (tasks []int32) {
	for _, file := range files {
		tasks = append(tasks, j.reads[file]...)
	}
	return tasks
}

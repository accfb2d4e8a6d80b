package mapreduce

import (
	"math"
	"time"

	"heddle/am"
	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/internal/pareto"
)

// learned is how long tasks have taken on nodes, which the ResourceManager is told.
type learned struct {
	ran   map[taskPlace]am.Performance
	parts map[int]bool     // maps that do a part of a split only; nil: none does
	whole int              // maps from here on do, if there are parts
	took  [2]pareto.Window // by stage, in seconds
}

// overtaken records an attempt that was ended because another one was faster.
func (l *learned) overtaken(a *stage.Attempt) {
	if took := a.Ended - a.Begun - a.Paused; took >= time.Millisecond && !l.partial(a.ID.TaskID) {
		l.took[a.ID.Stage].Add(took.Seconds(), true)
	}
}

// shape adds the distribution of the times of tasks to a report: those of the stage that runs.
func (l *learned) shape(r *am.StageReport, s stage.Stage) {
	if beta, ended := l.took[s].Shape(); beta > 0 && !math.IsInf(beta, 1) {
		// Rounded, as each report that differs is sent.
		r.Ended, r.Beta = int64(ended), math.Round(20*beta)/20
	}
}

type taskPlace struct {
	host  string
	stage stage.Stage
}

// divided notes that a map leaves a part of its split to others, which come behind all of the maps that there are.
func (l *learned) divided(index, maps int) {
	if l.parts == nil {
		l.parts, l.whole = map[int]bool{}, maps
	}
	l.parts[index] = true
}

// partial reports whether a task is no measure for a node, as others do a part of its work.
func (l *learned) partial(id stage.TaskID) bool {
	return id.Stage == stage.Map && l.parts != nil && (l.parts[id.Index] || id.Index >= l.whole)
}

// learn records how long a winning attempt took. A reduce counts from when it has fetched: before, it waits for maps.
func (l *learned) learn(a *stage.Attempt, host string, tell func(am.Performance)) {
	id := a.ID
	if l.partial(id.TaskID) {
		return
	}
	took := a.Ended - max(a.Begun, a.Fetched) - a.Paused
	if took < time.Millisecond {
		return // it says nothing of the node
	}
	l.took[id.Stage].Add((a.Ended - a.Begun - a.Paused).Seconds(), false)
	if l.ran == nil {
		l.ran = map[taskPlace]am.Performance{}
	}
	at := taskPlace{host, id.Stage}
	p := l.ran[at]
	p.Host, p.Reduce, p.Tasks = host, id.Stage == stage.Reduce, p.Tasks+1
	p.Mean += (took.Seconds() - p.Mean) / float64(p.Tasks)
	l.ran[at] = p
	tell(p)
}

// reportOf says where the stages of a job are.
func (l *learned) reportOf(f *stage.Facts) am.StageReport {
	r := am.StageReport{
		Maps: int64(f.Maps.Done), OutputBytes: f.Maps.OutBytes, Released: int64(f.Released), Available: int64(f.Available),
		Copies: f.Detection > 0, Young: int64(f.Young), Detection: f.Detection,
	}
	maps, reduces := &f.Maps, &f.Reduces
	if maps.Done == maps.Tasks {
		r.Left = int64(reduces.Tasks - reduces.Done)
		l.shape(&r, stage.Reduce)
		return r
	}
	if r.Left = int64(maps.Tasks - maps.Done); reduces.Tasks > 0 && maps.Done > 0 {
		each := float64(maps.OutBytes) / float64(maps.Done) // outputs of maps differ little
		read := float64(maps.OutBytes) * float64(reduces.Tasks-reduces.Waiting) / float64(reduces.Tasks)
		r.ToRead, r.ToMake = int64(each*float64(maps.Tasks)-read), int64(each*float64(r.Left))
	}
	l.shape(&r, stage.Map)
	return r
}

// usesHints reports whether a job decides by what the ResourceManager knows.
func usesHints(s *job.Spec) bool {
	return s.Start == job.StartLazily || s.Job.Speculation != "" && s.Job.Speculation != job.SpeculateNone
}

// hinted records the ResourceManager's hints.
func (c *coordinator) hinted(e am.Hinted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := stage.Hinted{Hints: stage.Hints{Frequency: e.Hints.Frequency, Available: e.Hints.Available, Jobs: e.Hints.Jobs, Bandwidth: e.Hints.Bandwidth, Divides: e.Hints.Divides, Copies: e.Hints.Copies}}
	if len(e.Classes) > 0 {
		h.Classes = e.Classes
	}
	c.step(h)
}

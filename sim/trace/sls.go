package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/sim"
	"heddle/yarn/records"
)

// slsJob has the supported fields of an object in an SLS file.
type slsJob struct {
	ID    string    `json:"job.id"`
	Start float64   `json:"job.start.ms"`
	Queue string    `json:"job.queue.name"`
	User  string    `json:"job.user"`
	Label string    `json:"job.label.expression"`
	Count *int      `json:"job.count"`
	Tasks []slsTask `json:"job.tasks"`
}

type slsTask struct {
	Host     string   `json:"container.host"`
	Start    float64  `json:"container.start.ms"`
	End      float64  `json:"container.end.ms"`
	Duration *float64 `json:"duration.ms"`
	Count    *int     `json:"count"`
	Priority int32    `json:"container.priority"`
	Type     string   `json:"container.type"`
	Memory   float64  `json:"container.memory"` // bytes
	VCores   int64    `json:"container.vcores"`
	// Tags and Constraint are ours: Hadoop's simulator has none.
	Tags       []string               `json:"container.tags"`
	Constraint *constraint.Constraint `json:"container.constraint"`
}

// size is what the task takes; a slot where it doesn't say.
func (t *slsTask) size(slot records.Resource) records.Resource {
	size := slot
	if t.Memory > 0 {
		size = records.NewResource(max(int64(t.Memory)/mebibyte, 1), max(size.VCores(), 1))
	}
	if t.VCores > 0 {
		size[records.VCores] = t.VCores
	}
	return size
}

// scheduling returns what a task says of its container, nil if that is nothing. The application's own containers count unless it says otherwise.
func (t *slsTask) scheduling() (*scheduler.SchedulingRequest, error) {
	if len(t.Tags) == 0 && t.Constraint == nil {
		return nil, nil
	}
	p := &scheduler.SchedulingRequest{Tags: slices.Compact(slices.Sorted(slices.Values(t.Tags))), Constraint: t.Constraint}
	own(p.Constraint)
	return p, p.Check()
}

func own(c *constraint.Constraint) {
	if c == nil {
		return
	}
	if c.Op == constraint.Count && c.Space == "" {
		c.Space = constraint.Self
	}
	for _, of := range c.Of {
		own(of)
	}
}

// most bounds what a task has, in MB and vcores, so that sums don't overflow.
const most = 1 << 30

// appendTo makes jobs of one object. Tasks of one priority are a stage. Stages run in the order in which their first tasks start.
func (g *slsJob) appendTo(jobs []sim.Job, o Options) ([]sim.Job, error) {
	j := sim.Job{Name: g.ID, Queue: g.Queue, User: g.User, Label: strings.TrimSpace(g.Label), AM: o.AM}
	o.name(&j, len(jobs))
	var err error
	if j.Submit, err = seconds(g.Start / 1000); err != nil {
		return nil, fmt.Errorf("job.start.ms: %w", err)
	}
	if g.Tasks == nil { // any JSON object may look like this
		return nil, errors.New("has no job.tasks, which each job of an SLS trace has (--format names another format)")
	}
	if j.Stages, err = g.stages(o); err != nil {
		return nil, err
	}
	j.Estimate = mean(&j)
	count := 1
	if g.Count != nil {
		count = *g.Count
	}
	if count < 0 || count*j.Tasks() > maxTasks || count > maxTasks {
		return nil, fmt.Errorf("job.count is %d, with %d tasks each", count, j.Tasks())
	}
	for i := range count {
		copied := j
		if count > 1 {
			copied.Name = fmt.Sprintf("%s-%d", j.Name, i+1)
		}
		jobs = append(jobs, copied)
	}
	return jobs, nil
}

func (g *slsJob) stages(o Options) ([]sim.Stage, error) {
	type stage struct {
		sim.Stage
		start float64
	}
	var stages []stage
	total := 0
	for i, t := range g.Tasks {
		ms := t.End - t.Start
		if t.Duration != nil {
			ms = *t.Duration
		}
		d, err := seconds(ms / 1000)
		if err != nil {
			return nil, fmt.Errorf("duration of task %d: %w", i+1, err)
		}
		if !(t.Memory < most*mebibyte) || t.VCores >= most {
			return nil, fmt.Errorf("task %d has %g bytes and %d vcores: that is more than a cluster can have", i+1, t.Memory, t.VCores)
		}
		size := t.size(o.Slot)
		count := 1
		if t.Count != nil {
			count = *t.Count
		}
		if total += count; count < 0 || total > maxTasks {
			return nil, fmt.Errorf("has %d tasks", total)
		}
		request, err := t.scheduling()
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i+1, err)
		}
		at := slices.IndexFunc(stages, func(s stage) bool {
			return s.Priority == t.Priority && s.Resource == size && (s.Scheduling == nil) == (request == nil) && s.Scheduling.Equal(request)
		})
		if at < 0 {
			at = len(stages)
			stages = append(stages, stage{Stage: sim.Stage{Priority: t.Priority, Resource: size, Scheduling: request}, start: t.Start})
		}
		s := &stages[at]
		s.start = min(s.start, t.Start)
		task := sim.Task{Duration: d}
		if i := strings.LastIndexByte(t.Host, '/'); i > 0 {
			task.Rack, task.Host = t.Host[:i], t.Host[i+1:]
		}
		for range count {
			s.Tasks = append(s.Tasks, task)
		}
	}
	slices.SortStableFunc(stages, func(a, b stage) int { return cmp.Compare(a.start, b.start) })
	out := make([]sim.Stage, len(stages))
	for i := range stages {
		out[i] = stages[i].Stage
	}
	return out, nil
}

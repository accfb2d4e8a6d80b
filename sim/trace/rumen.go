package trace

import (
	"fmt"
	"strings"

	"heddle/sim"
)

// rumenJob has the supported fields of an object in a Rumen file: a job of MapReduce as its history tells it.
type rumenJob struct {
	ID      string      `json:"jobID"`
	User    string      `json:"user"`
	Queue   string      `json:"queue"`
	Submit  float64     `json:"submitTime"` // ms, as all times are
	Maps    []rumenTask `json:"mapTasks"`
	Reduces []rumenTask `json:"reduceTasks"`
}

type rumenTask struct {
	Start    float64        `json:"startTime"`
	Finish   float64        `json:"finishTime"`
	Attempts []rumenAttempt `json:"attempts"`
}

type rumenAttempt struct {
	Result string  `json:"result"`
	Host   string  `json:"hostName"`
	Start  float64 `json:"startTime"`
	Finish float64 `json:"finishTime"`
}

// appendTo makes a job of two stages. A task lasts as long as its attempt that succeeded.
func (g *rumenJob) appendTo(jobs []sim.Job, o Options) ([]sim.Job, error) {
	j := sim.Job{Name: g.ID, Queue: g.Queue, User: g.User, AM: o.AM}
	o.name(&j, len(jobs))
	var err error
	if j.Submit, err = seconds(g.Submit / 1000); err != nil {
		return nil, fmt.Errorf("submitTime: %w", err)
	}
	for _, s := range []struct {
		priority int32
		tasks    []rumenTask
	}{{20, g.Maps}, {10, g.Reduces}} {
		if len(s.tasks) == 0 {
			continue
		}
		stage := sim.Stage{Priority: s.priority, Resource: o.Slot, Tasks: make([]sim.Task, len(s.tasks))}
		for i := range s.tasks {
			if stage.Tasks[i], err = s.tasks[i].task(); err != nil {
				return nil, fmt.Errorf("task %d of priority %d: %w", i+1, s.priority, err)
			}
		}
		j.Stages = append(j.Stages, stage)
	}
	j.Estimate = mean(&j)
	return append(jobs, j), nil
}

func (g *rumenTask) task() (t sim.Task, err error) {
	start, finish := g.Start, g.Finish
	for _, a := range g.Attempts {
		if a.Result == "SUCCESS" {
			start, finish = a.Start, a.Finish
			if i := strings.LastIndexByte(a.Host, '/'); i > 0 {
				t.Rack, t.Host = a.Host[:i], a.Host[i+1:]
			}
		}
	}
	t.Duration, err = seconds((finish - start) / 1000)
	return t, err
}

package mapreduce

import (
	"encoding/json"
	"io"

	"heddle/am/stage"
	"heddle/yarn/records"
)

// Result is what has become of a scenario. Times are in seconds since its beginning.
type Result struct {
	Makespan    float64 `json:"makespan"`    // until the last job has ended
	MeanJob     float64 `json:"meanJob"`     // from submission to end
	Fairness    float64 `json:"fairness"`    // Jain's index of what jobs had of the cluster per second of their lives
	Utilization float64 `json:"utilization"` // of the dominant resource, until the last job has ended
	Copies      int     `json:"copies"`      // that were launched
	Useful      int     `json:"useful"`      // of these, those that finished first
	Cuts        int     `json:"cuts"`        // of maps, the rest of whose input others did
	Frozen      int     `json:"frozen"`      // how often containers were suspended
	Wasted      float64 `json:"wasted"`      // time of attempts with unused results
	WastedOn    float64 `json:"wastedOnCopies"`

	Jobs []JobResult `json:"jobs"`
}

// JobResult is what has become of a job.
type JobResult struct {
	Name     string       `json:"name"`
	Submit   float64      `json:"submit"`
	Start    float64      `json:"start"`    // of its first attempt
	MapsDone float64      `json:"mapsDone"` // when all were done, for the last time
	End      float64      `json:"end"`
	Copies   int          `json:"copies"`
	Wasted   float64      `json:"wasted"`
	Error    string       `json:"error,omitempty"`
	Maps     []TaskResult `json:"maps"`
	Reduces  []TaskResult `json:"reduces"`
}

// TaskResult is what has become of a task. Start and Node are those of the attempt whose result counts.
type TaskResult struct {
	Submit   float64         `json:"submit"`
	Start    float64         `json:"start"`
	End      float64         `json:"end"`
	Node     string          `json:"node"`
	Copies   int             `json:"copies"`
	Wasted   float64         `json:"wasted"`
	Share    float64         `json:"share,omitempty"` // of a map's input as it was submitted, if others do the rest
	Attempts []AttemptResult `json:"attempts"`
}

// AttemptResult is an attempt that has ended. They are listed by their ends.
type AttemptResult struct {
	Number  int     `json:"number"`
	Node    string  `json:"node"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Copy    bool    `json:"copy,omitempty"`
	Fetched float64 `json:"fetched,omitempty"` // of a reduce: when it had all that it needed
	Outcome string  `json:"outcome"`           // succeeded, cancelled, preempted, lost with its node
}

func (c *cluster) result() *Result {
	r := &Result{Frozen: c.frozen}
	sum, squares, lived := 0., 0., 0.
	for _, j := range c.jobs {
		x := j.result()
		r.Makespan = max(r.Makespan, min(x.End, c.engine.Now().Seconds())) // a job may come later
		r.MeanJob += (x.End - x.Submit) / float64(len(c.jobs))
		r.Copies += x.Copies
		r.Wasted += x.Wasted
		r.Cuts += j.cuts
		for _, list := range [][]TaskResult{x.Maps, x.Reduces} {
			for i := range list {
				r.count(&list[i])
			}
		}
		if life := x.End - x.Submit; life > 0 {
			rate := j.work / life
			sum, squares, lived = sum+rate, squares+rate*rate, lived+1
		}
		r.Jobs = append(r.Jobs, x)
	}
	r.Fairness = 1 // of jobs that have all had nothing
	if squares > 0 {
		r.Fairness = sum * sum / (lived * squares)
	}
	if c.use(records.Resource{}); r.Makespan > 0 {
		r.Utilization = c.dominant / r.Makespan
	}
	return r
}

// count counts the copies of a task, and what they have wasted.
func (r *Result) count(t *TaskResult) {
	for _, a := range t.Attempts {
		switch {
		case !a.Copy:
		case a.Outcome == "succeeded":
			r.Useful++
		default:
			r.WastedOn += a.End - a.Start
		}
	}
}

func (j *master) result() JobResult {
	x := JobResult{
		Name: j.name, Submit: j.submit.Seconds(), Start: max(0, j.first).Seconds(), MapsDone: j.mapped.Seconds(), End: j.ended.Seconds(),
		Maps: j.tasks[stage.Map], Reduces: j.tasks[stage.Reduce],
	}
	if !j.over {
		x.End, x.Error = max(j.submit, j.c.engine.Now()).Seconds(), "it hasn't ended"
	} else if j.err != nil {
		x.Error = j.err.Error()
	}
	for _, list := range [][]TaskResult{x.Maps, x.Reduces} {
		for i := range list {
			t := &list[i]
			t.Submit = x.Submit
			last := -1
			for k, a := range t.Attempts {
				if a.Outcome == "succeeded" {
					last = k
				}
				if a.Copy {
					t.Copies++
				}
			}
			for k, a := range t.Attempts {
				if k == last {
					t.Start, t.End, t.Node = a.Start, a.End, a.Node
				} else {
					t.Wasted += a.End - a.Start
				}
			}
			x.Copies += t.Copies
			x.Wasted += t.Wasted
		}
	}
	return x
}

// Write writes a result as JSON.
func (r *Result) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

package mapreduce

import (
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/internal/timeline"
)

// course is how a job has got on so far. It keeps a bounded number of samples: fewer a minute the longer the job takes.
type course struct {
	samples []sample
	every   time.Duration
}

// sample is how much of a stage was done at a time, from 0 to 1.
type sample struct {
	at            time.Duration
	maps, reduces float64
}

const maxSamples = 600

// note takes a sample, if it is time for one.
func (x *course) note(c *coordinator) {
	now := c.now().Sub(c.began)
	if n := len(x.samples); n > 0 && now-x.samples[n-1].at < x.every {
		return
	}
	_, _, maps := c.planner.Stage(stage.Map)
	_, _, reduces := c.planner.Stage(stage.Reduce)
	if len(x.samples) == maxSamples {
		for i := range maxSamples / 2 {
			x.samples[i] = x.samples[2*i]
		}
		x.samples = x.samples[:maxSamples/2]
		x.every = max(2*x.every, 2*time.Second)
	}
	x.samples = append(x.samples, sample{now, maps, reduces})
}

// states are names for the states of attempts.
var states = [...]string{
	stage.Active: "running", stage.Succeeded: "succeeded", stage.Unsuccessful: "failed",
	stage.Cancelled: "cancelled",
}

// attempts returns all attempts so far, by stage and task.
func (c *coordinator) attempts() (out []job.Attempt) {
	now := c.now().Sub(c.began)
	if c.over {
		now = c.overAt
	}
	for s, n := range []int{len(c.splits), c.spec.Job.Reduces} {
		for i := range n {
			for _, a := range c.planner.Attempts(stage.TaskID{Stage: stage.Stage(s), Index: i}) {
				w := c.slots[a.Slot]
				state, ended := states[a.State], a.Ended
				if a.State == stage.Active {
					ended = now
					if stage.IsSuspended(c.planner, a.Slot) {
						state = "suspended"
					}
				}
				progress := a.Progress()
				if a.State == stage.Succeeded {
					progress = 1
				}
				out = append(out, job.Attempt{
					ID: idOf(a.ID), Host: w.host, Container: w.ID.String(), State: state, Copy: a.Copy, Begun: a.Begun.Seconds(),
					Fetched: a.Fetched.Seconds(), Ended: ended.Seconds(), Progress: progress, Stood: a.Paused.Seconds(),
				})
			}
		}
	}
	return out
}

// Spans returns what containers did in attempts, to be drawn.
func Spans(list []job.Attempt) (out []timeline.Span) {
	for _, a := range list {
		switch {
		case a.Copy:
			out = append(out, timeline.Span{Kind: timeline.Copies, From: a.Begun, To: a.Ended})
		case a.ID.Kind == job.Map:
			out = append(out, timeline.Span{Kind: timeline.Maps, From: a.Begun, To: a.Ended})
		default:
			fetched := a.Fetched
			if fetched == 0 {
				fetched = a.Ended
			}
			out = append(out, timeline.Span{Kind: timeline.Fetching, From: a.Begun, To: fetched},
				timeline.Span{Kind: timeline.Reducing, From: fetched, To: a.Ended})
		}
	}
	return out
}

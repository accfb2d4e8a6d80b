package trace

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/sim"
)

// readHawk reads lines of: submission in s, number of tasks n, mean duration in s, and n durations. If two jobs have
// the same submission, the later one comes 10 ms after the other, as in the simulators that defined the format.
func readHawk(r io.Reader, o Options) ([]sim.Job, error) {
	var jobs []sim.Job
	same := map[sim.Time]sim.Time{} // what the next job with the same submission is late by
	err := lines(r, func(line string) error {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return fmt.Errorf("has %d fields; at least 3 are needed", len(fields))
		}
		at, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return fmt.Errorf("submission: %w", err)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil || n < 0 || n != len(fields)-3 {
			return fmt.Errorf("announces %s tasks but has %d", fields[1], len(fields)-3)
		}
		submit, err := seconds(at)
		if err != nil {
			return err
		}
		shift := same[submit]
		same[submit] = shift + 10*sim.Time(time.Millisecond)
		j := sim.Job{
			Name: fmt.Sprintf("job%d", len(jobs)+1), Submit: submit + shift, Queue: o.Queue, User: o.User, AM: o.AM,
		}
		if j.Estimate, err = o.duration(fields[2]); err != nil {
			return err
		}
		tasks := make([]sim.Task, n)
		for i := range tasks {
			if tasks[i].Duration, err = o.duration(fields[3+i]); err != nil {
				return err
			}
		}
		j.Stages = []sim.Stage{{Priority: 1, Resource: o.Slot, Tasks: tasks}}
		jobs = append(jobs, j)
		return nil
	})
	return jobs, err
}

func (o *Options) duration(text string) (sim.Time, error) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("duration: %w", err)
	}
	if o.Whole {
		s = math.Floor(s)
	}
	return seconds(s)
}

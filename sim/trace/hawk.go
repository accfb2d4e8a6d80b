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
		submit, err := timeOf(fields[0], false)
		if err != nil {
			return fmt.Errorf("submission: %w", err)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a number of tasks", fields[1])
		}
		if n != len(fields)-3 {
			return fmt.Errorf("announces %d tasks but has %d durations", n, len(fields)-3)
		}
		shift := same[submit]
		same[submit] = shift + 10*sim.Time(time.Millisecond)
		j := sim.Job{
			Name: fmt.Sprintf("job%d", len(jobs)+1), Submit: submit + shift, Queue: o.Queue, User: o.User, AM: o.AM,
		}
		if j.Estimate, err = timeOf(fields[2], o.Whole); err != nil {
			return fmt.Errorf("mean duration: %w", err)
		}
		tasks := make([]sim.Task, n)
		for i := range tasks {
			if tasks[i].Duration, err = timeOf(fields[3+i], o.Whole); err != nil {
				return fmt.Errorf("duration of task %d: %w", i+1, err)
			}
		}
		j.Stages = []sim.Stage{{Priority: 1, Resource: o.Slot, Tasks: tasks}}
		jobs = append(jobs, j)
		return nil
	})
	return jobs, err
}

// timeOf reads a number of seconds, and cuts it to whole ones if it is to.
func timeOf(text string, whole bool) (sim.Time, error) {
	s, err := number(text)
	if err != nil {
		return 0, err
	}
	if whole {
		s = math.Floor(s)
	}
	return seconds(s)
}

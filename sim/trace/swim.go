package trace

import (
	"fmt"
	"io"
	"math"
	"strings"

	"heddle/sim"
)

const mebibyte = 1 << 20

// readSWIM reads lines of: job, submission in s, gap to the job before, bytes of map input, of shuffle and of reduce
// output, and optionally input and output paths. The format has no tasks. So there is a map for each block of input,
// and a reduce for each block of shuffled data; Options.RateMB determines their durations.
func readSWIM(r io.Reader, o Options) ([]sim.Job, error) {
	if !(o.BlockMB > 0 && o.RateMB > 0) || math.IsInf(o.BlockMB, 1) || math.IsInf(o.RateMB, 1) {
		return nil, fmt.Errorf("a SWIM trace needs a finite block size and rate above 0, not %g MB and %g MB/s", o.BlockMB, o.RateMB)
	}
	var jobs []sim.Job
	err := lines(r, func(line string) error {
		fields := strings.Split(line, "\t")
		if len(fields) < 6 {
			return fmt.Errorf("has %d fields; at least 6 are needed, with tabs between them", len(fields))
		}
		var numbers [6]float64
		for i := 1; i < 6; i++ {
			var err error
			if numbers[i], err = number(strings.TrimSpace(fields[i])); err != nil {
				return fmt.Errorf("field %d: %w", i+1, err)
			}
			if i > 2 && !(numbers[i] >= 0) {
				return fmt.Errorf("field %d: %g bytes is less than nothing", i+1, numbers[i])
			}
		}
		submit, err := seconds(numbers[1])
		if err != nil {
			return fmt.Errorf("field 2: %w", err)
		}
		j := sim.Job{Name: fields[0], Submit: submit, Queue: o.Queue, User: o.User, AM: o.AM}
		maps, err := o.spread(max(numbers[3], 1), numbers[3]+numbers[4])
		if err != nil {
			return fmt.Errorf("field 4: %w", err)
		}
		j.Stages = []sim.Stage{{Priority: 20, Resource: o.Slot, Tasks: maps}}
		if numbers[4] > 0 {
			reduces, err := o.spread(numbers[4], numbers[4]+numbers[5])
			if err != nil {
				return fmt.Errorf("field 5: %w", err)
			}
			j.Stages = append(j.Stages, sim.Stage{Priority: 10, Resource: o.Slot, Tasks: reduces})
		}
		j.Estimate = mean(&j)
		jobs = append(jobs, j)
		return nil
	})
	return jobs, err
}

// spread divides work (bytes) evenly over one task for each block of data.
func (o *Options) spread(data, work float64) ([]sim.Task, error) {
	n := math.Ceil(data / (o.BlockMB * mebibyte))
	if !(n >= 1 && n <= maxTasks) {
		return nil, fmt.Errorf("%g bytes are more than %d blocks of %g MB: take larger blocks", data, maxTasks, o.BlockMB)
	}
	each, err := seconds(work / n / (o.RateMB * mebibyte))
	if err != nil {
		return nil, err
	}
	tasks := make([]sim.Task, int(n))
	for i := range tasks {
		tasks[i].Duration = each
	}
	return tasks, nil
}

// mean returns the mean duration of a job's tasks.
func mean(j *sim.Job) sim.Time {
	var sum float64
	for i := range j.Stages {
		for _, t := range j.Stages[i].Tasks {
			sum += float64(t.Duration)
		}
	}
	return sim.Time(sum / max(float64(j.Tasks()), 1))
}

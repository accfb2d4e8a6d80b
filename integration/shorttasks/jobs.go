package shorttasks

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/am/pool"
	"heddle/internal/pause"
	"heddle/yarn/wire"
)

// Load is jobs that come at random times.
type Load struct {
	Share float64       // of all slots that the jobs need
	Tasks int           // of a job
	Task  time.Duration // time of a task
	Fork  bool          // a task is a process that is started (sleep), and not a timer of the executor
	Args  []string      // with Fork: of another program than sleep, which takes the time of a task
}

// Jobs is how long jobs took, in ms, and how long they would have taken without any delay: what slots that know all and take no time for it make of
// the same arrivals, in their order.
type Jobs struct {
	Jobs               int
	PerSecond          float64
	P50, P99           float64
	IdealP50, IdealP99 float64
	Task               float64 // what the ideal takes for a task's time
}

// rate returns how many jobs a second make the load on so many slots.
func (l Load) rate(slots int) float64 {
	return l.Share * float64(slots) / l.Task.Seconds() / float64(l.Tasks)
}

// arrivals returns the random times at which jobs come. The first one comes at once.
func (l Load) arrivals(slots int, duration time.Duration, seed uint64) (all []time.Duration) {
	draw := rand.New(rand.NewPCG(seed, 17))
	for at := time.Duration(0); at < duration; at += time.Duration(draw.ExpFloat64() / l.rate(slots) * float64(time.Second)) {
		all = append(all, at)
	}
	return all
}

// task returns what a job's tasks do.
func (l Load) task() wire.Task {
	if l.Fork {
		return wire.Task{What: wire.Command, Args: l.command()}
	}
	return wire.Task{What: wire.Nothing, TimeoutMS: uint64(l.Task.Milliseconds())}
}

func (l Load) command() []string {
	if l.Args != nil {
		return l.Args
	}
	return []string{"sleep", fmtSeconds(l.Task)}
}

// alone returns how long a task takes that has the machine for itself: for a process, what this process needs to start one and to wait for it, in the mean.
func (l Load) alone(ctx context.Context) (time.Duration, error) {
	if !l.Fork {
		return l.Task, nil
	}
	const n = 20
	began := time.Now()
	for range n {
		args := l.command()
		if err := exec.CommandContext(ctx, args[0], args[1:]...).Run(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / n, nil
}

// run submits the jobs, and waits for them.
func (l Load) run(ctx context.Context, o Options, each time.Duration, submit func(...*pool.Task)) (j Jobs, err error) {
	var mu sync.Mutex
	var took, came []time.Duration
	var fault error
	var jobs sync.WaitGroup
	slots := o.Nodes * o.Slots
	began := time.Now()
	for _, at := range l.arrivals(slots, o.Duration, o.Seed) {
		if err := pause.Exactly(ctx, time.Until(began.Add(at))); err != nil {
			fault = err
			break
		}
		submitted := time.Now()
		came = append(came, submitted.Sub(began))
		left := int64(l.Tasks)
		jobs.Add(1)
		tasks := make([]*pool.Task, 0, l.Tasks)
		for range l.Tasks {
			tasks = append(tasks, &pool.Task{
				Task: l.task(),
				Done: func(e wire.Ended, err error) {
					last := atomic.AddInt64(&left, -1) == 0
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						fault = err
					} else if e.Why != wire.Ran || e.Exit != 0 {
						fault = &failure{e}
					}
					if last {
						took = append(took, time.Since(submitted))
						jobs.Done()
					}
				},
			})
		}
		submit(tasks...)
	}
	jobs.Wait()
	mu.Lock()
	defer mu.Unlock()
	if fault != nil || len(took) == 0 {
		return j, fault
	}
	j.Jobs, j.PerSecond, j.Task = len(took), l.rate(slots), each.Seconds()*1000
	j.P50, j.P99 = quantiles(took)
	j.IdealP50, j.IdealP99 = quantiles(Ideal(came, slices.Repeat([][]time.Duration{slices.Repeat([]time.Duration{each}, l.Tasks)}, len(came)), slots))
	return j, nil
}

// quantiles returns the median and the 99th percentile in ms.
func quantiles(took []time.Duration) (p50, p99 float64) {
	slices.Sort(took)
	at := func(q float64) float64 { return took[min(int(q*float64(len(took))), len(took)-1)].Seconds() * 1000 }
	return at(0.5), at(0.99)
}

// Ideal returns how long jobs take if each task, of the duration given for its job, gets the first slot that is free, and nothing else takes time.
func Ideal(arrivals []time.Duration, durations [][]time.Duration, slots int) (took []time.Duration) {
	free := make([]time.Duration, slots)
	for j, at := range arrivals {
		end := at
		for _, d := range durations[j] {
			first := slices.Index(free, slices.Min(free))
			free[first] = max(free[first], at) + d
			end = max(end, free[first])
		}
		took = append(took, end-at)
	}
	return took
}

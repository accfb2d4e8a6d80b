// Package shorttasks is `heddle bench probes`: how fast a pool gives short tasks to warm executors, and how long small jobs take
// on a loaded one. Executors are processes of the program; they are reached by the connections that a cluster's use.
package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/am/client"
	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/internal/pause"
	"heddle/nm/proc"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// Options of a measurement.
type Options struct {
	Binary    string // heddle's
	Executors int
	Slots     int           // of each executor
	Duration  time.Duration // of each of the two parts
	// Load is the share of all slots that the jobs of the second part need; Tasks and Task are the size of a job and of its tasks.
	Load  float64
	Tasks int
	Task  time.Duration
	Seed  uint64
}

func (o *Options) check() error {
	switch {
	case o.Executors < 1 || o.Executors > 1000 || o.Slots < 1 || o.Slots > 1000:
		return fmt.Errorf("%d executors of %d slots: 1 to 1000 of either are possible", o.Executors, o.Slots)
	case o.Load <= 0 || o.Load >= 1:
		return fmt.Errorf("the load is %v: it must be above 0 and below 1", o.Load)
	case o.Tasks < 1 || o.Tasks > 10000 || o.Task < time.Millisecond:
		return fmt.Errorf("jobs of %d tasks of %v: 1 to 10000 of at least 1ms are possible", o.Tasks, o.Task)
	case o.Duration <= 0:
		return fmt.Errorf("the duration is %v: it must be above 0", o.Duration)
	}
	return nil
}

// Report is what was measured.
type Report struct {
	Executors, Slots int
	// Tasks that end at once, as many as possible.
	TasksPerSecond float64
	// Processor time for each of those tasks, in µs.
	PoolCPU, ExecutorCPU float64
	// Jobs at the load, in ms. The ideal is what slots that know all and take no time for it make of the same arrivals, in their order.
	Jobs               int
	JobsPerSecond      float64
	Load               float64
	P50, P99           float64
	IdealP50, IdealP99 float64
	Rivals             []Rival `json:",omitempty"` // of the same tasks
	// Probes is the same for jobs that are placed by probes of as many nodes, which have one executor each.
	Probes Jobs
}

// Jobs is how long jobs took, in ms, and how long they would have taken without any delay.
type Jobs struct {
	Jobs               int
	P50, P99           float64
	IdealP50, IdealP99 float64
}

// Run measures. It takes three times the duration.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	r.Executors, r.Slots = o.Executors, o.Slots
	if err := with(ctx, o, prefetch, func(p *pool.Pool, cpu func() (time.Duration, error)) error {
		return throughput(ctx, o, p, cpu, &r)
	}); err != nil {
		return r, err
	}
	err = with(ctx, o, 0, func(p *pool.Pool, _ func() (time.Duration, error)) (err error) {
		j, err := latency(ctx, o, p.Submit)
		r.Load, r.JobsPerSecond = o.Load, o.rate()
		r.Jobs, r.P50, r.P99, r.IdealP50, r.IdealP99 = j.Jobs, j.P50, j.P99, j.IdealP50, j.IdealP99
		return err
	})
	if err != nil {
		return r, err
	}
	return r, withProbes(ctx, o, func(s *probes.Scheduler) (err error) {
		r.Probes, err = latency(ctx, o, func(tasks ...*pool.Task) { s.Job().Submit(tasks...) })
		return err
	})
}

// prefetch lets executors have tasks that come next while they tell of others: tasks that take no time wait for none.
const prefetch = 500

// with runs f with a pool and its executors. cpu is the executors' processor time so far.
func with(ctx context.Context, o Options, prefetch int, f func(p *pool.Pool, cpu func() (time.Duration, error)) error) (err error) {
	secret := wire.NewSecret()
	p, err := pool.New(pool.Options{Secret: secret, Listen: "127.0.0.1:0", Prefetch: prefetch})
	if err != nil {
		return err
	}
	defer p.Close()
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	creds := &token.Credentials{}
	creds.SetSecret(wire.SecretAlias, secret)
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "tokens")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return err
	}
	var executors []*exec.Cmd
	defer func() {
		p.Close() // by which they end
		for _, x := range executors {
			err = errors.Join(err, x.Wait())
		}
	}()
	for i := range o.Executors {
		x := exec.Command(o.Binary, "executor", "--slots", fmt.Sprint(o.Slots), fmt.Sprintf("127.0.0.1:%d", p.Port()))
		x.Env = append(os.Environ(), client.TokenFileVariable+"="+file, fmt.Sprintf("CONTAINER_ID=bench-%d", i))
		x.Stderr = os.Stderr
		if err := x.Start(); err != nil {
			return err
		}
		executors = append(executors, x)
	}
	for end := time.Now().Add(time.Minute); p.State().Executors < o.Executors; {
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d executors have come within a minute", p.State().Executors, o.Executors)
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return f(p, func() (time.Duration, error) {
		var all time.Duration
		for _, x := range executors {
			p, err := proc.Read(x.Process.Pid)
			if err != nil {
				return 0, err
			}
			all += p.CPU
		}
		return all, nil
	})
}

func throughput(ctx context.Context, o Options, p *pool.Pool, cpu func() (time.Duration, error), r *Report) error {
	var ended atomic.Int64
	var fault atomic.Value
	// As many tasks are under way as executors take, and some that wait.
	room := make(chan struct{}, o.Executors*(o.Slots+prefetch)*2)
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	before, err := cpu()
	if err != nil {
		return err
	}
	own := ownCPU()
	began := time.Now()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		room <- struct{}{}
		all.Add(1)
		p.Submit(&pool.Task{Task: wire.Task{What: wire.Nothing}, Done: func(_ wire.Ended, err error) {
			if err != nil {
				fault.Store(err)
			}
			ended.Add(1)
			<-room
			all.Done()
		}})
	}
	all.Wait()
	took := time.Since(began)
	after, err := cpu()
	if err != nil {
		return err
	}
	if err, ok := fault.Load().(error); ok {
		return err
	}
	n := float64(ended.Load())
	r.TasksPerSecond = n / took.Seconds()
	r.PoolCPU = float64((ownCPU() - own).Microseconds()) / n
	r.ExecutorCPU = float64((after - before).Microseconds()) / n
	return nil
}

// rate is how many jobs a second make the load.
func (o *Options) rate() float64 {
	return o.Load * float64(o.Executors*o.Slots) / o.Task.Seconds() / float64(o.Tasks)
}

// arrivals are the random times at which jobs come. The first one comes at once.
func arrivals(o Options) (all []time.Duration) {
	draw := rand.New(rand.NewPCG(o.Seed, 17))
	for at := time.Duration(0); at < o.Duration; at += time.Duration(draw.ExpFloat64() / o.rate() * float64(time.Second)) {
		all = append(all, at)
	}
	return all
}

// latency submits jobs at random times, as many as make the load.
func latency(ctx context.Context, o Options, submit func(...*pool.Task)) (j Jobs, err error) {
	var mu sync.Mutex
	var took, came []time.Duration
	var fault error
	var jobs sync.WaitGroup
	began := time.Now()
	for _, at := range arrivals(o) {
		if err := pause.For(ctx, time.Until(began.Add(at))); err != nil {
			fault = err
			break
		}
		submitted := time.Now()
		came = append(came, submitted.Sub(began))
		left := int64(o.Tasks)
		jobs.Add(1)
		tasks := make([]*pool.Task, 0, o.Tasks)
		for range o.Tasks {
			tasks = append(tasks, &pool.Task{
				Task: wire.Task{What: wire.Nothing, TimeoutMS: uint64(o.Task.Milliseconds())},
				Done: func(_ wire.Ended, err error) {
					last := atomic.AddInt64(&left, -1) == 0
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						fault = err
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
	j.Jobs = len(took)
	j.P50, j.P99 = quantiles(took)
	j.IdealP50, j.IdealP99 = quantiles(ideal(came, o.Executors*o.Slots, o.Tasks, o.Task))
	return j, nil
}

// quantiles returns the median and the 99th percentile in ms.
func quantiles(took []time.Duration) (p50, p99 float64) {
	slices.Sort(took)
	at := func(q float64) float64 { return took[min(int(q*float64(len(took))), len(took)-1)].Seconds() * 1000 }
	return at(0.5), at(0.99)
}

// ideal returns how long jobs take if each task gets the first slot that is free, and nothing else takes time.
func ideal(arrivals []time.Duration, slots, tasks int, each time.Duration) (took []time.Duration) {
	free := make([]time.Duration, slots)
	for _, at := range arrivals {
		end := at
		for range tasks {
			first := 0
			for i, f := range free {
				if f < free[first] {
					first = i
				}
			}
			free[first] = max(free[first], at) + each
			end = max(end, free[first])
		}
		took = append(took, end-at)
	}
	return took
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

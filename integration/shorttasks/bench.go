// Package shorttasks is `heddle-lab bench probes`: how fast warm executors get short tasks, and how long small jobs take on a loaded cluster,
// by a pool of executors and by probes of nodes. Nodes and executors are processes of the program, over the connections of a real cluster.
package shorttasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/yarn/wire"
)

// Options of a measurement.
type Options struct {
	Binary   string        // heddle's, for executors
	Lab      string        // heddle-lab's, for nodes and long processes
	Nodes    int           // or executors of the pool
	Slots    int           // of each
	Duration time.Duration // of each part
	Short    Load          // jobs of tasks that an executor's timer ends
	Forked   Load          // jobs of processes
	Bindings bool          // whether jobs of processes that work are placed with late and with early binding, too
	Working  Load          // these, of as many tasks as Short
	Only     []string      // parts; empty: all
	Seed     uint64
}

// AddFlags adds the flags of all options but Binary and Lab.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Nodes, "nodes", 2, "processes that take tasks")
	f.IntVar(&o.Slots, "slots", 8, "tasks that each of them runs at a time")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "of each measurement")
	f.StringSliceVar(&o.Only, "only", nil, "measure these only, of "+partPool+", "+partProbes+" and "+partProcesses)
	f.Float64Var(&o.Short.Share, "load", 0.8, "share of the slots that the jobs need")
	f.IntVar(&o.Short.Tasks, "tasks", 10, "of a job")
	f.DurationVar(&o.Short.Task, "task", 10*time.Millisecond, "time of a job's task")
	f.Float64Var(&o.Forked.Share, "process-load", 0.9, "share of the slots that the jobs of processes need")
	f.IntVar(&o.Forked.Tasks, "processes", 10, "of such a job")
	f.DurationVar(&o.Forked.Task, "process-time", 100*time.Millisecond, "time for which each of them sleeps")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times at which jobs come")
	f.BoolVar(&o.Bindings, "bindings", false, "compare late and early binding as well, with jobs of --tasks processes that work")
	f.Float64Var(&o.Working.Share, "work-load", 0.5, "share of the processors that these jobs need")
	f.DurationVar(&o.Working.Task, "work", 10*time.Millisecond, "time for which each of their processes works")
}

func (o *Options) check() error {
	if o.Nodes < 1 || o.Nodes > 1000 || o.Slots < 1 || o.Slots > 1000 {
		return fmt.Errorf("%d nodes of %d slots: 1 to 1000 of either are possible", o.Nodes, o.Slots)
	}
	if o.Duration <= 0 {
		return fmt.Errorf("the duration is %v: it must be above 0", o.Duration)
	}
	for _, part := range o.Only {
		if part != partPool && part != partProbes && part != partProcesses {
			return fmt.Errorf("there is no part %q: there are %s, %s and %s", part, partPool, partProbes, partProcesses)
		}
	}
	loads := []Load{o.Short, o.Forked}
	if o.Bindings {
		o.Working.Tasks = o.Short.Tasks
		loads = append(loads, o.Working)
	}
	for _, l := range loads {
		if !(l.Share > 0 && l.Share < 1) {
			return fmt.Errorf("the load is %v: it must be above 0 and below 1", l.Share)
		}
		if l.Tasks < 1 || l.Tasks > 10000 || l.Task < time.Millisecond {
			return fmt.Errorf("jobs of %d tasks of %v: 1 to 10000 of at least 1ms are possible", l.Tasks, l.Task)
		}
	}
	return nil
}

// Report is what was measured.
type Report struct {
	Nodes, Slots int
	Pool, Probes Way
	Forked       Forked
	Bindings     *Bindings `json:",omitempty"` // if jobs of processes that work were wanted
	Rivals       []Rival   `json:",omitempty"` // of the same tasks
}

// Way is a way in which tasks are placed.
type Way struct {
	TasksPerSecond float64 // that end at once, as many as possible
	CPU            CPU     // of each of them
	Jobs           Jobs    // at the load
	JobCPU         CPU     // of each of their tasks
}

// CPU is processor time.
type CPU struct {
	Client    time.Duration // of the process that has the tasks
	Nodes     time.Duration // of the processes that have the queues; 0 without probes
	Executors time.Duration // without the processes that they start
}

// spent returns the processor time so far of others than this process.
type spent func() (CPU, error)

// over returns what n tasks took each since an earlier time.
func (c CPU) over(before CPU, n float64) CPU {
	each := func(a, b time.Duration) time.Duration { return time.Duration(float64(a-b) / n) }
	return CPU{each(c.Client, before.Client), each(c.Nodes, before.Nodes), each(c.Executors, before.Executors)}
}

// now returns what this process and others have used so far.
func (s spent) now() (CPU, error) {
	c, err := s()
	c.Client = ownCPU()
	return c, err
}

// each returns what f took for each of the n tasks that it says it ran.
func (s spent) each(f func() (n int, err error)) (CPU, error) {
	before, err := s.now()
	if err != nil {
		return CPU{}, err
	}
	n, err := f()
	if err != nil || n == 0 {
		return CPU{}, err
	}
	after, err := s.now()
	return after.over(before, float64(n)), err
}

// Parts of a measurement.
const (
	partPool      = "pool"
	partProbes    = "probes"
	partProcesses = "processes"
)

// does reports whether a part is measured.
func (o *Options) does(part string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, part) }

// Run measures.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	r.Nodes, r.Slots = o.Nodes, o.Slots
	if o.does(partPool) {
		if r.Pool, err = byPool(ctx, o); err != nil {
			return r, err
		}
	}
	if o.does(partProbes) {
		if r.Probes, err = byProbes(ctx, o); err != nil {
			return r, err
		}
	}
	if o.does(partProcesses) {
		if r.Forked, err = forked(ctx, o); err != nil {
			return r, err
		}
	}
	if o.Bindings {
		r.Bindings, err = bindings(ctx, o)
	}
	return r, err
}

// byPool has a pool of executors place tasks.
func byPool(ctx context.Context, o Options) (w Way, err error) {
	if err := withPool(ctx, o, prefetch, func(p *pool.Pool, s spent) error { return w.flood(ctx, o, s, p.Submit) }); err != nil {
		return w, err
	}
	return w, withPool(ctx, o, 0, func(p *pool.Pool, s spent) error { return w.load(ctx, o, s, p.Submit) })
}

// byProbes makes nodes ask for tasks.
func byProbes(ctx context.Context, o Options) (w Way, err error) {
	err = withProbes(ctx, o, probes.Options{}, func(p *probes.Scheduler, s spent) error { return w.flood(ctx, o, s, p.Job().Submit) })
	if err != nil {
		return w, err
	}
	return w, withProbes(ctx, o, probes.Options{Estimate: o.Short.Task}, func(p *probes.Scheduler, s spent) error { return w.load(ctx, o, s, ofJobs(p)) })
}

// flood measures tasks that end at once.
func (w *Way) flood(ctx context.Context, o Options, s spent, submit func(...*pool.Task)) (err error) {
	w.CPU, err = s.each(func() (n int, err error) {
		w.TasksPerSecond, n, err = throughput(ctx, o, submit)
		return n, err
	})
	return err
}

// load measures jobs at the load.
func (w *Way) load(ctx context.Context, o Options, s spent, submit func(...*pool.Task)) (err error) {
	w.JobCPU, err = s.each(func() (n int, err error) {
		w.Jobs, err = o.Short.run(ctx, o, o.Short.Task, submit)
		return w.Jobs.Jobs * o.Short.Tasks, err
	})
	return err
}

// ofJobs places the tasks of each call together.
func ofJobs(s *probes.Scheduler) func(...*pool.Task) {
	return func(tasks ...*pool.Task) { s.Job().Submit(tasks...) }
}

// failure is the error of a task that was to succeed.
type failure struct{ wire.Ended }

func (f *failure) Error() string {
	return fmt.Sprintf("a task has ended with code %d (signal %d, %d): %s", f.Exit, f.Signal, f.Why, f.Fault)
}

// together is how many tasks are submitted at once.
const together = 100

// throughput submits tasks that end at once. It returns how many ended in a second, and altogether.
func throughput(ctx context.Context, o Options, submit func(...*pool.Task)) (rate float64, n int, err error) {
	var ended atomic.Int64
	var fault atomic.Value
	// As many tasks are under way as executors take, and some that wait.
	room := make(chan struct{}, o.Nodes*(o.Slots+prefetch)*2/together+2)
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	began := time.Now()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		room <- struct{}{}
		all.Add(1)
		left := int64(together)
		tasks := make([]*pool.Task, together)
		for i := range tasks {
			tasks[i] = &pool.Task{Task: wire.Task{What: wire.Nothing}, Done: func(_ wire.Ended, err error) {
				if err != nil {
					fault.Store(err)
				}
				ended.Add(1)
				if atomic.AddInt64(&left, -1) == 0 {
					<-room
					all.Done()
				}
			}}
		}
		submit(tasks...)
	}
	all.Wait()
	took := time.Since(began)
	if err, ok := fault.Load().(error); ok {
		return 0, 0, err
	}
	return float64(ended.Load()) / took.Seconds(), int(ended.Load()), nil
}

// fmtSeconds writes a time as sleep takes it.
func fmtSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

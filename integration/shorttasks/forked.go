package shorttasks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"heddle/am/executor"
	"heddle/am/pool"
	"heddle/am/probes"
)

// Commands of processes of a measurement, below `heddle-lab bench probes`.
const (
	NodeCommand = "node"
	LongCommand = "long"
)

// Forked is jobs of processes beside long work that always runs.
type Forked struct {
	// Omniscient is what one queue made of the jobs, in this process: each task is started as soon as one of as many slots is free. Probes is what probes made of
	// jobs that came at the same times.
	Omniscient, Probes Jobs
	// Of each task, without its own process: by the omniscient placement (this process starts them), and by probes.
	OmniscientCPU, CPU CPU
	// Long is the work that the long task got done in a second, in units of its own: by itself, beside the short tasks that were placed omnisciently, and by
	// probes, from the first job's start to the last one's end.
	LongAlone, LongOmniscient, LongProbes float64
}

// forked measures jobs of processes.
func forked(ctx context.Context, o Options) (r Forked, err error) {
	o.Forked.Fork = true
	each, err := o.Forked.alone(ctx)
	if err != nil {
		return r, err
	}
	if err := beside(o, func(l *long) error {
		r.LongAlone, err = l.over(func() error {
			time.Sleep(min(o.Duration, 5*time.Second))
			return nil
		})
		return err
	}); err != nil {
		return r, err
	}
	if err := beside(o, func(l *long) error {
		q := newQueue(ctx, o.Nodes*o.Slots)
		defer q.close()
		self := spent(func() (CPU, error) { return CPU{}, nil })
		r.Omniscient, r.OmniscientCPU, r.LongOmniscient, err = o.processes(ctx, l, self, each, q.submit)
		return err
	}); err != nil {
		return r, err
	}
	err = beside(o, func(l *long) error {
		return withProbes(ctx, o, probes.Options{Estimate: each}, func(p *probes.Scheduler, s spent) (err error) {
			r.Probes, r.CPU, r.LongProbes, err = o.processes(ctx, l, s, each, ofJobs(p))
			return err
		})
	})
	return r, err
}

// processes submits the jobs of processes. It returns what processor time each of them took of those that place them, and what the long task got done
// in a second meanwhile: the starts of nodes and executors don't count, which are no task's.
func (o Options) processes(ctx context.Context, l *long, s spent, each time.Duration, submit func(...*pool.Task)) (j Jobs, cpu CPU, rate float64, err error) {
	cpu, err = s.each(func() (n int, err error) {
		rate, err = l.over(func() error {
			j, err = o.Forked.run(ctx, o, each, submit)
			return err
		})
		return j.Jobs * o.Forked.Tasks, err
	})
	return j, cpu, rate, err
}

// long is a process that works all the time.
type long struct {
	in  io.Writer
	out *json.Decoder
}

// beside runs f beside a long process.
func beside(o Options, f func(*long) error) error {
	c := exec.Command(o.Lab, "bench", "probes", LongCommand)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	err = f(&long{in: in, out: json.NewDecoder(out)})
	in.Close()
	if e := c.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("the long task: %w", e))
	}
	return err
}

// done returns the work that it has got done so far.
func (l *long) done() (units float64, err error) {
	if _, err = io.WriteString(l.in, "?"); err == nil {
		err = l.out.Decode(&units)
	}
	if err != nil {
		return 0, fmt.Errorf("the long task: %w", err)
	}
	return units, nil
}

// over runs f, and returns what the long process got done in a second of it.
func (l *long) over(f func() error) (rate float64, err error) {
	before, err := l.done()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := l.done()
	return (after - before) / took.Seconds(), err
}

// Long works until in ends. For each byte that it reads it writes how much it has done so far.
func Long(in io.Reader, out io.Writer) error {
	var units atomic.Int64
	ended := make(chan error, 1)
	go func() {
		say := json.NewEncoder(out)
		for question := make([]byte, 1); ; {
			_, err := in.Read(question)
			if err == nil {
				err = say.Encode(units.Load())
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	block := make([]byte, 64<<10)
	for ; ; units.Add(1) {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
		select {
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		default:
		}
	}
}

// queue starts tasks in their order as soon as a slot is free.
type queue struct {
	ctx     context.Context
	engine  *executor.Engine
	mu      sync.Mutex
	waiting []*pool.Task
	free    int
	running sync.WaitGroup
}

func newQueue(ctx context.Context, slots int) *queue {
	return &queue{ctx: ctx, engine: executor.NewEngine(nil), free: slots}
}

func (q *queue) close() {
	q.running.Wait()
	q.engine.Close()
}

func (q *queue) submit(tasks ...*pool.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, tasks...)
	for q.free > 0 && len(q.waiting) > 0 {
		q.free--
		t := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.running.Go(func() { q.work(t) })
	}
}

// work runs a task, and then those that wait.
func (q *queue) work(t *pool.Task) {
	for t != nil {
		e := q.engine.Run(q.ctx, &t.Task, func(int, []byte) error { return nil })
		t.Done(*e, nil)
		q.mu.Lock()
		t = nil
		if len(q.waiting) > 0 {
			t, q.waiting = q.waiting[0], q.waiting[1:]
		} else {
			q.free++
		}
		q.mu.Unlock()
	}
}

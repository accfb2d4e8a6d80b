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
	"time"

	"heddle/am/executor"
	"heddle/am/pool"
	"heddle/am/probes"
)

// Commands of processes of a measurement, below `heddle bench probes`.
const (
	NodeCommand = "node"
	LongCommand = "long"
)

// Forked is jobs of processes beside long work that always runs.
type Forked struct {
	// Omniscient is what one queue made of the jobs, in this process: each task is started as soon as one of as many slots is free. Probes is what probes made of
	// jobs that came at the same times.
	Omniscient, Probes Jobs
	CPU                CPU // of each task by probes, without its own process
	// Long is the work that the long task got done in a second, in units of its own: by itself, beside the short tasks that were placed omnisciently, and by
	// probes.
	LongAlone, LongOmniscient, LongProbes float64
}

// forked measures jobs of processes.
func forked(ctx context.Context, o Options) (r Forked, err error) {
	o.Forked.Fork = true
	each, err := o.Forked.alone(ctx)
	if err != nil {
		return r, err
	}
	if r.LongAlone, err = beside(o, func() error {
		time.Sleep(min(o.Duration, 5*time.Second))
		return nil
	}); err != nil {
		return r, err
	}
	if r.LongOmniscient, err = beside(o, func() (err error) {
		q := newQueue(ctx, o.Nodes*o.Slots)
		defer q.close()
		r.Omniscient, err = o.Forked.run(ctx, o, each, q.submit)
		return err
	}); err != nil {
		return r, err
	}
	r.LongProbes, err = beside(o, func() error {
		return withProbes(ctx, o, probes.Options{Estimate: each}, func(p *probes.Scheduler, s spent) (err error) {
			r.CPU, err = s.each(func() (n int, err error) {
				r.Probes, err = o.Forked.run(ctx, o, each, ofJobs(p))
				return r.Probes.Jobs * o.Forked.Tasks, err
			})
			return err
		})
	})
	return r, err
}

// beside runs f beside a process that works all the time, and returns what that one got done in a second.
func beside(o Options, f func() error) (rate float64, err error) {
	c := exec.Command(o.Binary, "bench", "probes", LongCommand)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	err = f()
	in.Close()
	if e := json.NewDecoder(out).Decode(&rate); e != nil {
		err = errors.Join(err, fmt.Errorf("the long task: %w", e))
	}
	return rate, errors.Join(err, c.Wait())
}

// Long works until in ends, and then writes how much it has done in a second.
func Long(in io.Reader, out io.Writer) error {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		ended <- err
	}()
	began := time.Now()
	block := make([]byte, 64<<10)
	for n := 0.; ; n++ {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
		select {
		case err := <-ended:
			return errors.Join(err, json.NewEncoder(out).Encode(n/time.Since(began).Seconds()))
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

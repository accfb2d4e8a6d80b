package burst

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/integration/ladder"
	"heddle/yarn/records"
)

// Sizes of nodes and containers. Those of ApplicationMasters are like those of their tasks.
var (
	nodeSize  = records.NewResource(8192, 8)
	longSize  = records.NewResource(2048, 2)
	shortSize = records.NewResource(1024, 1)
)

// Options say what is measured.
type Options struct {
	Binary string   // of heddle
	Start  []string // the command that runs a Part
	Dir    string   // parent of the folder for all files; "": $TMPDIR
	Modes  []Mode
	Runs   int // of each mode, one mode after the other
	Nodes  int

	LongJobs  int           // as many as fill the cluster
	LongWork  time.Duration // of each of their tasks
	Memory    int64         // bytes that each of them uses
	ShortJobs int
	Tasks     int           // of a short job
	ShortWork time.Duration // of each of them
	Gap       time.Duration // between two submissions of short jobs
	Settle    time.Duration // between the last long task's beginning and the first short job
	Guarantee int           // percent of the cluster for short jobs
	Swap      string        // the device to swap to (ladder.SwapTo), or none
	Set       map[string]string
	Tell      func(string)

	root string // of cgroups
}

func (o *Options) check() error {
	switch {
	case o.Runs < 1 || o.Nodes < 1 || o.LongJobs < 1 || o.ShortJobs < 1 || o.Tasks < 1:
		return fmt.Errorf("%d runs, %d nodes, %d long and %d short jobs, %d tasks: at least one of each is needed", o.Runs, o.Nodes, o.LongJobs, o.ShortJobs, o.Tasks)
	case o.Guarantee < 1 || o.Guarantee > 99:
		return fmt.Errorf("a guarantee of %d %%: it must be 1 to 99", o.Guarantee)
	case o.Memory < 0 || o.Memory > (longSize.MemoryMB()-128)<<20:
		return fmt.Errorf("tasks that use %d MB: their containers have %d, and the program needs some of it", o.Memory>>20, longSize.MemoryMB())
	case o.LongWork < step || o.ShortWork < step:
		return fmt.Errorf("tasks that work for %v and %v: at least %v are needed", o.LongWork, o.ShortWork, step)
	}
	return nil
}

// slots returns how many long containers fill the cluster.
func (o *Options) slots() int { return o.Nodes * int(nodeSize.VCores()/longSize.VCores()) }

// Run measures. Where a run fails, it returns what it has measured as well.
func Run(ctx context.Context, o Options) (r *Results, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var sweep func() error
	if o.Dir, o.root, sweep, err = hadooplab.Guarded(o.Dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sweep()) }()
	if err := folder(o.Dir); err != nil {
		return nil, err
	}
	if o.Swap != "none" {
		off, err := ladder.SwapTo(o.Swap, o.Dir, int64(o.slots())*(o.Memory+64<<20))
		if err != nil {
			return nil, fmt.Errorf("swap of kind %s: %w", o.Swap, err)
		}
		defer func() { err = errors.Join(err, off()) }()
	}
	r = &Results{Modes: o.Modes, Work: o.LongWork.Seconds(), VCores: o.Nodes * int(nodeSize.VCores()), Runs: map[string][]Outcome{}}
	for run := range o.Runs {
		for k := range o.Modes {
			m := o.Modes[(k+run)%len(o.Modes)] // each is first in turn
			x, err := o.run(ctx, m, filepath.Join(o.Dir, fmt.Sprintf("%s-%d", m.Name, run)))
			if err != nil {
				return r, fmt.Errorf("%s, run %d: %w", m.Name, run+1, err)
			}
			r.Runs[m.Name] = append(r.Runs[m.Name], x)
			o.Tell(fmt.Sprintf("%s, run %d of %d: %s", m.Name, run+1, o.Runs, x))
		}
	}
	return r, nil
}

// patience is how long a run may take beyond what its work takes three times.
const patience = 3 * time.Minute

// run measures one mode, in a cluster of its own.
func (o *Options) run(ctx context.Context, m Mode, dir string) (x Outcome, err error) {
	limit := patience + 3*o.LongWork + time.Duration(o.ShortJobs)*(o.Gap+o.ShortWork)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	if err := folder(dir); err != nil {
		return x, err
	}
	c, err := o.start(ctx, m, dir)
	if err != nil {
		return x, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, c.tails())
		}
		err = errors.Join(err, c.close())
	}()
	e, err := listen()
	if err != nil {
		return x, err
	}
	defer e.close()
	cl, err := client.NewCluster(c.conf, nil)
	if err != nil {
		return x, err
	}
	defer cl.Close()
	apps, err := cl.Applications("")
	if err != nil {
		return x, err
	}
	l := &loaded{options: o, c: c, ear: e, apps: apps}
	if err := l.load(ctx); err != nil {
		return x, err
	}
	if !m.Stock {
		if l.cuts, err = c.cuts(ctx); err != nil {
			return x, err
		}
	}
	return l.outcome()
}

// loaded is a cluster with its load.
type loaded struct {
	options *Options
	c       *cluster
	ear     *ear
	apps    *client.Applications

	jobs      []records.ApplicationID // the long ones come first
	submitted []time.Time
	cuts      []cut
}

// load runs all jobs.
func (l *loaded) load(ctx context.Context) error {
	o := l.options
	tasks := o.slots() - o.LongJobs // beside the ApplicationMasters
	for i := range o.LongJobs {
		n := tasks / o.LongJobs
		if i < tasks%o.LongJobs {
			n++
		}
		if err := l.submit(ctx, "long", Part{Tasks: n, Size: longSize, Work: o.LongWork, Memory: o.Memory}); err != nil {
			return err
		}
	}
	if err := l.ear.until(ctx, func() bool { return l.ear.count(o.LongJobs, func(a *attempt) bool { return a.Ready }) == tasks }); err != nil {
		return fmt.Errorf("until the cluster is full: %w", err)
	}
	if err := rest(ctx, o.Settle); err != nil {
		return err
	}
	for range o.ShortJobs {
		if err := l.submit(ctx, "short", Part{Tasks: o.Tasks, Size: shortSize, Work: o.ShortWork}); err != nil {
			return err
		}
		if err := rest(ctx, o.Gap); err != nil {
			return err
		}
	}
	for i, id := range l.jobs {
		r, err := l.apps.Wait(ctx, id, nil)
		if err != nil {
			return err
		}
		if !r.Succeeded() {
			return fmt.Errorf("job %d, %v, ended as %v: %s", i, id, r.Final, r.Diagnostics)
		}
	}
	// An ApplicationMaster may be a moment behind its application's end.
	return l.ear.until(ctx, func() bool {
		return !slices.ContainsFunc(l.ear.attempts, func(a *attempt) bool { return a.Ended.IsZero() })
	})
}

func (l *loaded) submit(ctx context.Context, queue string, p Part) error {
	p.To, p.Start, p.Job = l.ear.listener.Addr().String(), l.options.Start, len(l.jobs)
	id, _, err := l.apps.New(ctx)
	if err != nil {
		return err
	}
	am, err := p.launch(map[string]string{"HADOOP_CONF_DIR": l.c.conf.Dir()})
	if err != nil {
		return err
	}
	l.jobs, l.submitted = append(l.jobs, id), append(l.submitted, time.Now())
	return l.apps.Submit(ctx, client.Submission{ID: id, Name: queue, Queue: queue, Resource: p.Size, AM: am})
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// cut is a decision by which a container was suspended or shrunk, as the ResourceManager tells it.
type cut struct {
	Time      int64  `json:"time"` // ms since 1970
	Container string `json:"containerId"`
	Held      struct {
		VCores int64 `json:"vCores"`
	} `json:"held"`
	Refused bool   `json:"refused"`
	Took    *int64 `json:"tookMs"`
	Moved   *int64 `json:"movedBytes"`
	Lasted  *int64 `json:"lastedMs"` // until it was told to continue
}

// cuts returns the ResourceManager's decisions, the latest first.
func (c *cluster) cuts(ctx context.Context) ([]cut, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.web+"/ws/v1/heddle/preemptions", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Preemptions struct {
			Preemption []cut `json:"preemption"`
		} `json:"preemptions"`
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Preemptions.Preemption, err
}

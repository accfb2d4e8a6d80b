package stages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/am/mapreduce"
	"heddle/am/mapreduce/job"
	"heddle/internal/pause"
)

// Work is what a task does for each of its lines.
type Work struct {
	CPU   time.Duration // of a core
	Sleep time.Duration
	Disk  int64 // bytes that are written to the disk
}

// Job is one of the jobs of a run.
type Job struct {
	After       time.Duration // the beginning of the run
	Maps        int
	Lines       int // of a map
	Map         Work
	Reduces     int
	ReduceSleep time.Duration
}

// Rule is what is compared.
type Rule struct {
	Name string
	Args []string // of heddle mr
}

// Options say what is measured.
type Options struct {
	Binary string // of heddle
	Lab    string // heddle-lab, whose bench-work is the mapper
	Dir    string // for all files
	Runs   int    // of each rule, one rule after the other
	Nodes  []Node
	Jobs   []Job
	Rules  []Rule
	// SlowAfter and DieAfter the beginning of a run disks become slow and nodes die.
	SlowAfter, DieAfter time.Duration
	Tell                func(string)
	NodesServe          bool // the outputs of maps, so that containers go when no task is left for them
	Suspends            bool // containers may be suspended, as heddle mr -freeze needs it
}

// Speculate adds the rule of that name for slow tasks: a value of heddle mr -speculation, with +freeze behind it where copies get the room of
// others. The jobs are there by then.
func (o *Options) Speculate(name string) error {
	rule, freezes := strings.CutSuffix(name, "+freeze")
	args := []string{"-speculation", rule, "-slowstart", "1.0"}
	if freezes {
		if slices.ContainsFunc(o.Jobs, func(j Job) bool { return j.Reduces > 0 }) {
			return fmt.Errorf("rule %s: heddle mr -freeze has an effect in jobs without reduces only: add --reduces 0", name)
		}
		args, o.Suspends = append(args, "-freeze"), true
	}
	o.Rules = append(o.Rules, Rule{Name: name, Args: args})
	return nil
}

// report is what heddle mr -json prints.
type report struct {
	FinalStatus string
	Diagnostics string
	Seconds     float64
	Counters    job.Counters
	Began       int64
	Tasks       []job.Attempt
}

// Run measures. Where a run fails, it returns what it has measured as well.
func Run(ctx context.Context, o Options) (_ *Results, err error) {
	in, err := o.inputs()
	if err != nil {
		return nil, err
	}
	c, err := startCluster(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	r := &Results{Rules: o.Rules, Slots: 0, Runs: map[string][]Outcome{}}
	for _, n := range o.Nodes {
		r.Slots += n.Slots
	}
	for run := range o.Runs {
		for i, rule := range o.Rules {
			if err := c.restore(ctx); err != nil {
				return r, err
			}
			x, err := o.run(ctx, c, rule, in, filepath.Join(o.Dir, fmt.Sprintf("out-%d-%d", run, i)))
			if err != nil {
				return r, fmt.Errorf("%s, run %d: %w", rule.Name, run+1, err)
			}
			r.Runs[rule.Name] = append(r.Runs[rule.Name], x)
			o.Tell(fmt.Sprintf("%s, run %d of %d: %s", rule.Name, run+1, o.Runs, x))
		}
	}
	return r, nil
}

const lineLength = 1000 // so that few lines are on their way to a command

// inputs writes the files of the jobs, and returns their folders.
func (o *Options) inputs() (folders []string, err error) {
	for i, j := range o.Jobs {
		dir := filepath.Join(o.Dir, "in", fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		for m := range j.Maps {
			var b strings.Builder
			for l := range j.Lines {
				fmt.Fprintf(&b, "%d.%d\t%0*d\n", m, l, lineLength-16, l)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(m)), []byte(b.String()), 0o644); err != nil {
				return nil, err
			}
		}
		folders = append(folders, dir)
	}
	return folders, nil
}

// run runs all jobs under a rule.
func (o *Options) run(ctx context.Context, c *cluster, rule Rule, in []string, out string) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	reports := make([]report, len(o.Jobs))
	submitted := make([]time.Time, len(o.Jobs))
	var jobs, harm errgroup.Group
	for i := range o.Nodes {
		at, do := o.DieAfter, func() error { return c.kill(ctx, i) }
		switch n := o.Nodes[i]; {
		case n.Disk > 0:
			at, do = o.SlowAfter, func() error { return c.slow(i, n.Disk) }
		case !n.Dies:
			continue
		}
		harm.Go(func() error {
			if pause.For(ctx, at) != nil {
				return nil
			}
			return do()
		})
	}
	for i, j := range o.Jobs {
		jobs.Go(func() error {
			if err := pause.For(ctx, j.After); err != nil {
				return err
			}
			submitted[i] = time.Now()
			var err error
			reports[i], err = o.submit(ctx, c, rule, j, in[i], filepath.Join(out, fmt.Sprint(i)))
			return err
		})
	}
	err := jobs.Wait()
	cancel()
	if err := errors.Join(err, harm.Wait()); err != nil {
		return Outcome{}, err
	}
	x := outcome(began, submitted, reports)
	return x, os.RemoveAll(out)
}

// submit runs a job and returns its report.
func (o *Options) submit(ctx context.Context, c *cluster, rule Rule, j Job, in, out string) (r report, err error) {
	size := 0
	if info, err := os.Stat(filepath.Join(in, "0")); err == nil {
		size = int(info.Size())
	}
	args := []string{
		"mr", "-conf", c.Conf(), "-json", "-quiet", "-input", in, "-output", out, "-numReduceTasks", fmt.Sprint(j.Reduces),
		"-mapper", fmt.Sprintf("exec '%s' bench-work --cpu %v --sleep %v --disk %d", o.Lab, j.Map.CPU, j.Map.Sleep, j.Map.Disk),
		"-reducer", fmt.Sprintf("sleep %v; exec cat", j.ReduceSleep.Seconds()),
		"-D", fmt.Sprintf("mapreduce.input.fileinputformat.split.maxsize=%d", size), "-D", fmt.Sprintf("mapreduce.map.memory.mb=%d", taskMB),
		"-D", fmt.Sprintf("mapreduce.reduce.memory.mb=%d", taskMB), "-D", fmt.Sprintf("yarn.app.mapreduce.am.resource.mb=%d", masterMB),
		"-D", fmt.Sprintf("mapreduce.map.cpu.vcores=%d", taskCores(len(o.Jobs))), "-D", fmt.Sprintf("mapreduce.reduce.cpu.vcores=%d", taskCores(len(o.Jobs))),
		"-D", "mapreduce.task.io.sort.mb=16", "-D", "mapreduce.task.timeout=120000",
	}
	cmd := exec.CommandContext(ctx, o.Binary, append(args, rule.Args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, o.Dir
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("heddle mr: %w\n%s", err, stderr.Bytes()[max(0, stderr.Len()-3000):])
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return r, fmt.Errorf("the report of heddle mr: %w", err)
	}
	if len(r.Tasks) == 0 {
		return r, errors.New("the report of heddle mr has no attempts: its ApplicationMaster has gone before it could tell")
	}
	return r, nil
}

// outcome computes the figures of a run.
func outcome(began time.Time, submitted []time.Time, reports []report) (x Outcome) {
	sum, squares := 0., 0.
	for i, r := range reports {
		from := float64(r.Began-began.UnixMilli()) / 1000
		submit := submitted[i].Sub(began).Seconds()
		end, work := 0., 0.
		for k := range r.Tasks {
			a := &r.Tasks[k]
			end, work = max(end, from+a.Ended), work+a.Ended-a.Begun
			x.count(a)
			a.Begun, a.Ended = a.Begun+from, a.Ended+from
			if a.Fetched > 0 {
				a.Fetched += from
			}
		}
		x.Cuts += int(r.Counters.Get(job.JobGroup, job.DividedMaps))
		x.Spans = append(x.Spans, mapreduce.Spans(r.Tasks)...)
		x.Attempts = append(x.Attempts, r.Tasks)
		x.Makespan = max(x.Makespan, end)
		x.Jobs = append(x.Jobs, end-submit)
		rate := work / max(end-submit, 1e-3)
		sum, squares = sum+rate, squares+rate*rate
	}
	if squares > 0 {
		x.Fairness = sum * sum / (float64(len(reports)) * squares)
	}
	return x
}

// count counts an attempt.
func (x *Outcome) count(a *job.Attempt) {
	took := a.Ended - a.Begun
	x.Work += took
	won := a.State == "succeeded"
	if a.Stood > 0 {
		x.Stood++
	}
	switch {
	case a.Copy:
		x.Copies++
		if won {
			x.Useful++
		} else {
			x.Wasted += took
		}
	case !won:
		x.Lost += took
	}
}

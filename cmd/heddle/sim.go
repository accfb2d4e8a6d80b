package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/nodelabels"
	"heddle/conf"
	"heddle/internal/within"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/trace"
	"heddle/yarn/records"
)

// simulation has the flags of heddle sim.
type simulation struct {
	source *source

	file    string
	options trace.Options
	slot    string
	am      string

	nodes, perRack, slots int
	labels, attributes    []string
	tree                  *queue.Tree // of the recorder

	tasks, perJob int
	mean          time.Duration
	load          float64
	seed          uint64

	cutoff   time.Duration
	jobsFile string
	record   string
}

func newSim(s *source) *cobra.Command {
	o := &simulation{source: s}
	c := &cobra.Command{
		Use:   "sim",
		Short: "Simulate a cluster under a trace of jobs",
		Long: "Runs the jobs of a trace, or synthetic ones, on simulated nodes under the scheduler of heddle rm, in virtual time, and\n" +
			"prints how long the jobs took. With --conf (or HADOOP_CONF_DIR) queues and preemption come from the configuration. Otherwise\n" +
			"there is one queue, first come first served. The same input and seed give the same output. The speed goes to stderr.",
		GroupID: tools,
		Args:    cobra.NoArgs,
		Example: "  heddle sim --trace GOOG.tr.gz --nodes 12000 --cutoff 1129.5s\n" +
			"  heddle sim --tasks 1000000 --nodes 10000 --seed 7",
		RunE: func(cmd *cobra.Command, _ []string) error { // a signal ends it while it computes
			_, err := within.Do(cmd.Context(), func() (any, error) { return nil, o.run(cmd.OutOrStdout(), cmd.ErrOrStderr()) })
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.file, "trace", "", "file with the jobs (.tr of Hawk, .tsv of SWIM, .json of SLS, SYNTH or Rumen, each also with .gz); without it jobs are synthetic")
	f.StringVar(&o.options.Format, "format", "", "format of the trace: "+strings.Join(trace.Formats, ", ")+" (default: by its name and content)")
	f.StringVar(&o.options.Queue, "queue", "root.default", "queue of jobs for which the trace names none; synthetic jobs: queues that get them in turn, such as root.a,root.b")
	f.StringVar(&o.options.User, "user", "user", "user of jobs for which the trace names none")
	f.BoolVar(&o.options.Whole, "whole-seconds", false, "cut durations of a Hawk trace to whole seconds")
	f.Float64Var(&o.options.BlockMB, "block", 128, "input of each task of a SWIM trace, in MB")
	f.Float64Var(&o.options.RateMB, "rate", 10, "speed of a task of a SWIM trace that reads and writes, in MB/s")
	f.StringVar(&o.slot, "slot", "1024,1", "memory in MB and vcores of a task for which the trace names none")
	f.StringVar(&o.am, "am", "0,0", "memory in MB and vcores of each job's ApplicationMaster; 0,0: it runs elsewhere")
	f.IntVar(&o.nodes, "nodes", 100, "nodes of the cluster")
	f.IntVar(&o.slots, "slots", 1, "slots of a node")
	f.StringSliceVar(&o.labels, "labels", nil, "LABEL=N or LABEL(exclusive=false)=N: so many of the nodes have the node label; jobs get theirs from the trace (SLS) or their queue")
	f.StringSliceVar(&o.attributes, "attributes", nil, "NAME=VALUE=N: so many of the nodes have the attribute, for placement constraints of the trace (SLS)")
	f.IntVar(&o.perRack, "rack", 0, "nodes of a rack; 0: all are in one")
	f.IntVar(&o.tasks, "tasks", 100_000, "synthetic jobs: number of tasks of all jobs")
	f.IntVar(&o.perJob, "job", 50, "synthetic jobs: mean number of tasks of a job")
	f.DurationVar(&o.mean, "mean", 20*time.Second, "synthetic jobs: mean duration of a task")
	f.Float64Var(&o.load, "load", 0.9, "synthetic jobs: mean share of busy slots")
	f.Uint64Var(&o.seed, "seed", 1, "seed of synthetic jobs")
	f.DurationVar(&o.cutoff, "cutoff", 0, "jobs with a longer mean duration of a task are reported as long; 0: don't tell them apart")
	f.StringVar(&o.record, "record", "", "write the scheduler's events to this file, for heddle replay")
	f.StringVar(&o.jobsFile, "jobs", "", "write a line about each job to this file")
	c.AddCommand(newSimRun(),
		ofLaboratory("hybrid", "Simulate Sparrow, Hawk or Eagle: probes of short tasks beside a central scheduler of long ones (by heddle-lab)", ""),
		ofLaboratory("study", "Repeat the experiments that a technique's authors report (by heddle-lab)", ""))
	return c
}

func (o *simulation) run(out, progress io.Writer) error {
	jobs, nodes, err := o.input()
	if err != nil {
		return err
	}
	s, err := o.recorder()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := sim.SetLabels(jobs, o.tree, nodes.Labels); err != nil {
		return err
	}
	if s.Suspends() {
		nodes.Ability = drive.Ability{Suspend: true, Shrink: true, Reclaim: true}
	}
	c, err := sim.NewCluster(s, nodes, jobs)
	if err != nil {
		return err
	}
	fmt.Fprintln(progress, o.scheduler())
	begin := time.Now()
	r, failure := c.Run()
	took := time.Since(begin).Seconds()
	if err := r.Write(out, sim.Time(o.cutoff)); err != nil {
		return err
	}
	fmt.Fprintf(progress, "simulated in %.2f s: %.0f tasks/s, %.0f decisions/s\n", took, float64(r.Tasks)/took, float64(r.Decisions)/took)
	if o.jobsFile != "" {
		if err := writeFile(o.jobsFile, r.WriteJobs); err != nil {
			return err
		}
	}
	return failure
}

func (o *simulation) input() (jobs []sim.Job, nodes sim.Nodes, err error) {
	if o.options.Slot, err = amount("slot", o.slot); err != nil {
		return nil, nodes, err
	}
	if o.options.AM, err = amount("am", o.am); err != nil {
		return nil, nodes, err
	}
	if o.nodes < 1 || o.slots < 1 || o.perRack < 0 {
		return nil, nodes, fmt.Errorf("--nodes %d --slots %d --rack %d: a cluster has at least one node with one slot", o.nodes, o.slots, o.perRack)
	}
	nodes = sim.Nodes{Count: o.nodes, PerRack: o.perRack, Capacity: o.options.Slot.Times(int64(o.slots))}
	if nodes.Labels, err = labelled(o.labels); err != nil {
		return nil, nodes, err
	}
	if nodes.Attributes, err = attributed(o.attributes, o.nodes); err != nil {
		return nil, nodes, err
	}
	if o.file != "" {
		jobs, err = trace.Open(o.file, o.options)
		nodes.Names, nodes.Racks = sim.HostsOf(jobs)
		return jobs, nodes, err
	}
	if o.tasks < 0 || o.perJob < 1 || o.mean <= 0 || !(o.load > 0) {
		return nil, nodes, fmt.Errorf("--tasks %d --job %d --mean %v --load %g: synthetic jobs need at least one task, a positive duration, and a load above 0", o.tasks, o.perJob, o.mean, o.load)
	}
	queues := strings.Split(o.options.Queue, ",")
	return sim.Generate(sim.Workload{
		Tasks: o.tasks, PerJob: o.perJob, Mean: sim.Time(o.mean), Load: o.load, Slots: o.nodes * o.slots,
		Resource: o.options.Slot, Queues: queues, Users: len(queues),
	}, o.seed), nodes, nil
}

// scheduler says which scheduler and queues the jobs have.
func (o *simulation) scheduler() string {
	dir := conf.Locate(o.source.dir, nil)
	switch {
	case dir == "":
		return "scheduler: first come, first served; --conf DIR takes the scheduler and queues of a configuration"
	case o.source.dir == "":
		return "scheduler and queues: of " + dir + " ($HADOOP_CONF_DIR); unset that for first come, first served"
	}
	return "scheduler and queues: of " + dir
}

// recorder returns a recorder with the configured scheduler and queues. Without a configuration it is first come, first
// served.
func (o *simulation) recorder() (*eventlog.Recorder, error) {
	cfg, queues := scheduler.Config{Minimum: o.options.Slot}, &eventlog.Source{Keys: map[string]string{
		"yarn.resourcemanager.scheduler.class": "fifo",
	}}
	if conf.Locate(o.source.dir, nil) != "" {
		c, _, err := o.source.load()
		if err != nil {
			return nil, err
		}
		if queues, err = eventlog.SourceOf(c); err != nil {
			return nil, err
		}
		types, err := c.ResourceTypes()
		if err != nil {
			return nil, err
		}
		cfg.Minimum = c.MinimumAllocation(types)
	}
	var err error
	if cfg.Tree, cfg.Types, err = queues.Tree(); err != nil {
		return nil, err
	}
	o.tree = cfg.Tree
	if o.record == "" {
		return eventlog.New(cfg, nil, nil, eventlog.Header{})
	}
	log, err := eventlog.Create(o.record)
	if err != nil {
		return nil, err
	}
	return eventlog.New(cfg, log, queues, eventlog.Header{Heddle: conf.Version})
}

// labelled reads labels with the number of their nodes.
func labelled(words []string) (labels []sim.Label, err error) {
	for _, w := range words {
		at := strings.LastIndexByte(w, '=')
		if at < 0 || strings.HasSuffix(w, ")") {
			return nil, fmt.Errorf("--labels %s: give LABEL=N, or LABEL(exclusive=false)=N", w)
		}
		l, err := nodelabels.Parse(w[:at])
		n, err2 := strconv.Atoi(strings.TrimSpace(w[at+1:]))
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("--labels %s: give LABEL=N, or LABEL(exclusive=false)=N", w)
		}
		labels = append(labels, sim.Label{Name: l.Name, Exclusive: l.Exclusive, Nodes: n})
	}
	return labels, nil
}

// attributed reads attributes with the number of their nodes. A name without a prefix is one that administrators give.
func attributed(words []string, nodes int) (all []sim.Attribute, err error) {
	for _, w := range words {
		name, rest, _ := strings.Cut(w, "=")
		value, count, ok := strings.Cut(rest, "=")
		n, err := strconv.Atoi(count)
		if !ok || name == "" || err != nil || n < 1 || n > nodes {
			return nil, fmt.Errorf("--attributes %s: give NAME=VALUE=N, with at least one and at most all of %d nodes", w, nodes)
		}
		if !strings.Contains(name, "/") {
			name = "rm.yarn.io/" + name
		}
		all = append(all, sim.Attribute{Name: name, Value: value, Nodes: n})
	}
	return all, nil
}

// amount reads memory,vcores.
func amount(flag, text string) (records.Resource, error) {
	memory, vcores, _ := strings.Cut(text, ",")
	m, err := strconv.ParseInt(strings.TrimSpace(memory), 10, 32)
	v, err2 := strconv.ParseInt(strings.TrimSpace(vcores), 10, 32)
	if err = errors.Join(err, err2); err != nil || m < 0 || v < 0 {
		return records.Resource{}, fmt.Errorf("--%s %s: give memory in MB and vcores, such as 1024,1", flag, text)
	}
	return records.NewResource(m, v), nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

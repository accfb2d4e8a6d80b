package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sizes of the second act. The long job has all vcores of the cluster, with its ApplicationMaster.
const (
	longTasks  = nodeManagers*nodeCores - 1
	longLines  = 24 // of a task
	shortTasks = 4
	shortLines = 250
	lineLength = 5 // bytes
)

// The mappers of the second act, and their reducer. A task of the long job leaves a file when it begins. It takes its time, and in its middle it
// waits for the end of the short job, so that it isn't done before that on however slow a machine.
const (
	squares = `mktemp %[1]s/XXXXXX >/dev/null; awk 'NR == %[2]d { system("until test -e %[1]s.go; do sleep 0.1; done") } ` +
		`{ system("sleep 0.2"); s += $1 * $1 } END { print "sum\t" s }'`
	sum   = `awk '{ s += $1 } END { print "sum\t" s }'`
	addUp = `awk -F '\t' '{ s += $2 } END { print s }'`
)

// suspendable are the settings by which a short job gets its share of a full cluster from containers that continue later.
func suspendable(conf map[string]string) {
	const capacity = "yarn.scheduler.capacity."
	for k, v := range map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": "true",
		"heddle.scheduler.preemption":                   "suspend-immediate",
		"heddle.scheduler.preemption.resume-tries":      "1",
		// Where there is no swap, suspension frees vcores only: these are to be what the cluster lacks.
		"yarn.scheduler.minimum-allocation-mb":      "256",
		capacity + "resource-calculator":            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		capacity + "maximum-am-resource-percent":    "1.0",
		capacity + "root.queues":                    "default,long,short",
		capacity + "root.default.capacity":          "10",
		capacity + "root.default.user-limit-factor": "10",
		capacity + "root.long.capacity":             "15",
		capacity + "root.long.user-limit-factor":    "10",
		capacity + "root.short.capacity":            "75",
	} {
		conf[k] = v
	}
}

type suspendedContainer struct {
	ID         string `json:"containerId"`
	Level      string `json:"level"`
	Suspension struct {
		Text string `json:"text"`
	} `json:"suspension"`
}

// suspended returns the containers that are suspended now.
func (c *cluster) suspended(ctx context.Context) ([]suspendedContainer, error) {
	id, err := c.leader(ctx)
	if err != nil {
		return nil, err
	}
	list, err := get[struct {
		Container []suspendedContainer `json:"container"`
	}](ctx, c, id, "/ws/v1/heddle/containers?suspended=true", "containers")
	return list.Container, err
}

// showSuspension has a long job fill the cluster, and a short one come to another queue. Both must have the right result, the short one
// first, and the long one without any task that runs twice.
func (c *cluster) showSuspension(ctx context.Context) error {
	say("\nSecond act. A long job takes all %d vcores: %d tasks that add up squares, slowly, and its ApplicationMaster.", nodeManagers*nodeCores, longTasks)
	begun := filepath.Join(c.Dir(), "begun")
	if err := os.Mkdir(begun, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(begun, 0o777); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	long, err := c.count(ctx, "long", fmt.Sprintf(squares, begun, longLines/2), longTasks, longLines)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- long.run() }()
	running := func() int {
		list, err := os.ReadDir(begun)
		if err != nil {
			return -1
		}
		return len(list)
	}
	if err := c.until(ctx, "the long job has the whole cluster", func() bool { return running() >= longTasks || len(ended) > 0 }); err != nil {
		return err
	}
	say("*** %.1f s later the cluster is full. A short job comes to queue short, which is guaranteed three quarters of it ***", time.Since(began).Seconds())
	submitted := time.Now()
	short, err := c.count(ctx, "short", sum, shortTasks, shortLines)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- short.run() }()
	var list []suspendedContainer
	if err := c.until(ctx, "containers of the long job are suspended", func() bool {
		now, err := c.suspended(ctx)
		if err == nil && len(now) >= len(list) {
			list = now
		}
		return len(list) > shortTasks || len(done) > 0 || len(ended) > 0
	}); err != nil {
		return err
	}
	for _, x := range list {
		say("  %s %s", x.ID, x.Suspension.Text)
	}
	if err := <-done; err != nil {
		return err
	}
	took := time.Since(submitted)
	if err := os.WriteFile(begun+".go", nil, 0o644); err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("the short job was served, but no container was suspended for it")
	}
	n := shortTasks * shortLines
	if err := short.check(n * (n + 1) / 2); err != nil {
		return err
	}
	say("*** The short job is done after %.1f s: 1 + 2 + … + %d = %d, which is right. The long job's containers resume where they stopped ***", took.Seconds(), n, n*(n+1)/2)
	if err := <-ended; err != nil {
		return err
	}
	n = longTasks * longLines
	if err := long.check(n * (n + 1) * (2*n + 1) / 6); err != nil {
		return err
	}
	if got := running(); got != longTasks {
		return fmt.Errorf("the long job began %d tasks instead of %d: some were killed", got, longTasks)
	}
	say("The long job took %.1f s: 1² + 2² + … + %d² = %d, which is right too. Each of its %d tasks ran once: none was killed.",
		time.Since(began).Seconds(), n, n*(n+1)*(2*n+1)/6, longTasks)
	return nil
}

// sums is a job that adds up what its mapper makes of numbers.
type sums struct {
	cmd     *exec.Cmd
	queue   string
	output  string
	printed bytes.Buffer
}

// count prepares a job in a queue, over as many numbers as its tasks have lines together.
func (c *cluster) count(ctx context.Context, queue, mapper string, tasks, lines int) (*sums, error) {
	in, out := filepath.Join(c.Dir(), queue+"-numbers"), filepath.Join(c.Dir(), queue+"-sum")
	if err := os.Mkdir(in, 0o755); err != nil {
		return nil, err
	}
	for t := range tasks {
		var b strings.Builder
		for l := range lines {
			fmt.Fprintf(&b, "%0*d\n", lineLength-1, t*lines+l+1)
		}
		if err := os.WriteFile(filepath.Join(in, strconv.Itoa(t)), []byte(b.String()), 0o644); err != nil {
			return nil, err
		}
	}
	s := &sums{queue: queue, output: out}
	s.cmd = c.mr(ctx, "-D", "mapreduce.job.name="+queue+" sum", "-D", "mapreduce.job.queuename="+queue,
		"-D", fmt.Sprintf("mapreduce.input.fileinputformat.split.maxsize=%d", lines*lineLength), // a file is a task
		"-D", "mapreduce.map.memory.mb=256", "-D", "mapreduce.reduce.memory.mb=256", "-D", "yarn.app.mapreduce.am.resource.mb=512",
		"-input", "file://"+in, "-output", "file://"+out, "-mapper", mapper, "-reducer", addUp, "-numReduceTasks", "1")
	s.cmd.Stdout, s.cmd.Stderr = &s.printed, &s.printed
	return s, nil
}

func (s *sums) run() error {
	if err := s.cmd.Run(); err != nil {
		return fmt.Errorf("the job in queue %s: %w\n%s", s.queue, err, s.printed.Bytes())
	}
	return nil
}

// check holds the job's result against what it should be.
func (s *sums) check(want int) error {
	raw, err := os.ReadFile(filepath.Join(s.output, "part-00000"))
	if err != nil {
		return err
	}
	if got, err := strconv.Atoi(strings.TrimSpace(string(raw))); err != nil || got != want {
		return fmt.Errorf("the job in queue %s has the result %q instead of %d", s.queue, raw, want)
	}
	return nil
}

// Package monitor measures what containers use, and finds those that use more memory than they may.
//
// It samples the running containers (Containers) from time to time: their groups (nm/cgroup) and the table of processes
// (nm/proc). If the kernel doesn't limit containers' memory, the monitor kills those that use more than their size. If
// the kernel does, WatchMemory reports processes that the kernel has ended. Diagnostics have Hadoop's wording.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/bounded"
	"heddle/internal/claims"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
	"heddle/yarn/records"
)

// Usage is a container's use of resources, as of the last sample.
type Usage struct {
	CPU      float64       // busy cores, mean since the previous sample
	CPUTime  time.Duration // processor time of all its processes so far
	Physical int64         // bytes of memory
	Virtual  int64         // bytes of address space
	Peak     int64         // largest Physical so far, in bytes
	At       time.Time     // zero before the first sample
}

// Config configures a Monitor.
type Config struct {
	Interval time.Duration // yarn.nodemanager.container-monitor.interval-ms

	PhysicalCheck bool    // yarn.nodemanager.pmem-check-enabled
	VirtualCheck  bool    // yarn.nodemanager.vmem-check-enabled
	VirtualRatio  float64 // yarn.nodemanager.vmem-pmem-ratio: allowed virtual memory, as a multiple of the container's memory

	// ByKernel says that the kernel limits containers' memory. Its figures of physical memory are better then.
	ByKernel bool
}

// Target is a container with processes.
type Target struct {
	ID     records.ContainerID
	Group  cgroup.Group
	Leader int   // pid of its session's leader
	Keeper int   // pid of the NodeManager's shell around it, which doesn't count
	Memory int64 // limit of its memory, in bytes
}

// Containers are the containers of a node.
type Containers interface {
	// Targets returns the running and suspended containers.
	Targets() []Target
	// Measured records a container's usage. It returns the usage with Peak set to the largest memory so far.
	Measured(id records.ContainerID, u Usage) Usage
	Kill(id records.ContainerID, exitCode int, why string)
}

// Monitor samples what containers use.
type Monitor struct {
	all Containers
	cfg Config
	log *logrus.Entry

	// The previous sample. Only Sample uses it.
	seen map[proc.ID]bool
	cpu  map[records.ContainerID]reading
}

type reading struct {
	cpu time.Duration
	at  time.Time
}

// New returns a monitor of a node's containers.
func New(all Containers, cfg Config, log *logrus.Entry) *Monitor {
	return &Monitor{all: all, cfg: cfg, log: log, seen: make(map[proc.ID]bool), cpu: make(map[records.ContainerID]reading)}
}

// Run samples until ctx ends.
func (w *Monitor) Run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.Sample(); err != nil {
				w.log.WithError(err).Warn("could not sample what containers use")
			}
		}
	}
}

// Sample measures all containers once.
func (w *Monitor) Sample() error {
	table, err := proc.Snapshot()
	if err != nil {
		return err
	}
	now := time.Now()
	alive := make(map[proc.ID]bool)
	cpu := make(map[records.ContainerID]reading)
	for _, t := range w.all.Targets() {
		w.sample(t, table, now, alive, cpu)
	}
	w.seen, w.cpu = alive, cpu
	return nil
}

func (w *Monitor) sample(t Target, table *proc.Table, now time.Time, alive map[proc.ID]bool, cpu map[records.ContainerID]reading) {
	use, err := t.Group.Usage()
	if err != nil {
		return // the container has just ended
	}
	pids, err := t.Group.Processes()
	if err != nil {
		return
	}
	u := Usage{CPUTime: use.CPU, At: now}
	members := processes(t, table, pids)
	var old, oldVirtual int64 // memory of processes that the previous sample saw: newer ones may be about to exec
	for _, p := range members {
		alive[p.ID] = true
		u.Physical += p.RSS
		u.Virtual += p.Virtual
		if use.CPU < 0 {
			u.CPUTime += p.CPU
		}
		if w.seen[p.ID] {
			old += p.RSS
			oldVirtual += p.Virtual
		}
	}
	if use.Memory >= 0 {
		u.Physical = use.Memory // shared pages are counted once
	}
	if last, ok := w.cpu[t.ID]; ok && now.After(last.at) && u.CPUTime >= last.cpu {
		u.CPU = float64(u.CPUTime-last.cpu) / float64(now.Sub(last.at))
	}
	cpu[t.ID] = reading{cpu: u.CPUTime, at: now}
	u.Peak = max(u.Physical, use.Peak)
	w.enforce(t, w.all.Measured(t.ID, u), old, oldVirtual, members)
}

// processes returns those of pids that still run, without the shell that isn't the container's own.
func processes(t Target, table *proc.Table, pids []int) []proc.Process {
	var out []proc.Process
	for _, pid := range pids {
		if p, ok := table.Get(pid); ok && pid != t.Keeper {
			out = append(out, p)
		}
	}
	return out
}

// enforce kills a container that exceeds its limits by more than double, or with processes older than one interval
// (Hadoop: ContainersMonitorImpl.isProcessTreeOverLimit).
func (w *Monitor) enforce(t Target, u Usage, old, oldVirtual int64, processes []proc.Process) {
	over := func(current, settled, limit int64) bool { return current > 2*limit || settled > limit }
	virtualLimit := int64(float64(t.Memory) * w.cfg.VirtualRatio)
	switch {
	case w.cfg.VirtualCheck && over(u.Virtual, oldVirtual, virtualLimit):
		w.all.Kill(t.ID, records.ExitKilledExceededVMem, complaint(t, "virtual", u.Virtual-virtualLimit, u, virtualLimit, processes, 0))
	case w.cfg.PhysicalCheck && !w.cfg.ByKernel && over(u.Physical, old, t.Memory):
		w.all.Kill(t.ID, records.ExitKilledExceededPMem, complaint(t, "physical", u.Physical-t.Memory, u, virtualLimit, processes, 0))
	}
}

// maxShown is how many processes the diagnostics of a killed container show.
const maxShown = 200

// complaint returns diagnostics in Hadoop's words (ContainersMonitorImpl.formatErrorMessage). ended is how many further
// processes the kernel has ended.
func complaint(t Target, kind string, excess int64, u Usage, virtualLimit int64, processes []proc.Process, ended int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Container [pid=%d,containerID=%s] is running %dB beyond the '%s' memory limit. Current usage: "+
		"%sB of %sB physical memory used; %sB of %sB virtual memory used. Killing container.\nDump of the process-tree for %s :\n",
		t.Leader, t.ID, excess, strings.ToUpper(kind), binaryPrefix(u.Physical), binaryPrefix(t.Memory),
		binaryPrefix(u.Virtual), binaryPrefix(virtualLimit), t.ID)
	b.WriteString("\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n")
	for i, p := range processes {
		if i == maxShown {
			fmt.Fprintf(&b, "\t|- … and %d other processes\n", len(processes)-i)
			break
		}
		name, line := commandLine(p.PID)
		fmt.Fprintf(&b, "\t|- %d %d %d %d (%s) %d %d %d %d %s\n", p.PID, p.Parent, p.Group, p.Session, name,
			p.User.Milliseconds(), (p.CPU - p.User).Milliseconds(), p.Virtual, p.RSS/int64(os.Getpagesize()), line)
	}
	if ended > 0 {
		fmt.Fprintf(&b, "\t|- … and %d that the kernel ended at the memory limit\n", ended)
	}
	return b.String() + "\n"
}

// maxLine bounds the part of a command line that is shown, in bytes: Java's may exceed the diagnostics' limit.
const maxLine = 1000

// commandLine returns a process's name and the beginning of its command line, as far as the process lets that be read.
func commandLine(pid int) (name, line string) {
	comm, _ := bounded.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"), bounded.KernelFile)
	args, err := claims.CommandLine(pid, maxLine+1)
	if errors.Is(err, claims.ErrSilent) {
		return strings.TrimSpace(string(comm)), "(" + claims.ErrSilent.Error() + ")"
	}
	more := ""
	if len(args) > maxLine {
		args, more = args[:maxLine], "…"
	}
	return strings.TrimSpace(string(comm)), strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " ")) + more
}

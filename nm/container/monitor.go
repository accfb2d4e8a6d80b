package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/proc"
	"heddle/yarn/records"
)

// Usage is what a container uses, as of the last sample.
type Usage struct {
	CPU      float64       // cores, on average since the sample before
	CPUTime  time.Duration // all its processes so far
	Physical int64         // bytes of memory
	Virtual  int64         // bytes of address space
	Peak     int64         // the most physical memory that was seen, in bytes
	At       time.Time     // zero before the first sample
}

// MonitorConfig says how a Monitor watches.
type MonitorConfig struct {
	Interval time.Duration // yarn.nodemanager.container-monitor.interval-ms

	PhysicalCheck bool    // yarn.nodemanager.pmem-check-enabled
	VirtualCheck  bool    // yarn.nodemanager.vmem-check-enabled
	VirtualRatio  float64 // yarn.nodemanager.vmem-pmem-ratio: of virtual memory that is allowed to the container's size
}

// Monitor samples what containers use and ends those that use more memory than is theirs, where the kernel doesn't.
type Monitor struct {
	m   *Manager
	cfg MonitorConfig

	// What the sample before has seen. Only Sample uses it.
	seen map[proc.ID]bool
	cpu  map[records.ContainerID]reading
}

type reading struct {
	cpu time.Duration
	at  time.Time
}

// NewMonitor returns a monitor of the manager's containers.
func NewMonitor(m *Manager, cfg MonitorConfig) *Monitor {
	return &Monitor{m: m, cfg: cfg, seen: make(map[proc.ID]bool), cpu: make(map[records.ContainerID]reading)}
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
				w.m.Log.WithError(err).Warn("Could not sample what containers use")
			}
		}
	}
}

// Sample looks at all containers once.
func (w *Monitor) Sample() error {
	table, err := proc.Snapshot()
	if err != nil {
		return err
	}
	now := time.Now()
	alive := make(map[proc.ID]bool)
	cpu := make(map[records.ContainerID]reading)
	for _, c := range w.m.Containers() {
		if !c.State().is(observable...) {
			continue
		}
		group := c.Group()
		if group == nil {
			continue
		}
		w.sample(c, group, table, now, alive, cpu)
	}
	w.seen, w.cpu = alive, cpu
	return nil
}

func (w *Monitor) sample(c *Container, group cgroup.Group, table *proc.Table, now time.Time, alive map[proc.ID]bool, cpu map[records.ContainerID]reading) {
	use, err := group.Usage()
	if err != nil {
		return // it has just ended
	}
	pids, err := group.Processes()
	if err != nil {
		return
	}
	c.mu.Lock()
	keeper := c.record.Keeper.PID
	c.mu.Unlock()
	u := Usage{CPUTime: use.CPU, At: now}
	var processes []proc.Process
	var old, oldVirtual int64 // of processes that were there the last time: others may be about to exec
	for _, pid := range pids {
		p, ok := table.Get(pid)
		if !ok || pid == keeper {
			continue
		}
		processes = append(processes, p)
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
	if last, ok := w.cpu[c.ID()]; ok && now.After(last.at) && u.CPUTime >= last.cpu {
		u.CPU = float64(u.CPUTime-last.cpu) / float64(now.Sub(last.at))
	}
	cpu[c.ID()] = reading{cpu: u.CPUTime, at: now}
	c.mu.Lock()
	u.Peak = max(c.usage.Peak, u.Physical, use.Peak)
	c.usage = u
	c.record.Peak = u.Peak
	size := c.grant.Resource.MemoryMB() << 20
	c.mu.Unlock()
	w.enforce(c, u, size, old, oldVirtual, processes)
}

// enforce kills a container that is over its limits: by more than double, or with processes that are older than one
// interval (Hadoop: ContainersMonitorImpl.isProcessTreeOverLimit).
func (w *Monitor) enforce(c *Container, u Usage, size, old, oldVirtual int64, processes []proc.Process) {
	over := func(current, settled, limit int64) bool { return current > 2*limit || settled > limit }
	virtualLimit := int64(float64(size) * w.cfg.VirtualRatio)
	// Where the kernel holds containers to their memory, it has the better view of it.
	byKernel := w.m.cfg.LimitMemory && w.m.Groups.Capabilities().MemoryLimit
	switch {
	case w.cfg.VirtualCheck && over(u.Virtual, oldVirtual, virtualLimit):
		c.Kill(records.ExitKilledExceededVMem, w.complaint(c, "virtual", u.Virtual-virtualLimit, u, size, virtualLimit, processes))
	case w.cfg.PhysicalCheck && !byKernel && over(u.Physical, old, size):
		c.Kill(records.ExitKilledExceededPMem, w.complaint(c, "physical", u.Physical-size, u, size, virtualLimit, processes))
	}
}

// complaint is worded as Hadoop's (ContainersMonitorImpl.formatErrorMessage).
func (w *Monitor) complaint(c *Container, kind string, excess int64, u Usage, size, virtualLimit int64, processes []proc.Process) string {
	c.mu.Lock()
	pid := c.session.PID()
	c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Container [pid=%d,containerID=%s] is running %dB beyond the '%s' memory limit. Current usage: "+
		"%sB of %sB physical memory used; %sB of %sB virtual memory used. Killing container.\nDump of the process-tree for %s :\n",
		pid, c.ID(), excess, strings.ToUpper(kind), binaryPrefix(u.Physical), binaryPrefix(size),
		binaryPrefix(u.Virtual), binaryPrefix(virtualLimit), c.ID())
	b.WriteString("\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n")
	for _, p := range processes {
		name, line := commandLine(p.PID)
		fmt.Fprintf(&b, "\t|- %d %d %d %d (%s) %d %d %d %d %s\n", p.PID, p.Parent, p.Group, p.Session, name,
			p.User.Milliseconds(), (p.CPU - p.User).Milliseconds(), p.Virtual, p.RSS/int64(os.Getpagesize()), line)
	}
	return b.String() + "\n"
}

// commandLine returns a process's name and command line, shortened: Java's can be longer than what diagnostics hold.
func commandLine(pid int) (name, line string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
	args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	line = strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))
	if len(line) > 1000 {
		line = line[:1000] + "…"
	}
	return strings.TrimSpace(string(comm)), line
}

package monitor

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/hostile"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
	"heddle/yarn/records"
)

// fakeGroup has one process, that of the test.
type fakeGroup struct {
	cgroup.Group
	use cgroup.Usage
	oom chan struct{}
}

func (g *fakeGroup) Usage() (cgroup.Usage, error) { return g.use, nil }
func (*fakeGroup) Processes() ([]int, error)      { return []int{os.Getpid()}, nil }
func (g *fakeGroup) OOM() <-chan struct{}         { return g.oom }

// node has one container, and notes what becomes of it.
type node struct {
	target   Target
	measured []Usage
	exitCode int
	why      string
}

func (n *node) Targets() []Target { return []Target{n.target} }

func (n *node) Measured(_ records.ContainerID, u Usage) Usage {
	n.measured = append(n.measured, u)
	return u
}

func (n *node) Kill(_ records.ContainerID, exitCode int, why string) {
	n.exitCode, n.why = exitCode, why
}

var id = records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, Attempt: 3}, ID: 4}

func newNode(memory int64) *node {
	return &node{target: Target{
		ID: id, Group: &fakeGroup{use: cgroup.Usage{CPU: time.Second, Memory: -1, Peak: -1, OOMKills: -1}}, Leader: 42, Memory: memory,
	}}
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// Only what has been over its size for two samples, or is far over it, is killed; and only where that is this package's business.
func TestWhoIsKilled(t *testing.T) {
	const huge = 1 << 50
	small := newNode(1)
	if err := New(small, Config{PhysicalCheck: true, VirtualRatio: huge}, silent()).Sample(); err != nil {
		t.Fatal(err)
	}
	rss := small.measured[0].Physical
	if rss <= 0 || small.exitCode != records.ExitKilledExceededPMem {
		t.Fatalf("far over its size, with %d bytes: exit code %d", rss, small.exitCode)
	}
	for _, want := range []string{
		"Container [pid=42,containerID=" + id.String() + "] is running ", "B beyond the 'PHYSICAL' memory limit. Current usage: ",
		"Dump of the process-tree for " + id.String(), "FULL_CMD_LINE",
	} {
		if !strings.Contains(small.why, want) {
			t.Errorf("no %q in %q", want, small.why)
		}
	}
	for name, c := range map[string]struct {
		cfg     Config
		memory  int64
		samples int
		code    int
	}{
		"a little over, new":      {Config{PhysicalCheck: true, VirtualRatio: huge}, 1, 1, 0},
		"a little over, settled":  {Config{PhysicalCheck: true, VirtualRatio: huge}, 1, 2, records.ExitKilledExceededPMem},
		"within its size":         {Config{PhysicalCheck: true, VirtualRatio: huge}, 1 << 50, 2, 0},
		"the kernel looks":        {Config{PhysicalCheck: true, VirtualRatio: huge, ByKernel: true}, 1, 2, 0},
		"nobody looks":            {Config{VirtualRatio: huge}, 1, 2, 0},
		"virtual":                 {Config{VirtualCheck: true, VirtualRatio: 1e-9}, 1 << 20, 1, records.ExitKilledExceededVMem},
		"virtual, not looked for": {Config{VirtualRatio: 1e-9}, 1 << 20, 2, 0},
	} {
		n := newNode(c.memory)
		n.target.Group.(*fakeGroup).use.Memory = 1 // what the group says now; the process is larger, once it has settled
		m := New(n, c.cfg, silent())
		for range c.samples {
			if err := m.Sample(); err != nil {
				t.Fatal(err)
			}
		}
		if n.exitCode != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", name, n.exitCode, c.code, n.why)
		}
	}
}

// Our own shell around a container is none of its processes.
func TestTheKeeperDoesNotCount(t *testing.T) {
	n := newNode(1)
	n.target.Keeper = os.Getpid()
	if err := New(n, Config{PhysicalCheck: true, VirtualRatio: 1}, silent()).Sample(); err != nil {
		t.Fatal(err)
	}
	if u := n.measured[0]; u.Physical != 0 || n.exitCode != 0 {
		t.Errorf("%+v, exit code %d", u, n.exitCode)
	}
}

// Use of the CPU is what was used between two samples.
func TestUseOfTheCPU(t *testing.T) {
	n := newNode(1 << 50)
	m := New(n, Config{VirtualRatio: 1}, silent())
	for _, cpu := range []time.Duration{time.Second, time.Hour, time.Minute} { // the last one is a group made anew
		n.target.Group.(*fakeGroup).use.CPU = cpu
		if err := m.Sample(); err != nil {
			t.Fatal(err)
		}
	}
	if u := n.measured; u[0].CPU != 0 || u[1].CPU <= 1 || u[2].CPU != 0 || u[2].CPUTime != time.Minute {
		t.Errorf("%+v", u)
	}
}

func TestOutOfMemory(t *testing.T) {
	for name, c := range map[string]struct {
		memory int64
		use    cgroup.Usage
		want   bool
	}{
		"at its limit":                  {100 << 20, cgroup.Usage{OOMKills: 1, Peak: 99 << 20}, true},
		"peak not known":                {100 << 20, cgroup.Usage{OOMKills: 2, Peak: -1}, true},
		"a shortage of the machine":     {100 << 20, cgroup.Usage{OOMKills: 1, Peak: 50 << 20}, false},
		"nobody was killed":             {100 << 20, cgroup.Usage{OOMKills: 0, Peak: 100 << 20}, false},
		"the kernel doesn't tell":       {100 << 20, cgroup.Usage{OOMKills: -1, Peak: 100 << 20}, false},
		"the kernel doesn't limit that": {0, cgroup.Usage{OOMKills: 1, Peak: 100 << 20}, false},
	} {
		why := OutOfMemory(Target{ID: id, Leader: 42, Memory: c.memory, Group: &fakeGroup{use: c.use}}, Usage{}, 2.1)
		if (why != "") != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
	if why := OutOfMemory(Target{Memory: 1}, Usage{}, 2.1); why != "" {
		t.Errorf("without a group: %q", why)
	}
}

// The diagnostics of a container that the kernel ended had no figures. Spark, Dr. Elephant and skein look for YARN's.
func TestAContainerThatTheKernelEndsHasYARNsFigures(t *testing.T) {
	spark := regexp.MustCompile(`[0-9.]+ [KMG]B of [0-9.]+ [KMG]B physical memory used`)
	for name, c := range map[string]struct {
		peak int64
		want string
	}{
		"peak":           {99 << 20, "is running 0B beyond the 'PHYSICAL' memory limit. Current usage: 99.0 MB of 100.0 MB physical memory used; 3.0 GB of 210.0 MB virtual memory used."},
		"a lower limit":  {101 << 20, "is running 1048576B beyond the 'PHYSICAL' memory limit. Current usage: 101.0 MB of 100.0 MB physical memory used; "},
		"peak not known": {-1, "is running 0B beyond the 'PHYSICAL' memory limit. Current usage: 100.0 MB of 100.0 MB physical memory used; "},
	} {
		g := &fakeGroup{use: cgroup.Usage{OOMKills: 2, Peak: c.peak, Memory: 1 << 20}}
		why := OutOfMemory(Target{ID: id, Leader: 42, Memory: 100 << 20, Group: g}, Usage{Physical: 5, Virtual: 3 << 30}, 2.1)
		for _, want := range []string{
			"Container [pid=42,containerID=" + id.String() + "] " + c.want,
			" Killing container.\nDump of the process-tree for " + id.String() + " :\n\t|- PID PPID PGRPID ",
			fmt.Sprintf("\n\t|- %d %d ", os.Getpid(), os.Getppid()),
			"\t|- … and 2 that the kernel ended at the memory limit\n\n",
		} {
			if !strings.Contains(why, want) {
				t.Errorf("%s: no %q in %q", name, want, why)
			}
		}
		if !spark.MatchString(why) {
			t.Errorf("%s: Spark doesn't find its figures in %q", name, why)
		}
	}
}

func TestWatchMemory(t *testing.T) {
	g := &fakeGroup{oom: make(chan struct{})}
	looks := make(chan struct{}, 3)
	stop := WatchMemory(t.Context(), g, func() bool {
		looks <- struct{}{}
		return len(looks) == 2
	})
	g.oom <- struct{}{}
	g.oom <- struct{}{}
	stop()
	if len(looks) != 2 {
		t.Errorf("%d looks", len(looks))
	}
	WatchMemory(t.Context(), &fakeGroup{}, nil)() // a group without such events
}

// The command lines of a container that was killed were read whole, however long its processes had made them.
func TestACommandLineOfGigabytesIsShownInPart(t *testing.T) {
	pid := hostile.Endless(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := proc.Process{ID: proc.ID{PID: pid}}
	text := complaint(Target{ID: id}, "virtual", 1, Usage{}, 1, []proc.Process{p}, 0)
	if !strings.Contains(text, "(endless) 0 0 0 0 MARK=first") || len(text) > 2*maxLine {
		t.Errorf("%d bytes: %.500s", len(text), text)
	}
	text = complaint(Target{ID: id}, "virtual", 1, Usage{}, 1, slices.Repeat([]proc.Process{p}, maxShown+7), 0)
	if !strings.Contains(text, "… and 7 other processes\n") || strings.Count(text, "(endless)") != maxShown {
		t.Errorf("%d processes are shown", strings.Count(text, "(endless)"))
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("it took %d bytes of memory", took)
	}
}

package daemon

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"heddle/conf"
	"heddle/internal/machine"
)

// Java makes the beans of a JVM that Hadoop's monitoring reads. Figures of Go's runtime and the machine take the place
// of a JVM's; threads are goroutines.
type Java struct {
	started time.Time
	machine *machine.Sampler
	own     ownLoad
}

// NewJava returns the beans' maker for a process that started at a time.
func NewJava(started time.Time) *Java {
	j := &Java{started: started, machine: machine.NewSampler("/")}
	_, _ = j.machine.Sample() // the load counts from this sample; without samples figures are 0
	return j
}

// Beans returns the beans as of now.
func (j *Java) Beans(now time.Time) []Bean {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const kind = "Go runtime"
	host, _ := os.Hostname() // unknown values are omitted
	heap := map[string]any{"committed": m.HeapSys - m.HeapReleased, "init": 0, "max": heapMax(&m), "used": m.HeapAlloc}
	rest := map[string]any{
		"committed": m.Sys - m.HeapSys, "init": 0, "max": -1,
		"used": m.StackInuse + m.MSpanInuse + m.MCacheInuse,
	}
	beans := []Bean{
		{"java.lang:type=Runtime", kind, []Attr{
			{"Name", strconv.Itoa(os.Getpid()) + "@" + host},
			{"Pid", os.Getpid()},
			{"VmName", "Go " + runtime.Version()},
			{"VmVersion", runtime.Version()},
			{"SpecVersion", conf.Version},
			{"StartTime", j.started.UnixMilli()},
			{"Uptime", now.Sub(j.started).Milliseconds()},
		}},
		{"java.lang:type=Threading", kind, []Attr{
			{"ThreadCount", runtime.NumGoroutine()}, {"PeakThreadCount", runtime.NumGoroutine()}, {"DaemonThreadCount", 0},
		}},
		{"java.lang:type=Memory", kind, []Attr{
			{"HeapMemoryUsage", heap}, {"NonHeapMemoryUsage", rest}, {"ObjectPendingFinalizationCount", 0}, {"Verbose", false},
		}},
		{"java.lang:type=GarbageCollector,name=Go", kind, []Attr{
			{"CollectionCount", m.NumGC}, {"CollectionTime", m.PauseTotalNs / 1e6}, {"Name", "Go"}, {"Valid", true},
		}},
		j.system(),
	}
	for i := range beans {
		beans[i].Attrs = append(beans[i].Attrs, Attr{"ObjectName", beans[i].Name})
	}
	return beans
}

// heapMax returns how large the heap may get, in bytes: the process's memory limit, as a JVM's heap ends at -Xmx. Alerts compare the
// heap in use with it.
func heapMax(m *runtime.MemStats) uint64 {
	return max(uint64(machine.UsableMemory()), m.HeapSys-m.HeapReleased) // GOMEMLIMIT is no hard limit
}

// system describes the machine.
func (j *Java) system() Bean {
	use, _ := j.machine.Sample() // without samples figures are 0
	load := 0.0
	if use.CPU > 0 && use.Processors > 0 {
		load = min(1, use.CPU/float64(use.Processors))
	}
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own) // only bad arguments make it fail
	return Bean{"java.lang:type=OperatingSystem", "Go runtime", []Attr{
		{"Name", map[string]string{"linux": "Linux", "darwin": "Mac OS X"}[runtime.GOOS]},
		{"Arch", runtime.GOARCH},
		{"AvailableProcessors", runtime.NumCPU()},
		{"SystemLoadAverage", use.Load},
		{"SystemCpuLoad", load},
		{"CpuLoad", load},
		{"ProcessCpuLoad", j.own.load(time.Duration(own.Utime.Nano()+own.Stime.Nano()), time.Now())},
		{"OpenFileDescriptorCount", openFiles()},
		{"MaxFileDescriptorCount", maxFiles()},
		{"CommittedVirtualMemorySize", committed()},
		{"ProcessCpuTime", own.Utime.Nano() + own.Stime.Nano()},
		{"TotalPhysicalMemorySize", use.TotalMemory},
		{"FreePhysicalMemorySize", use.TotalMemory - use.Memory},
		{"TotalMemorySize", use.TotalMemory},
		{"FreeMemorySize", use.TotalMemory - use.Memory},
		{"TotalSwapSpaceSize", use.TotalSwap},
		{"FreeSwapSpaceSize", use.TotalSwap - use.Swap},
	}}
}

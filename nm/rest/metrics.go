package rest

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/yarn/rest/daemon"
)

// collectors returns the node's metrics that no other collects.
func (s *Server) collectors() []prometheus.Collector {
	var out []prometheus.Collector
	add := func(kind prometheus.ValueType, name, help string, value func(container.Counts) float64) {
		o := prometheus.Opts{Namespace: "heddle", Subsystem: "nm", Name: name, Help: help}
		get := func() float64 { return value(s.Containers.Counts()) }
		if kind == prometheus.CounterValue {
			out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts(o), get))
		} else {
			out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), get))
		}
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	add(counter, "containers_accepted_total", "Containers that were accepted.",
		func(c container.Counts) float64 { return float64(c.Accepted) })
	add(counter, "containers_launched_total", "Launches of containers, further tries included.",
		func(c container.Counts) float64 { return float64(c.Launched) })
	add(counter, "containers_completed_total", "Containers that ended with exit code 0.",
		func(c container.Counts) float64 { return float64(c.Completed) })
	add(counter, "containers_failed_total", "Containers that ended with another exit code.",
		func(c container.Counts) float64 { return float64(c.Failed) })
	add(counter, "containers_killed_total", "Containers that were killed.",
		func(c container.Counts) float64 { return float64(c.Killed) })
	add(counter, "launch_seconds_total", "Time from acceptance to launch, of all launches.",
		func(c container.Counts) float64 { return c.LaunchTime.Seconds() })
	add(gauge, "containers_localizing", "Containers whose files are being brought.",
		func(c container.Counts) float64 { return float64(c.Localizing) })
	add(gauge, "containers_waiting", "Containers that wait for room on the node.",
		func(c container.Counts) float64 { return float64(c.Waiting) })
	add(gauge, "containers_running", "Containers that run.", func(c container.Counts) float64 { return float64(c.Running) })
	add(gauge, "containers_suspended", "Containers that are suspended.",
		func(c container.Counts) float64 { return float64(c.Suspended) })
	add(gauge, "allocated_memory_bytes", "Memory of containers that have not ended.",
		func(c container.Counts) float64 { return float64(c.Allocated.MemoryBytes()) })
	add(gauge, "allocated_vcores", "Virtual cores of containers that have not ended.",
		func(c container.Counts) float64 { return float64(c.Allocated.VCores()) })
	out = append(out, s.suspensions()...)
	plain := func(name, help string, value func() float64) {
		out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "heddle", Subsystem: "nm", Name: name, Help: help}, value))
	}
	plain("applications", "Applications on the node.", func() float64 { return float64(len(s.Containers.Applications())) })
	plain("memory_bytes", "Memory that the node has for containers.",
		func() float64 { return float64(s.Containers.Resource().MemoryBytes()) })
	plain("vcores", "Virtual cores that the node has for containers.",
		func() float64 { return float64(s.Containers.Resource().VCores()) })
	plain("machine_cpu_cores", "CPU cores in use on the machine.", func() float64 { return max(0, s.Use().CPU) })
	plain("machine_memory_bytes", "Memory in use on the machine.", func() float64 { return float64(s.Use().Memory) })
	plain("healthy", "1 if the node is fit to run containers.", func() float64 {
		if s.Health().Healthy {
			return 1
		}
		return 0
	})
	return append(out, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// gathered returns the sums of Prometheus's metrics by name.
func (s *Server) gathered() map[string]float64 {
	out := make(map[string]float64)
	families, err := s.Registry.Gather()
	if err != nil {
		s.Log.WithError(err).Warn("could not gather all metrics")
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out[f.GetName()] += valueOf(m)
		}
	}
	return out
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	}
	return 0
}

const beanPrefix = "Hadoop:service=NodeManager,name="

// beans returns the beans of /jmx, under the names of a Hadoop NodeManager.
func (s *Server) beans() []daemon.Bean {
	m := s.gathered()
	out := []daemon.Bean{
		s.nodeBean(m),
		{Name: beanPrefix + "NodeManager", Type: "org.apache.hadoop.yarn.server.nodemanager.NodeManager", Attrs: []daemon.Attr{{Name: "SecurityEnabled", Value: false}}},
		{Name: beanPrefix + "ShuffleMetrics", Type: "ShuffleMetrics", Attrs: []daemon.Attr{
			{Name: "tag.Context", Value: "mapred"},
			{Name: "tag.Hostname", Value: s.Node.Host},
			{Name: "ShuffleOutputBytes", Value: int64(m["heddle_nm_shuffle_bytes_total"])},
			{Name: "ShuffleOutputsFailed", Value: int64(m["heddle_nm_shuffle_failures_total"])},
			{Name: "ShuffleOutputsOK", Value: int64(m["heddle_nm_shuffle_outputs_total"])},
			{Name: "ShuffleConnections", Value: int64(m["heddle_nm_shuffle_connections"])},
		}},
		s.traffic.Bean("NodeManager", s.Node.Host, s.WebPort),
		daemon.Process("NodeManager", s.Node.Host),
		s.Calls.Bean("NodeManager", s.Node.Host, time.Now()),
		s.Calls.Detailed("NodeManager", s.Node.Host, time.Now()),
		daemon.Users("NodeManager", s.Node.Host),
	}
	out = append(out, s.java.Beans(time.Now())...)
	for _, c := range s.Containers.Containers() {
		if st := c.Status(); !st.Usage.At.IsZero() {
			out = append(out, s.containerBean(st))
		}
	}
	return append(out, daemon.Sources("NodeManager", s.Node.Host, out)...)
}

// nodeBean is NodeManagerMetrics. Memory is in GB, rounded up as Hadoop does.
func (s *Server) nodeBean(m map[string]float64) daemon.Bean {
	c, total, use := s.Containers.Counts(), s.Containers.Resource(), s.Use()
	gb := func(mb int64) int64 { return int64(math.Ceil(float64(mb) / 1024)) }
	var cpu, physical, virtual float64
	for _, at := range s.Containers.Containers() {
		u := at.Status().Usage
		cpu += u.CPU
		physical += float64(u.Physical)
		virtual += float64(u.Virtual)
	}
	launchMs := 0.0
	if c.Launched > 0 {
		launchMs = float64(c.LaunchTime.Milliseconds()) / float64(c.Launched)
	}
	cores := float64(runtime.NumCPU())
	opportunistic := s.Containers.Room().Opportunities()
	attrs := []daemon.Attr{
		{Name: "tag.Context", Value: "yarn"},
		{Name: "tag.Hostname", Value: s.Node.Host},
		{Name: "ContainersLaunched", Value: c.Accepted},
		{Name: "ContainersCompleted", Value: c.Completed},
		{Name: "ContainersFailed", Value: c.Failed},
		{Name: "ContainersKilled", Value: c.Killed},
		{Name: "ContainersIniting", Value: c.Localizing},
		{Name: "ContainersRunning", Value: c.Running},
		{Name: "ContainersPaused", Value: c.Suspended},
		{Name: "ContainersReIniting", Value: c.Reinitializing},
		{Name: "ContainersRolledBackOnFailure", Value: 0},
		{Name: "ContainersGuaranteedQueued", Value: max(0, c.Waiting-opportunistic.Queued)},
		{Name: "ContainersOpportunisticQueued", Value: opportunistic.Queued},
		{Name: "RunningOpportunisticContainers", Value: opportunistic.Running},
		{Name: "ContainersMonitorCostTime", Value: 0},
		{Name: "ApplicationsRunning", Value: len(s.Containers.Applications())},
		{Name: "AllocatedGB", Value: gb(c.Allocated.MemoryMB())},
		{Name: "AllocatedContainers", Value: c.Active},
		{Name: "AllocatedVCores", Value: c.Allocated.VCores()},
		{Name: "AllocatedOpportunisticGB", Value: gb(opportunistic.Used.MemoryMB())},
		{Name: "AllocatedOpportunisticVCores", Value: opportunistic.Used.VCores()},
		{Name: "AvailableGB", Value: max(0, (total.MemoryMB()-c.Allocated.MemoryMB())/1024)},
		{Name: "AvailableVCores", Value: max(0, total.VCores()-c.Allocated.VCores())},
		{Name: "ContainerLaunchDurationNumOps", Value: c.Launched},
		{Name: "ContainerLaunchDurationAvgTime", Value: launchMs},
	}
	attrs = append(attrs, diskAttrs(s.Disks, m)...)
	attrs = append(attrs, []daemon.Attr{
		{Name: "ContainerUsedMemGB", Value: int64(physical) >> 30},
		{Name: "ContainerUsedVMemGB", Value: int64(virtual) >> 30},
		{Name: "ContainerCpuUtilization", Value: percent(cpu, cores)},
		{Name: "NodeUsedMemGB", Value: use.Memory >> 30},
		{Name: "NodeUsedVMemGB", Value: (use.Memory + use.Swap) >> 30},
		{Name: "NodeCpuUtilization", Value: percent(max(0, use.CPU), cores)},
		{Name: "NodeGpuUtilization", Value: 0.0},
	}...)
	fetches, fetchMs := s.fetchTimes()
	attrs = append(attrs, cacheAttrs(m, fetches, fetchMs)...)
	return daemon.Bean{Name: beanPrefix + "NodeManagerMetrics", Type: "NodeManagerMetrics", Attrs: attrs}
}

func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// diskAttrs returns what NodeManagerMetrics says of the node's disks.
func diskAttrs(d *disks.Disks, m map[string]float64) []daemon.Attr {
	localBad, localUsed := d.Summary(d.Local)
	logBad, logUsed := d.Summary(d.Logs)
	return []daemon.Attr{
		{Name: "BadLocalDirs", Value: localBad},
		{Name: "BadLogDirs", Value: logBad},
		{Name: "GoodLocalDirsDiskUtilizationPerc", Value: int(localUsed)},
		{Name: "GoodLogDirsDiskUtilizationPerc", Value: int(logUsed)},
		{Name: "CacheSizeBeforeClean", Value: int64(m["heddle_nm_localizer_cached_bytes"])},
		{Name: "TotalBytesDeleted", Value: 0},
		{Name: "PublicBytesDeleted", Value: 0},
		{Name: "PrivateBytesDeleted", Value: 0},
	}
}

// cacheAttrs returns what it says of the files that containers have had localized.
func cacheAttrs(m map[string]float64, fetches uint64, fetchMs float64) []daemon.Attr {
	hits, misses := m["heddle_nm_localizer_cache_hits_total"], m["heddle_nm_localizer_resources_fetched_total"]
	return []daemon.Attr{
		{Name: "LocalizedCacheHitBytes", Value: 0},
		{Name: "LocalizedCacheMissBytes", Value: int64(m["heddle_nm_localizer_bytes_fetched_total"])},
		{Name: "LocalizedCacheHitBytesRatio", Value: 0},
		{Name: "LocalizedCacheHitFiles", Value: int64(hits)},
		{Name: "LocalizedCacheMissFiles", Value: int64(misses)},
		{Name: "LocalizedCacheHitFilesRatio", Value: int64(percent(hits, hits+misses))},
		{Name: "LocalizationDurationMillisNumOps", Value: fetches},
		{Name: "LocalizationDurationMillisAvgTime", Value: fetchMs},
	}
}

// fetchTimes returns the number of downloads, and their mean duration in ms.
func (s *Server) fetchTimes() (n uint64, mean float64) {
	families, _ := s.Registry.Gather()
	for _, f := range families {
		if f.GetName() != "heddle_nm_localizer_fetch_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if n = m.GetHistogram().GetSampleCount(); n > 0 {
				mean = 1000 * m.GetHistogram().GetSampleSum() / float64(n)
			}
		}
	}
	return n, mean
}

// containerBean returns the bean of one container, without the distributions that Hadoop keeps.
func (s *Server) containerBean(st container.Status) daemon.Bean {
	name := "ContainerResource_" + st.Grant.ID.String()
	size := st.Grant.Resource
	attrs := []daemon.Attr{
		{Name: "tag.ContainerResource", Value: st.Grant.ID.String()},
		{Name: "tag.Context", Value: "container"},
		{Name: "tag.ContainerPid", Value: fmt.Sprint(st.PID)},
		{Name: "tag.Hostname", Value: s.Node.Host},
		{Name: "PMemUsageMBsAvgMBs", Value: float64(st.Usage.Physical) / (1 << 20)},
		{Name: "PMemUsageMBsMaxMBs", Value: float64(st.Usage.Peak) / (1 << 20)},
		{Name: "PCpuUsagePercentAvgPercents", Value: 100 * st.Usage.CPU},
		{Name: "MilliVcoreUsageAvgMilliVcores", Value: 1000 * st.Usage.CPU},
		{Name: "pMemLimitMBs", Value: size.MemoryMB()},
		{Name: "vMemLimitMBs", Value: int64(float64(size.MemoryMB()) * s.VirtualRatio)},
		{Name: "vCoreLimit", Value: size.VCores()},
		{Name: "ExitCode", Value: st.ExitCode},
		{Name: "StartTime", Value: st.Started.UnixMilli()},
	}
	if !st.Launched.IsZero() {
		attrs = append(attrs, daemon.Attr{Name: "launchDurationMs", Value: st.Launched.Sub(st.Started).Milliseconds()})
	}
	finished := int64(0)
	if !st.Finished.IsZero() {
		finished = st.Finished.UnixMilli()
	}
	attrs = append(attrs, daemon.Attr{Name: "FinishTime", Value: finished})
	return daemon.Bean{Name: beanPrefix + name, Type: name, Attrs: attrs}
}

package rest

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/nm/suspend"
)

// suspensions returns the metrics of containers that were suspended.
func (s *Server) suspensions() (out []prometheus.Collector) {
	counter := func(name, help string, labels prometheus.Labels, value func() float64) {
		out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "heddle", Subsystem: "nm", Name: name, Help: help, ConstLabels: labels,
		}, value))
	}
	totals := s.Containers.Suspensions
	counter("suspended_seconds_total", "Seconds for which containers were suspended, including those that are suspended now.", nil, func() float64 {
		sum := totals().StoodStill()
		for _, c := range s.Containers.Containers() {
			if x := c.Status().Suspension; x.Have.Still() {
				sum += time.Since(x.Stopped)
			}
		}
		return sum.Seconds()
	})
	counter("paged_out_bytes_total", "Memory of suspended and shrunk containers that was paged out.", nil,
		func() float64 { return float64(totals().Out.Load()) })
	counter("paged_in_bytes_total", "Memory that was read ahead when containers resumed.", nil,
		func() float64 { return float64(totals().In.Load()) })
	counter("breath_cpu_seconds_total", "CPU time that suspended containers have used in breaths.", nil, func() float64 {
		return time.Duration(totals().BreathCPU.Load()).Seconds()
	})
	for name, of := range map[string]func() *suspend.Step{
		"stop":   func() *suspend.Step { return &totals().Stop },
		"shrink": func() *suspend.Step { return &totals().Shrink },
		"resume": func() *suspend.Step { return &totals().Resume },
		"breath": func() *suspend.Step { return &totals().Breath },
	} {
		labels := prometheus.Labels{"step": name}
		counter("suspension_steps_total", "Steps of suspensions: stop takes the CPU, shrink the memory, resume gives back both; in a breath a container runs for a moment.", labels, func() float64 {
			n, _ := of().Get()
			return float64(n)
		})
		counter("suspension_step_seconds_total", "How long these steps took.", labels, func() float64 {
			_, took := of().Get()
			return took.Seconds()
		})
	}
	return out
}

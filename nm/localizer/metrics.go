package localizer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	resources, bytes, hits, failures, evicted prometheus.Counter
	duration                                  prometheus.Histogram
	all                                       []prometheus.Collector
}

func newMetrics(l *Localizer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "heddle", Subsystem: "nm_localizer", Name: name, Help: help})
	}
	gauge := func(name, help string, value func(Usage) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "heddle", Subsystem: "nm_localizer", Name: name, Help: help},
			func() float64 { return value(l.Usage()) })
	}
	m := &metrics{
		resources: counter("resources_fetched_total", "Local resources downloaded."),
		bytes:     counter("bytes_fetched_total", "Bytes that downloaded resources take on disk."),
		hits:      counter("cache_hits_total", "Local resources found in the cache."),
		failures:  counter("failures_total", "Local resources that could not be downloaded."),
		evicted:   counter("resources_evicted_total", "Local resources removed to make room."),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "heddle", Subsystem: "nm_localizer", Name: "fetch_seconds", Help: "Time to download and unpack a resource.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
	}
	m.all = []prometheus.Collector{
		m.resources, m.bytes, m.hits, m.failures, m.evicted, m.duration,
		gauge("cached_bytes", "Bytes of all localized resources.", func(u Usage) float64 { return float64(u.Bytes) }),
		gauge("cached_resources", "Localized resources.", func(u Usage) float64 { return float64(u.Resources) }),
		gauge("fetching", "Downloads under way or waiting.", func(u Usage) float64 { return float64(u.Fetching) }),
	}
	return m
}

func (m *metrics) fetched(bytes int64, took time.Duration) {
	m.resources.Inc()
	m.bytes.Add(float64(bytes))
	m.duration.Observe(took.Seconds())
}

// Collectors returns the Prometheus metrics, for the caller's registry.
func (l *Localizer) Collectors() []prometheus.Collector { return l.metrics.all }

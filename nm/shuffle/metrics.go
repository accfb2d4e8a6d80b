package shuffle

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	outputs, bytes, failed, refused prometheus.Counter
	all                             []prometheus.Collector
}

func newMetrics(s *Service) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "heddle", Subsystem: "nm_shuffle", Name: name, Help: help})
	}
	m := &metrics{
		outputs: counter("outputs_total", "Parts of map outputs sent to reducers."),
		bytes:   counter("bytes_total", "Bytes of map outputs sent to reducers."),
		failed:  counter("failures_total", "Requests that were refused or broke off."),
		refused: counter("connections_refused_total", "Connections over mapreduce.shuffle.max.connections."),
	}
	m.all = []prometheus.Collector{
		m.outputs, m.bytes, m.failed, m.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "heddle", Subsystem: "nm_shuffle", Name: "connections", Help: "Open connections of reducers.",
		}, func() float64 { return float64(s.active.Load()) }),
	}
	return m
}

func (m *metrics) sent(bytes int64) {
	m.outputs.Inc()
	m.bytes.Add(float64(bytes))
}

// Collectors returns the Prometheus metrics, for a registry of the caller's.
func (s *Service) Collectors() []prometheus.Collector { return s.metrics.all }

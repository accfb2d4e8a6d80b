package partitions

import (
	"github.com/prometheus/client_golang/prometheus"

	"heddle/rm/view"
	"heddle/yarn/records"
)

var (
	descNodes    = desc("nodes", "Nodes with a label that work; those without one have the partition \"\"", "partition")
	descCapacity = desc("resource_capacity", "What these nodes have: memory in MiB, others in units", "partition", "resource")
	descUsed     = desc("resource_used", "What containers hold of them", "partition", "resource")
	descWaiting  = desc("resource_pending", "What is asked for there and not yet granted", "partition", "resource")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("heddle_rm_partition_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector. Labels come and go.
func (s *Service) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. Where nodes have no labels there is nothing to show that the cluster's figures don't.
func (s *Service) Collect(ch chan<- prometheus.Metric) {
	if !s.View.Labelled {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	used, waiting := s.used(), s.waiting()
	for _, l := range view.LabelsOf(s.View).All() {
		gauge(descNodes, float64(l.Active), l.Name)
		for i := range s.Types.Len() {
			name := s.Types.At(i).Name
			gauge(descCapacity, float64(l.Size[i]), l.Name, name)
			gauge(descUsed, float64(used[l.Name][i]), l.Name, name)
			gauge(descWaiting, float64(waiting[l.Name][i]), l.Name, name)
		}
	}
}

// waiting returns what is asked for in each partition.
func (s *Service) waiting() map[string]records.Resource {
	tree, uses := s.Uses()
	root := uses[tree.Root.Path]
	if root == nil {
		return nil
	}
	sum := map[string]records.Resource{"": root.Amount.Pending}
	for label, u := range root.Labelled {
		sum[label] = u.Pending
	}
	return sum
}

package usage

import (
	"strings"

	"heddle/rm/ledger/ledgerpb"
)

// Figure is one of the figures of a sample.
type Figure int

// Figures of a sample: of the cluster, a queue and all below it, or a user.
const (
	GuaranteedMB     Figure = iota // of the cluster: what its nodes have; of a user: 0
	GuaranteedVCores               // in vcores
	UsedMB                         // what containers are charged for
	UsedVCores                     // in vcores
	UsedGPUs                       // yarn.io/gpu
	Containers                     // that live
	PendingMB                      // asked for, and not yet granted
	PendingVCores                  // in vcores
	PendingContainers
	SuspendedMB // claims of suspended containers; part of what is used
	SuspendedVCores
	SuspendedContainers
	figures
)

// Names are the figures' names, as REST gives them.
var Names = [figures]string{
	"guaranteedMB", "guaranteedVCores", "usedMB", "usedVCores", "usedGPUs", "containers", "pendingMB", "pendingVCores", "pendingContainers",
	"suspendedMB", "suspendedVCores", "suspendedContainers",
}

// Figures are those of a sample.
type Figures [figures]int64

// Add adds the figures of another sample.
func (f *Figures) Add(o *Figures) {
	for i := range f {
		f[i] += o[i]
	}
}

// most is the largest figure that is kept, so that sums of samples are whole numbers.
const most = 1 << 52

// figuresOf reads the figures of a row. Too large ones are cut; those that lack are 0.
func figuresOf(list []uint64) (f Figures) {
	for i := range min(len(list), len(f)) {
		f[i] = int64(min(list[i], most))
	}
	return f
}

// Row is the row of a series in a sample.
func Row(name string, f *Figures) *ledgerpb.UsageRow {
	out := &ledgerpb.UsageRow{Name: name}
	for _, n := range f {
		out.Figures = append(out.Figures, uint64(min(max(n, 0), most)))
	}
	return out
}

// Cluster is the name of the series of the whole cluster.
const Cluster = ""

// Queue is the name of the series of a queue, by its path.
func Queue(path string) string { return "q" + path }

// User is the name of the series of a user.
func User(name string) string { return "u" + name }

// QueueOf returns the path of the queue that a series is of.
func QueueOf(name string) (path string, ok bool) { return strings.CutPrefix(name, "q") }

// UserOf returns the user that a series is of.
func UserOf(name string) (user string, ok bool) { return strings.CutPrefix(name, "u") }

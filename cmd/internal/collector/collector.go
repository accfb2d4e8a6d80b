// Package collector sets how often Go collects the garbage of long-running roles and of load generators.
package collector

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A ResourceManager collects its garbage when the heap has grown by growthPercent of what lives and by extraHeap. A collection delays
// requests, so it is to be rare. But from usualMemory on it collects earlier, though not before the heap is twice of what lives and extraHeap.
const (
	growthPercent = 300
	extraHeap     = 160 << 20
	usualMemory   = 1536 << 20 // of the process, in bytes
)

// ballastSize is the size of a block that makes Go let a heap grow by extraHeap more.
const ballastSize = extraHeap * 100 / (100 + growthPercent)

// reviewInterval is the time between two looks at what lives.
const reviewInterval = time.Second

// Pace sets when Go collects the garbage of a ResourceManager. It returns when ctx ends, and leaves the settings.
//
// A ResourceManager of a thousand nodes has some 20 MB of live objects, and allocates 100 MB a second under load. By default Go collects when the
// heap has doubled. That would be several collections a second, each with a quarter of the processors. So there is a ballast: an untouched block
// takes no physical memory, but counts as live. Adapting GOGC to the heap would need no ballast. But it reacts late on a busy machine: a heap that
// has just become large would still grow by a small heap's percentage.
//
// The memory limit of Go bounds what a large heap takes. A limit below what the process needs would have Go collect all the time. So
// the limit follows what lives, unless an administrator has set GOMEMLIMIT, which holds as it is. GOGC replaces the whole rule.
func Pace(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ballast := make([]byte, ballastSize)
	defer runtime.KeepAlive(ballast)
	debug.SetGCPercent(growthPercent)
	if os.Getenv("GOMEMLIMIT") != "" {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(reviewInterval)
	defer tick.Stop()
	for {
		debug.SetMemoryLimit(memoryLimit(liveHeap()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// memoryLimit returns the limit for a process whose heap had so many live bytes at its latest collection, the ballast included.
func memoryLimit(live int64) int64 {
	const beside = 16 // stacks and the collector's own data, as a part of the heap
	least := 2*max(live-ballastSize, 0) + extraHeap
	return ballastSize + max(usualMemory, least+least/beside)
}

// liveHeap returns the bytes that lived at the latest collection; 0 before the first.
func liveHeap() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// generatorPercent is how much a load generator's heap may grow between collections, in percent of what lives.
const generatorPercent = 600

// Rarely lets Go collect a load generator's heap rarely, for more memory. The generator shares the machine with what it measures, and
// what its collections delay counts as the other's delay. GOGC and GOMEMLIMIT take precedence.
func Rarely() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(generatorPercent)
	}
}

package collector

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"heddle/internal/await"
)

// goal is the size of the heap at which the next collection ends.
func goal() uint64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// pace runs Pace until release is called, which restores Go's settings.
func pace(t *testing.T) (release func()) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Pace(ctx)
	}()
	return func() {
		cancel()
		<-ended
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

func TestAResourceManagersHeapMayGrow(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	release := pace(t)
	await.Until(t, "the heap may grow", func() bool { return goal() >= extraHeap && goal() < extraHeap+usualMemory })
	await.Until(t, "the process has a bound", func() bool { return debug.SetMemoryLimit(-1) == memoryLimit(liveHeap()) })
	release()

	t.Setenv("GOMEMLIMIT", "3GiB") // which the runtime has read at its start, not now
	limit := debug.SetMemoryLimit(-1)
	release = pace(t)
	await.Until(t, "the heap may grow", func() bool { return goal() >= extraHeap })
	release()
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit is %d, though an administrator has set one", got)
	}

	t.Setenv("GOGC", "100")
	Pace(t.Context())
	if g := goal(); g >= extraHeap {
		t.Errorf("the next collection ends at %d MB, though GOGC is set", g>>20)
	}
}

// The limit leaves room for twice of what lives, and for extraHeap.
func TestTheMemoryLimitFollowsWhatLives(t *testing.T) {
	const usual = usualMemory + ballastSize
	for live, want := range map[int64]int64{0: usual, ballastSize: usual, 400<<20 + ballastSize: usual} {
		if got := memoryLimit(live); got != want {
			t.Errorf("%d MB for %d MB that live", got>>20, live>>20)
		}
	}
	for live := int64(800 << 20); live < 64<<30; live *= 2 {
		if got := memoryLimit(live + ballastSize); got < 2*live+extraHeap+ballastSize || got > 2*live+2*extraHeap+live/4 {
			t.Errorf("%d MB for %d MB that live", got>>20, live>>20)
		}
	}
}

func TestGeneratorsCollectRarely(t *testing.T) {
	percent := func() int {
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	before := percent()
	defer debug.SetGCPercent(before)
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "100")
	Rarely()
	if got := percent(); got != before {
		t.Errorf("%d %%, though GOGC is set", got)
	}
	t.Setenv("GOGC", "")
	Rarely()
	if got := percent(); got != generatorPercent {
		t.Errorf("%d %%", got)
	}
}

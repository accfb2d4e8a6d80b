package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// goal is the size of the heap at which the next collection ends.
func goal() uint64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestBallastLetsTheHeapGrow(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	release := ballast()
	if g := goal(); g < 2*ballastSize {
		t.Errorf("the next collection ends at %d MB", g>>20)
	}
	release()
	t.Setenv("GOGC", "100")
	release = ballast()
	if g := goal(); g >= 2*ballastSize {
		t.Errorf("the next collection ends at %d MB, though GOGC is set", g>>20)
	}
	release()
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
	collectRarely()
	if got := percent(); got != before {
		t.Errorf("%d %%, though GOGC is set", got)
	}
	t.Setenv("GOGC", "")
	collectRarely()
	if got := percent(); got != generatorPercent {
		t.Errorf("%d %%", got)
	}
}

package main

import (
	"runtime"
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

func TestThreadsOfSmallMachines(t *testing.T) {
	for _, c := range []struct {
		processors, byItself int
		environment          string
		want                 int
	}{
		{1, 1, "", 4},
		{2, 2, "", 4},
		{3, 3, "", 4},
		{3, 2, "", 0}, // a cgroup limits it to two
		{4, 4, "", 0},
		{64, 64, "", 0},
		{2, 2, "2", 0},
	} {
		if got := threads(c.processors, c.byItself, c.environment); got != c.want {
			t.Errorf("%d processors, %d used, GOMAXPROCS=%q: %d, want %d", c.processors, c.byItself, c.environment, got, c.want)
		}
	}
}

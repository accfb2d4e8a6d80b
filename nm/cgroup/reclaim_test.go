package cgroup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestReclaimInSteps(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		use, floor, bytes int64 // floor: what can't be taken back
		cancel            int   // after so many steps; 0: never
		taken             int64
		err               error
		steps             []int64 // what use was to be lowered to
	}{
		"all":                  {use: 200 * mib, bytes: 150 * mib, taken: 150 * mib, steps: []int64{136 * mib, 72 * mib, 50 * mib}},
		"more than there is":   {use: 10 * mib, bytes: 1 << 40, taken: 10 * mib, steps: []int64{0}},
		"nothing":              {use: 10 * mib},
		"less can be taken":    {use: 100 * mib, floor: 90 * mib, bytes: 50 * mib, taken: 10 * mib, err: syscall.EBUSY, steps: []int64{50 * mib, 50 * mib, 50 * mib, 50 * mib}},
		"nothing can be":       {use: 10 * mib, floor: 10 * mib, bytes: mib, err: syscall.EBUSY, steps: []int64{9 * mib, 9 * mib, 9 * mib}},
		"killed in the middle": {use: 1000 * mib, bytes: 1000 * mib, cancel: 2, taken: 128 * mib, err: context.Canceled, steps: []int64{936 * mib, 872 * mib}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var steps []int64
			before := c.use
			err := reclaim(ctx, c.bytes, func() (int64, error) { return c.use, nil }, func(to int64) error {
				steps = append(steps, to)
				c.use = max(to, c.floor)
				if len(steps) == c.cancel {
					cancel()
				}
				return nil
			})
			if taken := before - c.use; taken != c.taken || !errors.Is(err, c.err) || !slices.Equal(steps, c.steps) {
				t.Errorf("it took %d, %v, in steps to %d", taken, err, steps)
			}
		})
	}
}

// A suspended group is squeezed by memory.high, which kills nobody, and may swap; when it goes on both are as they were.
func TestV2SqueezesAndLetsGo(t *testing.T) {
	f := newFakeV2(sys, "memory")
	d, err := v2Site(f, "/", "/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Create("c", Limits{Memory: 8000})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Destroy(t.Context())
	files := f.groups[sys+"/heddle/nm-h_1/c"].files // it uses 5000 bytes, 3000 of them anonymous
	if err := g.Reclaim(t.Context(), 4000); files["memory.current"] != "3000" || !errors.Is(err, syscall.EBUSY) {
		t.Errorf("it may not swap, and is left %s, %v", files["memory.current"], err)
	}
	files["memory.current"] = "5000"
	if err := g.SetLimits(Limits{Memory: 8000, High: 1000, Swap: 8000}); err != nil {
		t.Fatal(err)
	}
	if files["memory.high"] != "1000" || files["memory.swap.max"] != "8000" || files["memory.max"] != "8000" {
		t.Errorf("squeezed: high %s, swap %s, max %s", files["memory.high"], files["memory.swap.max"], files["memory.max"])
	}
	if err := g.Reclaim(t.Context(), 4000); files["memory.current"] != "1000" || err != nil {
		t.Errorf("it may swap, and is left %s, %v", files["memory.current"], err)
	}
	if files["memory.high"] != "1000" {
		t.Errorf("after reclaim memory.high is %s", files["memory.high"])
	}
	if err := g.SetLimits(Limits{Memory: 8000}); err != nil {
		t.Fatal(err)
	}
	if files["memory.high"] != "max" || files["memory.swap.max"] != "0" {
		t.Errorf("let go: high %s, swap %s", files["memory.high"], files["memory.swap.max"])
	}
}

// The kernel counts as paged out also what is in memory and on disk.
func TestV2CountsWhatIsPagedOutOnly(t *testing.T) {
	f := newFakeV2(sys, "memory")
	d, err := v2Site(f, "/", "/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Create("c", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Destroy(t.Context())
	if m, err := g.Memory(); err != nil || m.Swapped != -1 {
		t.Errorf("without swap accounting: %+v, %v", m, err)
	}
	files := f.groups[sys+"/heddle/nm-h_1/c"].files
	files["memory.swap.current"] = "7000"
	if m, err := g.Memory(); err != nil || m.Swapped != 7000 {
		t.Errorf("%+v, %v", m, err)
	}
	files["memory.stat"] += "swapcached 2000\n"
	if m, err := g.Memory(); err != nil || m.Swapped != 5000 {
		t.Errorf("with 2000 in memory: %+v, %v", m, err)
	}
}

func TestWhyNothingCanBeReclaimed(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory", "pids")
	d, err := v2Site(f, "/", "/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Capabilities(); !c.Reclaim || len(c.Missing) > 0 || !slices.Contains(c.Features(), "reclaim") {
		t.Errorf("%+v", c)
	}
	f.meminfo = "SwapTotal:  0 kB\n" // it was turned off
	if c := d.Capabilities(); c.Reclaim || len(c.Missing) != 1 || !strings.Contains(c.Missing[0], "no swap") {
		t.Errorf("without swap: %+v", c)
	}
	f.meminfo = ""
	if c := d.Capabilities(); c.Reclaim || len(c.Missing) != 1 || !strings.Contains(c.Missing[0], "SwapTotal") {
		t.Errorf("without /proc/meminfo: %+v", c)
	}
}

// noAdvice is a holder of a frozen group whose processes can't be reached.
type noAdvice struct{ holder }

func (noAdvice) toldToFreeze(string) (bool, error) { return true, nil }
func (noAdvice) pids(string) ([]int, error)        { return nil, syscall.EPERM }

// takes notes down how much it is to take back.
type takes struct {
	limiter
	bytes int64
}

func (*takes) memory(string) (Memory, error) { return Memory{}, nil }

func (x *takes) reclaim(_ context.Context, _ string, bytes int64) error {
	x.bytes = bytes
	return nil
}

// Where processes can't be told to be paged out, limits take their memory.
func TestMemoryIsTakenWithoutAdvice(t *testing.T) {
	limits := &takes{}
	g := &kernelGroup{d: &kernelHandler{holder: noAdvice{}, limiter: limits}, name: "g"}
	if err := g.Reclaim(t.Context(), 5); limits.bytes != 5 || err != nil {
		t.Errorf("%d, %v", limits.bytes, err)
	}
}

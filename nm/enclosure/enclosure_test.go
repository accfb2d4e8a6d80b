package enclosure

import (
	"errors"
	"syscall"
	"testing"

	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

func TestLimitsOfGrantAndHold(t *testing.T) {
	node := Rules{Resource: records.NewResource(8192, 8), Cores: 4, MaxPids: 100}
	limited, strict := node, node
	limited.LimitMemory, strict.StrictCPU = true, true
	r := records.NewResource
	for name, c := range map[string]struct {
		rules       Rules
		grant, held records.Resource
		want        cgroup.Limits
	}{
		"nothing is limited":      {node, r(1024, 2), r(1024, 2), cgroup.Limits{Shares: 2, Pids: 100}},
		"memory":                  {limited, r(1024, 2), r(1024, 2), cgroup.Limits{Shares: 2, Pids: 100, Memory: 1 << 30}},
		"CPU":                     {strict, r(1024, 2), r(1024, 2), cgroup.Limits{Shares: 2, Pids: 100, CPU: 1}},
		"it holds less memory":    {limited, r(1024, 2), r(64, 2), cgroup.Limits{Shares: 2, Pids: 100, Memory: 1 << 30, High: 64 << 20}},
		"it holds less CPU":       {strict, r(1024, 2), r(1024, 1), cgroup.Limits{Shares: 2, Pids: 100, CPU: 0.5}},
		"less, though no limit":   {node, r(1024, 2), r(64, 1), cgroup.Limits{Shares: 2, Pids: 100, High: 64 << 20, CPU: 0.5}},
		"no CPU":                  {node, r(1024, 2), r(1024, 0), cgroup.Limits{Shares: 2, Pids: 100, CPU: suspend.LeastCPU}},
		"a node without any size": {Rules{StrictCPU: true}, r(1, 1), r(1, 1), cgroup.Limits{Shares: 1}},
	} {
		if got := c.rules.compose(c.grant, c.held, false); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// group takes limits, or refuses them.
type group struct {
	cgroup.Group
	limits  cgroup.Limits
	refuses error
	memory  cgroup.Memory
	used    int64
}

func (g *group) Memory() (cgroup.Memory, error) { return g.memory, nil }
func (g *group) Usage() (cgroup.Usage, error)   { return cgroup.Usage{Memory: g.used}, nil }

func (g *group) SetLimits(l cgroup.Limits) error {
	if g.refuses == nil {
		g.limits = l
	}
	return g.refuses
}

// What the kernel refuses doesn't count, nor for what is started later.
func TestAmountsThatTheKernelRefuses(t *testing.T) {
	g := &group{}
	e := New(nil, &Rules{LimitMemory: true}, "x", records.NewResource(100, 1))
	e.put(g)
	err := e.Change(records.NewResource(200, 1), records.NewResource(50, 1), true)
	if want := (cgroup.Limits{Shares: 1, Memory: 200 << 20, High: 50 << 20, Swap: 200 << 20}); err != nil || g.limits != want || e.Limits() != want {
		t.Errorf("%v, %+v, %+v", err, g.limits, e.Limits())
	}
	before := g.limits
	g.refuses = errors.New("busy")
	if err := e.Change(records.NewResource(20, 1), records.NewResource(20, 1), false); !errors.Is(err, g.refuses) || e.Limits() != before {
		t.Errorf("%v, %+v", err, e.Limits())
	}
	g.refuses = nil
	if e.Release(); e.Limits() != (cgroup.Limits{Shares: 1, Memory: 200 << 20}) {
		t.Errorf("the next processes would have %+v", e.Limits())
	}
}

// A kernel that refuses memory may have taken the CPU already.
func TestARefusedSizeLeavesNothingBehind(t *testing.T) {
	g := &halfway{}
	e := New(nil, &Rules{LimitMemory: true}, "x", records.NewResource(200, 2))
	e.put(g)
	before := e.Limits()
	g.limits, g.refuses = before, syscall.EBUSY
	if err := e.Change(records.NewResource(100, 1), records.NewResource(100, 1), false); !errors.Is(err, syscall.EBUSY) || g.limits != before {
		t.Errorf("%v, %+v", err, g.limits)
	}
}

// halfway takes the limits and refuses them nevertheless, once.
type halfway struct{ group }

func (g *halfway) SetLimits(l cgroup.Limits) error {
	err := g.refuses
	g.limits, g.refuses = l, nil
	return err
}

func TestASizeBelowWhatIsPagedOut(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		memory cgroup.Memory
		used   int64
		to     int64
		fits   bool
	}{
		"more than it needs":          {cgroup.Memory{Anon: 30 * mb, Swapped: 60 * mb}, 30 * mb, 90, true},
		"less than it needs":          {cgroup.Memory{Anon: 30 * mb, Swapped: 60 * mb}, 30 * mb, 89, false},
		"nothing is paged out":        {cgroup.Memory{Anon: 90 * mb}, 90 * mb, 50, true}, // the kernel says so
		"the handler can't tell":      {cgroup.Memory{Anon: -1, File: -1, Swapped: -1}, -1, 50, true},
		"it becomes no smaller":       {cgroup.Memory{Swapped: 300 * mb}, 0, 200, true},
		"it becomes larger, too late": {cgroup.Memory{Swapped: 300 * mb}, 0, 250, true},
	} {
		e := New(nil, &Rules{LimitMemory: true}, "x", records.NewResource(200, 1))
		e.put(&group{memory: c.memory, used: c.used})
		if err := e.Fits(records.NewResource(c.to, 1)); (err == nil) != c.fits || !c.fits && !errors.Is(err, syscall.EBUSY) {
			t.Errorf("%s: %v", name, err)
		}
		e.rules = &Rules{}
		if err := e.Fits(records.NewResource(c.to, 1)); err != nil {
			t.Errorf("%s, where nothing is limited: %v", name, err)
		}
	}
}

package enclosure

import (
	"errors"
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
}

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

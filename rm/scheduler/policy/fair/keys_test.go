package fair

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Hadoop: FairSharePolicy.FairShareComparator.
func TestFairKeys(t *testing.T) {
	for name, x := range map[string]struct {
		used, pending, least int64
		weight               float64
		rank                 uint8
		ratio                float64
	}{
		"below its minimum share":                  {1, 9, 4, 2, 0, 0.25},
		"wants less than its minimum share":        {1, 1, 4, 2, 0, 0.5},
		"has nothing of its minimum share":         {0, 9, 4, 2, 0, 0},
		"at its minimum share":                     {4, 9, 4, 2, 1, 2048},
		"wants no more, below its minimum share":   {1, 0, 4, 2, 1, 512},
		"without a minimum share":                  {4, 9, 0, 1, 1, 4096},
		"of weight 0":                              {4, 9, 0, 0, 2, 4096},
		"of weight 0, below its minimum share":     {1, 9, 4, 0, 0, 0.25},
		"of a small weight, which counts for more": {4, 9, 0, 0.5, 1, 8192},
	} {
		used, pending, least := gb(x.used), gb(x.pending), gb(x.least)
		if rank, ratio := fairKey(&used, &pending, &least, x.weight); rank != x.rank || ratio != x.ratio {
			t.Errorf("%s: rank %d, ratio %v, want %d, %v", name, rank, ratio, x.rank, x.ratio)
		}
	}
}

// Hadoop: DominantResourceFairnessPolicy.DominantResourceFairnessComparatorN.
func TestDominantKeys(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	c.Calc.Cluster = records.NewResource(8192, 16)
	others := func(first ...float64) (s measure.Shares) { // resources without a minimum share count as 1
		for i := range s {
			s[i] = 1
		}
		copy(s[len(s)-len(first):], first)
		return s
	}
	for name, x := range map[string]struct {
		used, least records.Resource
		weight      float64
		rank        uint8
		shares      measure.Shares
	}{
		"memory dominates":                       {records.NewResource(4096, 4), records.Resource{}, 1, 1, measure.Shares{0.5, 0.25}},
		"vcores dominate":                        {records.NewResource(2048, 8), records.Resource{}, 1, 1, measure.Shares{0.5, 0.25}},
		"by weight":                              {records.NewResource(2048, 8), records.Resource{}, 2, 1, measure.Shares{0.25, 0.125}},
		"of weight 0":                            {records.NewResource(2048, 8), records.Resource{}, 0, 2, measure.Shares{0.5, 0.25}},
		"dominant below the minimum share":       {records.NewResource(2048, 8), records.NewResource(0, 16), 2, 0, others(0.5)},
		"both below the minimum share":           {records.NewResource(2048, 8), records.NewResource(8192, 16), 1, 0, others(0.5, 0.25)},
		"only the other below its minimum share": {records.NewResource(2048, 8), records.NewResource(8192, 0), 1, 1, measure.Shares{0.5, 0.25}},
		"dominant at the minimum share":          {records.NewResource(2048, 8), records.NewResource(0, 8), 1, 1, measure.Shares{0.5, 0.25}},
		"of equal shares memory, which comes first, is dominant": {
			records.NewResource(4096, 8), records.NewResource(8192, 0), 1, 0, others(0.5),
		},
		"with nothing, and a minimum share of memory alone": {records.Resource{}, records.NewResource(1024, 0), 1, 0, others(0)},
		"of equal shares vcores aren't dominant":            {records.NewResource(4096, 8), records.NewResource(0, 16), 1, 1, measure.Shares{0.5, 0.5}},
		"with nothing":                                      {records.Resource{}, records.Resource{}, 1, 1, measure.Shares{}},
		"with nothing, and a minimum share":                 {records.Resource{}, records.NewResource(1024, 1), 1, 0, others(0, 0)},
		"of one that the cluster hasn't: no share":          {records.Resource{1024, 1, 5}, records.Resource{}, 1, 1, measure.Shares{0.125, 0.0625}},
		"the share of what the cluster hasn't is 0":         {records.Resource{0, 0, 5}, records.Resource{}, 1, 1, measure.Shares{}},
	} {
		k, shares := ranking.Key{Rank: 9}, measure.Shares{}
		if !c.p.dominantKey(&k, &shares, &x.used, &x.least, x.weight) {
			t.Errorf("%s: a new rank isn't told", name)
		}
		if k.Rank != x.rank || shares != x.shares {
			t.Errorf("%s: rank %d, shares %v, want %d, %v", name, k.Rank, shares, x.rank, x.shares)
		}
		if c.p.dominantKey(&k, &shares, &x.used, &x.least, x.weight) {
			t.Errorf("%s: the same again is told as a change", name)
		}
		shares[0] += 0.125
		if !c.p.dominantKey(&k, &shares, &x.used, &x.least, x.weight) || shares != x.shares {
			t.Errorf("%s: other shares aren't told", name)
		}
	}
}

// A queue's key is by its own guarantee and weight, an application's by neither; a key that stays is told to have stayed.
func TestKeysOfQueuesAndApplications(t *testing.T) {
	c := start(t, `<queue name="a"><weight>2</weight><minResources>4096 mb, 4 vcores</minResources></queue>`,
		func(f *queue.FairSettings) { f.SizeBasedWeight = true })
	c.node("n", "/r", 16)
	a := c.app("a", "root.a")
	c.ask("a", row(1, 1, 2))
	c.run(0)
	q := &c.Queues[a.Leaf]
	if k := c.Rankings.Key(q.El); k.Rank != 1 || k.Ratio != 1024 { // 2 GB by a weight of 2, and wants no more
		t.Errorf("the queue's key: %+v", *k)
	}
	if c.p.QueueKey(q, ranking.ByFairness) || c.p.AppKey(a, ranking.ByFairness) {
		t.Error("keys change although nothing else does")
	}
	q.Pending, a.Used = gb(9), gb(1)
	if !c.p.QueueKey(q, ranking.ByFairness) || c.Rankings.Key(q.El).Rank != 0 || c.Rankings.Key(q.El).Ratio != 0.5 {
		t.Errorf("wants more, below its minimum share: %+v", *c.Rankings.Key(q.El))
	}
	// the weight by size is the binary logarithm of what it has and wants, in MB, and one
	if !c.p.AppKey(a, ranking.ByFairness) || c.Rankings.Key(a.El).Rank != 1 || int(c.Rankings.Key(a.El).Ratio) != 102 {
		t.Errorf("the application's key: %+v", *c.Rankings.Key(a.El))
	}
	if !c.p.QueueKey(q, ranking.ByDominance) || !c.p.AppKey(a, ranking.ByDominance) || c.Rankings.Shares(a.El)[0] == 0 {
		t.Error("dominant keys don't change")
	}
	if c.p.QueueKey(q, ranking.ByPlace) || c.p.AppKey(a, ranking.ByPriority) {
		t.Error("the place in the configuration, and the priority, make no key")
	}
}

// Names of policies are read whatever their case, as by YARN.
func TestPoliciesOfQueuesOrderChildrenAndApplications(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	for name, want := range map[string][2]ranking.Rule{
		"fair": {ranking.ByFairness, ranking.ByFairness}, "DRF": {ranking.ByDominance, ranking.ByDominance}, "Fifo": {ranking.ByPlace, ranking.ByPriority},
	} {
		cfg := &queue.Queue{}
		cfg.Fair.Policy = name
		children, apps := c.p.Ranking(cfg)
		if got := [2]ranking.Rule{children, apps}; got != want {
			t.Errorf("%s: by %v, want %v", name, got, want)
		}
	}
	var names []string
	for _, q := range c.p.Sorted([]*queue.Queue{{Name: "c"}, {Name: "a"}, {Name: "b"}}) {
		names = append(names, q.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("equal queues are served in the order %v, want by name", names)
	}
}

// An application weighs 1, or by what it asks for. A threshold of 0 is no delay, whatever the delay by time is.
func TestWeightsOfApplications(t *testing.T) {
	for bySize, want := range map[bool]float64{false: 1, true: 12} { // log2(1 + 4095)
		c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.SizeBasedWeight = bySize })
		a := c.app("a", "root.a")
		c.ask("a", row(1, 1, 4))
		if got := c.p.appWeight(a); got < want-0.01 || got > want+0.01 {
			t.Errorf("by size %t: it weighs %v", bySize, got)
		}
	}
	for _, x := range []struct {
		threshold float64
		delay     time.Duration
		want      int64
	}{{0, 5 * time.Second, 0}, {0.5, 5 * time.Second, 500}, {1, 0, 1000}, {-1, 5 * time.Second, 5000}, {-1, -1, 0}} {
		if got := fairDelay(1000, x.threshold, x.delay); got != x.want {
			t.Errorf("a threshold of %v and %v: %d ms", x.threshold, x.delay, got)
		}
	}
}

package fair

import (
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
)

// What an application asks for less urgently gets nothing on nodes that are large enough for what it asks for more urgently.
func TestMoreUrgentRequestsComeFirstOnNodesThatTheyCouldHave(t *testing.T) {
	large, small := row(1, 1, 6), row(2, 1, 1)
	for name, x := range map[string]struct {
		rows []core.Ask
		want []string
	}{
		"large enough everywhere":              {[]core.Ask{row(1, 1, 2), small}, nil},
		"large enough on one of two":           {[]core.Ask{large, small}, []string{"a on small"}},
		"on another host only":                 {[]core.Ask{only(row(1, 1, 6)), at(row(1, 1, 6), "large"), small}, []string{"a on small"}},
		"on one of two, large enough for both": {[]core.Ask{only(row(1, 1, 2)), at(row(1, 1, 2), "large"), small}, []string{"a on small"}},
		"on this rack only":                    {[]core.Ask{only(row(1, 1, 2)), at(row(1, 1, 2), "/r"), small}, nil},
		"too large for all":                    {[]core.Ask{row(1, 1, 9), small}, []string{"a on large"}},
		"above the queue's maximum":            {[]core.Ask{row(1, 1, 8), small}, []string{"a on large"}},
		"not asked for any more":               {[]core.Ask{row(1, 0, 6), small}, []string{"a on large"}},
		"of equal priority, by id":             {[]core.Ask{with(large, 1), with(row(1, 1, 1), 2)}, []string{"a on small"}},
		"the less urgent one, by id":           {[]core.Ask{with(large, 2), with(row(1, 1, 1), 1)}, []string{"a on large"}},
		"two of them, of which one is":         {[]core.Ask{large, row(2, 1, 9), row(3, 1, 1)}, []string{"a on small"}},
		"strict on the large node":             {[]core.Ask{large, only(small), at(small, "large")}, nil},
		"strict on the small node":             {[]core.Ask{large, only(small), at(small, "small")}, []string{"a on small"}},
	} {
		c := start(t, `<queue name="hog"/><queue name="a"><maxResources>7168 mb, 7 vcores</maxResources></queue>`,
			func(f *queue.FairSettings) { f.ReservableNodes = 0 })
		c.node("large", "/r", 8)
		c.app("hog", "root.hog")
		c.ask("hog", row(1, 7, 1))
		c.run(0)
		c.node("small", "/r", 2)
		c.app("a", "root.a")
		if name == "large enough everywhere" || name == "on this rack only" {
			c.ask("hog", row(1, 1, 1)) // so that nothing of 2 GB is left
			c.ask("hog", only(row(1, 1, 1)), at(row(1, 1, 1), "small"))
			c.run(0)
		}
		c.ask("a", x.rows...)
		if got := c.run(0); len(got) != len(x.want) || len(got) > 0 && got[0] != x.want[0] {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// with is a row of an allocation request id.
func with(r core.Ask, id int64) core.Ask {
	r.AllocationRequestID = id
	return r
}

// What the application's more urgent request held goes on when that one can't be had any more, at the next look.
func TestLessUrgentRequestsGoOnWhenTheQueueHasItsMaximum(t *testing.T) {
	c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.ReservableNodes = 0 })
	c.node("n", "/r", 8)
	c.app("hog", "root.a")
	c.ask("hog", row(1, 7, 1))
	c.run(0)
	c.app("a", "root.a")
	c.ask("a", row(1, 1, 6), row(2, 1, 1))
	c.must(0)
	c.must(500)
	if a := &c.Apps[c.apps["a"]]; a.Blocked != 1 {
		t.Fatalf("%d requests are behind the application's own", a.Blocked)
	}
	c.SetCapability(c.nodes["n"], gb(8)) // changes nothing
	c.must(1000)
	c.node("new", "/r", 2)
	c.must(1500, "a on new")
}

// Of a thousand requests of one size that may go anywhere one is looked at on each node; of those with places, all.
func TestRequestsOfOneSizeAreLookedAtOnce(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	c.node("large", "/r", 8)
	c.node("small", "/r", 2)
	c.app("a", "root.a")
	for i := range int32(10) {
		c.ask("a", row(1+i, 1, 6))
		c.ask("a", row(20+i, 1, 7))
		placed := row(40+i, 1, 6)
		c.ask("a", placed, at(placed, "large"))
	}
	c.ask("a", row(60, 1, 1))
	c.Refresh()
	a := &c.Apps[c.apps["a"]]
	var last *core.Demand
	for d := range c.Demands(a) {
		last = d
	}
	if c.p.HeldByOwn(a, last) {
		t.Error("the small node is too small for all of the others")
	}
	if n := len(c.p.starve.ahead); n != 2+10 {
		t.Errorf("%d requests are looked at on each node, want 12", n)
	}
	if !c.p.Shuns(&c.Nodes.At[c.nodes["large"]]) || c.p.Shuns(&c.Nodes.At[c.nodes["small"]]) {
		t.Error("shuns the small node, or not the large one")
	}
	c.p.starve.clearAhead()
	if c.p.Shuns(&c.Nodes.At[c.nodes["large"]]) {
		t.Error("shuns a node for what is forgotten")
	}
	first := c.Demanded.Front(&a.Set)
	if c.p.HeldByOwn(a, first) || len(c.p.starve.ahead) != 0 {
		t.Error("something comes before the first request")
	}
	// asked about in their order, each adds those since the last one; asked about an earlier one, it begins anew
	for d := range c.Demands(a) {
		c.p.HeldByOwn(a, d)
	}
	if n := len(c.p.starve.ahead); n != 12 {
		t.Errorf("one after the other: %d, want 12", n)
	}
	if c.p.HeldByOwn(a, first); len(c.p.starve.ahead) != 0 {
		t.Errorf("back at the first: %d are ahead of it", len(c.p.starve.ahead))
	}
	c.p.HeldByOwn(a, last)
	c.ask("a", row(1, 1, 2)) // the most urgent fits everywhere now
	if !c.p.HeldByOwn(a, last) {
		t.Error("a change of what is asked for isn't seen")
	}
}

// What comes first in one application comes first in no other.
func TestOnlyAnApplicationsOwnRequestsComeFirst(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	c.node("large", "/r", 8)
	c.node("small", "/r", 2)
	for _, name := range []string{"a", "sole", "two"} {
		c.app(name, "root.a")
	}
	c.ask("a", row(1, 1, 6), row(2, 1, 1))
	c.ask("sole", row(9, 1, 1))
	c.ask("two", row(8, 1, 9), row(9, 1, 1))
	c.Refresh()
	last := func(name string) (d *core.Demand) {
		for d = range c.Demands(&c.Apps[c.apps[name]]) {
			continue
		}
		return d
	}
	for _, name := range []string{"sole", "two"} {
		if c.p.HeldByOwn(&c.Apps[c.apps["a"]], last("a")) || !c.p.Shuns(&c.Nodes.At[c.nodes["large"]]) {
			t.Fatal("the large node isn't shunned")
		}
		if c.p.HeldByOwn(&c.Apps[c.apps[name]], last(name)) || c.p.Shuns(&c.Nodes.At[c.nodes["large"]]) {
			t.Errorf("%s shuns the node for another application's request", name)
		}
	}
}

// However many sizes there are, each comes first on the nodes that are large enough for it.
func TestEachOfManySizesComesFirst(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	c.node("large", "/r", 200)
	c.node("small", "/r", 2)
	c.app("a", "root.a")
	const sizes = 80
	for i := range int32(sizes) {
		c.ask("a", row(1+i, 1, 100+int64(i)))
	}
	c.ask("a", row(sizes+1, 1, 1))
	c.Refresh()
	a := &c.Apps[c.apps["a"]]
	for d := range c.Demands(a) {
		c.p.HeldByOwn(a, d)
	}
	if n := len(c.p.starve.ahead); n != sizes {
		t.Errorf("%d come first, want %d", n, sizes)
	}
}

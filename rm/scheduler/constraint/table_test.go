package constraint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"heddle/rm/scheduler/handle"
)

func count(scope Scope, least, most int32, tags ...string) *Constraint {
	return &Constraint{Op: Count, Scope: scope, Space: Self, Tags: tags, Min: least, Max: most}
}

func of(space Namespace, app string, c *Constraint) *Constraint {
	c.Space, c.App = space, app
	return c
}

// Two racks with two nodes each; application 1 is tagged blue and has zk on node 0, and application 2, blue too, has two hb and a zk on node 2.
func table() *Table {
	t := &Table{}
	for i := range 4 {
		t.AddNode(handle.Node(i), fmt.Sprint("h", i), fmt.Sprint("/r", i/2))
	}
	t.Name(1, "application_1_0001", []string{"blue", "blue2"})
	t.Name(2, "application_1_0002", []string{"blue", ""})
	t.Name(3, "application_1_0003", nil)
	t.Placed(10, 1, 0, []string{"zk", "zk"})
	t.Placed(11, 2, 2, []string{"hb", "zk"})
	t.Placed(12, 2, 2, []string{"hb"})
	t.SetAttributes("h1", map[string]string{"rm.yarn.io/gpu": "a100", "rm.yarn.io/empty": ""})
	t.SetAttributes("h3", map[string]string{"rm.yarn.io/gpu": "v100"})
	return t
}

func TestWhichNodesSatisfyAConstraint(t *testing.T) {
	const none = math.MaxInt32
	gpu := func(value string, differs bool) *Constraint {
		return &Constraint{Op: Attribute, Name: "rm.yarn.io/gpu", Value: value, Differs: differs}
	}
	for _, c := range []struct {
		app   handle.App
		c     *Constraint
		nodes string
		text  string
	}{
		{1, nil, "0123", ""},
		{1, count(Node, 0, 0, "zk"), "123", "notin,node,zk"},
		{1, count(Rack, 0, 0, "zk"), "23", "notin,rack,zk"},
		{2, count(Node, 0, 0, "zk"), "013", "notin,node,zk"}, // what others have doesn't count
		{3, count(Node, 0, 0, "zk"), "0123", "notin,node,zk"},
		{3, of(All, "", count(Node, 0, 0, "zk")), "13", "notin,node,all/zk"},
		{1, of(NotSelf, "", count(Node, 0, 0, "zk")), "013", "notin,node,not-self/zk"},
		{3, of(AppID, "application_1_0002", count(Rack, 1, none, "zk")), "23", "in,rack,app-id/application_1_0002/zk"},
		{3, of(AppID, "application_1_0009", count(Rack, 1, none, "zk")), "", "in,rack,app-id/application_1_0009/zk"},
		{3, of(AppTag, "blue", count(Node, 1, none, "zk")), "02", "in,node,app-tag/blue/zk"},
		{3, of(AppLabel, "blue2", count(Node, 1, none, "zk")), "0", "in,node,app-label/blue2/zk"},
		{2, count(Node, 1, none, "hb"), "2", "in,node,hb"},
		{2, count(Node, 0, 1, "hb"), "013", "cardinality,node,hb,0,1"},
		{2, count(Node, 0, 2, "hb"), "0123", "cardinality,node,hb,0,2"},
		{2, count(Node, 3, 4, "hb"), "", "cardinality,node,hb,3,4"},
		{2, count(Node, 2, none, "hb", "zk"), "2", "cardinality,node,hb,zk,2,2147483647"}, // one has two
		{2, count(Node, 0, 1, "hb", "zk"), "0123", "cardinality,node,hb,zk,0,1"},          // one has one
		{1, gpu("a100", false), "1", "rm.yarn.io/gpu=a100"},
		{1, gpu("a100", true), "023", "rm.yarn.io/gpu!=a100"},
		{1, &Constraint{Op: And, Of: []*Constraint{gpu("a100", true), count(Node, 0, 0, "zk")}}, "23", "and(rm.yarn.io/gpu!=a100:notin,node,zk)"},
		{1, &Constraint{Op: Or, Of: []*Constraint{gpu("a100", false), count(Node, 1, none, "zk")}}, "01", "or(rm.yarn.io/gpu=a100:in,node,zk)"},
		{1, &Constraint{Op: Never, Why: "delayed or"}, "", "delayed or"},
	} {
		x, got := table(), ""
		for n := range handle.Node(4) {
			if x.May(c.app, n, c.c) {
				got += fmt.Sprint(n)
				if !x.Possible(c.app, c.c) || x.Unmet(c.app, n, c.c) != nil {
					t.Errorf("%v: possible %t, unmet %v", c.c, x.Possible(c.app, c.c), x.Unmet(c.app, n, c.c))
				}
			} else if x.Unmet(c.app, n, c.c) == nil {
				t.Errorf("%v: nothing is unmet", c.c)
			}
		}
		if got != c.nodes || c.c != nil && c.c.String() != c.text {
			t.Errorf("%v of %d: %q; want %q", c.c, c.app, got, c.nodes)
		}
	}
	x := table()
	for text, c := range map[string]*Constraint{
		"gpu=p100":   gpu("p100", false),
		"in nothing": count(Node, 1, none, "nothing"),
		"not here":   {Op: Never},
	} {
		if x.Possible(1, c) || x.Possible(1, &Constraint{Op: And, Of: []*Constraint{gpu("a100", false), c}}) || !x.Possible(1, &Constraint{Op: Or, Of: []*Constraint{gpu("a100", false), c}}) {
			t.Errorf("%s is possible", text)
		}
	}
	and := &Constraint{Op: And, Of: []*Constraint{gpu("a100", false), count(Node, 1, none, "zk")}}
	if u := x.Unmet(1, 1, and); u == nil || u.String() != "in,node,zk" {
		t.Errorf("unmet on 1: %v", u)
	}
}

// When all containers have ended, applications have gone and hosts have no attributes, nothing is left.
func TestNothingIsLeft(t *testing.T) {
	x := table()
	before := x.Changes
	for c := range handle.Container(20) {
		x.Ended(c)
	}
	for a := range handle.App(4) {
		x.Forget(a)
	}
	x.SetAttributes("h1", nil)
	x.SetAttributes("h3", nil)
	if len(x.counts)+len(x.containers)+len(x.apps)+len(x.byID)+len(x.hosts)+len(x.valued) != 0 || x.Changes != before+5 {
		t.Errorf("%+v", x)
	}
}

// Whatever comes and goes, the counts are those of the containers that are there.
func TestCountsAreThoseOfTheContainers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := table()
	there := map[handle.Container][2]int{} // application and node
	for c := range 13 {
		x.Ended(handle.Container(c))
	}
	for range 2000 {
		c := handle.Container(r.IntN(30))
		if r.IntN(2) == 0 {
			x.Ended(c)
			delete(there, c)
			continue
		}
		a, n := 1+r.IntN(3), r.IntN(4)
		x.Placed(c, handle.App(a), handle.Node(n), []string{"t", "u"})
		there[c] = [2]int{a, n}
		own, rack, all := int32(0), int32(0), int32(0)
		for _, at := range there {
			if at[1] == n {
				all++
				if at[0] == a {
					own++
				}
			}
			if at[1]/2 == n/2 && at[0] != a {
				rack++
			}
		}
		for want, c := range map[string]*Constraint{
			"own":  count(Node, own, own, "t"),
			"rack": of(NotSelf, "", count(Rack, rack, rack, "u")),
			"all":  of(All, "", count(Node, all, all, "t")),
		} {
			if !x.May(handle.App(a), handle.Node(n), c) {
				t.Fatalf("%s: %v isn't so of %d on %d", want, c, a, n)
			}
		}
	}
	if len(x.counts) > 2*(3+1+2) {
		t.Errorf("%d series of 2 tags: of 3 applications, of all, and of those with 2 tags of their own", len(x.counts))
	}
	for k, counts := range x.counts {
		nodes, racks := sumOf(t, k, counts.nodes), sumOf(t, k, counts.racks)
		if counts.all == 0 || nodes != counts.all || racks != counts.all {
			t.Errorf("%v: %d, by node %d, by rack %d", k, counts.all, nodes, racks)
		}
	}
}

// sumOf is the sum of the counts of a series, none of which is zero.
func sumOf[K comparable](t *testing.T, k series, counts map[K]int32) (all int32) {
	t.Helper()
	for at, n := range counts {
		if all += n; n == 0 {
			t.Errorf("%v: a count of nothing at %v", k, at)
		}
	}
	return all
}

// Series that come and go leave little behind, and take no memory anew.
func TestSeriesThatComeAndGoAllocateNothing(t *testing.T) {
	x, tags := table(), []string{"t"}
	come := func(from, n int) {
		for i := range n {
			x.Placed(handle.Container(i), handle.App(from+i), 1, tags)
		}
	}
	leave := func(n int) {
		for i := range n {
			x.Ended(handle.Container(i))
		}
	}
	come(0, 10*maxSpare)
	leave(10 * maxSpare)
	if len(x.counts) > 0 || len(x.spare) != maxSpare {
		t.Fatalf("%d series, %d kept", len(x.counts), len(x.spare))
	}
	if n := testing.AllocsPerRun(100, func() { come(1000, 8); leave(8) }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

package leaf_test

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
)

// A policy is told the time after anything that it has heard of, and else once in each interval.
func TestWhenAPolicyIsToldTheTime(t *testing.T) {
	a := leaf.App{}
	for name, tell := range map[string]func(*leaf.Guard){
		"a grant":   func(g *leaf.Guard) { g.Granted(a, leaf.Grant{Note: new(leaf.Note)}) },
		"an end":    func(g *leaf.Guard) { g.Ended(a, leaf.Node{}, leaf.Outcome{}) },
		"who left":  func(g *leaf.Guard) { g.Left(handle.App(0)) },
		"a request": func(g *leaf.Guard) { g.Asked(leaf.Ask{}) },
		"outputs":   func(g *leaf.Guard) { g.Facts(a, leaf.Facts{Outputs: true, Maps: 1, Bytes: 1}) },
	} {
		g := leaf.New("spy")
		g.Tick(5000, leaf.Queue{})
		due := func(when string, now int64, told, over bool) {
			t.Helper()
			if gotTold, gotOver := g.Due(now); gotTold != told || gotOver != over {
				t.Errorf("%s, %s: told of something: %t, the interval is over: %t", name, when, gotTold, gotOver)
			}
		}
		due("at once", 5000, false, false)
		due("just before the interval is over", 5000+leaf.Interval-1, false, false)
		due("after it", 5000+leaf.Interval, false, true)
		if g.Next() != 5000+leaf.Interval {
			t.Errorf("%s: the time is due at %d", name, g.Next())
		}
		tell(g)
		due("when it has heard", 5001, true, false)
		g.Tick(5001, leaf.Queue{})
		due("when it was told the time for that", 5002, false, false)
		if g.Next() != 5000+leaf.Interval {
			t.Errorf("%s: the interval begins anew, at %d", name, g.Next())
		}
	}
}

// A policy hears who has left.
func TestAPolicyHearsWhoHasLeft(t *testing.T) {
	g := leaf.New("spy")
	g.Left(7)
	if !slices.Equal(watching.left, []handle.App{7}) {
		t.Errorf("it heard of %v", watching.left)
	}
}

// Who has waited for the bound comes before all others, however these are ordered, and who has waited longest before those.
func TestWhoIsOverdueComesFirst(t *testing.T) {
	g := leaf.New("spy") // whose ratios are 0
	const now = 3 * leaf.Bound
	turn, _ := g.Key(leaf.App{}, now, now)
	longest, first := g.Key(leaf.App{}, 1, now)
	shorter, second := g.Key(leaf.App{}, leaf.Bound, now)
	if longest != shorter || longest >= turn || first >= second {
		t.Errorf("ranks are %d and %d, and %d of who isn't overdue; of the former %v comes before %v", longest, shorter, turn, first, second)
	}
}

// A name belongs to one policy, and says by which rule a leaf is ordered.
func TestRulesOfLeafPolicies(t *testing.T) {
	for name, want := range map[string]ranking.Rule{
		"fifo": ranking.ByPriority, "fifo-with-partitions": ranking.ByPriority, "fifo-for-pending-apps": ranking.ByPriority, "fair": ranking.ByAppUse,
		"spy": ranking.ByRatio,
	} {
		if got := leaf.Rule(name); got != want {
			t.Errorf("%s orders by %v, want %v", name, got, want)
		}
	}
	for kind, register := range map[string]func(string, func() leaf.Policy){
		"leaf": func(name string, make func() leaf.Policy) { leaf.Register(name, make) }, "stage": leaf.RegisterStage,
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); said != `there are two leaf policies "spy"` {
					t.Errorf("a %s policy of a name that is taken: %q", kind, said)
				}
			}()
			register("spy", nil)
		}()
	}
}

// The names of leaf policies are those that queues may give as their order; stage policies have a key of their own.
func TestNamesOfLeafPolicies(t *testing.T) {
	leaf.RegisterStage("of-stages", func() leaf.Policy { return &spy{} })
	names := map[string]bool{}
	before := ""
	for _, name := range leaf.Names() {
		if names[name] = true; name <= before {
			t.Errorf("%q comes behind %q", name, before)
		}
		before = name
	}
	if !names["fifo"] || !names["spy"] || names["of-stages"] {
		t.Errorf("names: %v", leaf.Names())
	}
}

// timed is a policy that says when its Tick has something to do.
type timed struct {
	spy
	tick bool
	at   int64
}

func (p *timed) Time(now int64) bool {
	p.at = now
	return p.tick
}

// A policy that says that its Tick has nothing to do counts as told.
func TestTickIsLeftOutWhereItHasNothingToDo(t *testing.T) {
	p := &timed{}
	leaf.Register("timed", func() leaf.Policy { return p })
	g := leaf.New("timed")
	g.Tick(5000, leaf.Queue{})
	g.Left(0)
	if p.tick = true; !g.Wants(5001) {
		t.Error("it wants to be told")
	}
	if told, _ := g.Due(5001); !told || p.at != 5001 {
		t.Errorf("before Tick it counts as told: %t, at %d", !told, p.at)
	}
	if p.tick = false; g.Wants(6002) {
		t.Error("it doesn't want to be told")
	}
	if told, over := g.Due(6002); told || over || p.at != 6002 || g.Next() != 6002+leaf.Interval {
		t.Errorf("told of something: %t, the interval is over: %t, the next one is due at %d", told, over, g.Next())
	}
	if g := leaf.New("spy"); !g.Wants(0) {
		t.Error("all others want to be told")
	}
}

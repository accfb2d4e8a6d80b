package eunomia_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/eunomia"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

var slot = records.NewResource(1024, 1)

func app(h handle.App, typ string, containers int32) leaf.App {
	return leaf.App{Handle: h, Seq: int64(h), Type: typ, Containers: containers, Weight: 1, Used: &records.Resource{}, Pending: &slot}
}

func node(h handle.Node) leaf.Node { return leaf.Node{Handle: h} }

// leafOf is a policy with its nodes: a and b of four slots each, where tasks run twice as fast on b.
type leafOf struct {
	*eunomia.Policy
	nodes *survey.Cluster
	notes map[handle.Container]leaf.Note
}

func bench(name string) *leafOf {
	p := &leafOf{eunomia.New(name), survey.New(), map[handle.Container]leaf.Note{}}
	p.Survey(p.nodes)
	p.nodes.SetSpeed("b", survey.Map, 2)
	p.nodes.SetSpeed("a", survey.Map, 1)
	p.nodes.Enter(0, "a", slot.Times(4))
	p.nodes.Enter(1, "b", slot.Times(4))
	p.tick(0, 2)
	return p
}

func (p *leafOf) tick(now int64, types int) []handle.App {
	p.nodes.Refresh(now, types)
	return p.Tick(now, leaf.Queue{Types: types})
}

func grant(p *leafOf, a leaf.App, c handle.Container, n leaf.Node, size records.Resource, priority int32) {
	note := leaf.Note(0)
	p.Granted(a, leaf.Grant{Container: c, Node: n, Resource: size, Note: &note, Ask: leaf.Ask{App: a, Priority: priority, Capability: size}})
	p.notes[c] = note
}

func ratio(t *testing.T, p *leafOf, a leaf.App, want float64, why string) {
	t.Helper()
	if got := p.Ratio(a); math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: the share is %v, want %v", why, got, want)
	}
}

func TestShares(t *testing.T) {
	p := bench(eunomia.Name)
	a := app(0, "SPARK", 0)
	ratio(t, p, a, 0, "without containers")
	a.Containers = 1
	grant(p, a, 0, node(1), slot, 0)
	ratio(t, p, a, 0, "an ApplicationMaster makes no progress")
	a.Containers = 2
	grant(p, a, 1, node(0), slot, 1)
	ratio(t, p, a, 1./12, "a task on the slow node")
	a.Containers = 3
	grant(p, a, 2, node(1), slot, 1)
	ratio(t, p, a, 3./12, "and one on the fast one")
	a.Containers = 4
	grant(p, a, 3, node(0), slot.Times(2), 1)
	ratio(t, p, a, 5./12, "a container of twice the size counts as two tasks")
	a.Weight = 2
	ratio(t, p, a, 5./24, "a weight of two")
	a.Weight = 1
	p.Ended(a, node(1), leaf.Outcome{Container: 2, Note: p.notes[2]})
	ratio(t, p, a, 3./12, "after the end of the task on the fast node")
	p.Ended(a, node(1), leaf.Outcome{Container: 0, Note: p.notes[0]})
	p.Ended(a, node(1), leaf.Outcome{Container: 99, Note: p.notes[3]})
	ratio(t, p, a, 3./12, "after the end of the ApplicationMaster, and of what nobody knows")
	p.Left(0)
	ratio(t, p, a, 0, "after it has left")
}

// The denominator of an application counts whole tasks that fit on a node, by the type that is scarce there.
func TestWhatFitsOnANode(t *testing.T) {
	p := bench(eunomia.Name)
	a := app(0, "SPARK", 1)
	big := records.NewResource(1024, 3)
	p.Asked(leaf.Ask{App: a, Priority: 1, Count: 2, Capability: big})
	grant(p, a, 0, node(1), big, 1)
	ratio(t, p, a, 2./3, "one task of three cores fits on each node")
	p.tick(1000, 1)
	ratio(t, p, a, 2./12, "where cores aren't counted, four do")
	none := app(1, "SPARK", 1)
	huge := slot.Times(5)
	grant(p, none, 1, node(0), huge, 1)
	ratio(t, p, none, math.Inf(1), "what fits nowhere comes last")
}

// Maps and reduces have speeds of their own, and MapReduce's ApplicationMaster has neither.
func TestStagesHaveTheirSpeeds(t *testing.T) {
	p := bench(eunomia.Name)
	p.nodes.SetSpeed("a", survey.Reduce, 3)
	p.nodes.SetSpeed("b", survey.Reduce, 1)
	if got := p.tick(1000, 2); len(got) > 0 {
		t.Fatalf("%v have changed, where there is nobody", got)
	}
	a := app(0, stages.Type, 1)
	grant(p, a, 0, node(0), slot, 0)
	grant(p, a, 1, node(0), slot, 20)
	ratio(t, p, a, 1./12, "a map")
	grant(p, a, 2, node(0), slot, 10)
	ratio(t, p, a, 1./12+3./16, "and a reduce")
}

// A node of unknown speed counts as the mean of the others; what a node is, and how fast, has its effect with the next Tick.
func TestNodesComeAndGo(t *testing.T) {
	p := bench(eunomia.Name)
	a := app(0, "SPARK", 1)
	grant(p, a, 0, node(0), slot, 1)
	ratio(t, p, a, 1./12, "with two nodes")
	p.nodes.Enter(2, "c", slot.Times(4))
	ratio(t, p, a, 1./18, "with a third one of unknown speed, 1.5")
	p.nodes.Leave(1)
	if got := p.tick(5000, 2); !slices.Equal(got, []handle.App{0}) {
		t.Errorf("a node has left, and %v have changed", got)
	}
	ratio(t, p, a, 1./8, "the mean of a alone is 1")
	p.nodes.SetSpeed("a", survey.Map, 0)
	p.nodes.SetSpeed("c", survey.Map, math.Inf(1))
	p.nodes.Enter(2, "c", slot.Times(12))
	p.tick(9000, 2)
	ratio(t, p, a, 1./16, "no speed is known, and c has grown")
	p.nodes.Leave(7)
}

// Containers that ran before the leaf had the policy count by what they hold of the cluster.
func TestSwitchedOnWhileContainersRun(t *testing.T) {
	p := bench(eunomia.Name)
	a := app(0, "SPARK", 5)
	*a.Used = slot.Times(4)
	p.Asked(leaf.Ask{App: a, Priority: 1, Count: 1, Capability: slot})
	ratio(t, p, a, .5, "four of eight slots")
	a.Containers, *a.Used = 6, slot.Times(5)
	grant(p, a, 0, node(1), slot, 1)
	ratio(t, p, a, .5+2./12, "and one that it was told of")
	*a.Used = slot.Times(1)
	ratio(t, p, a, 2./12, "the old ones have ended")
}

func TestStanding(t *testing.T) {
	for name, want := range map[string][2]string{
		eunomia.Name: {"the application has 0.17 of the progress that it could make alone, and the one with the least has 0.08", "has 0.08 of the progress that it could make alone, and no other that asks has less"},
		eunomia.TSF:  {"the application has 0.12 of the tasks that it could have alone, and no other", "the application has 0.12 of the tasks"},
	} {
		p := bench(name)
		a, b := app(0, "SPARK", 2), app(1, "SPARK", 2)
		p.Asked(leaf.Ask{App: app(0, "SPARK", 1), Priority: 1, Count: 1, Capability: slot})
		p.Asked(leaf.Ask{App: app(1, "SPARK", 1), Priority: 1, Count: 1, Capability: slot})
		grant(p, a, 0, node(1), slot, 1)
		grant(p, b, 1, node(0), slot, 1)
		for i, x := range []leaf.App{a, b} {
			if got := p.Standing(x); !strings.Contains(got, want[i]) {
				t.Errorf("%s, application %d: %q lacks %q", name, i, got, want[i])
			}
		}
	}
}

// Where all nodes are equally fast, Eunomia decides as TSF does; and how fast "1" is doesn't matter.
func TestEqualSpeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := []job(nil)
		hosts := []string{"a", "b", "c"}
		for range rapid.IntRange(2, 4).Draw(t, "jobs") {
			size := rapid.Int64Range(1, 3).Draw(t, "size")
			jobs = append(jobs, job{
				at: rapid.Int64Range(0, 3000).Draw(t, "at"), tasks: rapid.Int32Range(1, 40).Draw(t, "tasks"), length: 1000,
				size: records.NewResource(size, size), hosts: hosts[:rapid.IntRange(0, 3).Draw(t, "hosts")],
			})
		}
		ends := func(policy string, speeds ...float64) []int64 {
			var nodes []nodeSpec
			for i, h := range hosts {
				nodes = append(nodes, nodeSpec{h, 1, records.NewResource(int64(4+i), int64(4+i))})
			}
			w := newWorld(t, policy, nodes, jobs)
			for i, s := range speeds {
				w.driver.NoteSpeed(hosts[i], survey.Map, s)
			}
			w.spread = .2
			w.run()
			return w.ended
		}
		if e, f := ends(eunomia.Name), ends(eunomia.TSF); !slices.Equal(e, f) {
			t.Errorf("under Eunomia jobs end at %v, under TSF at %v", e, f)
		}
		if e, f := ends(eunomia.Name, 1, 2, 4), ends(eunomia.Name, 4, 8, 16); !slices.Equal(e, f) {
			t.Errorf("with other units of speed jobs end at %v and %v", e, f)
		}
	})
}

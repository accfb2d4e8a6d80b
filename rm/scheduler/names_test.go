package scheduler

import (
	"fmt"
	"testing"
)

// An application that names other hosts with each call, and shuns others, fills no memory: the names are forgotten, those that count stay.
func TestNamesThatNobodyUsesAreForgotten(t *testing.T) {
	s := New(Config{})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(1, 1)})
	a := s.AddApp(AppSpec{Queue: "root.default", User: "u"})
	keeper := s.AddApp(AppSpec{Queue: "root.default", User: "u", Seq: 1})
	s.UpdateAsks(keeper, []Ask{row(1, "wanted", 1, true), {Priority: 2, Name: Any, Capability: res(9, 1), Count: 1}})
	s.UpdateBlacklist(keeper, []string{"shunned"}, nil)
	const calls, names, minNames = 10_000, 100, 4096
	shunned := make([]string, names)
	for i := range calls {
		last := shunned
		shunned = make([]string, names)
		asks := []Ask{{Priority: 1, Name: Any, Capability: res(9, 1), Count: 1, RelaxLocality: true}}
		for j := range names {
			shunned[j] = fmt.Sprintf("shunned%d-%d", i, j)
			asks = append(asks, Ask{Priority: 1, Name: fmt.Sprintf("host%d-%d", i, j), Capability: res(9, 1), Count: 1, RelaxLocality: true})
		}
		s.ClearAsks(a)
		s.UpdateAsks(a, asks)
		s.UpdateBlacklist(a, shunned, last)
		s.Schedule(int64(i))
	}
	if most := minNames + 3*names; s.core.Nodes.Names.Len() > most || s.core.Nodes.Names.Numbers() > most {
		t.Errorf("after %d names %d are known, with room for %d; want at most %d", 2*calls*names, s.core.Nodes.Names.Len(), s.core.Nodes.Names.Numbers(), most)
	}
	for _, name := range []string{"n", "/r", "wanted", "shunned", shunned[0]} {
		if id, ok := s.core.Nodes.Names.Find(name); !ok || s.core.Nodes.Name(id) != name {
			t.Errorf("%s is used, and forgotten", name)
		}
	}
}

package scheduler

import (
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
)

// The room of a container that was killed for an application goes to it, though the turn is another's.
func TestPreemptedRoom(t *testing.T) {
	setup := func() (s *Scheduler, held []Decision, turn, starved handle.App) {
		tree, err := queue.ParseFair([]byte(`<allocations><queue name="a"/><queue name="b"/><queue name="c"/></allocations>`))
		if err != nil {
			t.Fatal(err)
		}
		s = New(Config{Tree: tree})
		s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(4, 4)})
		full := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1})
		s.UpdateAsks(full, []Ask{row(1, Any, 4, true)})
		held = append(held, grants(s)...)
		turn, starved = s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 2}), s.AddApp(AppSpec{Queue: "root.c", User: "u", Seq: 3})
		s.UpdateAsks(turn, []Ask{row(1, Any, 4, true)})
		s.UpdateAsks(starved, []Ask{row(1, Any, 1, true)})
		s.Schedule(0)
		return s, held, turn, starved
	}
	s, held, turn, _ := setup()
	s.Free(held[0].Container)
	if got := grants(s); len(got) != 1 || got[0].App != turn {
		t.Fatalf("without preemption the other application has its turn: %v", got)
	}
	s, held, turn, starved := setup()
	for _, d := range held[:2] {
		s.PreemptFor(d.Container, starved)
		s.Free(d.Container)
	}
	if got := grants(s); len(got) != 2 || got[0].App != starved || got[1].App != turn {
		t.Fatalf("the room of one container is set aside and wanted, the other one is anybody's: %v", got)
	}
	s.PreemptFor(held[0].Container, starved) // what is gone leaves no room
	s.Free(held[2].Container)
	if got := grants(s); len(got) != 1 || got[0].App != turn {
		t.Fatalf("room is set aside until the next call only: %v", got)
	}
	s, held, turn, starved = setup()
	s.PreemptFor(held[0].Container, starved)
	s.RemoveApp(starved)
	s.Free(held[0].Container)
	if got := grants(s); len(got) != 1 || got[0].App != turn {
		t.Fatalf("no room is set aside for an application that is gone: %v", got)
	}
	s, held, turn, starved = setup()
	s.RemoveApp(starved)
	s.PreemptFor(held[0].Container, starved)
	next := s.AddApp(AppSpec{Queue: "root.c", User: "u", Seq: 4})
	s.UpdateAsks(next, []Ask{row(1, Any, 1, true)})
	s.Free(held[0].Container)
	if got := grants(s); next != starved || len(got) != 1 || got[0].App != turn {
		t.Fatalf("no room is set aside for who comes in the place of an application that is gone: %v", got)
	}
}

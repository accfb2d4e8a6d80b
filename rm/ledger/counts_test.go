package ledger

import (
	"bytes"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

func TestGrantsAreCountedForASecond(t *testing.T) {
	s := world(t)
	before := s.Granted.Until(created + 5000)
	run(t, s, 5000, allocate(container(1, 2, 20), false))
	run(t, s, 5500, complete(container(1, 2, 20), 0), allocate(container(1, 2, 21), false))
	if got := s.Granted.Until(created+5900) - before; got != 2 {
		t.Errorf("%d", got)
	}
	if got := s.Granted.Until(created + 6100); got != 1 {
		t.Errorf("%d a while later", got)
	}
}

// A node counts its suspended containers, however they come to be so and cease to be.
func TestNodesCountSuspendedContainers(t *testing.T) {
	s := world(t)
	level := func(version int32, level ledgerpb.Level, held records.Resource) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerLevelChanged: &ledgerpb.ContainerLevelChanged{
			Container: ContainerRef(task), Level: level, Version: version, Held: Amounts(held),
		}}
	}
	shrunk := 0
	counts := func(want int, now int64, c ...*ledgerpb.Command) {
		t.Helper()
		run(t, s, now, c...)
		restored, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*State{"it": s, "its clone": s.Clone(), "its snapshot": restored} {
			if n := s.Nodes[node1]; n.Suspended != want || n.Lowered != want+shrunk {
				t.Errorf("%s counts %d suspended and %d suspended or shrunk instead of %d and %d", name, n.Suspended, n.Lowered, want, want+shrunk)
			}
		}
	}
	s.Version = Version
	counts(0, 100)
	counts(1, 200, level(1, ledgerpb.Level_FROZEN, small.Times(0)))
	counts(1, 300, level(2, ledgerpb.Level_RECLAIMED, small.Times(0)))
	counts(0, 400, level(3, ledgerpb.Level_RUNNING, small))
	counts(1, 500, &ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ContainerRefs(task)}})
	counts(1, 500, &ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ContainerRefs(task)}})
	counts(0, 600, &ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ContainerRefs(task)}})
	shrunk = 1
	counts(0, 650, level(4, ledgerpb.Level_SHRUNK, small.Times(0)))
	shrunk = 0
	counts(1, 700, level(5, ledgerpb.Level_FROZEN, small.Times(0)))
	counts(0, 800, complete(task, 0))
}

package leader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func resizeTo(id records.ContainerID, version int32, mb int64, more bool) ContainerUpdate {
	kind := pb.ContainerUpdateType_DECREASE_RESOURCE
	if more {
		kind = pb.ContainerUpdateType_INCREASE_RESOURCE
	}
	return ContainerUpdate{ID: id, Version: version, Kind: kind, Capability: records.ResourceTypes{}.PB(records.NewResource(mb, 1))}
}

func sizes(list []Resized) (mb []int64) {
	for _, r := range list {
		mb = append(mb, r.Grant.Resource.MemoryMB())
	}
	return mb
}

// A node of 4096 MB has an ApplicationMaster of 1024 and two containers of 1024.
func (w *world) resizable() (am, n *peer, c []records.ContainerID) {
	w.t.Helper()
	n = &peer{w: w, node: w.node(1)}
	am = w.am(nil)
	for _, g := range am.allocate(AllocateCall{Asks: ask(2)}).Grants {
		c = append(c, g.ID)
	}
	n.heartbeat(runs(w.app(am.attempt.App).Current().AMContainer), runs(c[0]), runs(c[1]))
	return am, n, c
}

func TestContainersShrinkAndGrow(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		r := am.allocate(AllocateCall{Updates: []ContainerUpdate{resizeTo(c[0], 0, 512, false), resizeTo(c[1], 0, 1600, true)}})
		if diff := cmp.Diff([]int64{512, 1792}, sizes(r.Resized)); diff != "" || len(r.Unresized) != 0 {
			t.Errorf("%s, refused %+v", diff, r.Unresized)
		}
		if v := r.Resized[0].Grant.Version; v != 1 {
			t.Errorf("the version is %d", v)
		}
		told := n.heartbeat().Resized
		if len(told) != 1 || told[0].ID != c[0] || told[0].Resource.MemoryMB() != 512 || told[0].Version != 1 {
			t.Errorf("the node is told %+v", told)
		}
		app := w.app(am.attempt.App)
		if got := app.Used.MemoryMB(); got != w.state().Nodes[n.node].Used.MemoryMB() || got != app.AMResource.MemoryMB()+512+1792 {
			t.Errorf("the application holds %d MB", got)
		}
	})
}

func TestGrowthWaitsForRoom(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		if r := am.allocate(AllocateCall{Updates: []ContainerUpdate{resizeTo(c[0], 0, 2816, true)}}); len(r.Resized)+len(r.Unresized) > 0 {
			t.Fatalf("without room: %+v, refused %+v", r.Resized, r.Unresized)
		}
		if r := am.allocate(AllocateCall{Updates: []ContainerUpdate{resizeTo(c[0], 0, 512, false)}}); len(r.Unresized) != 1 || r.Unresized[0].Reason != outstanding {
			t.Errorf("a second wish: %+v", r.Unresized)
		}
		n.heartbeat(ended(c[1], 0))
		r := am.allocate(AllocateCall{})
		if diff := cmp.Diff([]int64{2816}, sizes(r.Resized)); diff != "" {
			t.Errorf("the container doesn't get the room of another: %s", diff)
		}
		w.depose()
		w.lead()
		w.node(1, runs(w.app(am.attempt.App).Current().AMContainer), runs(c[0]))
		if got := w.app(am.attempt.App).Containers[c[0]]; got.Resource.MemoryMB() != 2816 || got.Version != 1 {
			t.Errorf("after a change of leaders: %+v", got)
		}
	})
}

func TestResizesThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		n.heartbeat(ended(c[1], 0))
		promote := resizeTo(c[0], 0, 1024, true)
		promote.Kind = pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE
		nothing := resizeTo(c[0], 0, 1024, true)
		nothing.Capability = nil
		wishes := []ContainerUpdate{
			resizeTo(c[0], 3, 2048, true), resizeTo(c[1], 0, 2048, true), resizeTo(c[0], 0, 512, true), resizeTo(c[0], 0, 2048, false),
			resizeTo(c[0], 0, 1<<40, true), resizeTo(c[0], 0, -5, false), promote, nothing,
		}
		want := []Unresized{
			{0, wrongVersion, 0},
			{1, unknownID, 0},
			{2, outOfRange, 0},
			{3, outOfRange, 0},
			{4, outOfRange, 0},
			{5, outOfRange, 0},
			{6, typesStayFixed, 0},
			{7, outOfRange, 0},
		}
		r := am.allocate(AllocateCall{Updates: wishes})
		if diff := cmp.Diff(want, r.Unresized); diff != "" || len(r.Resized) > 0 {
			t.Errorf("%s, resized %+v", diff, r.Resized)
		}
	})
}

package leader

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/leader/resize"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func resizeTo(id records.ContainerID, version int32, mb int64, more bool) resize.Wish {
	kind := pb.ContainerUpdateType_DECREASE_RESOURCE
	if more {
		kind = pb.ContainerUpdateType_INCREASE_RESOURCE
	}
	return resize.Wish{ID: id, Version: version, Kind: kind, Capability: records.ResourceTypes{}.PB(records.NewResource(mb, 1))}
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
		r := am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 0, 512, false), resizeTo(c[1], 0, 1600, true)}})
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
		if r := am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 0, 2816, true)}}); len(r.Resized)+len(r.Unresized) > 0 {
			t.Fatalf("without room: %+v, refused %+v", r.Resized, r.Unresized)
		}
		if r := am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 0, 512, false)}}); len(r.Unresized) != 1 || r.Unresized[0].Reason != "UPDATE_OUTSTANDING_ERROR" {
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
		if got := w.app(am.attempt.App).Containers.Get(c[0]); got.Resource.MemoryMB() != 2816 || got.Version != 1 {
			t.Errorf("after a change of leaders: %+v", got)
		}
	})
}

func TestResizesThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		n.heartbeat(ended(c[1], 0))
		demote := resizeTo(c[0], 0, 1024, true)
		demote.Kind = pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE
		nothing := resizeTo(c[0], 0, 1024, true)
		nothing.Capability = nil
		wishes := []resize.Wish{
			resizeTo(c[0], 3, 2048, true), resizeTo(c[1], 0, 2048, true), resizeTo(c[0], 0, 512, true), resizeTo(c[0], 0, 2048, false),
			resizeTo(c[0], 0, 1<<40, true), resizeTo(c[0], 0, -5, false), demote, nothing,
		}
		want := []resize.Refused{
			{Index: 0, Reason: "INCORRECT_CONTAINER_VERSION_ERROR"},
			{Index: 1, Reason: "INVALID_CONTAINER_ID"},
			{Index: 2, Reason: "RESOURCE_OUTSIDE_ALLOWED_RANGE"},
			{Index: 3, Reason: "RESOURCE_OUTSIDE_ALLOWED_RANGE"},
			{Index: 4, Reason: "RESOURCE_OUTSIDE_ALLOWED_RANGE"},
			{Index: 5, Reason: "RESOURCE_OUTSIDE_ALLOWED_RANGE"},
			{Index: 6, Reason: "All containers are GUARANTEED; their execution type can't be changed"},
			{Index: 7, Reason: "RESOURCE_OUTSIDE_ALLOWED_RANGE"},
		}
		r := am.allocate(AllocateCall{Updates: wishes})
		if diff := cmp.Diff(want, r.Unresized); diff != "" || len(r.Resized) > 0 {
			t.Errorf("%s, resized %+v", diff, r.Resized)
		}
	})
}

// growTo2048 has a container of 1024 MB hold 2048, which its ApplicationMaster is told of.
func (w *world) growTo2048(am *peer, c records.ContainerID) {
	w.t.Helper()
	r := am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c, 0, 2048, true)}})
	if diff := cmp.Diff([]int64{2048}, sizes(r.Resized)); diff != "" {
		w.t.Fatalf("%s, refused %+v", diff, r.Unresized)
	}
}

// beatFor keeps everybody alive for a time.
func (w *world) beatFor(d time.Duration, am, n *peer, running ...NodeContainer) (resized []Resized, shrunk []Grant) {
	w.t.Helper()
	for range int(d / (10 * time.Second)) {
		time.Sleep(10 * time.Second)
		resized = append(resized, am.allocate(AllocateCall{}).Resized...)
		shrunk = append(shrunk, n.heartbeat(running...).Resized...)
	}
	return resized, shrunk
}

func TestGrowthThatIsNeverUsedIsTakenBack(t *testing.T) {
	for name, leaders := range map[string]int{"one leader": 1, "a change of leaders": 2} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				am, n, c := w.resizable()
				before := w.state().Nodes[n.node].Used
				w.growTo2048(am, c[0])
				running := []NodeContainer{runs(w.app(am.attempt.App).Current().AMContainer), runs(c[0]), runs(c[1])}
				for range leaders - 1 {
					w.beatFor(4*time.Minute, am, n, running...)
					w.depose()
					w.lead()
					w.node(1, running...)
					n.response, am.response = 0, 0
					if _, err := w.Register(am.attempt, "h", 1, ""); err != nil {
						t.Fatal(err)
					}
				}
				if resized, shrunk := w.beatFor(4*time.Minute, am, n, running...); len(resized)+len(shrunk) > 0 {
					t.Errorf("before the time: %+v, %+v", resized, shrunk)
				}
				resized, shrunk := w.beatFor(2*time.Minute, am, n, running...)
				if diff := cmp.Diff([]int64{1024}, sizes(resized)); diff != "" || resized[0].Kind != pb.ContainerUpdateType_DECREASE_RESOURCE {
					t.Errorf("%s: %+v", diff, resized)
				}
				if len(shrunk) != 1 || shrunk[0].ID != c[0] || shrunk[0].Version != 2 || shrunk[0].Resource.MemoryMB() != 1024 {
					t.Errorf("the node is told %+v", shrunk)
				}
				if got := w.state().Nodes[n.node].Used; got != before {
					t.Errorf("the node counts %v as used, and %v before", got, before)
				}
				w.same()
			})
		})
	}
}

func TestGrowthThatTheNodeKnowsOfStays(t *testing.T) {
	sized := func(c NodeContainer, mb int64) NodeContainer {
		c.Resource = records.ResourceTypes{}.PB(records.NewResource(mb, 1))
		return c
	}
	for name, tell := range map[string]func(w *world, n *peer, id records.ContainerID, others ...NodeContainer){
		"in a heartbeat": func(w *world, n *peer, id records.ContainerID, _ ...NodeContainer) {
			r := must[NodeReply](w.t)(w.HeartbeatNode(NodeCall{
				NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{Healthy: true}, Increased: []NodeContainer{sized(NodeContainer{ID: id}, 2048)},
			}))
			n.response = r.ResponseID
		},
		"with its next registration": func(w *world, n *peer, id records.ContainerID, others ...NodeContainer) {
			w.node(1, append(others, sized(runs(id), 2048))...)
			n.response = 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				am, n, c := w.resizable()
				w.growTo2048(am, c[0])
				running := []NodeContainer{runs(w.app(am.attempt.App).Current().AMContainer), runs(c[1])}
				tell(w, n, c[0], running...)
				if resized, shrunk := w.beatFor(7*time.Minute, am, n, append(running, runs(c[0]))...); len(resized)+len(shrunk) > 0 {
					t.Errorf("resized %+v, told the node %+v", resized, shrunk)
				}
				if got := w.app(am.attempt.App).Containers.Get(c[0]); got.Resource.MemoryMB() != 2048 || got.Confirmed() != got.Resource {
					t.Errorf("the container has %+v", got)
				}
			})
		})
	}
}

// A container is to grow from 1024 to 2048 MB, and then to 3072; or to shrink to 1536, when the node has let it grow already.
func TestConfirmedInPart(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		n.heartbeat(ended(c[1], 0))
		running := []NodeContainer{runs(w.app(am.attempt.App).Current().AMContainer), runs(c[0])}
		increased := func(mb int64) []Grant {
			r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
				NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{Healthy: true},
				Increased: []NodeContainer{{ID: c[0], Resource: records.ResourceTypes{}.PB(records.NewResource(mb, 1))}},
			}))
			n.response = r.ResponseID
			return r.Resized
		}
		w.growTo2048(am, c[0])
		w.beatFor(3*time.Minute, am, n, running...)
		am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 1, 3072, true)}})
		increased(2048)
		if resized, _ := w.beatFor(4*time.Minute, am, n, running...); len(resized) > 0 {
			t.Errorf("the time of the second growth doesn't count from its beginning: %+v", resized)
		}
		resized, _ := w.beatFor(2*time.Minute, am, n, running...)
		if diff := cmp.Diff([]int64{2048}, sizes(resized)); diff != "" {
			t.Errorf("not back to what the node has confirmed: %s", diff)
		}
		am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 3, 3072, true)}})
		am.allocate(AllocateCall{Updates: []resize.Wish{resizeTo(c[0], 4, 1536, false)}})
		n.heartbeat(running...)
		if told := increased(3072); len(told) != 1 || told[0].Resource.MemoryMB() != 1536 {
			t.Errorf("the node, which gives more than there is, is told %+v", told)
		}
		if resized, _ := w.beatFor(7*time.Minute, am, n, running...); len(resized) > 0 {
			t.Errorf("resized once more: %+v", resized)
		}
	})
}

package leader

import (
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/leader/resize"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func limitRequests(s *Settings) { s.MaxRequests, s.MaxPlaces = 3, 2 }

func askAs(id int64, name string) *pb.ResourceRequest {
	r := ask(1)[0]
	r.SetAllocationRequestId(id)
	r.SetResourceName(name)
	r.SetRelaxLocality(true)
	return r
}

// One application can't make the scheduler hold any number of requests: what is beyond the limits is refused with the setting that
// says so, changes nothing, and the application goes on.
func TestFloodsOfRequestsAreRefused(t *testing.T) {
	runWorld(t, limitRequests, func(w *world) {
		am := w.am(w.fullNode())
		id := am.attempt
		for name, c := range map[string]struct {
			call AllocateCall
			key  string
		}{
			"requests":  {AllocateCall{Asks: []*pb.ResourceRequest{askAs(1, "*"), askAs(2, "*"), askAs(3, "*"), askAs(4, "*")}}, "max-requests"},
			"hosts":     {AllocateCall{Asks: []*pb.ResourceRequest{askAs(1, "*"), askAs(1, "a"), askAs(1, "b"), askAs(1, "c")}}, "max-places"},
			"rows":      {AllocateCall{Asks: []*pb.ResourceRequest{askAs(1, "*"), askAs(1, "*"), askAs(1, "*"), askAs(1, "*"), askAs(1, "*"), askAs(1, "*")}}, "max-requests"},
			"blacklist": {AllocateCall{BlacklistAdd: []string{"a", "b", "c"}}, "max-places"},
		} {
			c.call.ResponseID = am.response
			_, err := w.Allocate(id, c.call)
			if err == nil || !strings.Contains(err.Error(), "heddle.application."+c.key) {
				t.Errorf("%s: %v", name, err)
			}
			if refusal.Is(err, refusal.InvalidResource) == refusal.Is(err, refusal.InvalidBlacklist) {
				t.Errorf("%s is refused for another reason: %v", name, err)
			}
		}
		if v := w.Apps([]records.ApplicationID{id.App})[id.App]; v.Waiting != 0 || len(v.Black) != 0 {
			t.Errorf("what was refused has come into effect: %+v", v)
		}
		am.allocate(AllocateCall{Asks: []*pb.ResourceRequest{askAs(1, "*"), askAs(2, "*"), askAs(3, "*")}})
		if r := am.allocate(AllocateCall{Asks: []*pb.ResourceRequest{askAs(1, "*"), askAs(2, "*"), askAs(3, "*"), askAs(1, "*")}}); r.Limit.IsZero() {
			t.Error("rows that replace others are taken for new ones")
		}
	})
}

// fullNode has a node whose room the ApplicationMaster takes, so that requests wait.
func (w *world) fullNode() func(*pb.ApplicationSubmissionContext) {
	w.nodeOf(1, records.NewResource(1024, 1))
	return nil
}

// Many containers that wait for room to grow get it all the same, if a moment later.
func TestThousandsOfContainersThatWaitToGrow(t *testing.T) {
	runWorld(t, func(s *Settings) { s.MinAllocation = records.NewResource(1, 0) }, func(w *world) {
		const n = 512 // more than the driver tries with each step
		node := &peer{w: w, node: w.nodeOf(1, records.NewResource(512+1000*(n+1), 2*n))}
		am := w.am(nil)
		grants := am.allocate(AllocateCall{Asks: ask(n + 1)}).Grants
		if len(grants) != n+1 {
			t.Fatalf("%d containers", len(grants))
		}
		var all []NodeContainer
		var wishes []resize.Wish
		for _, g := range grants {
			all = append(all, runs(g.ID))
			wishes = append(wishes, resizeTo(g.ID, 0, 1001, true))
		}
		node.heartbeat(all...)
		if r := am.allocate(AllocateCall{Updates: wishes[:n]}); len(r.Resized)+len(r.Unresized) > 0 {
			t.Fatalf("without room %d get it, and %d are refused", len(r.Resized), len(r.Unresized))
		}
		if r := am.allocate(AllocateCall{Updates: wishes[:1]}); len(r.Unresized) != 1 || r.Unresized[0].Reason != "UPDATE_OUTSTANDING_ERROR" {
			t.Errorf("a wish twice: %+v", r.Unresized)
		}
		am.allocate(AllocateCall{Releases: []records.ContainerID{grants[n].ID}})
		time.Sleep(time.Second)
		if r := am.allocate(AllocateCall{}); len(r.Resized) != n {
			t.Errorf("%d of %d have grown", len(r.Resized), n)
		}
	})
}

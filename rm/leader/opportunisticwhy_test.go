package leader

import (
	"strings"
	"testing"

	"heddle/rm/leader/report"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// An opportunistic request that waits says why, beside those that the scheduler knows, and the leader counts such containers.
func TestOpportunisticRequestsSayWhyTheyWait(t *testing.T) {
	runWorld(t, givesOpportunistic, func(w *world) {
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(4096, 4))}
		am := w.am(nil)
		why := func(limit explain.Limit, text string) {
			t.Helper()
			var holds []report.Hold
			for _, h := range must[map[records.ApplicationID][]report.Hold](t)(w.Explain(am.attempt.App))[am.attempt.App] {
				if h.Ask.ExecutionType == pb.ExecutionType_OPPORTUNISTIC {
					holds = append(holds, h)
				}
			}
			switch {
			case text == "" && len(holds) == 0:
			case len(holds) != 1 || holds[0].Limit != limit || !strings.Contains(holds[0].Text, text) || holds[0].At != (records.NodeID{}):
				t.Errorf("%+v; want %s, %q", holds, limit, text)
			}
		}
		am.allocate(AllocateCall{Asks: askOpportunistic(5)})
		why(explain.NoNodes, "no node takes opportunistic containers")
		n.queues(1, 4)
		why(explain.NodeQueues, "1 of 1 nodes have room in their queues")
		sent := am.allocate(AllocateCall{}).Grants
		if len(sent) != 3 {
			t.Fatalf("%d are sent", len(sent))
		}
		why(explain.NodeQueues, "full: 4 of 4 places on 1 nodes are taken")
		am.allocate(AllocateCall{Asks: askOpportunistic(2), BlacklistAdd: []string{n.node.Host}})
		why(explain.WrongPlace, "wants none of the 1 nodes")
		am.allocate(AllocateCall{Asks: askOpportunistic(0)})
		why("", "")

		sum := func() (of [5]int64) {
			x, ok := w.Opportunistic()
			if !ok {
				t.Fatal("it leads")
			}
			return [5]int64{int64(x.Allocated), x.Granted(), x.Released, x.NodeLocal, x.OffSwitch}
		}
		if got := sum(); got != [5]int64{3, 3, 0, 0, 3} {
			t.Errorf("%v", got)
		}
		am.allocate(AllocateCall{Releases: []records.ContainerID{sent[0].ID}})
		if got := sum(); got != [5]int64{2, 3, 1, 0, 3} {
			t.Errorf("after one is given back: %v", got)
		}
		master := w.app(am.attempt.App).Current().AMContainer
		w.depose()
		w.lead()
		w.node(1, runs(master))
		if got := sum(); got[0] != 2 || got[1] != 0 {
			t.Errorf("with a new leader: %v", got)
		}
	})
}

package leader

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/usage"
	"heddle/yarn/records"
)

// used sums up by series what the containers of a ledger are charged for, in MB.
func used(s *ledger.State) map[string]int64 {
	sums := map[string]int64{}
	for _, a := range s.Apps {
		for c := range a.Containers.All() {
			if c.Live() {
				for _, name := range []string{usage.Cluster, usage.Queue("root"), usage.Queue(a.Queue), usage.User(a.User)} {
					sums[name] += c.Resource.MemoryMB()
				}
			}
		}
	}
	return sums
}

// The history of use agrees with the recorded log: each sample has the sums of the containers that live after the commands before it, over a change of leaders, and the history's own sums are those of the samples.
func TestHistoryIsTheSumOfTheLog(t *testing.T) {
	runWorld(t, func(s *Settings) { s.History = true }, func(w *world) {
		w.newest()
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(20_000, 20))}
		load := func(rounds int) {
			am := w.am(nil)
			for range rounds {
				grants := append(am.allocate(AllocateCall{Asks: ask(3)}).Grants, am.allocate(AllocateCall{}).Grants...)
				n.response = must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{Healthy: true}})).ResponseID
				time.Sleep(13 * time.Second)
				var release []records.ContainerID
				for _, g := range grants[:min(len(grants), 2)] {
					release = append(release, g.ID)
				}
				am.allocate(AllocateCall{Releases: release})
			}
		}
		load(5)
		w.depose()
		w.lead()
		n.node = w.nodeOf(1, records.NewResource(20_000, 20))
		n.response = 0
		load(4)

		replayed, sums, samples, last := ledger.New(), map[string]int64{}, 0, int64(0)
		for _, b := range w.batches {
			for _, c := range b.GetCommands() {
				one := proto.CloneOf(b)
				one.Commands = []*ledgerpb.Command{c}
				if step := b.GetTime() / usage.Step; c.UsageSampled != nil && step > last { // a second one of a step, by the next leader, doesn't count
					samples, last = samples+1, step
					for name, mb := range used(replayed) {
						sums[name] += mb
					}
				}
				if err := replayed.Apply(one); err != nil {
					t.Fatal(err)
				}
			}
		}
		if samples < 10 || sums[usage.User("alice")] == 0 {
			t.Fatalf("%d samples have %v", samples, sums)
		}
		for name, want := range sums {
			got := int64(0)
			for p := range w.committed.Usage.Read(name, 0, 1<<50, usage.Step) {
				got += p.Sum[usage.UsedMB]
			}
			if got != want {
				t.Errorf("series %q: %d MB in the history, %d by the log", name, got, want)
			}
		}
	})
}

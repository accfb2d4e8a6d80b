package leader

import (
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The leader knows of a container that runs what its node has told of its life, and of one that ends no more. One that was given back is known as such, when all members can apply that.
func TestLivesOfContainers(t *testing.T) {
	run(t, func(w *world) {
		am, n, c := w.resizable()
		told := runs(c[0])
		told.Sub, told.Times = pb.ContainerSubState_CSS_RUNNING, ledgerpb.NewContainerTimes(0, 0, 0, -1)
		heartbeat := func() {
			n.heartbeat(runs(w.app(am.attempt.App).Current().AMContainer), told, runs(c[1]))
		}
		heartbeat()
		if got, now := w.Lives.Of(c[0]), w.Now().UnixMilli(); got != (ledger.Times{Accepted: now, Localized: now, Launched: now}) {
			t.Errorf("%+v at %d", got, now)
		}
		if got := w.Lives.Of(c[1]); got != (ledger.Times{}) {
			t.Errorf("%+v, and the node has told nothing", got)
		}
		for i, id := range c {
			if i == 1 {
				w.newest()
			}
			am.allocate(AllocateCall{Releases: []records.ContainerID{id}})
			if got := w.app(am.attempt.App).Containers.Get(id); got == nil || got.Live() || got.GivenBack != (i == 1) {
				t.Errorf("container %d is %+v", i, got)
			}
		}
		if got := w.Lives.Of(c[0]); got != (ledger.Times{}) {
			t.Errorf("%+v of a container that lives no more", got)
		}
	})
}

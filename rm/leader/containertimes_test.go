package leader

import (
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// A leader knows when a container was asked for and granted, and what its node reported at its end. So does the next leader.
func TestTimesOfContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		app := am.attempt.App
		amc := w.app(app).Current().AMContainer
		n.heartbeat(runs(amc))
		began := time.Now().UnixMilli()
		am.allocate(AllocateCall{Asks: ask(5)}) // three of them fit
		time.Sleep(2 * time.Second)
		r := am.allocate(AllocateCall{})
		var reports []NodeContainer
		a := w.app(app)
		for c := range a.Containers.All() {
			id := c.ID
			if id == amc {
				continue
			}
			if c.Asked != began {
				t.Errorf("%v was asked for at %d, not %d", id, c.Asked, began)
			}
			end := ended(id, 0)
			end.Times = ledgerpb.NewContainerTimes(1500, 1000, 900, 10)
			reports = append(reports, end)
		}
		if len(reports) < 2 {
			t.Fatalf("%d containers, %+v", len(reports), r)
		}
		first := len(reports)
		n.heartbeat(append(reports, runs(amc))...) // what is free now goes to those that wait
		r = am.allocate(AllocateCall{})
		for _, g := range r.Grants {
			if c := w.app(app).Containers.Get(g.ID); c.Asked != began || c.Allocated != began+2000 {
				t.Errorf("%v: asked for at %d, granted at %d", g.ID, c.Asked, c.Allocated)
			}
		}
		am.allocate(AllocateCall{})
		w.depose()
		w.lead()
		past := w.app(app).Past
		if past.Len() != first {
			t.Fatalf("%d containers are remembered, not %d", past.Len(), first)
		}
		now := began + 2000
		for c := range past.All() {
			if want := (ledger.Times{Accepted: now - 1500, Localized: now - 1000, Launched: now - 900, Ended: now - 10}); c.Times != want || c.Asked != began {
				t.Errorf("%+v", c)
			}
		}
		if err := w.Kill(app, "enough"); err != nil {
			t.Fatal(err)
		}
		if a := w.app(app); a.State != ledger.AppKilled || a.Past.Len() != first+len(r.Grants)+1 {
			t.Errorf("%v, %d containers are remembered", a.State, a.Past.Len())
		}
		w.same()
	})
}

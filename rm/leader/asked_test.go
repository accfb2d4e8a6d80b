package leader

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
)

// Grants are taken for the asks that have waited longest, and asks that are taken back for the newest.
func TestAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := asked{}
		var model []int64 // when each of those that wait was asked for
		for now := int64(1); now < 30; now++ {
			if rapid.Bool().Draw(t, "grant") {
				got, want := a.take(20, -1), int64(0)
				if len(model) > 0 {
					want, model = model[0], model[1:]
				}
				if got != want {
					t.Fatalf("asked for at %d, not %d", got, want)
				}
				continue
			}
			count := rapid.Int32Range(0, 5).Draw(t, "count")
			for len(model) < int(count) {
				model = append(model, now)
			}
			model = model[:count]
			a.update([]scheduler.Ask{
				{Priority: 20, AllocationRequestID: -1, Name: scheduler.Any, Count: count},
				{Priority: 20, AllocationRequestID: -1, Name: "rack", Count: count + 7},
			}, now)
		}
		if len(model) == 0 && len(a) != 0 {
			t.Fatalf("nothing waits, and yet %v is kept", a)
		}
	})
}

func BenchmarkAsked(b *testing.B) {
	a := asked{}
	asks := []scheduler.Ask{{Priority: 20, Name: scheduler.Any, Count: 100}}
	for b.Loop() {
		a.update(asks, 1)
		a.take(20, 0)
	}
}

// Of a container is known when it was asked for and granted, and what its node told of it at its end, also by the next leader.
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
			end.Times = ledger.NewContainerTimes(1500, 1000, 900, 10)
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
		if len(past) != first {
			t.Fatalf("%d containers are remembered, not %d", len(past), first)
		}
		now := began + 2000
		for _, c := range past {
			if want := (ledger.Times{Accepted: now - 1500, Localized: now - 1000, Launched: now - 900, Ended: now - 10}); c.Times != want || c.Asked != began {
				t.Errorf("%+v", c)
			}
		}
		if err := w.Kill(app, "enough"); err != nil {
			t.Fatal(err)
		}
		if a := w.app(app); a.State != ledger.AppKilled || len(a.Past) != first+len(r.Grants)+1 {
			t.Errorf("%v, %d containers are remembered", a.State, len(a.Past))
		}
		w.same()
	})
}

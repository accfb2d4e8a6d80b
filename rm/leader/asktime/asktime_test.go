package asktime

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler"
)

// Grants are taken for the asks that have waited longest, and asks that are taken back for the newest.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times Times
		var model []int64 // when each of those that wait was asked for
		for now := int64(1); now < 30; now++ {
			if rapid.Bool().Draw(t, "grant") {
				locality := scheduler.Locality(now % 3)
				got, far := times.Take(20, -1, locality)
				want := int64(0)
				if far != (got > 0 && locality != scheduler.NodeLocal) {
					t.Fatalf("a rack was named, and a container of locality %d is far: %v", locality, far)
				}
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
			times.Update([]scheduler.Ask{
				{Priority: 20, AllocationRequestID: -1, Name: scheduler.Any, Count: count},
				{Priority: 20, AllocationRequestID: -1, Name: "rack", Count: count + 7},
			}, now)
		}
		if len(model) == 0 && len(times.pending) != 0 {
			t.Fatalf("nothing is pending, and yet %v is remembered", times.pending)
		}
		times.Clear()
		if at, _ := times.Take(20, -1, 0); at != 0 {
			t.Fatalf("after all was forgotten, a container was asked for at %d", at)
		}
	})
}

// Asks of another priority or allocation request id have times of their own.
func TestTimesByPriorityAndRequest(t *testing.T) {
	var times Times
	ask := func(priority int32, request, now int64) {
		times.Update([]scheduler.Ask{{Priority: priority, AllocationRequestID: request, Name: scheduler.Any, Count: 1}}, now)
	}
	ask(1, 0, 10)
	ask(2, 0, 20)
	ask(1, 7, 30)
	for _, c := range []struct {
		priority int32
		request  int64
		want     int64
	}{{1, 7, 30}, {2, 0, 20}, {1, 0, 10}, {1, 0, 0}, {3, 0, 0}} {
		if got, far := times.Take(c.priority, c.request, scheduler.OffSwitch); got != c.want || far {
			t.Errorf("priority %d, request %d: asked for at %d, not %d", c.priority, c.request, got, c.want)
		}
	}
}

func BenchmarkTimes(b *testing.B) {
	var times Times
	asks := []scheduler.Ask{{Priority: 20, Name: scheduler.Any, Count: 100}}
	for b.Loop() {
		times.Update(asks, 1)
		times.Take(20, 0, scheduler.OffSwitch)
	}
}

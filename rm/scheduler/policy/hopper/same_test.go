package hopper

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/hopper/divider"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// pair is two policies that are told the same. The second one looks at all applications in each division.
type pair struct {
	*rapid.T
	one, whole *told
	held       map[handle.App][]handle.Container
}

func (w *pair) both(do func(*told)) {
	do(w.one)
	w.whole.anew, w.whole.divider = true, divider.Divider{}
	do(w.whole)
}

// event is one of those that a policy is told of.
func (w *pair) event() {
	h := handle.App(rapid.IntRange(0, 7).Draw(w.T, "application"))
	typ := []string{stages.Type, "SPARK"}[h%2]
	n := int32(rapid.IntRange(0, 12).Draw(w.T, "count"))
	switch rapid.IntRange(0, 10).Draw(w.T, "event") {
	case 0, 1:
		priority := rapid.SampledFrom([]int32{0, 20, 10, 5, 1}).Draw(w.T, "priority")
		w.both(func(p *told) { p.ask(h, typ, priority, n) })
	case 2, 3, 4:
		if a := w.one.view(h, typ); a.Pending[records.Memory] > 0 {
			left := int32(a.Pending[records.Memory]/one[records.Memory]) - 1
			priority := rapid.SampledFrom([]int32{20, 10, 1}).Draw(w.T, "priority")
			w.both(func(p *told) { p.grant(h, typ, priority, left) })
			w.held[h] = append(w.held[h], w.one.next-1)
		}
	case 5, 6:
		if all := w.held[h]; len(all) > 0 {
			i := rapid.IntRange(0, len(all)-1).Draw(w.T, "container")
			failed := rapid.Bool().Draw(w.T, "failed")
			w.both(func(p *told) { p.end(h, all[i], failed) })
			w.held[h] = slices.Delete(all, i, i+1)
		}
	case 7:
		r := leaf.TaskReport{
			Left: int64(n), Copies: true, Young: int64(rapid.IntRange(0, 8).Draw(w.T, "young")), Detection: 2000,
			Ended: int64(rapid.SampledFrom([]int{0, enough}).Draw(w.T, "ended")), Beta: rapid.SampledFrom([]float64{1.2, 1.7}).Draw(w.T, "beta"),
		}
		w.both(func(p *told) { p.Reported(*p.view(h, typ), r) })
	case 8:
		w.both(func(p *told) { p.Outputs(*p.view(h, typ), int64(n), int64(n)*1000) })
	case 9:
		w.both(func(p *told) {
			p.Left(h)
			delete(p.views, h)
		})
		w.held[h] = nil
	case 10: // many of its user's tasks end
		w.both(func(p *told) {
			if x := p.apps.Get(h); x != nil {
				for i := range 4 * n {
					x.group.of[h%3].add(float64(1+i*i), false)
				}
			}
		})
	}
}

// A division that looks only at what has changed gives the same as one that looks at all: same events, same decisions.
func TestDivisionsOfWhatHasChangedAreThoseOfAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &pair{T: r, one: tell(t), whole: tell(t), held: map[handle.App][]handle.Container{}}
		for range rapid.IntRange(1, 150).Draw(r, "steps") {
			for range rapid.IntRange(0, 4).Draw(r, "events") {
				w.event()
			}
			ms := rapid.SampledFrom([]int64{1, 40, 150, 2500}).Draw(r, "time")
			var changed [2][]handle.App
			k := 0
			w.both(func(p *told) {
				changed[k] = slices.Clone(p.tick(ms))
				slices.Sort(changed[k])
				k++
			})
			if a, b := slices.Compact(changed[0]), slices.Compact(changed[1]); !slices.Equal(a, b) {
				r.Fatalf("changed are %v, with all looked at %v", a, b)
			}
			if w.one.keeps != w.whole.keeps || w.one.kept != w.whole.kept || w.one.Due() != w.whole.Due() {
				r.Fatalf("%d are kept, due at %d; with all looked at %d and %d", w.one.keeps, w.one.Due(), w.whole.keeps, w.whole.Due())
			}
			for h, a := range w.one.views {
				if got, want := w.one.Standing(*a), w.whole.Standing(*a); got != want || w.one.Ratio(*a) != w.whole.Ratio(*a) || w.one.Cap(*a) != w.whole.Cap(*a) {
					r.Fatalf("%d: %q, ratio %v, cap %v; with all looked at %q, %v, %v", h, got, w.one.Ratio(*a), w.one.Cap(*a), want, w.whole.Ratio(*a), w.whole.Cap(*a))
				}
				if x, y := w.one.apps.Get(h), w.whole.apps.Get(h); x != nil && (w.one.owed(x) != w.whole.owed(y) || x.floor != y.floor || x.beta != y.beta) {
					r.Fatalf("%d: owed %v, floor %d, β %v; with all looked at %v, %d and %v", h, w.one.owed(x), x.floor, x.beta, w.whole.owed(y), y.floor, y.beta)
				}
			}
		}
	})
}

// owed returns what an application is owed: in containers times seconds.
func (p *Policy) owed(x *app) float64 {
	if x.place == 0 {
		return 0
	}
	return p.standing[x.place-1].owes
}

package leaf

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
)

// A table has what a map would have, and goes through it in an order that depends on what was done only.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Table[handle.App, int]
		want := map[handle.App]int{}
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			k := handle.App(rapid.IntRange(0, 50).Draw(t, "key"))
			if rapid.Bool().Draw(t, "delete") {
				delete(want, k)
				a.Delete(k)
				b.Delete(k)
				continue
			}
			want[k] = len(want) + int(k)
			if got := *a.Put(k, want[k]); got != want[k] {
				t.Fatalf("put %d for %d, got %d", want[k], k, got)
			}
			b.Put(k, want[k])
		}
		got := map[handle.App]int{}
		var order, again []handle.App
		for k, v := range a.All {
			got[k] = *v
			order = append(order, k)
			if x := a.Get(k); x != v {
				t.Errorf("%d: All and Get differ", k)
			}
		}
		for k := range b.All {
			again = append(again, k)
		}
		if !maps.Equal(got, want) || len(order) != len(again) {
			t.Fatalf("the table has %v, want %v", got, want)
		}
		for i := range order {
			if order[i] != again[i] {
				t.Fatalf("orders %v and %v", order, again)
			}
		}
		if a.Get(99) != nil {
			t.Error("something is noted of what was never put")
		}
	})
}

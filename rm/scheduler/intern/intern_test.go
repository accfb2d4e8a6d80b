package intern_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/intern"
	"heddle/yarn/records"
)

// Numbers stay with their amount while anything holds it, and are given out again afterwards.
func TestAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := intern.NewAmounts()
		held := map[int32]int{}
		of := map[int32]records.Resource{}
		most := 0
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			r := records.NewResource(rapid.Int64Range(0, 12).Draw(t, "mb"), rapid.Int64Range(0, 1).Draw(t, "cores"))
			i := z.Hold(&r)
			if was, ok := of[i]; ok && held[i] > 0 && was != r {
				t.Fatalf("%d is %v and %v", i, was, r)
			}
			held[i], of[i] = held[i]+1, r
			distinct := 0
			for i, n := range held {
				if n > 0 {
					distinct++
					if *z.Amount(i) != of[i] {
						t.Fatalf("%d is %v, not %v", i, *z.Amount(i), of[i])
					}
				}
			}
			if most = max(most, distinct); int(i) >= most {
				t.Fatalf("%d is given out where there never were more than %d amounts", i, most)
			}
			for i, n := range held {
				if n > 0 && rapid.Bool().Draw(t, "drop") {
					z.Drop(i)
					held[i]--
				}
			}
		}
	})
}

func TestNamesThatAreUsedStay(t *testing.T) {
	n := intern.NewNames()
	n.SetLeast(2)
	a, b, c := n.Intern("a"), n.Intern("b"), n.Intern("c")
	if !n.Crowded() || n.Intern("b") != b || n.Name(c) != "c" {
		t.Fatalf("a, b and c are %d, %d and %d", a, b, c)
	}
	var gone []int32
	used := make([]bool, n.Numbers())
	used[b] = true
	n.Forget(used, func(id int32) { gone = append(gone, id) })
	if len(gone) != 2 || n.Len() != 1 || n.Crowded() {
		t.Errorf("%v are forgotten, %d names stay", gone, n.Len())
	}
	if id, ok := n.Find("b"); !ok || id != b {
		t.Errorf("b is %d, %t", id, ok)
	}
	if _, ok := n.Find("a"); ok {
		t.Error("a is still known")
	}
	if d := n.Intern("d"); d != a && d != c || n.Numbers() != 3 || n.Name(d) != "d" {
		t.Errorf("d is %d of %d numbers", d, n.Numbers())
	}
}

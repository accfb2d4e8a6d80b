package intern_test

import (
	"fmt"
	"slices"
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

// The same amount has one number, whether there are few amounts or many, and amounts that differ in one type are others.
func TestManyAmounts(t *testing.T) {
	z := intern.NewAmounts()
	amount := func(i int64) *records.Resource {
		r := records.NewResource(i/2, i%2)
		return &r
	}
	var numbers []int32
	for i := range int64(40) {
		numbers = append(numbers, z.Hold(amount(i)))
	}
	for i := range int64(40) {
		if again := z.Hold(amount(i)); again != numbers[i] || *z.Amount(again) != *amount(i) {
			t.Errorf("%v has the numbers %d and %d", *amount(i), numbers[i], again)
		}
		if numbers[i] != int32(i) {
			t.Errorf("%v has number %d of 40", *amount(i), numbers[i])
		}
	}
	z.Drop(numbers[30])
	if z.Drop(numbers[30]); z.Hold(amount(99)) != numbers[30] {
		t.Error("a number that nothing has isn't given out again")
	}
	if again := z.Hold(amount(30)); again != 40 || *z.Amount(numbers[30]) != *amount(99) {
		t.Errorf("%v has number %d, which is that of %v", *amount(30), again, *z.Amount(again))
	}
}

// Names are looked through when there are more than 4096, and then when twice as many are used as were left.
func TestNamesAreForgottenNowAndThen(t *testing.T) {
	n := intern.NewNames()
	next := 0
	grow := func(to int) {
		for ; n.Len() < to; next++ {
			n.Intern(fmt.Sprint(next))
		}
	}
	forget := func(left int) {
		used := make([]bool, n.Numbers())
		for id := range used {
			if n.Name(int32(id)) != "" && left > 0 {
				used[id], left = true, left-1
			}
		}
		n.Forget(used, func(int32) {})
	}
	for _, x := range []struct{ uncrowded, left int }{{4096, 3000}, {6000, 5}, {4096, 4095}, {8190, 1}} {
		grow(x.uncrowded)
		if n.Crowded() {
			t.Errorf("%d names are crowded", n.Len())
		}
		if grow(x.uncrowded + 1); !n.Crowded() {
			t.Errorf("%d names aren't crowded", n.Len())
		}
		if forget(x.left); n.Len() != x.left || n.Crowded() {
			t.Errorf("%d names are left of %d, crowded: %t", n.Len(), x.left, n.Crowded())
		}
	}
}

// A number that was given back is given out once, and forgetting again doesn't tell of it twice.
func TestNumbersAreGivenOutAgain(t *testing.T) {
	n := intern.NewNames()
	for _, name := range []string{"a", "", "c"} {
		n.Intern(name)
	}
	var gone []int32
	none := make([]bool, 3)
	forget := func() { n.Forget(none, func(id int32) { gone = append(gone, id) }) }
	forget()
	forget()
	if !slices.Equal(gone, []int32{0, 1, 2}) || n.Len() != 0 {
		t.Fatalf("%v are forgotten", gone)
	}
	seen := map[int32]string{}
	for _, name := range []string{"d", "e", "f", "g"} {
		id := n.Intern(name)
		if was, twice := seen[id]; twice {
			t.Errorf("%s and %s have number %d", was, name, id)
		}
		seen[id] = name
	}
	if n.Numbers() != 4 {
		t.Errorf("there are %d numbers for 4 names", n.Numbers())
	}
	for id, name := range seen {
		if n.Name(id) != name {
			t.Errorf("%d is %s, not %s", id, n.Name(id), name)
		}
	}
	used := []bool{true, true, false, true}
	gone = nil
	n.Forget(used, func(id int32) { gone = append(gone, id) })
	if !slices.Equal(gone, []int32{2}) || n.Name(2) != "" {
		t.Errorf("%v are forgotten; 2 is %q", gone, n.Name(2))
	}
}

func TestNamesAreLookedThroughWithTheNextLook(t *testing.T) {
	n := intern.NewNames()
	n.Intern("a")
	if n.SetLeast(5); !n.Crowded() {
		t.Error("the next look comes later")
	}
	n.Forget([]bool{true}, func(int32) {})
	if n.Intern("b"); n.Crowded() {
		t.Error("2 of at least 5 names are crowded")
	}
}

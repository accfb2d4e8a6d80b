package class_test

import (
	"testing"

	"heddle/rm/scheduler/class"
	"heddle/yarn/records"
)

func size(mb int64) records.Resource { return records.NewResource(mb, 1) }

func TestClassesOpenAndCloseBySize(t *testing.T) {
	c := class.New()
	small, large := c.Hold(size(1), size(1)), c.Hold(size(8), size(8))
	if again := c.Hold(size(1), size(1)); again != small || small == large {
		t.Fatalf("the small size has the classes %d and %d, the large one %d", small, again, large)
	}
	if want := uint64(1<<small | 1<<large); c.Taken() != want || c.Opened() != want|1<<class.Shared {
		t.Fatalf("%b are taken, %b open", c.Taken(), c.Opened())
	}
	limit := size(4)
	c.CloseFrom(&limit)
	if c.Opened() != 1<<small|1<<class.Shared {
		t.Errorf("from 4 MB on classes are closed: %b are open", c.Opened())
	}
	c.Close(small)
	c.Open(&limit)
	if c.Opened() != 1<<small|1<<class.Shared {
		t.Errorf("a node has 4 MB: %b are open", c.Opened())
	}
	c.Drop(small)
	if c.Taken()&(1<<small) == 0 {
		t.Error("one of two demands went, and the class with it")
	}
	c.Drop(small)
	if c.Taken() != 1<<large {
		t.Errorf("%b are taken", c.Taken())
	}
}

func TestMoreSizesThanClasses(t *testing.T) {
	c := class.New()
	seen := map[uint8]bool{}
	for i := range int64(100) {
		k := c.Hold(size(i+1), size(i+1))
		if seen[k] && k != class.Shared {
			t.Fatalf("two sizes have class %d", k)
		}
		seen[k] = true
		if 1<<k == class.Tight {
			t.Fatal("a class has the bit that says that a queue is tight")
		}
	}
	if !seen[class.Shared] || len(seen) != class.Shared {
		t.Errorf("%d classes were given out", len(seen))
	}
	most := size(1000)
	c.Open(&most)
	c.Drop(class.Shared)
	if c.Opened()&(1<<class.Shared) == 0 {
		t.Error("the shared class is closed")
	}
}

// A class that nothing asks for any more is closed, and its bit is another's: of the new size.
func TestClassesAreGivenOutAgain(t *testing.T) {
	c := class.New()
	c.Hold(size(1), size(1))
	second, third := c.Hold(size(2), records.NewResource(2, 0)), c.Hold(size(3), size(3))
	if got := *c.Size(int(second)); got != records.NewResource(2, 0) {
		t.Errorf("the class of what is measured as 2 MB alone has %v", got)
	}
	c.Drop(second)
	if want := uint64(1 | 1<<third); c.Taken() != want || c.Opened() != want|1<<class.Shared {
		t.Errorf("%b are taken, %b open", c.Taken(), c.Opened())
	}
	again := c.Hold(size(4), size(4))
	if again != second || *c.Size(int(again)) != size(4) {
		t.Errorf("4 MB have class %d, of %v", again, *c.Size(int(again)))
	}
	if other := c.Hold(size(2), size(2)); other == again || other == third {
		t.Errorf("2 MB have the class %d of another size", other)
	}
	c.Close(third)
	if c.Opened()&(1<<third) != 0 || c.Opened() != (c.Taken()|1<<class.Shared)&^(1<<third) {
		t.Errorf("%b are taken, %b open: only %d was closed", c.Taken(), c.Opened(), third)
	}
}

// A node opens what fits on it by every type of resource, and nothing else.
func TestNodesOpenWhatFits(t *testing.T) {
	c := class.New()
	var of [4]uint8
	for i := range of {
		of[i] = c.Hold(size(int64(i+1)), size(int64(i+1)))
		c.Close(of[i])
	}
	if c.Opened() != 1<<class.Shared {
		t.Errorf("all are closed: %b are open", c.Opened())
	}
	free := records.NewResource(9, 0)
	if c.Open(&free); c.Opened() != 1<<class.Shared {
		t.Errorf("without cores there is no room: %b are open", c.Opened())
	}
	free = size(3)
	if c.Open(&free); c.Opened() != 1<<class.Shared|1<<of[0]|1<<of[1]|1<<of[2] {
		t.Errorf("up to 3 MB there is room: %b are open", c.Opened())
	}
}

// Before anything is asked for, only the shared class is open.
func TestANewTableIsOpenToTheSharedClassOnly(t *testing.T) {
	c := class.New()
	if c.Opened() != 1<<class.Shared || c.Taken() != 0 {
		t.Errorf("%b are open, %b taken", c.Opened(), c.Taken())
	}
}

// Whoever looks for large requests doesn't look at each of very many small ones.
func TestSomeCapabilityMeetsACondition(t *testing.T) {
	c := class.New()
	large := func(r *records.Resource) bool { return r[records.Memory] >= 70 }
	some := func(want bool, when string) {
		t.Helper()
		if got := c.Some(large); got != want {
			t.Errorf("%s: %t", when, got)
		}
	}
	some(false, "nothing is asked for")
	small := c.Hold(size(1), size(100)) // what is asked for counts, not what is measured
	some(false, "1 MB is asked for")
	big := c.Hold(size(70), size(1))
	some(true, "70 MB are asked for")
	c.Drop(big)
	some(false, "and no longer")
	c.Drop(small)
	for i := range int64(class.Shared) - 1 {
		c.Hold(size(i), size(i))
	}
	some(false, "each size has a class")
	for range 2 {
		c.Hold(size(69), size(69))
	}
	some(true, "any of those that share a class may be large")
	c.Drop(class.Shared)
	some(true, "one of them is left")
	c.Drop(class.Shared)
	some(false, "none of them is left")
}

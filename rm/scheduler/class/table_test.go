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

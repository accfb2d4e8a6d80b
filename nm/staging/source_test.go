package staging

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// copier makes copies in virtual time: with n at a time one more is made after pace(n).
type copier struct {
	Source
	now    time.Duration
	active int
}

func (c *copier) copies(n int, pace func(n int) time.Duration) *copier {
	for range n {
		for c.active < c.Copies() {
			c.Began(c.now)
			c.active++
		}
		c.now += pace(c.active)
		c.Copied(c.now, 1<<20, 10)
		c.active--
	}
	return c
}

// one is a disk, which gives as much to one reader as to ten; many are disks of which each copy has its own.
func one(int) time.Duration    { return 100 * time.Millisecond }
func many(n int) time.Duration { return 100 * time.Millisecond / time.Duration(n) }

// A disk is read once at a time, but for a trial now and then.
func TestADiskIsReadOnceAtATime(t *testing.T) {
	var c copier
	more := 0
	for range 1000 {
		switch n := c.copies(1, one).Copies(); {
		case n > 2:
			t.Fatalf("%d copies at a time", n)
		case n == 2:
			more++
		}
	}
	if more == 0 || more > 300 {
		t.Errorf("of 1000 copies %d were followed by a second one at a time", more)
	}
}

// Where each copy comes from a disk of its own, ten are soon made at a time, and no more.
func TestManyDisksAreReadAtOnce(t *testing.T) {
	var c copier
	if n := c.copies(60, many).Copies(); n != 10 {
		t.Errorf("%d copies at a time", n)
	}
	for range 300 {
		if n := c.copies(1, many).Copies(); n < 5 || n > 10 {
			t.Fatalf("%d copies at a time", n)
		}
	}
}

// A source may become slower or quicker.
func TestASourceChanges(t *testing.T) {
	var c copier
	for range 3 {
		if n := c.copies(1000, many).Copies(); n < 5 {
			t.Errorf("%d copies of a quick source at a time", n)
		}
		if n := c.copies(1000, one).Copies(); n > 2 {
			t.Errorf("%d copies of a slow source at a time", n)
		}
	}
}

// A source without work, and copies that fail, say nothing of how much is worth while.
func TestIdleTimeIsNotCounted(t *testing.T) {
	var s Source
	now := time.Duration(0)
	for range 100 {
		s.Began(now)
		s.Copied(now+time.Second, 0, 10)
	}
	if s.Copies() != 1 || s.copies != 0 {
		t.Errorf("%d copies at a time after nothing but failures", s.Copies())
	}
	for range countedCopies - 1 {
		now += time.Hour
		s.Began(now)
		now += time.Millisecond
		s.Copied(now, 1000, 10)
	}
	if s.took != (countedCopies-1)*time.Millisecond {
		t.Errorf("copies of a millisecond each, an hour apart, took %v", s.took)
	}
}

// Whatever comes, there is at least one copy at a time, and at most as many as may be.
func TestASourceStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Source
		var now time.Duration
		active, most := 0, rapid.IntRange(1, 12).Draw(t, "most")
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now += time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "ns"))
			if active == 0 || active < 12 && rapid.Bool().Draw(t, "begins") {
				s.Began(now)
				active++
			} else {
				s.Copied(now, rapid.Int64Range(0, 1<<40).Draw(t, "bytes"), most)
				active--
			}
			if s.Copies() < 1 || s.Copies() > most {
				t.Fatalf("%d copies at a time of at most %d", s.Copies(), most)
			}
		}
	})
}

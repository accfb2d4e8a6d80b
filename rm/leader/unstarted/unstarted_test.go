package unstarted

import (
	"testing"
	"time"

	"heddle/yarn/records"
)

func TestHoldsHardlyMoreThanWait(t *testing.T) {
	var l List
	id := func(i int64) records.ContainerID { return records.ContainerID{ID: i} }
	const every = 1000 // of which one is never started
	waits := func(id records.ContainerID) bool { return id.ID%every == 0 }
	begin := time.Unix(1, 0)
	longest := 0
	for i := range int64(1_000_000) {
		l.Add(id(i), begin.Add(time.Duration(i)), waits)
		longest = max(longest, l.len())
	}
	if longest > 2*1_000_000/every+4*partLength {
		t.Errorf("as many as %d are held", longest)
	}
	next := int64(0)
	for _, got := range l.Due(begin.Add(500_000)) {
		if waits(got) {
			if got.ID != next {
				t.Fatalf("%d comes before %d", got.ID, next)
			}
			next += every
		}
	}
	if next != 500_000 { // what is due now itself is not over
		t.Errorf("those before %d are due", next)
	}
	for _, part := range l.parts {
		if part[0].id.ID < 500_000 {
			t.Fatalf("%v is still there", part[0].id)
		}
	}
	if got := l.Due(begin); len(got) != 0 {
		t.Errorf("%d are due before their time", len(got))
	}
}

func (l *List) len() (n int) {
	for _, part := range l.parts {
		n += len(part)
	}
	return n
}

// However many wait, an addition looks at a few.
func TestLooksAtFewAtATime(t *testing.T) {
	var l List
	most := 0
	for i := range int64(300_000) {
		seen := 0
		l.Add(records.ContainerID{ID: i}, time.Unix(1, i), func(records.ContainerID) bool { seen++; return true })
		most = max(most, seen)
	}
	if most > 2*partLength {
		t.Errorf("%d were looked at for one", most)
	}
	if l.len() != 300_000 {
		t.Errorf("%d are left of those that wait", l.len())
	}
}

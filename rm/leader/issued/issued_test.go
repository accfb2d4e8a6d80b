package issued

import (
	"testing"

	"heddle/yarn/records"
)

// The latest ids are remembered, and no more of them than there may be.
func TestLatestIDs(t *testing.T) {
	id := func(n int) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: int32(n)} }
	var s IDs
	if _, ok := s.To(id(0)); ok {
		t.Error("an id is known that nobody was given")
	}
	for n := range most + 2 {
		s.Add(id(n), "alice")
	}
	for n, want := range map[int]bool{0: false, 1: false, 2: true, most + 1: true} {
		if user, ok := s.To(id(n)); ok != want || ok && user != "alice" {
			t.Errorf("id %d: %q, %v", n, user, ok)
		}
	}
	if len(s.to) != most {
		t.Errorf("%d are remembered", len(s.to))
	}
}

package service

import (
	"testing"

	"heddle/rm/leader"
	"heddle/yarn/records"
)

// Messages are shared by all answers, the ends of tokens' identifiers only within one: the next answer may be another user's.
func TestPartsAreSharedByWhatMayHaveThem(t *testing.T) {
	s := New(Config{})
	p := s.parts()
	one, two := records.NewResource(1024, 1), records.NewResource(2048, 1)
	made := 0
	end := func() {
		t.Helper()
		_, err := p.tailOf(1, &leader.Grant{Resource: one}, func() ([]byte, error) {
			made++
			return []byte{1}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	size := p.size(one)
	end()
	end()
	if made != 1 || p.size(one) != size {
		t.Errorf("the end of an identifier was made %d times for equal containers of an answer", made)
	}
	s.done(p)
	end()
	if made != 2 {
		t.Error("the end of an identifier serves another answer")
	}
	if p.size(one) != size || p.size(two).GetMemory() != 2048 || p.size(one) == size {
		t.Error("a size is shared wrongly")
	}
}

// Ids of containers take no more where those of several applications alternate.
func TestIDsOfContainersShareTheirAttempts(t *testing.T) {
	p := New(Config{}).parts()
	id := func(app int32, number int64) records.ContainerID {
		return records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: app}, Attempt: 1}, ID: number}
	}
	of := func(apps int32) float64 {
		n := int64(0)
		return testing.AllocsPerRun(100, func() {
			for i := range int32(8) {
				p.container(id(i%apps, n))
			}
			n++
		})
	}
	if one, several := of(1), of(8); several > one {
		t.Errorf("8 ids take %v allocations, and %v if they are of 8 applications", one, several)
	}
	for _, app := range []int32{3, 11, 3} { // which have the same place
		if got := records.ContainerIDFrom(p.container(id(app, 7))); got != id(app, 7) {
			t.Errorf("%v is told as %v", id(app, 7), got)
		}
	}
}

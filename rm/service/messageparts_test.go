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

package stopped

import (
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

// bucket is a store whose writes are over at once.
type bucket struct{ nmtest.Store }

func (b *bucket) Begin(key string, value []byte) <-chan error { return over(b.Put(key, value)) }
func (b *bucket) BeginDelete(key string) <-chan error         { return over(b.Delete(key)) }

func over(err error) <-chan error {
	done := make(chan error, 1)
	done <- err
	return done
}

func id(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: n}
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// An id is remembered for as long as its token is valid, or as configured if that is longer, also by the next process, and not for ever.
func TestIdsAreRememberedAsLongAsTheirTokensAreValid(t *testing.T) {
	at := time.UnixMilli(1e12)
	b := &bucket{}
	next := func() *Set {
		t.Helper()
		s := New(b, time.Minute, silent())
		s.now = func() time.Time { return at }
		if err := s.Recover(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	has := func(s *Set, want ...int64) {
		t.Helper()
		n := 0
		for i := range int64(6) {
			if s.Has(id(i)) {
				n++
			}
		}
		for _, i := range want {
			if !s.Has(id(i)) {
				t.Errorf("%s is forgotten", id(i))
			}
		}
		if n != len(want) || b.Len() != len(want) {
			t.Errorf("%d ids are remembered, %d are stored, want %v", n, b.Len(), want)
		}
	}
	s := next()
	s.Add(id(1), 0)
	s.Add(id(2), at.Add(time.Hour).UnixMilli())
	s.Add(id(3), at.Add(-time.Hour).UnixMilli())
	s.Add(id(4), 1<<62)
	has(s, 1, 2, 3, 4)
	s = next()
	has(s, 1, 2, 3, 4)
	at = at.Add(2 * time.Minute)
	s.Add(id(5), 0)
	has(s, 2, 4, 5)
	at = at.Add(2 * time.Hour)
	has(next(), 4)
	at = at.Add(most)
	has(next())
}

func TestRecordsThatMakeNoSense(t *testing.T) {
	b := &bucket{}
	for key, value := range map[string]string{"x": "1", id(1).String(): "y", id(2).String(): "", id(3).String(): "99999999999999"} {
		if err := b.Put(key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	s := New(b, time.Minute, silent())
	if err := s.Recover(); err != nil {
		t.Fatal(err)
	}
	if b.Len() != 1 || !s.Has(id(3)) || s.Has(id(1)) {
		t.Errorf("%q are left", b.All())
	}
}

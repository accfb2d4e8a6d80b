package shuffle

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/records"
)

// quiet is a service that doesn't listen, in a synctest bubble.
func quiet(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, dirs: []string{filepath.Join(t.TempDir(), "d0"), filepath.Join(t.TempDir(), "d1")}}
	s, err := New(Config{Dirs: n.dirs})
	if err != nil {
		t.Fatal(err)
	}
	n.Service = s
	n.init(testApp, "alice", testSecret)
	return n
}

// ended tells that a container has ended, and waits until the service has looked.
func (n *node) ended(app records.ApplicationID) {
	n.ContainerEnded(app)
	time.Sleep(2 * lookPause)
	synctest.Wait()
}

// What maps have put out is known soon after their containers have ended, and what is new is told once. Outputs that are broken, or still
// being written, aren't counted until they are good.
func TestTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := quiet(t)
		if list, upTo := n.Totals(0, 9); len(list) > 0 || upTo != 0 {
			t.Errorf("at first: %v up to %d", list, upTo)
		}
		n.stockOutputs()
		n.write(filepath.Join(n.dirs[1], "usercache/alice/appcache", testApp.String(), "output", "stray"), nil)
		n.ended(testApp)
		list, upTo := n.Totals(0, 9)
		if len(list) != 1 || list[0].App != testApp || list[0].Maps != 4 || list[0].Bytes != 15+70306+15+15 {
			t.Fatalf("found %+v", list)
		}
		if list, again := n.Totals(upTo, 9); len(list) > 0 || again != upTo {
			t.Errorf("told again: %v", list)
		}
		n.ended(testApp)
		if list, _ := n.Totals(upTo, 9); len(list) > 0 {
			t.Errorf("nothing new is told: %v", list)
		}
		n.output(0, testApp, "alice", attempt(2), part{7, "hello"}) // it was broken
		n.ended(testApp)
		if list, _ = n.Totals(upTo, 9); len(list) != 1 || list[0].Maps != 5 || list[0].Bytes != 70356 {
			t.Errorf("with one more: %+v", list)
		}

		other := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
		n.ended(other) // nobody has asked for its outputs to be served
		n.init(other, "bob", testSecret)
		n.ended(other)
		n.output(1, other, "bob", attempt(0), part{1, "x"})
		n.ended(other)
		first, at := n.Totals(0, 1)
		rest, _ := n.Totals(at, 1)
		if len(first) != 1 || len(rest) != 1 || first[0].App != testApp || rest[0].App != other || rest[0].Bytes != 1 {
			t.Errorf("one after the other: %+v, then %+v", first, rest)
		}
		if err := n.StopApplication(testApp); err != nil {
			t.Fatal(err)
		}
		n.ended(testApp)
		if list, _ := n.Totals(0, 9); len(list) != 1 || list[0].App != other {
			t.Errorf("when the first application is over: %+v", list)
		}
		n.Stop(t.Context())
		n.ended(other)
	})
}

// An index may say anything: sums stay within bounds.
func TestHostileIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := quiet(t)
		for m := range 3 {
			dir := n.output(0, testApp, "alice", attempt(m), part{1, "x"})
			body := make([]byte, 0, 10*recordSize)
			for range 10 {
				body = append(body, indexRecord(0, 1, math.MaxInt64)...)
			}
			n.write(filepath.Join(dir, indexName), sealed(body))
		}
		n.ended(testApp)
		if list, _ := n.Totals(0, 9); len(list) != 1 || list[0].Maps != 3 || list[0].Bytes != maxBytes {
			t.Errorf("found %+v", list)
		}
		n.Stop(t.Context())
	})
}

// The looks of one service wait for each other, and many ends make one look.
func TestLooksAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := quiet(t)
		n.ContainerEnded(testApp)
		synctest.Wait()
		n.output(0, testApp, "alice", attempt(0), part{1, "x"})
		for range 100 {
			n.ContainerEnded(testApp)
		}
		synctest.Wait()
		if list, _ := n.Totals(0, 9); len(list) > 0 {
			t.Errorf("found %+v before the pause is over", list)
		}
		time.Sleep(lookPause)
		synctest.Wait()
		if list, upTo := n.Totals(0, 9); len(list) != 1 || upTo != 1 {
			t.Errorf("found %+v after it, with change %d", list, upTo)
		}
		n.Stop(t.Context())
		if err := os.RemoveAll(n.dirs[0]); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFetchRate(t *testing.T) {
	var s Service
	now := time.Unix(1000, 0)
	add := func(bytes int64, took time.Duration) { s.fetched.add(now, bytes, took) }
	add(leastSample-1, time.Microsecond)
	add(leastSample, 0)
	if got := s.FetchRate(); got != 0 {
		t.Errorf("nothing was fetched, at %d", got)
	}
	add(100<<20, time.Second)
	add(1<<20, 15*time.Minute) // the reducer stood still
	if got := s.FetchRate(); got < 98<<20 || got > 100<<20 {
		t.Errorf("100 MB in a second are %d MB a second", got>>20)
	}
	for range 20 {
		now = now.Add(halfLife)
		add(100<<20, 10*time.Second)
	}
	if got := s.FetchRate(); got < 10<<20 || got > 11<<20 {
		t.Errorf("10 MB a second for long are %d MB a second", got>>20)
	}
	now = now.Add(-time.Hour) // a clock that is set back
	add(100<<20, 10*time.Second)
	if got := s.FetchRate(); got < 10<<20 || got > 11<<20 {
		t.Errorf("after the clock was set back it is %d MB a second", got>>20)
	}
	now = now.Add(1000 * halfLife)
	add(math.MaxInt64, time.Nanosecond)
	if got := s.FetchRate(); got != 1<<62 {
		t.Errorf("the fastest rate is %d", got)
	}
}

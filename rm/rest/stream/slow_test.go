package stream

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/feed"
)

// slow is a client that takes nothing for a while, from its first event on.
type slow struct {
	strings.Builder
	begun, release chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "event: node") && s.begun != nil {
		close(s.begun)
		s.begun = nil
		<-s.release
	}
	return s.Builder.Write(b)
}

// A client that doesn't take events as fast as they come is told so and cut off, instead of keeping them in memory; what it gets before is in order and without gaps.
func TestASlowReaderIsToldAndCutOff(t *testing.T) {
	f := feed.New()
	s := &Stream{Feed: f, Self: "rm1", Leader: func() string { return "rm1" }}
	out := &slow{begun: make(chan struct{}), release: make(chan struct{})}
	begun := out.begun
	reader := follower{s: s, w: want{begun: true, after: feed.ID{Entry: 1}}, see: func(*feed.Event) bool { return true }, out: out, flush: func() error { return nil }}
	event := func(i uint64) []feed.Event { return []feed.Event{{Kind: feed.Node, What: fmt.Sprintf("nr %d", i)}} }
	f.Add(1, nil)
	f.Add(2, event(2))
	ended := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(ended)
		reader.run(gone)
	}()
	defer close(gone)
	<-begun
	entry := uint64(3)
	const many = 30_000
	for range many {
		f.Add(entry, event(entry))
		entry++
	}
	close(out.release)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it is never cut off")
	}
	text := out.String()
	if !strings.HasSuffix(strings.TrimSpace(text), "Connect again\"}") || !strings.Contains(text, "event: missed") || !strings.Contains(text, "this client is too slow") {
		t.Errorf("it ends with %q", text[max(0, len(text)-300):])
	}
	last := 0
	for _, line := range strings.Split(text, "\n") {
		var n int
		if i := strings.Index(line, `"what":"nr `); i >= 0 {
			if _, err := fmt.Sscanf(line[i:], `"what":"nr %d`, &n); err != nil || last > 0 && n != last+1 {
				t.Fatalf("after %d comes %s (%v)", last, line, err)
			}
			last = n
		}
	}
	if last == 0 || last > many/2 {
		t.Errorf("the last event that it got is %d of %d", last, entry-1)
	}
}

// A client that wants the newest event alone gets one for all that come within half a second, and isn't cut off if it misses others.
func TestTheNewestOfEventsThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New()
		f.Add(1, nil)
		s := &Stream{Feed: f, Self: "rm1", Leader: func() string { return "rm1" }}
		var out strings.Builder
		see := func(e *feed.Event) bool { return e.What != "hidden" }
		reader := follower{s: s, w: want{newest: true}, see: see, out: &out, flush: func() error { return nil }}
		gone := make(chan struct{})
		go reader.run(gone)
		synctest.Wait()
		const many = 30_000 // more than the feed remembers
		for i := range uint64(many) {
			f.Add(2+2*i, []feed.Event{{Kind: feed.Node, What: fmt.Sprint("nr ", i)}})
			f.Add(3+2*i, []feed.Event{{Kind: feed.Application, What: "hidden"}})
		}
		time.Sleep(seldom)
		synctest.Wait()
		f.Add(3+2*many, []feed.Event{{Kind: feed.Node, What: "after"}})
		time.Sleep(2 * seldom)
		close(gone)
		synctest.Wait()
		text := out.String()
		if got := strings.Count(text, "event: node"); got > 3+10_000/batch {
			t.Errorf("it got %d events", got)
		}
		if !strings.Contains(text, fmt.Sprintf(`"what":"nr %d"`, many-1)) || !strings.Contains(text, `"what":"after"`) || strings.Contains(text, "hidden") || strings.Contains(text, "too slow") {
			t.Errorf("it ends with %q", text[max(0, len(text)-600):])
		}
	})
}

// Events of many nodes that come at a time reach a client together.
func TestEventsOfABurstComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New()
		f.Add(1, nil)
		s := &Stream{Feed: f, Self: "rm1", Leader: func() string { return "rm1" }}
		var out strings.Builder
		flushes := 0
		reader := follower{s: s, see: func(*feed.Event) bool { return true }, out: &out, flush: func() error { flushes++; return nil }}
		gone := make(chan struct{})
		go reader.run(gone)
		synctest.Wait()
		const nodes = 1000
		for i := range nodes {
			f.Add(uint64(i)+2, []feed.Event{{Kind: feed.Node, What: "registered"}})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(together)
		close(gone)
		synctest.Wait()
		if got := strings.Count(out.String(), "event: node"); got != nodes {
			t.Errorf("it got %d events, want %d", got, nodes)
		}
		if most := nodes*int(time.Millisecond)/int(together) + 3; flushes > most {
			t.Errorf("%d events of a second came by %d writes, want at most %d", nodes, flushes, most)
		}
	})
}

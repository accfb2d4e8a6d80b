package lending

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/records"
)

var size = records.NewResource

func settings() Settings {
	return Settings{Least: size(1000, 1), Most: size(5000, 9), Longest: 10 * time.Second, Window: time.Minute}
}

func TestWhatIsWanted(t *testing.T) {
	for _, test := range []struct {
		model partition.Model
		wait  time.Duration
		want  records.Resource
	}{
		{partition.Linear, 0, size(1000, 1)},
		{partition.Linear, 5 * time.Second, size(3000, 5)},
		{partition.Square, 5 * time.Second, size(2000, 3)},
		{partition.Root, 2500 * time.Millisecond, size(3000, 5)},
		{partition.Linear, time.Hour, size(5000, 9)},
	} {
		s := settings()
		s.Model = test.model
		if got := s.Want(News{Started: 2, Waited: 2 * test.wait}); got != test.want {
			t.Errorf("%v after %v: %v, not %v", test.model, test.wait, got, test.want)
		}
	}
	fixed := Settings{Least: size(7, 7)}
	if got := fixed.Want(News{Started: 1, Waited: time.Hour}); got != fixed.Least {
		t.Errorf("%v", got)
	}
}

// Nodes that promise in vain are lent more, however short the waits that they tell of. A few promises prove nothing, and one in twenty may be broken.
func TestBrokenQuotes(t *testing.T) {
	s := settings()
	for _, test := range []struct{ quotes, broken, want int64 }{{1000, 50, 1}, {1000, 525, 5}, {1000, 1000, 9}, {19, 19, 1}, {20, 20, 9}} {
		if got := s.Want(News{Started: 5, Waited: time.Millisecond, Quotes: test.quotes, Broken: test.broken}); got.VCores() != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if got := s.Want(News{Started: 1, Waited: time.Hour, Quotes: 100}); got != s.Most {
		t.Errorf("long waits that were promised: %v", got)
	}
}

func TestWrongSettings(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"":                     func(*Settings) {},
		"nothing without":      func(s *Settings) { s.Least = records.Resource{} },
		"which is more than":   func(s *Settings) { s.Least = size(6000, 1) },
		"the longest wait of ": func(s *Settings) { s.Longest = 0 },
		"the window of ":       func(s *Settings) { s.Window = -1 },
	} {
		s := settings()
		change(&s)
		if err := s.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestWindowsEnd(t *testing.T) {
	var w Windows
	a := records.NodeID{Host: "a", Port: 1}
	now := time.Unix(0, 0)
	if _, ended := w.Next(now, time.Minute); ended {
		t.Error("the first window ends when it begins")
	}
	w.Heard(a, News{Started: 2, Waited: 6 * time.Second, Quotes: 5})
	w.Heard(a, News{Started: 1, Broken: 2})
	if _, ended := w.Next(now.Add(59*time.Second), time.Minute); ended {
		t.Error("a window ends early")
	}
	if told, ended := w.Next(now.Add(time.Minute), time.Minute); !ended || told != (News{Started: 3, Waited: 6 * time.Second, Quotes: 5, Broken: 2}) || told.wait() != 2*time.Second {
		t.Errorf("%+v, %v", told, ended)
	}
	if told, ended := w.Next(now.Add(2*time.Minute), time.Minute); !ended || told != (News{}) || told.wait() != 0 {
		t.Errorf("without tasks: %+v, %v", told, ended)
	}
	w.Heard(a, News{Started: 1, Waited: math.MaxInt64})
	w.Heard(a, News{Started: 1, Waited: math.MaxInt64, Waiting: 1, Ages: math.MaxInt64})
	if told, _ := w.Next(now.Add(time.Hour), time.Minute); told.wait() <= 0 {
		t.Errorf("waits of centuries: %+v", told)
	}
}

// Where no task starts, those that wait count, as long as they do.
func TestTasksThatWaitCountWhereNothingStarts(t *testing.T) {
	var w Windows
	s, now := settings(), time.Unix(0, 0)
	a, b := records.NodeID{Host: "a", Port: 1}, records.NodeID{Host: "b", Port: 1}
	w.Next(now, time.Minute)
	want := func(vcores int64) {
		t.Helper()
		now = now.Add(time.Minute)
		if told, ended := w.Next(now, time.Minute); !ended || s.Want(told).VCores() != vcores {
			t.Errorf("%+v, %v: %v is lent", told, ended, s.Want(told))
		}
	}
	w.Heard(a, News{Waiting: 3, Ages: 3 * time.Minute})
	want(9)
	want(9) // nothing has changed
	w.Heard(a, News{Waiting: 3, Ages: 3 * time.Second})
	w.Heard(b, News{Waiting: 1, Ages: 17 * time.Second, Started: 1, Waited: 5 * time.Second})
	want(5) // a mean of 5 s
	w.Heard(a, News{})
	w.Forget(b)
	want(1)
	if tasks, sum := w.Waiting(); tasks != 0 || sum != 0 || len(w.waits) > 0 {
		t.Errorf("%d tasks wait for %v", tasks, sum)
	}
}

func TestNodesBegin(t *testing.T) {
	s, total, smallest := settings(), size(8000, 8), size(500, 1)
	for _, test := range []struct{ total, before, charged, told records.Resource }{
		{total, size(0, 0), s.Least, s.Least},
		{total, size(3000, 1), size(3000, 1), s.Least}, // it may still use it
		{total, size(9000, 1), size(8000, 1), s.Least},
		{size(1400, 8), size(0, 0), size(0, 0), size(0, 0)},
	} {
		if n := Begin(&s, test.total, test.before, smallest); n.Charged != test.charged || n.Told != test.told {
			t.Errorf("%v: %+v", test, n)
		}
	}
}

// Whatever happens, what a node was told at some time and may still use is charged, and charges are within what was free.
func TestNothingIsGivenTwice(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		total := size(10000, 10)
		n := Node{}
		var lent, used records.Resource // at the node
		var containers records.Resource
		for range 500 {
			free := total.Sub(n.Charged).Sub(containers)
			switch r.IntN(7) {
			case 0:
				n.Set(size(r.Int64N(10000), r.Int64N(10)), free)
			case 1: // the node hears, and uses what it may
				lent = n.Told
				if used.FitsIn(lent) {
					used = size(r.Int64N(lent[0]+1), r.Int64N(lent[1]+1))
				}
			case 2: // tasks end
				used = size(used[0]/2, used[1]/2)
			case 3:
				n.Heard(lent, used)
			case 4: // the scheduler gives containers what is free
				rest := total.Sub(n.Charged)
				containers = size(r.Int64N(rest[0]+1), r.Int64N(rest[1]+1))
			case 5: // a container is suspended, and has its room there later; or another one ends
				n.SetRoom(size(r.Int64N(containers[0]+1), r.Int64N(containers[1]+1)), free, false)
			case 6:
				n.SetRoom(n.Room, free, r.IntN(2) == 0)
			}
			if !n.Told.FitsIn(n.Charged) || !used.Add(containers).FitsIn(total) {
				t.Fatalf("seed %d: %+v, the node uses %v of %v, containers %v of %v", seed, n, used, lent, containers, total)
			}
		}
	}
}

package warming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
)

// node is a node whose DataNode has all files, of zeros, each of a size.
type node struct {
	*Warmer
	mu   sync.Mutex
	seen []string // what was read: user, file and offset
	fail error
	hang bool // reads wait for the end of their context
}

func newNode(t *testing.T, cfg Config) *node {
	n := &node{}
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg.Log, cfg.Open = logrus.NewEntry(log), n.open
	n.Warmer = New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { n.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return n
}

func (n *node) open(ctx context.Context, user, file string) (File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return nil, n.fail
	}
	z := &zeros{n: n, name: user + ":" + file}
	if n.hang {
		z.hang = ctx
	}
	return z, nil
}

type zeros struct {
	n    *node
	name string
	hang context.Context // nil: reads don't wait
}

func (z *zeros) Seek(off int64, _ int) (int64, error) {
	z.n.mu.Lock()
	z.n.seen = append(z.n.seen, fmt.Sprint(z.name, "@", off))
	z.n.mu.Unlock()
	return off, nil
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.hang == nil {
		return len(p), nil
	}
	<-z.hang.Done()
	return 0, z.hang.Err()
}

func (z *zeros) Close() error { return nil }

func (n *node) read(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.seen, want) {
		t.Errorf("read %v, want %v", n.seen, want)
	}
	n.seen = nil
}

func (n *node) metricBytes(t *testing.T) int64 {
	t.Helper()
	var m dto.Metric
	if err := n.metrics.bytes.Write(&m); err != nil {
		t.Fatal(err)
	}
	return int64(m.GetCounter().GetValue())
}

func appID(i int32) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1, ID: i}
}

// order has n ranges of a size, all on this node.
func order(app int32, n int, size int64) Order {
	o := Order{App: appID(app), User: "alice", Total: n, Waiting: n}
	for i := range n {
		o.Ranges = append(o.Ranges, Range{File: fmt.Sprint("/", app), Offset: int64(i), Length: size, Position: i})
	}
	return o
}

func inBubble(t *testing.T, cfg Config, test func(t *testing.T, n *node)) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, cfg)
		test(t, n)
	})
}

var generous = Config{Window: 30, Rate: 1 << 40, Readers: 1}

// What waits is read in order, as much as the window holds; the start of a map makes room for another one's input.
func TestWindowMovesWithTheMaps(t *testing.T) {
	inBubble(t, generous, func(t *testing.T, n *node) {
		pass := func() { time.Sleep(time.Second) }
		n.Order(order(1, 6, 10))
		pass()
		n.read(t, "alice:/1@0", "alice:/1@1", "alice:/1@2")
		waits := func(left int) {
			n.Order(Order{App: appID(1), Total: 6, Waiting: left})
			pass()
		}
		waits(6)
		n.read(t)
		waits(4)
		n.read(t, "alice:/1@3", "alice:/1@4")
		waits(5) // an old word
		n.read(t)
		if held := n.Held(); held != 30 {
			t.Errorf("%d bytes are held", held)
		}
		waits(1)
		n.read(t, "alice:/1@5")
		waits(0)
		n.read(t)
		if held := n.Held(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
		waits(3) // of a job that is over
		n.read(t)
	})
}

// Maps whose input is read elsewhere move the list as well, and a range larger than the window is read as far as that goes.
func TestPositionsAreThoseOfTheHostsList(t *testing.T) {
	inBubble(t, generous, func(t *testing.T, n *node) {
		o := order(1, 0, 0)
		o.Total, o.Waiting = 10, 7
		o.Ranges = []Range{{"/a", 0, 10, 2}, {"/b", 0, 10, 3}, {"/c", 0, 100, 9}}
		n.Order(o)
		n.read(t, "alice:/b@0")
		n.Order(Order{App: appID(1), Total: 10, Waiting: 6})
		n.read(t, "alice:/c@0")
		if held := n.Held(); held != 30 {
			t.Errorf("%d bytes are held", held)
		}
	})
}

func TestJobsShareTheWindow(t *testing.T) {
	inBubble(t, Config{Window: 40, Rate: 1 << 40, Readers: 1}, func(t *testing.T, n *node) {
		n.Order(order(1, 2, 10))
		n.Order(order(2, 9, 10))
		n.read(t, "alice:/1@0", "alice:/2@0", "alice:/1@1", "alice:/2@1")
		n.End(appID(1))
		n.Order(Order{App: appID(2), Total: 9, Waiting: 8})
		n.read(t, "alice:/2@2", "alice:/2@3", "alice:/2@4")
	})
}

func TestReadersKeepToTheRate(t *testing.T) {
	inBubble(t, Config{Window: 1 << 30, Rate: 1 << 20, Readers: 3}, func(t *testing.T, n *node) {
		began := time.Now()
		n.Order(order(1, 8, 1<<20))
		for n.metricBytes(t) < 8<<20 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("8 MiB at 1 MiB a second took %v", took)
		}
	})
}

// A job whose input can't be read costs one try; others go on.
func TestUnreadableInputEndsTheWarmingOfItsJob(t *testing.T) {
	inBubble(t, generous, func(t *testing.T, n *node) {
		n.mu.Lock()
		n.fail = errors.New("permission denied")
		n.mu.Unlock()
		n.Order(order(1, 3, 10))
		n.read(t)
		n.mu.Lock()
		n.fail = nil
		n.mu.Unlock()
		if held := n.Held(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
		n.Order(Order{App: appID(1), Total: 3, Waiting: 2})
		n.read(t)
		n.Order(order(2, 1, 10))
		n.read(t, "alice:/2@0")
	})
}

// A DataNode that gives nothing keeps no reader from other jobs, once its job is over. That is no failure.
func TestTheEndOfAJobEndsItsReads(t *testing.T) {
	for what, end := range map[string]func(n *node){
		"ended":           func(n *node) { n.End(appID(1)) },
		"no map waits":    func(n *node) { n.Order(Order{App: appID(1)}) },
		"its AM has gone": func(n *node) { n.Order(Order{App: appID(1), Total: 2}); n.End(appID(1)) },
	} {
		inBubble(t, generous, func(t *testing.T, n *node) {
			n.mu.Lock()
			n.hang = true
			n.mu.Unlock()
			n.Order(order(1, 2, 10))
			n.read(t, "alice:/1@0")
			n.mu.Lock()
			n.hang = false
			n.mu.Unlock()
			n.Order(order(2, 1, 10))
			n.read(t)
			end(n)
			n.read(t, "alice:/2@0")
			var m dto.Metric
			if err := n.metrics.failures.Write(&m); err != nil || m.GetCounter().GetValue() != 0 {
				t.Errorf("%s: %v failures, %v", what, m.GetCounter().GetValue(), err)
			}
		})
	}
}

func TestInputsAreToldToEachResourceManager(t *testing.T) {
	w := New(generous)
	told := func(want int) []*Input {
		t.Helper()
		all := w.Inputs()
		if len(all) != want {
			t.Fatalf("%d inputs are to be told, want %d", len(all), want)
		}
		return all
	}
	learn := func(in *Input) {
		w.Begin(in.App, "alice")
		w.Learn(t.Context(), in)
	}
	learn(&Input{App: appID(1)})
	learn(&Input{App: appID(2)})
	all := told(2)
	learn(&Input{App: appID(2)}) // a second attempt, before the word of the first has arrived
	w.Told(all, nil)
	if left := told(1); left[0].App != appID(2) {
		t.Errorf("%v is left", left[0].App)
	}
	w.Reset()
	told(2)
	w.End(appID(1))
	told(1)
	for i := range int32(2 * maxInputs) {
		learn(&Input{App: appID(100 + i)})
	}
	told(maxInputs)
	w.Reset()
	for i := range int32(2 * maxInputs) {
		w.End(appID(100 + i))
		learn(&Input{App: appID(100 + i), Splits: make([]Split, maxHeld/2)})
	}
	told(3) // with the second job, which has none, two of so many splits
}

// The ResourceManager hears for how many maps the input is in memory, when that changes, and each ResourceManager anew.
func TestWhatIsInMemoryIsTold(t *testing.T) {
	inBubble(t, generous, func(t *testing.T, n *node) {
		told := func(what string, want ...Staged) {
			t.Helper()
			synctest.Wait()
			got := n.Staged()
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
			n.Told(nil, got)
			if again := n.Staged(); len(again) > 0 {
				t.Errorf("%s: %v again", what, again)
			}
		}
		told("at first")
		n.Order(order(1, 6, 10))
		told("the window is full", Staged{App: appID(1), Maps: 3})
		n.Order(Order{App: appID(1), Total: 6, Waiting: 5})
		told("one more instead of one")
		n.Order(Order{App: appID(1), Total: 6, Waiting: 1})
		told("one is left", Staged{App: appID(1), Maps: 1})
		n.Reset()
		told("nothing, as the orders are gone")
		n.Order(order(3, 1, 10))
		told("another job", Staged{App: appID(3), Maps: 1})
		n.End(appID(3))
		told("it has ended", Staged{App: appID(3)})
	})
}

// A range that is being read isn't in memory.
func TestWhatIsBeingReadIsNotInMemory(t *testing.T) {
	inBubble(t, Config{Window: 1 << 30, Rate: 1 << 20, Readers: 1}, func(t *testing.T, n *node) {
		n.Order(order(1, 2, 4<<20))
		synctest.Wait()
		if got := n.Staged(); len(got) > 0 {
			t.Errorf("%v", got)
		}
		time.Sleep(6 * time.Second)
		if got := n.Staged(); !slices.Equal(got, []Staged{{App: appID(1), Maps: 1}}) {
			t.Errorf("%v", got)
		}
	})
}

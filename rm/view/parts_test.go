package view

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// history is a ledger with many ended applications, as a member holds it: changes wait for readers.
type history struct {
	sync.RWMutex
	state   *ledger.State
	reads   int
	between func() // is called after each read
}

func (h *history) Leader() *leader.Leader { return nil }

func (h *history) Read(f func(*ledger.State)) {
	h.RLock()
	f(h.state)
	h.RUnlock()
	if h.between != nil {
		h.reads++
		h.between()
	}
}

func appID(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

func newHistory(n int32) *history {
	h := &history{state: ledger.New()}
	for i := range n {
		id := appID(i + 1)
		ctx := &pb.ApplicationSubmissionContext{}
		ctx.SetApplicationName(fmt.Sprint("job ", i))
		ctx.SetApplicationTags([]string{"a", "b"})
		h.state.Apps[id] = &ledger.Application{
			ID: id, User: "alice", Queue: "root.default", State: ledger.AppFinished, Context: ctx, SubmitTime: 1, FinishTime: 2,
			Attempts: []*ledger.Attempt{{ID: records.AttemptID{App: id, Attempt: 1}, State: ledger.AttemptFinished, LaunchTime: 1}},
		}
	}
	return h
}

func (h *history) viewer() *Viewer { return &Viewer{Source: h, Now: time.Now} }

// A view of 15,000 ended applications kept the ledger from changing until it was complete, and with it each submission.
func TestALongHistoryDoesntHoldChangesUp(t *testing.T) {
	const n = 15_000
	for name, view := range map[string]func(*Viewer) int{
		"applications": func(v *Viewer) int { return len(v.Apps(Filter{})) },
		"live ones":    func(v *Viewer) int { return n + len(v.Live()) },
		"metrics":      func(v *Viewer) int { return n + int(v.Metrics().Running) },
		"masters":      func(v *Viewer) int { return int(v.Masters().Launched.Count) + n },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(n)
			h.between = func() {
				if !h.TryLock() {
					t.Fatal("the ledger can't change between two parts")
				}
				h.Unlock()
			}
			if got := view(h.viewer()); got < n {
				t.Errorf("it has %d applications", got)
			}
			if h.reads < n/partSize {
				t.Errorf("it was built in %d parts: each may have %d applications", h.reads, partSize)
			}
		})
	}
}

// Applications that go or come while a view is built are left out, and don't disturb it.
func TestAHistoryThatChangesWhileItIsRead(t *testing.T) {
	h := newHistory(1000)
	h.between = func() {
		h.Lock()
		defer h.Unlock()
		delete(h.state.Apps, appID(int32(h.reads)))
		id := appID(int32(2000 + h.reads))
		h.state.Apps[id] = &ledger.Application{ID: id, State: ledger.AppFinished, Context: &pb.ApplicationSubmissionContext{}}
	}
	apps := h.viewer().Apps(Filter{})
	if !slices.IsSortedFunc(apps, func(a, b App) int { return a.ID.Compare(b.ID) }) {
		t.Error("they aren't in the order of their ids")
	}
	if n := len(apps); n < 1000-h.reads || n >= 1000 || apps[n-1].ID != appID(2001) || apps[n-2].ID != appID(1000) { // 2001 came before the view began to list
		t.Errorf("%d applications in %d parts", n, h.reads)
	}
}

// A limit admits the newest ones, and no more of the history is looked at than they need.
func TestALimitReadsLittleOfTheHistory(t *testing.T) {
	h := newHistory(15_000)
	h.between = func() {}
	apps := h.viewer().Apps(Filter{Limit: 3, States: []pb.YarnApplicationState{pb.YarnApplicationState_FINISHED}})
	if len(apps) != 3 || apps[0].ID != appID(14_998) || apps[2].ID != appID(15_000) {
		t.Errorf("%+v", apps)
	}
	if h.reads > 5 {
		t.Errorf("it took %d reads", h.reads)
	}
}

// How long a change of the ledger waits while four readers list the whole history again and again.
func BenchmarkChangesBesideReaders(b *testing.B) {
	for _, n := range []int32{15_000, 100_000} {
		b.Run(fmt.Sprint("ended=", n), func(b *testing.B) {
			h := newHistory(n)
			end := make(chan struct{})
			var readers sync.WaitGroup
			for range 4 {
				readers.Go(func() {
					for {
						select {
						case <-end:
							return
						default:
							h.viewer().Apps(Filter{})
						}
					}
				})
			}
			var waits []time.Duration
			for b.Loop() {
				began := time.Now()
				h.Lock()
				waits = append(waits, time.Since(began))
				h.Unlock()
				time.Sleep(time.Millisecond)
			}
			close(end)
			readers.Wait()
			slices.Sort(waits)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "ms-p50")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "ms-p99")
			b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "ms-max")
		})
	}
}

// A list of the whole history held each of its applications in memory several times before the first byte of it was sent.
func TestALongListIsNeverInMemoryAsAWhole(t *testing.T) {
	h := newHistory(15_000)
	most, n := 0, 0
	last := appID(15_001)
	for a := range h.viewer().Each(Filter{Limit: 14_000}, func(apps []App) { most = max(most, len(apps)) }) {
		if a.ID.Compare(last) >= 0 {
			t.Fatalf("%v follows %v", a.ID, last)
		}
		last = a.ID
		n++
	}
	if n != 14_000 || last != appID(1001) || most > chunk {
		t.Errorf("%d applications down to %v, %d at a time", n, last, most)
	}
	for range h.viewer().Each(Filter{}) { // a reader that leaves
		h.reads = 0
		h.between = func() {}
		break
	}
	if h.reads > 0 {
		t.Errorf("%d parts were read for a reader that left", h.reads)
	}
}

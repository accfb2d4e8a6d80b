package view

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// unled is a ledger that nobody leads.
type unled struct{ state *ledger.State }

func (u unled) Read(f func(*ledger.State)) { f(u.state) }

func (u unled) Leader() *leader.Leader { return nil }

// A scan shows each application of the ledger once, as it is now, whatever came, ended and went between scans. What it remembers goes with the ledger's.
func TestAScanShowsTheLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := ledger.New()
		v := NewRows(&Viewer{Source: unled{state}})
		gone := map[records.ApplicationID]bool{} // an id is never used again
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := records.ApplicationID{ClusterTimestamp: rapid.Int64Range(1, 2).Draw(t, "cluster"), ID: rapid.SampledFrom([]int32{1, 2, 1023, 1024, 5000}).Draw(t, "number")}
			switch a := state.Apps[id]; {
			case gone[id]:
			case a == nil:
				ctx := &pb.ApplicationSubmissionContext{}
				ctx.SetApplicationName(fmt.Sprint("name of ", id))
				state.Apps[id] = &ledger.Application{ID: id, User: "u", Queue: "root.q", Context: ctx, SubmitTime: 5, Live: 2}
			case rapid.Bool().Draw(t, "goes"):
				delete(state.Apps, id)
				gone[id] = true
			case !a.State.Ended():
				a.State, a.FinishTime = ledger.AppFailed, 9
			default: // its last containers end after it
				a.Live = 0
			}
			if rapid.Bool().Draw(t, "scan") {
				check(t, v, state)
			}
		}
		check(t, v, state)
		state.Apps = map[records.ApplicationID]*ledger.Application{}
		check(t, v, state)
		if n := len(v.ended.blocks); n > 0 {
			t.Fatalf("%d blocks of rows are kept of applications that are gone", n)
		}
	})
}

func check(t *rapid.T, v *Rows, state *ledger.State) {
	seen := map[records.ApplicationID]bool{}
	v.Apps(func(r *AppRow) bool {
		a := state.Apps[r.ID]
		if a == nil || seen[r.ID] {
			t.Fatalf("%v is shown, and is not there, or shown twice", r.ID)
		}
		seen[r.ID] = true
		if r.State != a.State || r.Finished != a.FinishTime || r.Containers != a.Live || r.User != "u" || r.Queue != "root.q" || r.Submitted != 5 || r.Name() != fmt.Sprint("name of ", r.ID) {
			t.Fatalf("%v is shown as %+v, and is %+v", r.ID, r, a)
		}
		return true
	})
	if len(seen) != len(state.Apps) {
		t.Fatalf("%d of %d applications are shown", len(seen), len(state.Apps))
	}
}

// Whoever has seen enough ends the scan, and the next one works.
func TestAScanEndsEarly(t *testing.T) {
	state := ledger.New()
	for n := range int32(2000) {
		id := records.ApplicationID{ClusterTimestamp: 1, ID: n}
		a := &ledger.Application{ID: id, Context: &pb.ApplicationSubmissionContext{}}
		if n%2 == 0 {
			a.State = ledger.AppFinished
		}
		state.Apps[id] = a
	}
	v := NewRows(&Viewer{Source: unled{state}})
	for _, want := range []int{1, 999, 1500, 2000, 3} {
		n := 0
		v.Apps(func(*AppRow) bool {
			n++
			return n < want
		})
		if n != want {
			t.Errorf("the scan went on to %d, after %d it should have ended", n, want)
		}
	}
}

// locked is a ledger that changes while others read it.
type locked struct {
	mu    *sync.RWMutex
	state *ledger.State
}

func (l locked) Read(f func(*ledger.State)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	f(l.state)
}

func (l locked) Leader() *leader.Leader { return nil }

// Scans at the same time, while applications come, end and go, show none twice, and each that is there throughout.
func TestScansAtTheSameTime(t *testing.T) {
	source := locked{&sync.RWMutex{}, ledger.New()}
	at := func(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }
	const stay, pass = 1500, 3000
	for n := range int32(stay) {
		source.state.Apps[at(n)] = &ledger.Application{ID: at(n), Context: &pb.ApplicationSubmissionContext{}, State: ledger.AppState(n % 2 * int32(ledger.AppFailed))}
	}
	x := NewRows(&Viewer{Source: source})
	var scans sync.WaitGroup
	over := make(chan struct{})
	for range 3 {
		scans.Go(func() {
			for {
				seen := map[records.ApplicationID]bool{}
				x.Apps(func(r *AppRow) bool {
					if seen[r.ID] {
						t.Errorf("%v is shown twice", r.ID)
					}
					seen[r.ID] = true
					return true
				})
				for n := range int32(stay) {
					if !seen[at(n)] {
						t.Errorf("%v isn't shown", at(n))
					}
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	for n := int32(stay); n < pass; n++ {
		source.mu.Lock()
		source.state.Apps[at(n)] = &ledger.Application{ID: at(n), Context: &pb.ApplicationSubmissionContext{}}
		if a := source.state.Apps[at(n-20)]; n >= stay+20 {
			a.State = ledger.AppFinished
		}
		if n >= stay+40 {
			delete(source.state.Apps, at(n-40))
		}
		source.mu.Unlock()
	}
	close(over)
	scans.Wait()
}

package pastapps

import (
	"slices"
	"testing"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

func id(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

func TestTheOldestGoFirst(t *testing.T) {
	s := ledger.New()
	for n, finished := range map[int32]int64{1: 30, 2: 10, 3: 20, 4: 20, 5: 0} {
		app := &ledger.Application{ID: id(n), State: ledger.AppKilled, FinishTime: finished}
		if n == 5 {
			app.State = ledger.AppRunning
		}
		s.Apps[app.ID] = app
	}
	var a Apps
	a.Begin(s)
	a.Add(id(5))
	var got []records.ApplicationID
	for a.Len() > 0 {
		got = append(got, a.Take())
	}
	if want := []records.ApplicationID{id(2), id(3), id(4), id(1), id(5)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Each end of an application sorted all that had ended before.
func TestAnEndLooksAtTheOldestAlone(t *testing.T) {
	var a Apps
	for n := range int32(100_000) {
		a.Add(id(n))
	}
	next := int32(100_000)
	if allocs := testing.AllocsPerRun(1000, func() {
		a.Add(id(next))
		if gone := a.Take(); gone != id(next-100_000) {
			t.Fatalf("%v", gone)
		}
		next++
	}); allocs > 0 {
		t.Errorf("%v allocations for an end", allocs)
	}
}

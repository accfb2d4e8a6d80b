package usage

import (
	"fmt"
	"testing"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// A sample holds up the leader's loop, once in 10 s.
func BenchmarkSampleOf10000Applications(b *testing.B) {
	loop := looptest.New(b)
	c := cluster{map[scheduler.AppHandle]int64{}, map[records.ApplicationID]scheduler.AppHandle{}}
	for n := range int32(10_000) {
		loop.State.Apps[id(n)] = &ledger.Application{ID: id(n), User: fmt.Sprint("u", n%500), Queue: fmt.Sprintf("root.q%d.r%d", n%10, n%100), Used: records.NewResource(2048, 2), Live: 2}
		c.apps[id(n)] = scheduler.AppHandle(n)
	}
	s := New(loop, loop.State, Config{Enabled: true, Scheduler: c, Apps: c})
	b.ReportAllocs()
	for b.Loop() {
		bounded(s.sample())
	}
}

package usage

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	history "heddle/rm/ledger/usage"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// cluster is what the scheduler says.
type cluster struct {
	pending map[scheduler.AppHandle]int64
	apps    map[records.ApplicationID]scheduler.AppHandle
}

func (c cluster) Pending(h scheduler.AppHandle) int64 { return c.pending[h] }
func (c cluster) PendingResource(h scheduler.AppHandle) records.Resource {
	return records.NewResource(1024, 1).Times(c.pending[h])
}

func (c cluster) Queues() []scheduler.QueueView {
	return []scheduler.QueueView{{Path: "root", Guaranteed: records.NewResource(8192, 8)}, {Path: "root.a", Guaranteed: records.NewResource(4096, 4)}}
}

func (c cluster) App(id records.ApplicationID) (scheduler.AppHandle, float32, bool) {
	h, ok := c.apps[id]
	return h, 0, ok
}

func id(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

// Each 10 s what an application has and waits for is entered for its user, its queue and all above that; what has gone is 0 from then on.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := looptest.New(t)
		loop.State.Version = ledger.UsageVersion
		c := cluster{map[scheduler.AppHandle]int64{1: 3}, map[records.ApplicationID]scheduler.AppHandle{id(1): 1, id(2): 2}}
		for n, of := range map[int32][2]string{1: {"ann", "root.a.b"}, 2: {"bob", "root.a"}} {
			loop.State.Apps[id(n)] = &ledger.Application{ID: id(n), User: of[0], Queue: of[1], Used: records.NewResource(2048, 2), Live: 2}
		}
		s := New(loop, loop.State, Config{Enabled: true, Scheduler: c, Apps: c, Date: time.Now})
		tick := func() {
			for range 10 {
				_ = loop.Do(func() error { s.Tick(time.Now()); return nil })
				time.Sleep(time.Second)
			}
		}
		tick()
		tick()
		delete(loop.State.Apps, id(2))
		delete(c.apps, id(2))
		tick()
		begun := time.Now().Add(-30 * time.Second).UnixMilli()
		read := func(name string) (out []string) {
			for p := range loop.State.Usage.Read(name, begun, begun+30_000, history.Step) {
				f := p.Sum
				out = append(out, fmt.Sprint(f[history.GuaranteedMB], f[history.UsedMB], f[history.Containers], f[history.PendingContainers], f[history.PendingMB]))
			}
			return out
		}
		for name, want := range map[string]string{
			history.Cluster:           "[0 4096 4 3 3072 0 4096 4 3 3072 0 2048 2 3 3072]",
			history.Queue("root"):     "[8192 4096 4 3 3072 8192 4096 4 3 3072 8192 2048 2 3 3072]",
			history.Queue("root.a"):   "[4096 4096 4 3 3072 4096 4096 4 3 3072 4096 2048 2 3 3072]",
			history.Queue("root.a.b"): "[0 2048 2 3 3072 0 2048 2 3 3072 0 2048 2 3 3072]",
			history.User("ann"):       "[0 2048 2 3 3072 0 2048 2 3 3072 0 2048 2 3 3072]",
			history.User("bob"):       "[0 2048 2 0 0 0 2048 2 0 0 0 0 0 0 0]",
		} {
			if got := fmt.Sprint(read(name)); got != want {
				t.Errorf("%q: %s, and not %s", name, got, want)
			}
		}
	})
}

// A sample has a bound, whatever users call themselves: the users with least are one.
func TestASampleIsBounded(t *testing.T) {
	all := map[string]*history.Figures{history.Cluster: {history.UsedMB: 1}, history.User("idle"): {}}
	for i := range 2 * maxUsers {
		all[history.User(fmt.Sprintf("u%05d", i))] = &history.Figures{history.UsedMB: int64(i) + 1}
		all[history.Queue(fmt.Sprintf("root.q%05d", i))] = &history.Figures{history.UsedMB: int64(i) + 1}
	}
	got := bounded(all)
	if len(got) != 1+maxQueues+maxUsers+1 {
		t.Errorf("%d series", len(got))
	}
	if f := got[history.User(others)]; f[history.UsedMB] != maxUsers*(maxUsers+1)/2 {
		t.Errorf("the others have %d", f[history.UsedMB])
	}
	if _, ok := got[history.User("idle")]; ok {
		t.Error("a user who has nothing has a series")
	}
}

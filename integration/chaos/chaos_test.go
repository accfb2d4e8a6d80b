package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/integration/history"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
)

// binary is the binary under test. It checks what must always hold as it goes, and panics if it doesn't.
var binary string

func TestMain(m *testing.M) {
	path, remove, err := hadooplab.BuildHeddle("invariants")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// world is some ResourceManagers and those who work on them.
type world struct {
	*daemons.Cluster
	*history.World
	tb     testing.TB
	cancel context.CancelFunc
	peers  sync.WaitGroup
}

// newWorld starts everybody, after the daemons' folders were prepared. They are stopped when the test ends.
func newWorld(tb testing.TB, prepare ...func(*daemons.Cluster)) *world {
	tb.Helper()
	return worldOf(tb, daemons.Options{ResourceManagers: 3}, prepare...)
}

// worldOf is newWorld with other members.
func worldOf(tb testing.TB, o daemons.Options, prepare ...func(*daemons.Cluster)) *world {
	tb.Helper()
	o.Binary, o.Dir = binary, tb.TempDir()
	o.Set = map[string]string{"heddle.raft.snapshot-threshold": "500", "heddle.raft.snapshot-interval-ms": "500"}
	c := cluster.New(tb, o)
	for _, f := range prepare {
		f(c)
	}
	client := ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 3 * time.Second})
	w := &world{Cluster: c, tb: tb, World: history.New(history.Options{
		Addresses: c.Addresses, Client: client, Nodes: 4, Capacity: 4, Container: records.NewResource(1024, 1),
		Masters: 4, Submitters: 3, Patience: patience, Name: "chaos",
	})}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	tb.Cleanup(func() {
		w.rest()
		client.Close()
	})
	if err := c.StartAll(); err != nil {
		tb.Fatal(err)
	}
	w.leader("")
	if err := w.Run(ctx, &w.peers); err != nil {
		tb.Fatal(err)
	}
	return w
}

// rest waits until nobody works any more.
func (w *world) rest() {
	w.cancel()
	w.peers.Wait()
}

// leader waits until a ResourceManager leads, other than the one to be passed over.
func (w *world) leader(other string) string {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id, err := w.Leader(ctx, other)
	if err != nil {
		w.tb.Fatal(err)
	}
	return id
}

// faults are what happens to a leader, and how it is undone.
var faults = []struct {
	name   string
	strike func(*daemons.Cluster, string)
	mend   func(*daemons.Cluster, string) error
}{
	{"killed", (*daemons.Cluster).Kill, (*daemons.Cluster).Start},
	{
		"cut off", (*daemons.Cluster).Isolate,
		func(c *daemons.Cluster, id string) error { c.Join(id); return nil },
	},
	{
		"frozen",
		func(c *daemons.Cluster, id string) { c.Signal(id, syscall.SIGSTOP) },
		func(c *daemons.Cluster, id string) error { c.Signal(id, syscall.SIGCONT); return nil },
	},
}

// patience is how long something may take. It only passes where a test fails.
const patience = 2 * time.Minute

// strike hits the leader and returns how long it took until somebody got a container again.
func (w *world) strike(round int) time.Duration {
	w.tb.Helper()
	f := faults[round%len(faults)]
	lead := w.leader("")
	w.work()
	begin := time.Now()
	f.strike(w.Cluster, lead)
	next := w.leader(lead)
	w.ForgetGrants()
	select {
	case <-w.Granted():
	case <-time.After(patience):
		w.tb.Fatalf("round %d: no container was granted within %v after %s was %s and %s took over", round, patience, lead, f.name, next)
	}
	took := time.Since(begin)
	if err := f.mend(w.Cluster, lead); err != nil {
		w.tb.Fatal(err)
	}
	w.tb.Logf("round %2d: %s %s, %s took over; the next container came after %v", round, lead, f.name, next, took.Round(time.Millisecond))
	return took
}

// work waits until a good deal has been submitted and granted since the last fault.
func (w *world) work() {
	w.tb.Helper()
	calls, containers := w.Count()
	await.Until(w.tb, "100 calls and containers without a fault", func() bool {
		c, t := w.Count()
		return c >= calls+100 && t >= containers+100
	})
}

// rounds is the number of leaders that are struck.
const rounds = 20

// outage is how long ApplicationMasters may have to wait for a container because the leader was lost.
const outage = 10 * time.Second

// What was acknowledged stays: 20 leaders are killed, cut off or frozen under continuous submissions and allocations, and
// then the whole cluster is restarted. After each fault there are containers again within outage.
func TestLeadersFall(t *testing.T) {
	w := newWorld(t)
	var times []time.Duration
	for round := range rounds {
		took := w.strike(round)
		if took > outage {
			t.Errorf("round %d: no container was granted for %v, and %v are allowed", round, took, outage)
		}
		times = append(times, took)
	}
	w.rest()
	w.report(times)

	w.restarted(w.ResourceManagers)
}

// restarted kills members, starts all, and looks whether everything that was acknowledged is there.
func (w *world) restarted(members []string) {
	w.tb.Helper()
	for _, id := range members {
		w.Kill(id)
	}
	if err := w.StartAll(); err != nil {
		w.tb.Fatal(err)
	}
	if err := w.LookForAll(w.tb.Context()); err != nil {
		w.tb.Error(err)
	}
	checked, err := w.Check()
	if err != nil {
		w.tb.Error(err)
	}
	w.tb.Logf("%d acknowledged submissions, all there; %d containers", checked.Acknowledged, checked.Containers)
}

func (w *world) report(times []time.Duration) {
	slices.Sort(times)
	calls, containers := w.Count()
	w.tb.Logf("%d submissions and looks, %d containers; from fault to next container: median %v, worst %v",
		calls, containers, times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	if err := errors.Join(w.Errors()...); err != nil {
		w.tb.Logf("calls that peers gave up:\n%v", err)
	}
}

// The time from a fault of the leader until the next container is granted, at default settings.
func BenchmarkFailover(b *testing.B) {
	for i, f := range faults {
		b.Run(f.name, func(b *testing.B) {
			w := newWorld(b)
			var times []time.Duration
			for b.Loop() {
				times = append(times, w.strike(i))
			}
			w.rest()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "ms-median")
			b.ReportMetric(float64(times[len(times)-1].Milliseconds()), "ms-worst")
		})
	}
}

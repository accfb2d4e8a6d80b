package chaos

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"heddle/internal/await"
	"heddle/yarn/records"
)

// faults are what happens to a leader, and how it is undone.
var faults = []struct {
	name   string
	strike func(*cluster, string)
	mend   func(*cluster, string)
}{
	{"killed", (*cluster).kill, (*cluster).start},
	{
		"cut off",
		func(c *cluster, id string) { c.plug.isolate(id) },
		func(c *cluster, id string) { c.plug.join(id) },
	},
	{
		"frozen",
		func(c *cluster, id string) { c.signal(id, syscall.SIGSTOP) },
		func(c *cluster, id string) { c.signal(id, syscall.SIGCONT) },
	},
}

// patience is how long something may take. It only passes where a test fails.
const patience = 2 * time.Minute

// strike hits the leader and returns how long it took until somebody got a container again.
func (w *world) strike(round int) time.Duration {
	w.c.tb.Helper()
	f := faults[round%len(faults)]
	lead := w.c.leader("")
	w.work()
	select {
	case <-w.granted:
	default:
	}
	begin := time.Now()
	f.strike(w.c, lead)
	next := w.c.leader(lead)
	w.drain()
	select {
	case <-w.granted:
	case <-time.After(patience):
		w.c.tb.Fatalf("round %d: no container was granted within %v after %s was %s and %s took over", round, patience, lead, f.name, next)
	}
	took := time.Since(begin)
	f.mend(w.c, lead)
	w.c.tb.Logf("round %2d: %s %s, %s took over; the next container came after %v", round, lead, f.name, next, took.Round(time.Millisecond))
	return took
}

// work waits until a good deal has been submitted and granted since the last fault.
func (w *world) work() {
	w.c.tb.Helper()
	count := func() (calls, containers int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.calls), len(w.tenures)
	}
	calls, containers := count()
	await.Until(w.c.tb, "100 calls and containers without a fault", func() bool {
		c, t := count()
		return c >= calls+100 && t >= containers+100
	})
}

// drain forgets grants that were heard of before now.
func (w *world) drain() {
	select {
	case <-w.granted:
	default:
	}
}

// rounds is the number of leaders that are struck.
const rounds = 20

// What was acknowledged stays: 20 leaders are killed, cut off or frozen under continuous submissions and allocations, and
// then the whole cluster is restarted.
func TestLeadersFall(t *testing.T) {
	c := newCluster(t)
	c.leader("")
	w := newWorld(c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var peers sync.WaitGroup
	if err := w.run(ctx, &peers); err != nil {
		t.Fatal(err)
	}
	var times []time.Duration
	for round := range rounds {
		times = append(times, w.strike(round))
	}
	cancel()
	peers.Wait()
	w.report(times)

	for _, id := range c.ids {
		c.kill(id)
	}
	for _, id := range c.ids {
		c.start(id)
	}
	w.lookForAll()
	w.check()
}

func (w *world) report(times []time.Duration) {
	slices.Sort(times)
	w.c.tb.Logf("%d submissions and looks, %d containers; from fault to next container: median %v, worst %v",
		len(w.calls), len(w.tenures), times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	for _, err := range w.errs {
		w.c.tb.Logf("a peer gave a call up: %v", err)
	}
}

// lookForAll looks for every application whose submission was acknowledged.
func (w *world) lookForAll() {
	to := w.clientOf("auditor")
	for _, id := range slices.Clone(w.apps) {
		w.look(context.Background(), to, submitters, id)
	}
}

func (w *world) check() {
	w.c.tb.Helper()
	w.checkApps()
	w.checkContainers()
}

// checkApps checks that calls about applications are linearizable: each application is a flag that its submission sets, and
// that a look reads.
func (w *world) checkApps() {
	w.c.tb.Helper()
	end := int64(w.now())
	var ops []porcupine.Operation
	acknowledged := 0
	for _, c := range w.calls {
		op := porcupine.Operation{ClientId: c.client, Input: c, Call: int64(c.begin), Output: c, Return: int64(c.end)}
		if c.unknown {
			op.Return = end // it may come into effect at any time
		} else if c.submit {
			acknowledged++
		}
		ops = append(ops, op)
	}
	if acknowledged == 0 {
		w.c.tb.Fatal("no submission was acknowledged: nothing is proven")
	}
	model := porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byApp := map[records.ApplicationID][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(call).app
				byApp[id] = append(byApp[id], op)
			}
			return slices.Collect(maps.Values(byApp))
		},
		Init: func() any { return false },
		Step: func(state, input, _ any) (bool, any) {
			c := input.(call)
			if c.submit {
				return true, true
			}
			return c.found == state.(bool), state
		},
	}
	if !porcupine.CheckOperations(model, ops) {
		for _, c := range w.calls {
			if !c.submit && !c.found {
				w.c.tb.Logf("not found: %v by client %d at %v–%v", c.app, c.client, c.begin, c.end)
			}
		}
		w.c.tb.Error("an acknowledged application was lost, or seen and not seen again: the history is not linearizable")
	}
	w.c.tb.Logf("%d acknowledged submissions, all there", acknowledged)
}

// checkContainers checks that no container id was given out twice, and that there is an order of all grants and returns on
// a node, each within its call, in which the node never holds more than it can.
func (w *world) checkContainers() {
	w.c.tb.Helper()
	seen := map[records.ContainerID]bool{}
	var ops []porcupine.Operation
	end := int64(w.now())
	for i, t := range w.tenures {
		if seen[t.id] {
			w.c.tb.Errorf("%v was given out twice", t.id)
		}
		seen[t.id] = true
		ops = append(ops, porcupine.Operation{
			ClientId: 2 * i, Input: step{t.node, +1}, Call: int64(t.asked), Return: int64(t.got),
		})
		if t.released > 0 {
			to := int64(t.settled)
			if t.settled == 0 {
				to = end
			}
			ops = append(ops, porcupine.Operation{
				ClientId: 2*i + 1, Input: step{t.node, -1}, Call: int64(max(t.released, t.got)), Return: to,
			})
		}
	}
	if len(seen) == 0 {
		w.c.tb.Fatal("no container was granted: nothing is proven")
	}
	switch porcupine.CheckOperationsTimeout(capacityModel, ops, patience) {
	case porcupine.Illegal:
		w.c.tb.Error("there is no order of grants and returns in which no node holds more than it can")
	case porcupine.Unknown:
		w.c.tb.Errorf("no order of grants and returns was found in %v", patience)
	}
}

// step is a grant or a return on a node.
type step struct {
	node  records.NodeID
	delta int
}

// capacityModel is a node that counts its containers, and can't grant one too many.
var capacityModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byNode := map[records.NodeID][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(step).node
			byNode[id] = append(byNode[id], op)
		}
		return slices.Collect(maps.Values(byNode))
	},
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		held := state.(int) + input.(step).delta
		return held <= nodeCapacity, held
	},
}

// The time from a fault of the leader until the next container is granted, at default settings.
func BenchmarkFailover(b *testing.B) {
	for i, f := range faults {
		b.Run(f.name, func(b *testing.B) {
			c := newCluster(b)
			c.leader("")
			w := newWorld(c)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var peers sync.WaitGroup
			if err := w.run(ctx, &peers); err != nil {
				b.Fatal(err)
			}
			var times []time.Duration
			for b.Loop() {
				times = append(times, w.strike(i))
			}
			cancel()
			peers.Wait()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "ms-median")
			b.ReportMetric(float64(times[len(times)-1].Milliseconds()), "ms-worst")
		})
	}
}

// The model itself must refuse a node that holds one container too many, and nothing else.
func TestCapacityModel(t *testing.T) {
	node := records.NodeID{Host: "n"}
	op := func(delta int, from, to int64) porcupine.Operation {
		return porcupine.Operation{ClientId: int(from), Input: step{node, delta}, Call: from, Return: to}
	}
	var full []porcupine.Operation
	for i := range int64(nodeCapacity) {
		full = append(full, op(+1, 2*i, 2*i+1))
	}
	over := append(slices.Clone(full), op(+1, 100, 101))
	if !porcupine.CheckOperations(capacityModel, full) || porcupine.CheckOperations(capacityModel, over) {
		t.Error("the model doesn't know the capacity")
	}
	late := append(slices.Clone(over), op(-1, 102, 103))
	if porcupine.CheckOperations(capacityModel, late) {
		t.Error("a return that came too late excuses a grant")
	}
	overlapping := append(slices.Clone(over), op(-1, 90, 100))
	if !porcupine.CheckOperations(capacityModel, overlapping) {
		t.Error("a return that may have come in time doesn't count")
	}
}

package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/executor"
	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/nm/shorttasks"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// nodes are nodes of this process, whose executors are goroutines.
type nodes struct {
	t   testing.TB
	key *token.MasterKey
	all []*testNode
}

// testNode is one of them, and starts its executors.
type testNode struct {
	*shorttasks.Node
	id   records.NodeID
	ends atomic.Int32 // executors that have ended
	mu   sync.Mutex
	kill []context.CancelFunc
	fail string // why executors can't be started; "": they can
}

// newNodes starts nodes that were lent so many slots of 512 MB and a vcore each.
func newNodes(t testing.TB, n int, slots int64, with ...func(*shorttasks.Options)) *nodes {
	ns := &nodes{t: t, key: token.NewMasterKey(7, []byte("the key of NMTokens"))}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		x := &testNode{id: records.NodeID{Host: "127.0.0.1", Port: int32(1000 + i)}}
		log := logrus.New()
		log.SetOutput(t.Output())
		o := shorttasks.Options{
			Listener: l, Executors: x, Log: logrus.NewEntry(log), Admitted: func(token.NM) error { return nil },
			Bearer: func(b []byte) (ipc.Bearer, error) {
				id, err := token.ParseNM(b)
				if err != nil || id.Node != x.id {
					return ipc.Bearer{}, fmt.Errorf("no token for %v", x.id)
				}
				return ipc.Bearer{Password: ns.key.Sign(b), Identifier: id}, nil
			},
		}
		for _, set := range with {
			set(&o)
		}
		x.Node = shorttasks.New(o)
		x.Lend(probe.Amount{MemoryMB: 512 * slots, VCores: slots})
		t.Cleanup(x.Close)
		ns.all = append(ns.all, x)
	}
	return ns
}

func (x *testNode) Start(e shorttasks.Executor, ended func(string)) (func(), error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail != "" {
		return nil, errors.New(x.fail)
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.kill = append(x.kill, cancel)
	go func() {
		defer func() {
			x.ends.Add(1)
			ended("it was killed")
		}()
		address := fmt.Sprintf("127.0.0.1:%d", x.Port())
		c, err := wire.Dial(ctx, address, []byte(e.ID.String()), e.Secret)
		if err != nil {
			return
		}
		defer c.Close()
		engine := executor.NewEngine(nil)
		defer engine.Close()
		_ = executor.Serve(ctx, c, wire.Hello{Container: e.ID.String(), Host: x.id.Host, Slots: uint64(e.Slots)}, engine)
	}()
	return cancel, nil
}

func (x *testNode) Resize(shorttasks.Executor, int32) {}

// killExecutors ends the executors that run now.
func (x *testNode) killExecutors() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, kill := range x.kill {
		kill()
	}
	x.kill = nil
}

var attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}

func (ns *nodes) target(x *testNode, user string) probes.Target {
	id := token.NM{Attempt: attempt, Node: x.id, Submitter: user, KeyID: ns.key.ID()}.Encode()
	return probes.Target{Node: x.id.String(), Address: fmt.Sprintf("127.0.0.1:%d", x.Port()), Name: id, Secret: wire.SecretOf(ns.key.Sign(id))}
}

// scheduler starts one that knows all nodes.
func (ns *nodes) scheduler(o probes.Options) *probes.Scheduler {
	s := probes.New(o)
	ns.t.Cleanup(s.Close)
	for _, x := range ns.all {
		s.Offer(ns.target(x, "anna"))
	}
	return s
}

// outcomes counts how tasks end, each by its number.
type outcomes struct {
	mu    sync.Mutex
	done  map[int]int
	fault error
	all   sync.WaitGroup
}

func (o *outcomes) task(i int, t wire.Task) *pool.Task {
	o.all.Add(1)
	return &pool.Task{Task: t, Done: func(e wire.Ended, err error) {
		o.mu.Lock()
		if o.done == nil {
			o.done = map[int]int{}
		}
		o.done[i]++
		if err == nil && e.Why != wire.Ran {
			err = fmt.Errorf("task %d: %+v", i, e)
		}
		o.fault = errors.Join(o.fault, err)
		o.mu.Unlock()
		o.all.Done()
	}}
}

// want waits for n tasks, each of which must have ended well, once.
func (o *outcomes) want(t *testing.T, n int) {
	t.Helper()
	o.all.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault != nil || len(o.done) != n {
		t.Errorf("%d of %d tasks have ended: %v", len(o.done), n, o.fault)
	}
	for i, times := range o.done {
		if times != 1 {
			t.Errorf("task %d has ended %d times", i, times)
		}
	}
}

// What runs on a node that is withdrawn ends there, what waits runs elsewhere, and the node is left then. One that is offered again goes on.
func TestAWithdrawnNodeEndsItsTasks(t *testing.T) {
	for _, again := range []bool{false, true} {
		ns := newNodes(t, 2, 2)
		s := ns.scheduler(probes.Options{Losses: 1})
		await.Until(t, "both nodes are connected", func() bool { return s.State().Nodes == 2 })
		var o outcomes
		for i := range 20 {
			task := o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 200})
			task.Restart = func() { t.Error("a task runs again") }
			s.Submit(task)
		}
		await.Until(t, "tasks run on both", func() bool { return ns.all[0].Counts().Started > 0 && ns.all[1].Counts().Started > 0 })
		leaves := ns.all[0]
		s.Withdraw(leaves.id.String())
		if again {
			s.Offer(ns.target(leaves, "anna"))
		}
		o.want(t, 20)
		if !again {
			await.Until(t, "the node is left", func() bool { return s.State().Nodes == 1 && leaves.ends.Load() == 1 })
			continue
		}
		before := leaves.Counts().Started
		for i := range 20 {
			s.Submit(o.task(20+i, wire.Task{What: wire.Nothing, TimeoutMS: 50}))
		}
		o.want(t, 40)
		if leaves.Counts().Started == before {
			t.Error("a node that was offered again runs nothing")
		}
	}
}

// All tasks run, each once, within what the nodes were lent, and warm executors are shared by all tasks of a scheduler.
func TestTasksRunWhereProbesFindRoom(t *testing.T) {
	ns := newNodes(t, 4, 2)
	s := ns.scheduler(probes.Options{})
	var o outcomes
	for i := range 200 {
		s.Submit(o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: uint64(i % 3)}))
	}
	o.want(t, 200)
	var text strings.Builder
	done := make(chan wire.Ended, 1)
	s.Submit(&pool.Task{
		Task:   wire.Task{Args: []string{"sh", "-c", "echo here; exit 3"}},
		Output: func(_ int, b []byte) { text.Write(b) },
		Done:   func(e wire.Ended, _ error) { done <- e },
	})
	if e := <-done; e.Exit != 3 || text.String() != "here\n" {
		t.Errorf("%+v, %q", e, text.String())
	}
	for _, x := range ns.all {
		if lent, used, _ := x.Use(); used.VCores > lent.VCores {
			t.Errorf("%+v is used of %+v", used, lent)
		}
		x.mu.Lock()
		if len(x.kill) > 1 {
			t.Errorf("a node has started %d executors", len(x.kill))
		}
		x.mu.Unlock()
	}
	s.Close()
	for _, x := range ns.all { // nothing is left
		await.Until(t, "no room is used", func() bool {
			_, used, waiting := x.Use()
			return used == probe.Amount{} && waiting == 0
		})
	}
}

// With early binding tasks need no vcores of their own: more of them run at a time than a node was lent, as long as there is memory. Those of a lost node run again.
func TestEarlyTasksShareProcessors(t *testing.T) {
	ns := newNodes(t, 3, 4)
	for _, x := range ns.all {
		x.Lend(probe.Amount{MemoryMB: 512 * 4, VCores: 1})
	}
	s := ns.scheduler(probes.Options{Early: true, Losses: 100})
	await.Until(t, "all are connected", func() bool { return s.State().Nodes == 3 })
	held := make(chan wire.Ended, 12)
	var tasks []*pool.Task
	for range 12 {
		tasks = append(tasks, &pool.Task{Task: wire.Task{What: wire.Nothing, TimeoutMS: 3_600_000}, Done: func(e wire.Ended, _ error) { held <- e }})
	}
	s.Job().Submit(tasks...)
	await.Until(t, "twelve run on three vcores", func() bool {
		n := 0
		for _, x := range ns.all {
			_, used, _ := x.Use()
			n += int(used.MemoryMB / 512)
		}
		return n == 12
	})
	for _, x := range tasks {
		s.Cancel(x)
	}
	for range tasks {
		if e := <-held; e.Why != wire.Canceled {
			t.Errorf("%+v", e)
		}
	}
	var o outcomes
	for i := range 200 { // also one by one: bids of some wait for those of others
		s.Submit(o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 2}))
	}
	ns.all[0].killExecutors()
	ns.all[1].Close()
	o.want(t, 200)
	s.Close()
	for _, x := range ns.all {
		await.Until(t, "no room is used", func() bool { _, used, _ := x.Use(); return used == probe.Amount{} })
	}
}

// Executors die and nodes are lost: each task still ends once.
func TestTasksOfTheLostRunAgain(t *testing.T) {
	ns := newNodes(t, 4, 2)
	s := ns.scheduler(probes.Options{Losses: 100})
	var o outcomes
	for i := range 300 {
		s.Submit(o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 5}))
	}
	ended := func(n int) func() bool {
		return func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			return len(o.done) >= n
		}
	}
	await.Until(t, "tasks end", ended(30))
	ns.all[0].killExecutors()
	await.Until(t, "tasks end", ended(60))
	ns.all[1].Close()
	await.Until(t, "tasks end", ended(90))
	s.Withdraw(ns.all[2].id.String())
	o.want(t, 300)
}

func TestWhoMayNotProbe(t *testing.T) {
	ns := newNodes(t, 1, 2)
	x := ns.all[0]
	good := ns.target(x, "anna")
	forged := good
	forged.Secret = wire.NewSecret()
	if _, err := wire.Dial(t.Context(), good.Address, forged.Name, forged.Secret); !errors.Is(err, wire.ErrStranger) {
		t.Errorf("with a password that is none: %v", err)
	}
	other := ns.target(&testNode{Node: x.Node, id: records.NodeID{Host: "elsewhere", Port: 1}}, "anna")
	if _, err := wire.Dial(t.Context(), good.Address, other.Name, other.Secret); err == nil {
		t.Error("with another node's token: it is let in")
	}
	s := ns.scheduler(probes.Options{ID: "one"})
	await.Until(t, "it is connected", func() bool { return s.State().Nodes == 1 })
	twin := ns.scheduler(probes.Options{ID: "one"})
	await.Until(t, "the second of an id is told so", func() bool { return strings.Contains(twin.State().Refused, "id of its own") })
	x.EndApplication(attempt.App)
	await.Until(t, "an application that is over is sent away", func() bool { return strings.Contains(s.State().Refused, "over") })
	await.Until(t, "nobody is connected", func() bool { return s.State().Nodes+twin.State().Nodes == 0 })
}

func TestWhatNodesRefuse(t *testing.T) {
	ns := newNodes(t, 1, 2)
	for name, m := range map[string]wire.Message{
		"at once":           &wire.Probe{Job: 1, Count: 1 << 40, Left: 1, MemoryMB: 1, VCores: 1},
		"of which 0 tasks":  &wire.Probe{Job: 1, Count: 1, MemoryMB: 1, VCores: 1},
		"at least 1 of":     &wire.Probe{Job: 1, Count: 1, Left: 1},
		"expected to take":  &wire.Probe{Job: 1, Count: 1, Left: 1, MemoryMB: 1, VCores: 1, EstimateUS: 1 << 60},
		"doesn't say *wire": &wire.Hello{},
	} {
		good := ns.target(ns.all[0], "anna")
		c, err := wire.Dial(t.Context(), good.Address, good.Name, good.Secret)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := errors.Join(c.Send(&wire.Greeting{Scheduler: name}), c.Send(m)); err != nil {
			t.Fatal(err)
		}
		for {
			got, err := c.Receive()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r, ok := got.(*wire.Refusal); ok {
				if !strings.Contains(r.Reason, name) {
					t.Errorf("%s: %s", name, r.Reason)
				}
				break
			}
		}
	}
	if _, used, waiting := ns.all[0].Use(); used != (probe.Amount{}) || waiting != 0 {
		t.Errorf("%+v is used, %d probes wait", used, waiting)
	}
}

// Tasks larger than what is lent wait, and users are told why; more that is lent lets them run, and less gives probes back.
func TestLentAmounts(t *testing.T) {
	ns := newNodes(t, 2, 1)
	s := ns.scheduler(probes.Options{MemoryMB: 1024, VCores: 2})
	var o outcomes
	for i := range 6 {
		s.Submit(o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 1}))
	}
	await.Until(t, "it is said that nothing fits", func() bool { return strings.Contains(s.State().Refused, "takes more than the node") })
	ns.all[0].Lend(probe.Amount{MemoryMB: 1024, VCores: 2})
	o.want(t, 6)
	for i := range 20 {
		s.Submit(o.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 5}))
	}
	ns.all[0].Lend(probe.Amount{})
	ns.all[1].Lend(probe.Amount{MemoryMB: 4096, VCores: 4})
	o.all.Wait()
	if o.fault != nil {
		t.Error(o.fault)
	}
}

func TestExecutorsThatCannotBeStarted(t *testing.T) {
	ns := newNodes(t, 1, 2)
	x := ns.all[0]
	x.mu.Lock()
	x.fail = "there is no such user"
	x.mu.Unlock()
	s := ns.scheduler(probes.Options{Losses: 2})
	done := make(chan error, 1)
	s.Submit(&pool.Task{Task: wire.Task{What: wire.Nothing}, Done: func(_ wire.Ended, err error) { done <- err }})
	if err := <-done; !errors.Is(err, pool.ErrLost) || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("%v", err)
	}
}

func TestCanceledTasks(t *testing.T) {
	ns := newNodes(t, 1, 1)
	s := ns.scheduler(probes.Options{})
	var tasks []*pool.Task
	ends := make(chan wire.Ended, 3)
	for range 3 {
		tasks = append(tasks, &pool.Task{
			Task: wire.Task{What: wire.Nothing, TimeoutMS: 3_600_000}, Done: func(e wire.Ended, _ error) { ends <- e },
		})
	}
	s.Submit(tasks...)
	await.Until(t, "one runs", func() bool { _, used, _ := ns.all[0].Use(); return used.VCores == 1 })
	for _, x := range tasks {
		s.Cancel(x)
	}
	for range tasks {
		if e := <-ends; e.Why != wire.Canceled {
			t.Errorf("%+v", e)
		}
	}
}

// A copy of a slow task ends first, and counts.
func TestClonesOfSlowTasks(t *testing.T) {
	ns := newNodes(t, 2, 1)
	s := ns.scheduler(probes.Options{CloneBelow: time.Minute})
	await.Until(t, "both are connected", func() bool { return s.State().Nodes == 2 })
	dir := t.TempDir()
	var text strings.Builder
	done := make(chan wire.Ended, 2)
	s.Submit(&pool.Task{
		// The first one to make the folder hangs.
		Task:   wire.Task{Args: []string{"sh", "-c", "mkdir " + dir + "/first 2>/dev/null && echo slow && exec sleep 1000; echo fast"}},
		Output: func(_ int, b []byte) { text.Write(b) },
		Done:   func(e wire.Ended, _ error) { done <- e },
	})
	if e := <-done; e.Why != wire.Ran || e.Exit != 0 || text.String() != "fast\n" {
		t.Errorf("%+v, %q", e, text.String())
	}
	for _, x := range ns.all {
		await.Until(t, "the slow one is ended", func() bool { _, used, _ := x.Use(); return used == probe.Amount{} })
	}
}

// A node that has nothing to do gets what waits for another one, whether it has said so before the tasks came or afterwards.
func TestIdleNodesStealWhatWaits(t *testing.T) {
	ns := newNodes(t, 3, 1, func(o *shorttasks.Options) { o.Steal = true })
	s := probes.New(probes.Options{})
	t.Cleanup(s.Close)
	s.Offer(ns.target(ns.all[0], "anna"))
	await.Until(t, "the first is connected", func() bool { return s.State().Nodes == 1 })
	forever := wire.Task{What: wire.Nothing, TimeoutMS: 3_600_000}
	s.Submit(&pool.Task{Task: forever, Done: func(wire.Ended, error) {}})
	await.Until(t, "its slot is taken", func() bool { _, used, _ := ns.all[0].Use(); return used.VCores == 1 })
	var o outcomes
	for i := range 6 {
		s.Submit(o.task(i, wire.Task{What: wire.Nothing}))
	}
	await.Until(t, "probes wait for it", func() bool { _, _, waiting := ns.all[0].Use(); return waiting >= 6 })
	s.Offer(ns.target(ns.all[1], "anna"))
	o.want(t, 6)
	// Now the second one has told that it has room, and is not probed.
	s.Withdraw(ns.all[1].id.String())
	await.Until(t, "the second is gone", func() bool { return s.State().Nodes == 1 })
	s.Offer(ns.target(ns.all[2], "anna"))
	await.Until(t, "the third is connected", func() bool { return s.State().Nodes == 2 })
	var late outcomes
	for i := range 6 {
		s.Job().Submit(late.task(i, wire.Task{What: wire.Nothing, TimeoutMS: 1}))
	}
	late.want(t, 6)
}

// Any number of schedulers work side by side, without knowing of each other.
func TestFiftySchedulers(t *testing.T) {
	const schedulers, tasks = 50, 10
	ns := newNodes(t, 3, 2)
	var o outcomes
	for i := range schedulers {
		s := ns.scheduler(probes.Options{ID: fmt.Sprint(i)})
		for k := range tasks {
			s.Submit(o.task(i*tasks+k, wire.Task{What: wire.Nothing}))
		}
	}
	o.want(t, schedulers*tasks)
	for _, x := range ns.all {
		await.Until(t, "no probe is left", func() bool {
			_, used, waiting := x.Use()
			return used == probe.Amount{} && waiting == 0
		})
	}
}

package am_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"heddle/am"
	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

var small = records.NewResource(1024, 1)

// world is a cluster whose nodes run a given ApplicationMaster in the first container of every attempt.
type world struct {
	*minicluster.Cluster
	t    *testing.T
	apps *client.Applications
	main func(ctx context.Context, m *am.Master) error
	o    am.Options
	work minicluster.Program // of the other containers

	mu      sync.Mutex
	results []error
	die     context.CancelFunc // has the ApplicationMaster end without a farewell
}

func newWorld(t *testing.T, rms int) *world {
	t.Helper()
	w := &world{Cluster: minicluster.Start(t, rms, nil), t: t}
	cluster, err := client.NewCluster(w.Conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	if w.apps, err = cluster.Applications("alice"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) node(o minicluster.NodeOptions) *minicluster.Node {
	w.t.Helper()
	o.Run = w.run
	return w.Node(o)
}

func (w *world) run(ctx context.Context, c minicluster.Container) int {
	if c.ID.Sequence() != 1 {
		if w.work == nil {
			return 0
		}
		return w.work(ctx, c)
	}
	creds, err := token.DecodeCredentials(c.Launch.GetTokens())
	if err != nil {
		w.t.Error(err)
		return 1
	}
	o := w.o
	o.Conf, o.Credentials, o.Host = w.Conf, creds, "amhost"
	o.Log = minicluster.Log(w.t)
	o.Getenv = func(name string) (string, bool) {
		if name == "CONTAINER_ID" {
			return c.ID.String(), true
		}
		return c.Env(name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.die = cancel
	w.mu.Unlock()
	err = am.Run(ctx, o, w.main)
	w.mu.Lock()
	w.results = append(w.results, err)
	w.mu.Unlock()
	if err != nil {
		return 1
	}
	return 0
}

func (w *world) submit(s client.Submission) records.ApplicationID {
	w.t.Helper()
	id, _, err := w.apps.New(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	s.ID, s.Resource = id, small
	if err := w.apps.Submit(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) wait(id records.ApplicationID) client.Report {
	w.t.Helper()
	r, err := w.apps.Wait(w.t.Context(), id, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// story follows the events of every container and checks their order.
type story struct {
	t     *testing.T
	state map[records.ContainerID]string
}

func (s *story) next(id records.ContainerID, to string, from ...string) {
	if was := s.state[id]; !slices.Contains(from, was) {
		s.t.Errorf("%v is %q after %q", id, to, was)
	}
	s.state[id] = to
}

func (s *story) take(e am.Event) {
	switch e := e.(type) {
	case am.ContainersAllocated:
		for _, c := range e.Containers {
			s.next(c.ID, "allocated", "")
		}
	case am.ContainerStarted:
		s.next(e.Container.ID, "started", "allocated")
	case am.ContainerStartFailed:
		s.next(e.Container.ID, "failed", "allocated")
	case am.ContainerCompleted:
		s.next(e.ID, "completed", "allocated", "started", "failed")
	}
}

// More work than fits at once, of which some fails and is repeated.
func TestWorkInContainers(t *testing.T) {
	w := newWorld(t, 1)
	const tasks = 40
	var ran atomic.Int32
	w.work = func(context.Context, minicluster.Container) int { return int(ran.Add(1) % 4 / 3) } // every fourth fails
	s := &story{t, map[records.ContainerID]string{}}
	w.main = func(ctx context.Context, m *am.Master) error {
		if _, err := m.Request(am.Request{Resource: small, Count: tasks, Tags: []string{"task"}}); err != nil {
			return err
		}
		done := 0
		for e := range m.Events() {
			s.take(e)
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					if !slices.Equal(c.Tags, []string{"task"}) {
						return fmt.Errorf("tags %v", c.Tags)
					}
					m.Start(c.ID, am.Launch{Command: []string{"work"}})
				}
			case am.ContainerCompleted:
				if e.ExitStatus != 0 {
					if _, err := m.Request(am.Request{Resource: small, Tags: []string{"task"}}); err != nil {
						return err
					}
					continue
				}
				done++
				m.SetProgress(float32(done) / tasks)
				if done == tasks {
					return nil
				}
			}
		}
		return ctx.Err()
	}
	w.node(minicluster.NodeOptions{})
	w.node(minicluster.NodeOptions{})
	if r := w.wait(w.submit(client.Submission{})); !r.Succeeded() {
		t.Errorf("%v: %s", r.State, r.Diagnostics)
	}
	if n := ran.Load(); n != 53 { // 40 successes, as every fourth fails
		t.Errorf("%d containers ran", n)
	}
}

func TestStopAndRelease(t *testing.T) {
	w := newWorld(t, 1)
	running := make(chan struct{}, 10)
	w.work = func(ctx context.Context, _ minicluster.Container) int {
		running <- struct{}{}
		<-ctx.Done()
		return 143
	}
	exits := map[int32]int{}
	w.main = func(ctx context.Context, m *am.Master) error {
		if _, err := m.Request(am.Request{Resource: small, Count: 3}); err != nil {
			return err
		}
		s := &story{t, map[records.ContainerID]string{}}
		n := 0
		c := am.Callbacks{
			ContainersAllocated: func(e am.ContainersAllocated) {
				for _, c := range e.Containers {
					switch n++; n {
					case 1: // stopped when it runs
						m.Start(c.ID, am.Launch{})
					case 2: // stopped while it is being started
						m.Start(c.ID, am.Launch{})
						m.Stop(c.ID)
						m.Stop(c.ID)
					case 3: // never started
						m.Stop(c.ID)
						m.Start(c.ID, am.Launch{Resources: map[string]am.Resource{"x": {}}})
					}
				}
			},
			ContainerStarted: func(e am.ContainerStarted) {
				<-running
				m.Stop(e.Container.ID)
			},
			ContainerCompleted: func(e am.ContainerCompleted) { exits[e.ExitStatus]++ },
		}
		for e := range m.Events() {
			s.take(e)
			c.Dispatch(e)
			if sum(exits) == 3 {
				return nil
			}
		}
		return ctx.Err()
	}
	w.node(minicluster.NodeOptions{})
	if r := w.wait(w.submit(client.Submission{})); !r.Succeeded() {
		t.Errorf("%v: %s", r.State, r.Diagnostics)
	}
	if exits[records.ExitKilledByAppMaster] != 2 || exits[records.ExitAborted] != 1 {
		t.Errorf("exit statuses: %v", exits)
	}
}

func sum(m map[int32]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func TestStartFailureGivesTheContainerBack(t *testing.T) {
	w := newWorld(t, 1)
	w.main = func(ctx context.Context, m *am.Master) error {
		if _, err := m.Request(am.Request{Resource: small}); err != nil {
			return err
		}
		s := &story{t, map[records.ContainerID]string{}}
		for e := range m.Events() {
			s.take(e)
			switch e := e.(type) {
			case am.ContainersAllocated:
				m.Start(e.Containers[0].ID, am.Launch{})
			case am.ContainerStartFailed:
				if !client.IsClass(e.Err, ipc.InvalidAuxService) || !strings.Contains(e.Err.Error(), "mapreduce_shuffle") {
					t.Errorf("%v", e.Err)
				}
			case am.ContainerCompleted:
				if e.ExitStatus != records.ExitAborted || s.state[e.ID] != "completed" {
					t.Errorf("%+v", e)
				}
				return errors.New("nothing works")
			}
		}
		return ctx.Err()
	}
	w.node(minicluster.NodeOptions{Refuse: func(id records.ContainerID) *pb.SerializedException {
		if id.Sequence() == 1 {
			return nil
		}
		return minicluster.Exception(ipc.InvalidAuxService, "The auxService:mapreduce_shuffle does not exist")
	}})
	r := w.wait(w.submit(client.Submission{}))
	if r.State != pb.YarnApplicationState_FINISHED || r.Final != am.Failed || r.Diagnostics != "nothing works" {
		t.Errorf("%v %v: %s", r.State, r.Final, r.Diagnostics)
	}
}

// The leader goes twice while containers come and go. Containers end when the test lets them: a leader that stops hands over
// so quickly that the application could be over before the second one is stopped.
func TestFailover(t *testing.T) {
	w := newWorld(t, 3)
	const tasks = 30
	resynced := make(chan struct{}, 10)
	step := make(chan int, tasks)
	ends := make(chan struct{}, tasks)
	w.work = func(ctx context.Context, _ minicluster.Container) int {
		select {
		case <-ends:
			return 0
		case <-ctx.Done():
			return 143
		}
	}
	over := make(chan struct{})
	w.main = func(ctx context.Context, m *am.Master) error {
		defer close(over) // of the first attempt, which is the last one
		if _, err := m.Request(am.Request{Resource: small, Count: tasks}); err != nil {
			return err
		}
		s := &story{t, map[records.ContainerID]string{}}
		done := 0
		for e := range m.Events() {
			s.take(e)
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{})
				}
			case am.ContainerCompleted:
				if e.ExitStatus != 0 {
					return fmt.Errorf("%v ended with %d: %s", e.ID, e.ExitStatus, e.Diagnostics)
				}
				done++
				step <- done
				if done == tasks {
					return nil
				}
			case am.Resynced:
				resynced <- struct{}{}
			case am.Error:
				return e.Err
			}
		}
		return ctx.Err()
	}
	w.node(minicluster.NodeOptions{Resource: records.NewResource(4096, 8)})
	id := w.submit(client.Submission{})
	let := func(n int) {
		for range n {
			ends <- struct{}{}
		}
	}
	for i, at := range []int{5, 15} {
		let(10) // some of them end while nobody leads
		for <-step < at {
		}
		l := w.Leader()
		w.StopRM(l)
		select {
		case <-resynced:
		case <-over:
			t.Fatal("the ApplicationMaster ended before it heard of the next leader")
		}
		if i == 0 {
			w.StartRM(l)
		}
	}
	let(tasks - 20)
	if r := w.wait(id); !r.Succeeded() || r.Attempt.Attempt != 1 {
		t.Errorf("%v of %v: %s", r.State, r.Attempt, r.Diagnostics)
	}
}

func TestDismissedMaster(t *testing.T) {
	w := newWorld(t, 1)
	ready := make(chan struct{})
	var last am.Event
	w.main = func(ctx context.Context, m *am.Master) error {
		close(ready)
		for e := range m.Events() {
			last = e
		}
		return ctx.Err()
	}
	node := w.node(minicluster.NodeOptions{})
	id := w.submit(client.Submission{})
	<-ready
	if err := w.apps.Kill(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	w.Until("the ApplicationMaster is gone", func() bool { return node.Running() == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(w.results[0], am.ErrDismissed) && !errors.Is(w.results[0], context.Canceled) {
		t.Errorf("result %v after %+v", w.results[0], last)
	}
}

// The first attempt dies; its container goes on and the second attempt finds it.
func TestSecondAttemptFindsContainers(t *testing.T) {
	w := newWorld(t, 1)
	stop := make(chan struct{})
	w.work = func(ctx context.Context, _ minicluster.Container) int {
		select {
		case <-stop:
			return 7
		case <-ctx.Done():
			return 143
		}
	}
	var previous []am.Container
	w.main = func(ctx context.Context, m *am.Master) error {
		if m.Attempt().Attempt == 1 {
			if _, err := m.Request(am.Request{Resource: small}); err != nil {
				return err
			}
			for e := range m.Events() {
				switch e := e.(type) {
				case am.ContainersAllocated:
					m.Start(e.Containers[0].ID, am.Launch{})
				case am.ContainerStarted:
					w.mu.Lock()
					w.die()
					w.mu.Unlock()
					return ctx.Err()
				}
			}
		}
		previous = m.Registration().Previous
		close(stop)
		for e := range m.Events() {
			if e, ok := e.(am.ContainerCompleted); ok {
				if len(previous) != 1 || e.ID != previous[0].ID || e.Container.Node != previous[0].Node || e.ExitStatus != 7 {
					t.Errorf("%+v ended, of %+v", e, previous)
				}
				return nil
			}
		}
		return ctx.Err()
	}
	w.node(minicluster.NodeOptions{})
	r := w.wait(w.submit(client.Submission{KeepContainers: true, MaxAttempts: 2}))
	if !r.Succeeded() || r.Attempt.Attempt != 2 {
		t.Errorf("%v of %v: %s", r.State, r.Attempt, r.Diagnostics)
	}
}

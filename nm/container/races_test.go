package container

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Everything that can be asked for of a container is asked for at once, again and again, while it starts, fails, is started
// anew and ends, and while the NodeManager is restarted. It comes to an end all the same; its room is given back, and no
// process of it is left frozen or running.
func TestEverythingAtOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("RACES_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("RACES_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, kind := range []struct {
		name  string
		tweak []func(*Options)
		n     int
	}{{"cgroups", nil, 12}, {"no cgroups", []func(*Options){withoutCgroups}, 3}} {
		t.Run(kind.name, func(t *testing.T) {
			held := &holding{held: make(map[records.ContainerID]bool)}
			l := newLab(t, append(kind.tweak, quickly, func(o *Options) {
				held.Localizer, o.Localizer = o.Localizer, held
				o.Log.Logger.AddHook(onlyKnownTransitions{t})
			})...)
			for i := range kind.n {
				l.everythingAtOnce(int64(i+1), rand.New(rand.NewPCG(random.Uint64(), 0)))
			}
			if used := l.node.room.Used(); !used.IsZero() {
				t.Errorf("%v are counted after the end of all", used)
			}
			await.Until(t, "release of what containers localized", func() bool { return held.count() == 0 })
		})
	}
}

func quickly(o *Options) { o.Config.KillGrace = 20 * time.Millisecond }

// onlyKnownTransitions fails the test when a container takes a way that its states don't have.
type onlyKnownTransitions struct{ t testing.TB }

func (onlyKnownTransitions) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }
func (h onlyKnownTransitions) Fire(e *logrus.Entry) error {
	if strings.Contains(e.Message, "should not become") {
		h.t.Error(e.Message)
	}
	return nil
}

// everythingAtOnce is the life of one container.
func (l *lab) everythingAtOnce(seq int64, random *rand.Rand) {
	t := l.t
	j := job{id: containerID(1, seq), user: "ann", memory: 64, command: []string{
		"while :; do sleep 0.01; done",
		fmt.Sprintf("sleep 0.%03d; exit %d", random.IntN(200), random.IntN(2)),
	}[random.IntN(2)]}
	if random.IntN(2) == 0 {
		j.retry = retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, 5)
	}
	c := l.run(j)
	x := l.file("x", "X")
	var versions sync.Mutex
	version := int32(0)
	operations := []func(ctx context.Context, r *rand.Rand){
		func(ctx context.Context, _ *rand.Rand) { c.Suspend(ctx) },
		func(ctx context.Context, _ *rand.Rand) { c.Resume(ctx) },
		func(ctx context.Context, _ *rand.Rand) { c.Suspend(ctx); c.Resume(ctx) },
		func(ctx context.Context, r *rand.Rand) {
			versions.Lock()
			version++
			v := version
			versions.Unlock()
			k := j
			k.memory = 32 + r.Int64N(200)
			c.Update(ctx, k.grant(v), k.token(v))
		},
		func(context.Context, *rand.Rand) { c.Restart() },
		func(_ context.Context, r *rand.Rand) { c.Reinitialize(j.context(), r.IntN(2) == 0) },
		func(context.Context, *rand.Rand) { c.Rollback() },
		func(context.Context, *rand.Rand) { c.Commit() },
		func(context.Context, *rand.Rand) { c.Localize(map[string]*pb.LocalResource{"x": x}) },
		func(context.Context, *rand.Rand) { c.Signal(pb.SignalContainerCommand_OUTPUT_THREAD_DUMP) },
		func(context.Context, *rand.Rand) { // which only one goroutine may do
			versions.Lock()
			defer versions.Unlock()
			l.node.monitor.Sample()
		},
		func(context.Context, *rand.Rand) { c.Status(); l.node.Counts() },
	}
	restart := random.IntN(3) == 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+random.IntN(400))*time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	for range 6 {
		r := rand.New(rand.NewPCG(random.Uint64(), 0))
		running.Go(func() {
			for ctx.Err() == nil {
				brief, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(50))*time.Millisecond)
				operations[r.IntN(len(operations))](brief, r)
				cancel()
			}
		})
	}
	killed := random.IntN(2) == 0
	if killed {
		select {
		case <-ctx.Done():
		case <-c.done:
		}
		running.Go(func() { c.Kill(records.ExitKilledByAppMaster, "") })
	}
	if restart {
		running.Wait()
		l.restart()
		c = l.container(c.ID())
	}
	running.Wait()
	l.endsOrRuns(c, killed)
}

// endsOrRuns checks that a container is in a state that it may stay in, and ends it.
func (l *lab) endsOrRuns(c *Container, killed bool) {
	t := l.t
	await.Until(t, "a state to stay in", func() bool {
		s := c.State()
		return s == Done || !killed && (s == Running || s == Paused)
	})
	if c.State() == Paused {
		if err := c.Resume(t.Context()); err != nil && !errors.Is(err, ErrNotSuspended) {
			t.Errorf("%s can't be resumed: %v", c, err)
		}
	}
	if g := c.Group(); g != nil && c.State() == Running {
		if frozen, err := g.Frozen(); err == nil && frozen && c.State() == Running {
			if pids, _ := g.Processes(); len(pids) > 0 {
				t.Errorf("%s is RUNNING, and its processes are frozen", c)
			}
		}
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	s := waitDone(t, c)
	if s.Suspended || s.ExitCode == records.ExitInvalid {
		t.Errorf("%s has ended with %d, suspended: %v", c, s.ExitCode, s.Suspended)
	}
	if c.Group() != nil {
		t.Errorf("%s still has a group", c)
	}
	if err := c.Suspend(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("suspended after its end: %v", err)
	}
	if s := c.State(); s != Done {
		t.Errorf("its state after the end is %s", s)
	}
}

// holding knows which containers hold resources.
type holding struct {
	Localizer
	mu   sync.Mutex
	held map[records.ContainerID]bool
}

func (h *holding) Localize(ctx context.Context, req localizer.Request) (localizer.Result, error) {
	result, err := h.Localizer.Localize(ctx, req)
	if err == nil && len(req.Resources) > 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held[req.Container] = true
	}
	return result, err
}

func (h *holding) Release(id records.ContainerID) {
	h.mu.Lock()
	delete(h.held, id)
	h.mu.Unlock()
	h.Localizer.Release(id)
}

func (h *holding) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

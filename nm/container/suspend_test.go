package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/kept"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// hooked has every group of a handler call a test's functions in place of its own.
type hooked struct {
	cgroup.Handler
	mu     sync.Mutex
	freeze func(context.Context, cgroup.Group) error
	limit  func(cgroup.Limits, cgroup.Group) error
	open   func() error
	create func() error
	thaw   func() error
	usage  func(cgroup.Usage) cgroup.Usage

	reclaims *bool          // what the handler says that it can; nil: what is so
	memory   *cgroup.Memory // nil: what is so
	reclaim  func(context.Context, cgroup.Group, int64) error
	pageIn   func(context.Context, cgroup.Group) error
}

type hookedGroup struct {
	cgroup.Group
	h *hooked
}

func (h *hooked) tweak(o *Options) { h.Handler, o.Groups = o.Groups, h }

func (h *hooked) set(f func(*hooked)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *hooked) Create(name string, l cgroup.Limits) (cgroup.Group, error) {
	h.mu.Lock()
	create := h.create
	h.mu.Unlock()
	if create != nil {
		if err := create(); err != nil {
			return nil, err
		}
	}
	g, err := h.Handler.Create(name, l)
	return &hookedGroup{g, h}, err
}

func (h *hooked) Open(name string) (cgroup.Group, error) {
	h.mu.Lock()
	open := h.open
	h.mu.Unlock()
	if open != nil {
		if err := open(); err != nil {
			return nil, err
		}
	}
	g, err := h.Handler.Open(name)
	return &hookedGroup{g, h}, err
}

func (g *hookedGroup) Freeze(ctx context.Context) error {
	g.h.mu.Lock()
	freeze := g.h.freeze
	g.h.mu.Unlock()
	if freeze == nil {
		return g.Group.Freeze(ctx)
	}
	return freeze(ctx, g.Group)
}

func (h *hooked) Capabilities() cgroup.Capabilities {
	c := h.Handler.Capabilities()
	if h.reclaims != nil {
		c.Reclaim = *h.reclaims
	}
	return c
}

func (g *hookedGroup) Memory() (cgroup.Memory, error) {
	g.h.mu.Lock()
	memory := g.h.memory
	g.h.mu.Unlock()
	if memory != nil {
		return *memory, nil
	}
	return g.Group.Memory()
}

func (g *hookedGroup) Reclaim(ctx context.Context, bytes int64) error {
	g.h.mu.Lock()
	reclaim := g.h.reclaim
	g.h.mu.Unlock()
	if reclaim != nil {
		return reclaim(ctx, g.Group, bytes)
	}
	return g.Group.Reclaim(ctx, bytes)
}

func (g *hookedGroup) PageIn(ctx context.Context) error {
	g.h.mu.Lock()
	pageIn := g.h.pageIn
	g.h.mu.Unlock()
	if pageIn != nil {
		return pageIn(ctx, g.Group)
	}
	return g.Group.PageIn(ctx)
}

func (g *hookedGroup) Thaw(ctx context.Context) error {
	g.h.mu.Lock()
	thaw := g.h.thaw
	g.h.mu.Unlock()
	if thaw != nil {
		if err := thaw(); err != nil {
			return err
		}
	}
	return g.Group.Thaw(ctx)
}

func (g *hookedGroup) Usage() (cgroup.Usage, error) {
	u, err := g.Group.Usage()
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	if g.h.usage != nil {
		u = g.h.usage(u)
	}
	return u, err
}

func (g *hookedGroup) SetLimits(l cgroup.Limits) error {
	g.h.mu.Lock()
	limit := g.h.limit
	g.h.mu.Unlock()
	if limit == nil {
		return g.Group.SetLimits(l)
	}
	return limit(l, g.Group)
}

// recorded reads a container's record from the store.
func (l *lab) recorded(c *Container) (r kept.Record) {
	l.t.Helper()
	err := l.node.ContainerRecords.ForEach(c.ID().String()+kept.RecordKey, func(_ string, b []byte) error {
		return json.Unmarshal(b, &r)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// counter starts a container whose progress can be seen, and waits until there is some.
func (l *lab) counter() (c *Container, file string) {
	l.t.Helper()
	c = l.run(job{id: containerID(max(1, l.app), 1), command: counting})
	await.Until(l.t, "RUNNING", func() bool { return c.State() == Running })
	file = c.Status().WorkDir + "/count"
	await.Until(l.t, "progress", func() bool { return exists(file) && size(l.t.(*testing.T), file) > 0 })
	return c, file
}

// A NodeManager that dies between the freezing and the note of it would leave a container that nobody knows to be frozen.
func TestSuspensionIsOnDiskBeforeTheKernelIsTold(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.tweak)
	c, _ := l.counter()
	noted := false
	h.set(func(h *hooked) {
		h.freeze = func(ctx context.Context, g cgroup.Group) error {
			noted = l.recorded(c).Suspended
			return g.Freeze(ctx)
		}
	})
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !noted {
		t.Error("the group was frozen before that was on disk")
	}
	// one that fails is not wanted any more
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad := errors.New("the kernel says no")
	h.set(func(h *hooked) { h.freeze = func(context.Context, cgroup.Group) error { return bad } })
	if err := c.Suspend(t.Context()); !errors.Is(err, bad) {
		t.Errorf("a suspension that fails: %v", err)
	}
	if err := c.Saved(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.State() != Running || l.recorded(c).Suspended {
		t.Errorf("after a failure it is %s, and on record as suspended: %v", c.State(), l.recorded(c).Suspended)
	}
}

func TestRecoveryThawsWhatNobodyWantsFrozen(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	// the last life froze it for a moment, and died
	if err := c.Group().Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.restart()
	before := size(t, file)
	await.Until(t, "progress", func() bool { return size(t, file) > before })
	if s := l.container(c.ID()).State(); s != Running {
		t.Errorf("it is %s", s)
	}
}

// A busy machine on which the freezing of a container took longer than ten seconds after a restart let it run, while others may have had its memory.
func TestASlowRestartLetsNoSuspendedContainerRun(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.tweak)
	c, file := l.counter()
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := size(t, file)
	var slow atomic.Int32
	slow.Store(3)
	h.set(func(h *hooked) {
		h.freeze = func(ctx context.Context, g cgroup.Group) error {
			if slow.Add(-1) >= 0 {
				return fmt.Errorf("freeze: %w", context.DeadlineExceeded)
			}
			return g.Freeze(ctx)
		}
	})
	l.restart()
	c = l.container(c.ID())
	await.Until(t, "its state after the restart", func() bool { s := c.State(); return slow.Load() < 0 && s == Paused || s == Running })
	if frozen, err := c.Group().Frozen(); err != nil || !frozen || c.State() != Paused || size(t, file) != before {
		t.Errorf("frozen: %v, %v; it is %s, and has gone on by %d bytes", frozen, err, c.State(), size(t, file)-before)
	}
}

func TestRecoverySuspendsWhatWasToBe(t *testing.T) {
	l := newLab(t)
	c, _ := l.counter()
	// the last life died when that was on disk, and not yet done
	if err := <-(command{Container: c}).wanted(suspend.Wishes{}.Ask(suspend.Order{Level: suspend.Frozen, Held: c.box.Size()})); err != nil {
		t.Fatal(err)
	}
	l.restart()
	c = l.container(c.ID())
	await.Until(t, "PAUSED", func() bool { return c.State() == Paused })
	if frozen, err := c.Group().Frozen(); err != nil || !frozen {
		t.Errorf("frozen: %v, %v", frozen, err)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A container that ends while it is being suspended ends, and what waits for its suspension is told.
func TestSuspendingAContainerThatEnds(t *testing.T) {
	for name, end := range map[string]func(*Container, string){
		"killed":  func(c *Container, _ string) { c.Kill(records.ExitKilledByAppMaster, "") },
		"by self": func(_ *Container, file string) { os.WriteFile(file, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hooked{}
			l := newLab(t, h.tweak)
			end0 := l.dir + "/end"
			c := l.run(job{id: containerID(1, 1), command: "while ! [ -e " + end0 + " ]; do sleep 0.01; done"})
			await.Until(t, "RUNNING", func() bool { return c.State() == Running })
			freezing, ended := make(chan struct{}), make(chan struct{})
			h.set(func(h *hooked) {
				h.freeze = func(ctx context.Context, g cgroup.Group) error {
					close(freezing)
					select { // a process resists
					case <-ended:
						return g.Freeze(ctx)
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			})
			result := make(chan error, 1)
			go func() { result <- c.Suspend(t.Context()) }()
			<-freezing
			end(c, end0)
			if name == "by self" {
				await.Until(t, "the end of the process", func() bool { pids, err := c.Group().Processes(); return err == nil && len(pids) == 0 })
				close(ended)
			}
			s := waitDone(t, c)
			if err := <-result; err != nil && !errors.Is(err, ErrNotRunning) {
				t.Errorf("the suspension: %v", err)
			}
			if s.State != Done || s.Suspended || c.State() != Done {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// A container that is suspended while another launch context waits for it starts that unfrozen.
func TestAFrozenGroupIsThawedForTheNextProcess(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	// as if it had been frozen in the moment in which its process was ended
	if err := c.Group().Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "progress of the next process", func() bool { return exists(file) && size(t, file) > 0 && c.State() == Running })
}

// A kill that comes while it is decided whether a container is started anew is not forgotten.
func TestAKillBetweenEndAndRetryCounts(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	d := l.node.newContainer(job{id: containerID(1, 2), user: "ann", memory: 1}.grant(0), job{}.context())
	d.state = Exited // its process has just failed
	d.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	if (life{d}).pause() {
		t.Error("it is started anew")
	}
	if k := d.killed(); k == nil || d.Status().ExitCode != records.ExitKilledByAppMaster {
		t.Errorf("killed: %+v, exit code %d", k, d.Status().ExitCode)
	}
	d.forget()
}

// Updates that come at the same time take effect in the order of their versions, and what they free is there for others.
func TestConcurrentUpdatesOfAContainer(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.tweak)
	j := job{id: containerID(1, 1), user: "ann", memory: 256, command: "sleep 600; :"}
	c := l.run(j)
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	var mu sync.Mutex
	var last int64 // what the kernel was told last
	h.set(func(h *hooked) {
		h.limit = func(l cgroup.Limits, g cgroup.Group) error {
			mu.Lock()
			defer mu.Unlock()
			last = l.Memory
			return g.SetLimits(l)
		}
	})
	version := int32(0)
	for range 25 {
		var running sync.WaitGroup
		for range 4 {
			version++
			k := j
			k.memory = 200 + int64(version)
			running.Go(func() {
				if err := c.Update(t.Context(), k.grant(version0(k)), k.token(version0(k))); err != nil && !errors.Is(err, ErrVersion) {
					t.Error(err)
				}
			})
		}
		running.Wait()
		g := c.Grant()
		if want := 200 + int64(version); g.Version != version || g.Resource.MemoryMB() != want || last != want<<20 {
			t.Fatalf("after version %d: version %d, %v, and the kernel holds it to %d", version, g.Version, g.Resource, last)
		}
		if used := l.node.room.Used().MemoryMB(); used != g.Resource.MemoryMB() {
			t.Fatalf("%d MB are counted for %d", used, g.Resource.MemoryMB())
		}
	}
	// the kernel refuses: nothing has changed, on disk either
	h.set(func(h *hooked) { h.limit = func(cgroup.Limits, cgroup.Group) error { return os.ErrInvalid } })
	k := j
	k.memory = 999
	if err := c.Update(t.Context(), k.grant(version+1), k.token(version+1)); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("refused by the kernel: %v", err)
	}
	h.set(func(h *hooked) { h.limit = nil })
	l.restart()
	c = l.container(c.ID())
	if g := c.Grant(); g.Version != version || l.node.room.Used().MemoryMB() != 200+int64(version) {
		t.Errorf("after a restart: version %d, want %d; %v are counted", g.Version, version, l.node.room.Used())
	}
}

func version0(j job) int32 { return int32(j.memory - 200) }

// A size that changes while its container waits for room counts once it is let in, however these two coincide.
func TestUpdateOfAContainerThatWaits(t *testing.T) {
	l := newLab(t)
	first := l.run(job{id: containerID(1, 1), memory: 8000, command: "sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return first.State() == Running })
	j := job{id: containerID(1, 2), user: "ann", memory: 4000, command: "sleep 600; :"}
	second := l.run(j)
	await.Until(t, "SCHEDULED", func() bool { return second.State() == Scheduled })
	j.memory = 100
	if err := second.Update(t.Context(), j.grant(1), j.token(1)); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "RUNNING", func() bool { return second.State() == Running })
	if used := l.node.room.Used().MemoryMB(); used != 8100 {
		t.Errorf("%d MB are counted", used)
	}
}

// Users that can't be looked up for a while, as when their directory is down, don't cost the node its containers.
func TestARestartWhileUsersAreUnknown(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	l.node.close()
	l.node = nil
	l.tweak = func(o *Options) { o.Config.Owner = nobodyKnown }
	l.start()
	c = l.container(c.ID())
	if s := c.State(); s != Running {
		t.Fatalf("it is %s: %s", s, c.Status().Diagnostics)
	}
	before := size(t, file)
	await.Until(t, "progress", func() bool { return size(t, file) > before })
	c.Kill(records.ExitKilledByAppMaster, "")
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

// A container whose group can't be looked at is not reported lost: its processes may live.
func TestARestartWhileGroupsCantBeOpened(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	l.node.close()
	l.node = nil
	h := &hooked{}
	tries := make(chan struct{}, 1000)
	h.open = func() error {
		tries <- struct{}{}
		if len(tries) < 3 {
			return errors.New("too many open files")
		}
		return nil
	}
	l.tweak = h.tweak
	l.start()
	c = l.container(c.ID())
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	before := size(t, file)
	await.Until(t, "progress", func() bool { return size(t, file) > before })
}

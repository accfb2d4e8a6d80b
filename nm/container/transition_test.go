package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/gpu"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// gates hold up, or fail, what a container waits for in its life.
type gates struct {
	Localizer
	Bucket
	hooked

	t          testing.TB
	mu         sync.Mutex
	initError  error
	initing    chan struct{} // closed: folders of applications are made; nil: at once
	localizing chan struct{} // closed: resources are localized; nil: at once
	writing    chan struct{} // closed: records get to the disk; nil: at once
}

func (g *gates) tweak(o *Options) {
	g.Localizer, g.Bucket, g.Handler = o.Localizer, o.ContainerRecords, o.Groups
	o.Localizer, o.ContainerRecords, o.Groups = g, g, g
}

// shut makes a gate, and returns what opens it.
func (g *gates) shut(gate *chan struct{}) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	*gate = shut
	open = sync.OnceFunc(func() {
		g.mu.Lock()
		*gate = nil
		g.mu.Unlock()
		close(shut)
	})
	g.t.Cleanup(open)
	return open
}

func (g *gates) gate(gate *chan struct{}) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *gate == nil {
		open := make(chan struct{})
		close(open)
		return open
	}
	return *gate
}

func (g *gates) InitApplication(user string, app records.ApplicationID) ([]string, error) {
	<-g.gate(&g.initing)
	g.mu.Lock()
	err := g.initError
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return g.Localizer.InitApplication(user, app)
}

func (g *gates) Localize(ctx context.Context, req localizer.Request) (localizer.Result, error) {
	select {
	case <-g.gate(&g.localizing):
		return g.Localizer.Localize(ctx, req)
	case <-ctx.Done():
		return localizer.Result{}, ctx.Err()
	}
}

// Begin has writes wait for the gate, in their order.
func (g *gates) Begin(key string, value []byte) <-chan error {
	written, out := g.Bucket.Begin(key, value), make(chan error, 1)
	gate := g.gate(&g.writing)
	go func() {
		<-gate
		out <- <-written
	}()
	return out
}

// trip is the way of one container.
type trip struct {
	*testing.T
	*gates
	l   *lab
	app int32
	c   *Container
	end string // a file that ends its process
}

func (tr *trip) prepare(t *testing.T) {
	tr.T, tr.gates, tr.end = t, &gates{t: t}, filepath.Join(t.TempDir(), "end")
	tr.l = newLab(t, tr.tweak, quickly)
}

// start starts the container, whose process ends with a code when the end file is there.
func (tr *trip) start(code int, more ...func(*job)) *trip {
	tr.Helper()
	j := job{id: containerID(tr.app, 1), command: fmt.Sprintf("while ! [ -e %s ]; do sleep 0.01; done; exit %d", tr.end, code)}
	for _, f := range more {
		f(&j)
	}
	tr.c = tr.l.run(j)
	return tr
}

func (tr *trip) until(s State) *trip {
	tr.Helper()
	steps.until(tr.T, tr.c, s)
	return tr
}

// endProcess has the process end by itself.
func (tr *trip) endProcess() *trip {
	if err := os.WriteFile(tr.end, nil, 0o600); err != nil {
		tr.Fatal(err)
	}
	return tr
}

func (tr *trip) kill() *trip {
	tr.c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	return tr
}

func (tr *trip) done() { waitDone(tr.T, tr.c) }

// change begins a change of the launch context, which opening the gate lets go on.
func (tr *trip) change() (open func()) {
	tr.Helper()
	open = tr.shut(&tr.localizing)
	j := job{command: "sleep 600; :", resources: map[string]*pb.LocalResource{"x": tr.l.file("x", "X")}}
	if err := tr.c.Reinitialize(j.context(), true); err != nil {
		tr.Fatal(err)
	}
	tr.until(Reinitializing)
	return open
}

// suspended has the container PAUSED, with its process going on: it can end as no frozen one could.
func (tr *trip) suspended() {
	tr.Helper()
	tr.freezing(func(context.Context, cgroup.Group) error { return nil })
	if err := tr.c.Suspend(tr.Context()); err != nil {
		tr.Fatal(err)
	}
	tr.until(Paused)
}

func (tr *trip) freezing(f func(context.Context, cgroup.Group) error) {
	tr.set(func(h *hooked) { h.freeze = f })
}

// inProcessTo brings a running container to a state in which its process is alive, and holds it there until leave is called.
func (tr *trip) inProcessTo(s State) (leave func()) {
	tr.Helper()
	leave = func() {}
	command := func(f func(*Container, context.Context) error) func() {
		open := tr.shut(&tr.writing)
		var running sync.WaitGroup
		running.Go(func() { _ = f(tr.c, context.Background()) })
		return func() {
			open()
			running.Wait()
		}
	}
	switch s {
	case Pausing:
		leave = command((*Container).Suspend)
		tr.until(Pausing)
	case Paused:
		tr.suspended()
	case Resuming:
		tr.suspended()
		leave = command((*Container).Resume)
		tr.until(Resuming)
	}
	return leave
}

func retrying(j *job) { j.retry = retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, 1) }

var errNo = errors.New("no")

// trips are ways that lead through all transitions. The name of one says what happens.
var trips = map[string]func(*trip){
	"succeeds": func(tr *trip) { tr.start(0).until(Running).endProcess().done() },
	"fails":    func(tr *trip) { tr.start(7).until(Running).endProcess().done() },
	"application can't be prepared": func(tr *trip) {
		tr.initError = errNo
		tr.start(0).until(LocalizationFailed).done()
	},
	"killed while new": func(tr *trip) {
		tr.shut(&tr.initing)
		tr.start(0).kill().until(Killing).done()
	},
	"can't be localized": func(tr *trip) {
		tr.start(0, func(j *job) {
			r := tr.l.file("missing", "x")
			if err := os.Remove(r.GetResource().GetFile()); err != nil {
				tr.Fatal(err)
			}
			j.resources = map[string]*pb.LocalResource{"missing": r}
		}).until(LocalizationFailed).done()
	},
	"killed while localizing": func(tr *trip) {
		tr.shut(&tr.localizing)
		tr.start(0).until(Localizing).kill().done()
	},
	"killed while it waits": func(tr *trip) {
		tr.l.node.SetResource(records.NewResource(1, 1))
		other := tr.l.run(job{id: containerID(tr.app, 2), command: "sleep 600; :"})
		steps.until(tr.T, other, Running)
		tr.start(0).until(Scheduled).kill().done()
	},
	"process can't be started": func(tr *trip) {
		tr.set(func(h *hooked) { h.create = func() error { return errNo } })
		tr.start(0).until(ExitedWithFailure).done()
	},
	"killed": func(tr *trip) { tr.start(0).until(Running).kill().done() },
	"killed, and ends well": func(tr *trip) {
		tr.l.node.cfg.KillGrace = grace
		tr.start(0, func(j *job) { j.command = "trap 'exit 0' TERM; touch ready; while :; do sleep 0.01; done" }).until(Running)
		waitFile(tr, tr.c.Status().WorkDir+"/ready")
		tr.kill().until(ExitedWithSuccess).done()
	},
	"killed, and fails": func(tr *trip) {
		tr.l.node.cfg.KillGrace = grace
		tr.start(0, func(j *job) { j.command = "trap 'exit 3' TERM; touch ready; while :; do sleep 0.01; done" }).until(Running)
		waitFile(tr, tr.c.Status().WorkDir+"/ready")
		tr.kill().until(ExitedWithFailure).done()
	},
	"there are no GPUs": func(tr *trip) {
		tr.l.node.cfg.GPUs = gpu.NewPool(nil)
		types, err := records.NewResourceTypes(records.ResourceType{Name: gpu.Type})
		if err != nil {
			tr.Fatal(err)
		}
		tr.l.node.cfg.Types = types
		j := job{id: containerID(tr.app, 1), user: "ann", memory: 256}
		g := j.grant(0)
		i, _ := types.Index(gpu.Type)
		g.Resource[i] = 1
		tr.l.node.SetResource(records.NewResource(1, 1).Add(g.Resource))
		if err := tr.l.node.Start(g, j.context(), j.token(0)); err != nil {
			tr.Fatal(err)
		}
		tr.c = tr.l.container(j.id)
		tr.until(Scheduled).until(LocalizationFailed).done()
	},
	"relaunched": func(tr *trip) {
		tr.start(7, retrying).until(Running).endProcess().until(Relaunching).until(Running).done()
	},
	"killed before it is relaunched": func(tr *trip) {
		tr.l.node.cfg.RetryMinimum = 1 << 40
		tr.start(7, retrying).until(Running).endProcess().until(Relaunching).kill().done()
	},
	"can't be relaunched": func(tr *trip) {
		tr.start(7, retrying).until(Running)
		tr.set(func(h *hooked) { h.limit = func(cgroup.Limits, cgroup.Group) error { return errNo } })
		tr.endProcess().until(Relaunching).until(ExitedWithFailure).done()
	},
	"relaunched during a change": func(tr *trip) {
		tr.start(7, retrying).until(Running)
		tr.change()
		tr.endProcess().until(Relaunching).until(Reinitializing).kill().done()
	},
	"out of memory": func(tr *trip) {
		tr.set(func(h *hooked) {
			h.usage = func(u cgroup.Usage) cgroup.Usage {
				u.OOMKills, u.Peak = 1, 256<<20
				return u
			}
		})
		tr.start(0, func(j *job) { j.command = "kill -9 $$" }).until(Exited).until(CleanedUpAfterKill).done()
	},
	"changed": func(tr *trip) {
		tr.start(0).until(Running)
		open := tr.change()
		open()
		tr.until(ReinitializingAwaitingKill).until(Running)
	},
	"change can't be localized": func(tr *trip) {
		tr.start(0).until(Running)
		open := tr.change()
		if err := os.Remove(tr.l.file("x", "X").GetResource().GetFile()); err != nil {
			tr.Fatal(err)
		}
		open()
		tr.until(Running)
	},
	"changed process can't be started": func(tr *trip) {
		tr.start(0).until(Running)
		tr.set(func(h *hooked) { h.limit = func(cgroup.Limits, cgroup.Group) error { return errNo } })
		tr.change()()
		tr.until(ReinitializingAwaitingKill).until(ExitedWithFailure).done()
	},
	"killed during the end for a change": func(tr *trip) {
		tr.l.node.cfg.KillGrace = grace
		tr.start(0, func(j *job) {
			j.command = "trap 'touch asked; while ! [ -e " + tr.end + " ]; do sleep 0.01; done; exit 0' TERM; touch ready; while :; do sleep 0.01; done"
		}).until(Running)
		waitFile(tr, tr.c.Status().WorkDir+"/ready")
		tr.change()()
		tr.until(ReinitializingAwaitingKill)
		waitFile(tr, tr.c.Status().WorkDir+"/asked")
		tr.kill().endProcess().until(Killing).done()
	},
	"suspended and resumed": func(tr *trip) {
		tr.start(0).until(Running)
		if err := errors.Join(tr.c.Suspend(tr.Context()), tr.c.Resume(tr.Context())); err != nil {
			tr.Error(err)
		}
	},
	"suspended and resumed during a change": func(tr *trip) {
		tr.start(0).until(Running)
		tr.change()
		if err := errors.Join(tr.c.Suspend(tr.Context()), tr.c.Resume(tr.Context())); err != nil {
			tr.Error(err)
		}
		tr.until(Reinitializing)
	},
	"can't be suspended": func(tr *trip) {
		tr.start(0).until(Running)
		tr.freezing(func(context.Context, cgroup.Group) error { return errNo })
		for _, now := range []State{Running, Reinitializing} {
			if err := tr.c.Suspend(tr.Context()); !errors.Is(err, errNo) {
				tr.Error(err)
			}
			tr.until(Pausing).until(now)
			if now == Running {
				tr.change()
			}
		}
	},
	"can't be resumed at first": func(tr *trip) {
		tr.start(0).until(Running)
		tr.suspended()
		tr.set(func(h *hooked) { h.thaw = func() error { return errNo } })
		if err := tr.c.Resume(tr.Context()); !errors.Is(err, errNo) {
			tr.Error(err)
		}
		tr.until(Resuming).until(Paused)
		tr.suspended()
		tr.set(func(h *hooked) { h.thaw = nil })
	},
	"recovered": func(tr *trip) {
		tr.start(0).until(Running)
		paused := tr.l.run(job{id: containerID(tr.app, 2), command: "sleep 600; :"})
		steps.until(tr.T, paused, Running)
		if err := paused.Suspend(tr.Context()); err != nil {
			tr.Fatal(err)
		}
		ended := tr.l.run(job{id: containerID(tr.app, 3), command: "true"})
		waitDone(tr.T, ended)
		steps.again(tr.c, paused, ended)
		tr.l.restart()
		tr.until(Running)
		steps.until(tr.T, paused, Paused)
		steps.until(tr.T, ended, Done)
	},
}

// What has a process may end, be killed or be exchanged, whatever is being done to it.
func init() {
	for _, s := range inProcess {
		reach := func(tr *trip) (leave func()) {
			tr.start(0).until(Running)
			if s == Reinitializing {
				tr.change()
			}
			return tr.inProcessTo(s)
		}
		trips["ends while "+s.String()] = func(tr *trip) {
			leave := reach(tr)
			tr.endProcess().until(Exited)
			leave()
			tr.done()
		}
		trips["signalled while "+s.String()] = func(tr *trip) {
			leave := reach(tr)
			await.Until(tr.T, "its process has begun", func() bool { return tr.c.Status().PID != 0 })
			if err := tr.c.Signal(pb.SignalContainerCommand_FORCEFUL_SHUTDOWN); err != nil {
				tr.Error(err)
			}
			tr.until(Exited)
			leave()
			tr.done()
		}
		trips["killed while "+s.String()] = func(tr *trip) {
			leave := reach(tr)
			tr.kill().until(Killing)
			leave()
			tr.done()
		}
		if s != Running {
			trips["changed while "+s.String()] = func(tr *trip) {
				tr.start(0).until(Running)
				open := tr.change()
				leave := tr.inProcessTo(s)
				open()
				tr.until(ReinitializingAwaitingKill)
				leave()
				tr.until(Running)
			}
		}
	}
}

// Every transition of the table is taken by a container with real processes, so that every state can be reached, and no other is.
func TestEveryTransitionIsTaken(t *testing.T) {
	steps.reset()
	t.Run("trips", func(t *testing.T) {
		app := int32(0)
		for name, way := range trips {
			app++
			tr := trip{app: app}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tr.prepare(t)
				way(&tr)
			})
		}
	})
	taken := steps.all()
	for from, follow := range transitions {
		for _, to := range follow {
			if taken[step{State(from), to}] == 0 {
				t.Errorf("no container went from %s to %s (%d to %d)", State(from), to, from, to)
			}
			delete(taken, step{State(from), to})
		}
	}
	for s, n := range taken {
		t.Errorf("%d containers went from %s to %s, which the table doesn't have", n, s.from, s.to)
	}
	if !t.Failed() {
		n := 0
		for _, follow := range transitions {
			n += len(follow)
		}
		t.Logf("%d transitions between %d states", n, len(transitions))
	}
}

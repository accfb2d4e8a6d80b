package unmanaged_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/unmanaged"
	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/yarn/pb"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// lab is a cluster without nodes, which an application of this kind needs none of.
type lab struct {
	*minicluster.Cluster
	t    *testing.T
	apps *client.Applications
}

func newLab(t *testing.T) *lab {
	c := minicluster.Start(t, 1, nil)
	cluster, err := client.NewCluster(c.Conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	apps, err := cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	return &lab{c, t, apps}
}

func (l *lab) new(queue string) *unmanaged.Application {
	l.t.Helper()
	a, err := unmanaged.New(l.t.Context(), unmanaged.Options{Conf: l.Conf, User: "alice", Name: "mine", Queue: queue, Log: minicluster.Log(l.t)})
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

func (l *lab) state(r *unmanaged.Running) pb.YarnApplicationState {
	l.t.Helper()
	got, err := l.apps.Report(l.t.Context(), r.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	return got.State
}

func TestAnApplicationOfThisProcess(t *testing.T) {
	l := newLab(t)
	began := make(chan string, 1)
	r, err := l.new("").Run(t.Context(), 256, func(ctx context.Context, m *am.Master, host string, stop <-chan struct{}) error {
		began <- host
		<-stop
		return nil
	}, func(err error) { t.Errorf("it has ended by itself: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	if host := <-began; host != "127.0.0.1" {
		t.Errorf("nodes are to reach it at %q", host)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	await.Until(t, "it is finished", func() bool { return l.state(r) == pb.YarnApplicationState_FINISHED })
}

// An application whose work has failed ends as FAILED, not as SUCCEEDED, and Stop finds nothing wrong with that.
func TestAnApplicationEndsAsItsWorkDid(t *testing.T) {
	l := newLab(t)
	r, err := l.new("").Run(t.Context(), 256, func(_ context.Context, _ *am.Master, _ string, stop <-chan struct{}) error {
		<-stop
		return nil
	}, func(err error) { t.Errorf("it has ended by itself: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it runs", func() bool { return l.state(r) == pb.YarnApplicationState_RUNNING })
	r.SetResult(am.Failed, "exit code 123")
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	await.Until(t, "it is finished", func() bool { return l.state(r) == pb.YarnApplicationState_FINISHED })
	if got, err := l.apps.Report(t.Context(), r.ID); err != nil || got.Final != am.Failed || got.Diagnostics != "exit code 123" {
		t.Errorf("%v %q, %v", got.Final, got.Diagnostics, err)
	}
}

// One that fails, or that somebody kills, says so once, and Stop says why.
func TestApplicationsThatEndByThemselves(t *testing.T) {
	l := newLab(t)
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		main  unmanaged.Main
		kill  bool
		state pb.YarnApplicationState
	}{
		"it fails": {
			main:  func(context.Context, *am.Master, string, <-chan struct{}) error { return broken },
			state: pb.YarnApplicationState_FINISHED, // with FAILED as its final status
		},
		"it is killed": {
			main: func(ctx context.Context, _ *am.Master, _ string, _ <-chan struct{}) error {
				<-ctx.Done()
				return context.Cause(ctx)
			},
			kill:  true,
			state: pb.YarnApplicationState_KILLED,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 2)
			r, err := l.new("").Run(t.Context(), 256, test.main, func(err error) { ended <- err })
			if err != nil {
				t.Fatal(err)
			}
			if test.kill {
				await.Until(t, "it runs", func() bool { return l.state(r) == pb.YarnApplicationState_RUNNING })
				if err := l.apps.Kill(t.Context(), r.ID, "by hand"); err != nil {
					t.Fatal(err)
				}
			}
			why := <-ended
			if !strings.Contains(why.Error(), r.ID.String()) || !test.kill && !errors.Is(why, broken) ||
				test.kill && (!strings.Contains(why.Error(), "by hand") || strings.Contains(why.Error(), "Exception")) { // who killed it, and not that it isn't known
				t.Error(why)
			}
			if err := r.Stop(); err == nil {
				t.Error("Stop knows of nothing")
			}
			if len(ended) > 0 {
				t.Error("it has ended twice")
			}
			await.Until(t, "the ResourceManager knows", func() bool { return l.state(r) == test.state })
		})
	}
}

// What can't be submitted says why, and leaves nothing.
func TestApplicationsThatAreRefused(t *testing.T) {
	l := newLab(t)
	none := func(context.Context, *am.Master, string, <-chan struct{}) error { return nil }
	if _, err := l.new("nowhere").Run(t.Context(), 256, none, func(error) {}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("in a queue that isn't there: %v", err)
	}
}

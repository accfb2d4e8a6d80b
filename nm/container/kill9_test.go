package container

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// wayTo is what a container goes through to get to a state, and what becomes of it if its NodeManager is killed just then.
type wayTo struct {
	command   string // with the folder of the test as %s
	retry     bool
	localizes string // a resource
	then      func(ctx context.Context, c *Container) error

	recovered State // it stays in that state
	exitCode  int   // if that is Done
	runs      int   // how often its process has been started by then
}

const (
	runsOn   = "echo >> %s/runs; while :; do sleep 0.01; done"
	failsAt1 = "echo >> %[1]s/runs; if [ -e %[1]s/failed ]; then while :; do sleep 0.01; done; fi; touch %[1]s/failed; exit 7"
)

func suspendIt(ctx context.Context, c *Container) error { return c.Suspend(ctx) }

func resumeIt(ctx context.Context, c *Container) error {
	if err := c.Suspend(ctx); err != nil {
		return err
	}
	return c.Resume(ctx)
}

// reinitIt has the container run something that leaves a file in its work folder, and then does the same as before.
func reinitIt(_ context.Context, c *Container) error {
	to := proto.CloneOf(c.LaunchContext())
	to.SetCommand([]string{"touch second; " + to.GetCommand()[0]})
	return c.Reinitialize(to, false)
}

func killIt(_ context.Context, c *Container) error {
	c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	return nil
}

// waysTo has one for each state. A container that is new can't be held, as nobody makes a transition to that: see New.
var waysTo = map[State]wayTo{
	Localizing:                 {command: runsOn, recovered: Running, runs: 1},
	LocalizationFailed:         {command: runsOn, localizes: "/no/such/file", recovered: Done, exitCode: records.ExitInvalid},
	Scheduled:                  {command: runsOn, recovered: Running, runs: 1},
	Running:                    {command: runsOn, recovered: Running, runs: 1},
	Reinitializing:             {command: runsOn, then: func(_ context.Context, c *Container) error { return c.Restart() }, recovered: Running, runs: 1},
	ReinitializingAwaitingKill: {command: runsOn, then: reinitIt, recovered: Running, runs: 2},
	Pausing:                    {command: runsOn, then: suspendIt, recovered: Running, runs: 1},
	Paused:                     {command: runsOn, then: suspendIt, recovered: Paused, runs: 1},
	Resuming:                   {command: runsOn, then: resumeIt, recovered: Paused, runs: 1},
	Exited:                     {command: "exit 7", recovered: Done, exitCode: 7},
	Relaunching:                {command: failsAt1, retry: true, recovered: Running, runs: 2},
	Killing:                    {command: runsOn, then: killIt, recovered: Done, exitCode: records.ExitKilledByAppMaster, runs: 1},
	CleanedUpAfterKill:         {command: runsOn, then: killIt, recovered: Done, exitCode: records.ExitKilledByAppMaster, runs: 1},
	ExitedWithSuccess:          {command: "exit 0", recovered: Done},
	ExitedWithFailure:          {command: "exit 7", recovered: Done, exitCode: 7},
	Done:                       {command: "exit 7", recovered: Done, exitCode: 7},
}

func (w wayTo) job(state State, dir string) job {
	j := job{id: containerID(1, int64(state)+1), user: "ann", memory: 64, command: w.command}
	if strings.Contains(j.command, "%") {
		j.command = fmt.Sprintf(j.command, dir)
	}
	if w.retry {
		j.retry = retry(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS, 1) // of which the death of the NodeManager costs none
	}
	if w.localizes != "" {
		u := &pb.URL{}
		u.SetScheme("file")
		u.SetFile(w.localizes)
		r := &pb.LocalResource{}
		r.SetResource(u)
		r.SetType(pb.LocalResourceType_FILE)
		r.SetVisibility(pb.LocalResourceVisibility_APPLICATION)
		j.resources = map[string]*pb.LocalResource{"missing": r}
	}
	return j
}

// runs is how often the processes of a test's container have begun.
func runs(dir string) int {
	b, _ := os.ReadFile(dir + "/runs")
	return len(b)
}

// hold takes a container to a state, in a node that is to be killed, and leaves it there.
func (n *node) hold(state State, dir string) error {
	w := waysTo[state]
	steps.holdAt(state)
	j := w.job(state, dir)
	if err := n.Start(j.grant(0), j.context(), j.token(0)); err != nil {
		return err
	}
	c, err := n.Container(j.id)
	if err != nil {
		return err
	}
	if w.then != nil {
		if err := steps.wait(n.ctx, j.id, Running); err != nil {
			return err
		}
		for runs(dir) == 0 { // it is not to be stopped before
			time.Sleep(time.Millisecond)
		}
		go w.then(n.ctx, c) //nolint:errcheck // it doesn't return, or the state isn't reached
	}
	select {
	case <-steps.held:
		if killed := c.killed(); killed != nil { // whoever asked for it was told so once that was on disk
			return c.Saved(n.ctx)
		}
		return nil
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
}

// A NodeManager is killed when its containers are, one by one, in each of their states. The next one makes of each what it
// was to be, and no process is started twice or forgotten.
func TestKilledInEachState(t *testing.T) {
	for state := range transitions {
		state := State(state)
		if state == New {
			continue // TestKilledWhileContainersStart
		}
		w, ok := waysTo[state]
		if !ok {
			t.Errorf("no container gets to state %d, %s", state, state)
			continue
		}
		t.Run(fmt.Sprintf("%d %s", state, state), func(t *testing.T) {
			t.Parallel()
			l := newDeadLab(t)
			l.tweak = quickly
			dir := t.TempDir()
			node := startChild(t, l.dir)
			node.do("hold %d %s", state, dir)
			node.kill()
			l.start()
			c := l.container(w.job(state, dir).id)
			await.Until(t, fmt.Sprintf("%s, with %d runs, after %s", w.recovered, w.runs, state), func() bool {
				return c.State() == w.recovered && runs(dir) >= w.runs
			})
			if got := runs(dir); got != w.runs {
				t.Errorf("its process was started %d times, not %d", got, w.runs)
			}
			if s := c.Status(); w.recovered == Done && s.ExitCode != w.exitCode {
				t.Errorf("exit code %d, want %d: %s", s.ExitCode, w.exitCode, s.Diagnostics)
			}
			if w.recovered == Paused {
				if err := c.Resume(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}) // and newDeadLab sees to it that nothing is left
	}
}

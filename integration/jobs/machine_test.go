package jobs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// hogVariable has the test's own program take memory until it is killed.
const hogVariable = "JOBS_TEST_HOG"

func hog() {
	var all [][]byte
	for {
		b := make([]byte, 16<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = byte(i>>12) | 1
		}
		all = append(all, b)
		if len(all) > 1<<20 {
			return
		}
	}
}

// clockSteps has the machine's clock step forward and back while the container is suspended. It goes on breathing, and nobody takes it, its node or its ApplicationMaster for lost.
func (l *ladder) clockSteps() {
	l.t.Helper()
	breathes := func(what string) {
		l.t.Helper()
		before, _ := l.state()
		await.Slowly(l.t, "it breathes "+what, func() bool {
			s, known := l.state()
			return known && s.LastBreathTime != before.LastBreathTime
		})
		l.agree("reclaimed")
	}
	if out, err := l.begin("-resume", l.id)(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	l.agree("running")
	if out, err := l.begin("-suspend", l.id, "-level", "reclaimed", "-breathe", "5s")(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	breathes("as ever")
	for _, by := range []time.Duration{3 * time.Hour, -5 * time.Hour, 2 * time.Hour} {
		at := time.Now().Add(by)
		if out, err := exec.Command("date", "-s", "@"+strconv.FormatInt(at.Unix(), 10)).CombinedOutput(); err != nil {
			l.t.Fatalf("the clock can't be set: %v: %s", err, out)
		}
		breathes("when the clock has stepped by " + by.String())
	}
}

// A container goes to each rung of the ladder. When it is suspended and paged out it outlives that its machine runs out of memory, and that its clock steps. Then the test leaves it suspended, and waits until the
// power is cut. This is for a machine that nobody else needs: integration/vm runs it, in a folder that this variable names.
func TestOnAMachineOfItsOwn(t *testing.T) {
	home := os.Getenv("JOBS_TEST_MACHINE")
	if home == "" {
		return
	}
	swapfile.On(t, 256<<20)
	nmtest.RealGroups(t)
	c := startCluster(t, 1, 1, map[string]string{"yarn.nodemanager.resource.memory-mb": "1024"})
	l := c.climber(t)
	down := func() {
		await.Slowly(t, "it is suspended", func() bool {
			out, err := l.begin("-suspend", l.id, "-level", "reclaimed", "-breathe", "never")()
			return err == nil || strings.Contains(out, "already")
		})
		l.agree("reclaimed")
	}
	want := sumOf(randomBytes())
	down()
	for _, r := range rungs {
		if !t.Run(r.name, func(t *testing.T) {
			defer func(was *testing.T) { l.t = was }(l.t)
			l.t = t
			l.kills("nobody", r, want)
		}) {
			return
		}
	}
	down()
	greedy := exec.Command(os.Args[0])
	greedy.Env = append(os.Environ(), hogVariable+"=1")
	err := greedy.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the machine has not run out of memory: %v", err)
	}
	l.agree("reclaimed")
	l.clockSteps()
	await.Slowly(t, "it resumes", func() bool { _, err := l.begin("-resume", l.id)(); return err == nil })
	l.agree("running")
	l.progress()
	l.intact(want)
	down()
	var script strings.Builder
	for _, id := range []string{"rm1", "nm1"} {
		script.WriteString(strings.Join(c.Command(id), " ") + " >/tmp/" + id + ".log 2>&1 &\n")
	}
	for _, f := range [][2]string{{"again", script.String()}, {"conf", c.conf}, {"suspended", l.id}} { // the last one says that all are there
		if err := os.WriteFile(filepath.Join(home, f[0]), []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(time.Hour)
}

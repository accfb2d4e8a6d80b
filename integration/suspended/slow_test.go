package suspended

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// says has a command about containers succeed and say something.
func (l *lab) says(want string, args ...string) {
	l.t.Helper()
	if out, err := l.heddle("container", args...); err != nil || !strings.Contains(out, want) {
		l.t.Errorf("heddle container %v: %v, want %q: %s", args, err, want, out)
	}
}

// A node doesn't answer. Nobody says of its containers that they are what they are to be: whoever suspends or resumes one hears that its node has not reported
// it yet, also when he asks again, and so do those who look at it. When the node is back it does what is on record.
func TestTheNodeIsSlow(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := start(t, 1, 1, nil)
	m := l.submit(nil)
	w := m.work(1, 512)[0]
	host, _, _ := strings.Cut(l.Address(w.node, "yarn.nodemanager.address"), ":")
	unreported := host + " has not reported it yet"
	shows := func(level, text string) {
		t.Helper()
		l.says("to "+level, "-listSuspended")
		if b, known := l.box(w.id); !known || b.Level != level || b.Suspension == nil || b.Suspension.UnreportedSince == 0 || !strings.Contains(b.Suspension.Text, text) {
			t.Errorf("the ResourceManager says %+v: %+v", b, b.Suspension)
		}
		if out, err := l.heddle("container", "-status", w.id); err != nil || !strings.Contains(out, "Diagnostics : "+text) || !strings.Contains(out, unreported) {
			t.Errorf("heddle container -status: %v: %s", err, out)
		}
		for _, args := range [][]string{{"-why", m.id.String()}, {"-status", m.id.String()}} {
			if out, err := l.heddle("app", args...); err != nil || !strings.Contains(out, "is "+text) || !strings.Contains(out, unreported) {
				t.Errorf("heddle app %v: %v: %s", args, err, out)
			}
		}
	}
	accepted := func(verb string) {
		t.Helper()
		resp, err := http.Post("http://"+l.Addresses("yarn.resourcemanager.webapp.address")[0]+"/ws/v1/heddle/containers/"+w.id+"/"+verb+"?breathe=never&user.name=root", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // nobody reads it
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("%s: %s", verb, resp.Status)
		}
	}

	l.Signal(w.node, syscall.SIGSTOP)
	for range 2 {
		l.says("is suspended ", "-suspend", w.id, "-breathe", "never")
	}
	accepted("suspend")
	shows("FROZEN", "suspended ")
	if out, err := l.heddle("container", "-suspend", w.id, "-breathe", "45s"); err == nil || !strings.Contains(out, "("+unreported+"): resume it first") {
		t.Errorf("another breath: %v: %s", err, out)
	}
	w.progress()
	l.Signal(w.node, syscall.SIGCONT)
	await.Slowly(t, "it stands still", func() bool {
		b, known := l.box(w.id)
		return known && b.Suspension.UnreportedSince == 0 && len(l.frozen()) == 1
	})
	if out, err := l.heddle("container", "-suspend", w.id, "-breathe", "never"); err == nil || !strings.Contains(out, "by user root: resume it first") {
		t.Errorf("suspended twice: %v: %s", err, out)
	}

	l.Signal(w.node, syscall.SIGSTOP)
	for range 2 {
		l.says("s; "+unreported, "-resume", w.id)
	}
	accepted("resume")
	shows("RUNNING", "resuming for ")
	if len(l.frozen()) != 1 {
		t.Error("it goes on")
	}
	l.Signal(w.node, syscall.SIGCONT)
	await.Slowly(t, "it is said to run", func() bool {
		out, err := l.heddle("container", "-resume", w.id)
		return err == nil && strings.Contains(out, "runs already")
	})
	if len(l.frozen()) > 0 {
		t.Error("it stands still")
	}
	l.running(w.node, w.id)
	w.progress()
	m.finish()
	l.empty()
}

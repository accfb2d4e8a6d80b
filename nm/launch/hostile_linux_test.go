package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/hostile"
)

// A container made its status file 4 TB long, and each NodeManager that recovered it ran out of memory.
func TestAStatusFileWithoutEnd(t *testing.T) {
	l := newLab(t)
	s := l.start("while ! [ -e go ]; do sleep 0.01; done; exit 11")
	await.Until(t, "the session", func() bool { return s.PID() != 0 })
	if err := os.Truncate(s.spec.Status, 4<<40); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, begun := again(t, s.spec, s.group, s.keeper)
	if !begun || r.PID() != s.PID() {
		t.Errorf("recovered %d, %v, want %d", r.PID(), begun, s.PID())
	}
	if err := os.WriteFile(s.spec.WorkDir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	go s.Wait(context.Background())
	if code := wait(t, r); code != 11 {
		t.Errorf("exit code %d", code)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("it took %d bytes of memory", took)
	}
}

// Whatever a status file says, there is a possible exit code, and no process that can't be.
func TestAStatusFileThatLies(t *testing.T) {
	l := newLab(t)
	for text, want := range map[string]int{
		"exit 99999999999\n": ExitLost, "exit 256\n": ExitLost, "exit -5\n": ExitLost, "exit 0x7\n": ExitLost, "": ExitLost, "\x00exit 3\n": ExitLost,
		"pid 99999999\nexit 3\n": ExitLost, "exit 3\nexit 4\n": 4, "exit 5\n\x00\x00": 5, strings.Repeat("pid 1\n", 20) + "exit 3\n": ExitLost,
	} {
		spec := l.spec("container_2_1_96_1")
		if err := os.MkdirAll(spec.WorkDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(spec.Status, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Session{spec: spec, done: make(chan struct{})}
		if code := wait(t, s); code != want {
			t.Errorf("%q: exit code %d, want %d", text, code, want)
		}
		if pid, _, _ := s.status(); pid > maxPID {
			t.Errorf("%q: process %d", text, pid)
		}
	}
}

// A container took its keeper's descriptors, as the keeper is a process of the same user.
func TestAContainerTakesNoDescriptorOfItsKeepers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts programs as others")
	}
	l := newLab(t)
	program := hostile.Build(t, l.dir, "thief")
	l.owner = &syscall.Credential{Uid: 65534, Gid: 65534}
	for _, dir := range []string{l.dir, filepath.Dir(l.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	waits := l.prepare("sleep 600") // at its gate
	runs := l.start("sleep 600")
	await.Until(t, "the session", func() bool { return runs.PID() != 0 })
	steal := func(pid int) string {
		cmd := exec.Command(program, fmt.Sprint(pid))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.owner}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for name, s := range map[string]*Session{"before the gate": waits, "behind it": runs} {
		if out := steal(s.keeper.PID); out != "0 taken\n" {
			t.Errorf("%s: of its keeper: %s", name, out)
		}
		if fi, err := os.Stat(s.spec.Status); err != nil || fi.Size() != statusSize {
			t.Errorf("%s: the status file has %d bytes, %v", name, fi.Size(), err)
		}
	}
	// The way is open to the container itself: it's the keeper that is protected.
	await.Until(t, "the container's own descriptors are taken", func() bool { return steal(runs.PID()) != "0 taken\n" })
}

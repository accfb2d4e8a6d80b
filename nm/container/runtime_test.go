package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

// A container that asked for docker ran on the machine itself, without the limits of its image.
func TestContainersThatAskForDockerDoNotRunOnTheMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	const nobody = 65534
	l := newDeadLab(t)
	for dir := l.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.tweak = func(o *Options) {
		o.Config.Owner = func(string) (*userfiles.User, error) { return &userfiles.User{UID: nobody, GID: nobody}, nil }
	}
	l.start()
	for i, asked := range []string{"docker", "runc", "javasandbox", "Default", "$X"} {
		c := l.run(job{id: containerID(1, int64(1+i)), env: map[string]string{launch.RuntimeType: asked, "X": "default"}, command: "exit 7"})
		s := waitDone(t, c)
		if s.ExitCode != -1 || !strings.Contains(s.Diagnostics, "Requested runtime not allowed.") {
			t.Errorf("%s: exit code %d, %q", asked, s.ExitCode, s.Diagnostics)
		}
	}
	c := l.run(job{id: containerID(1, 9), env: map[string]string{launch.RuntimeType: "default"}, command: "exit 7"})
	if s := waitDone(t, c); s.ExitCode != 7 {
		t.Errorf("default: exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

// YARN's DefaultContainerExecutor ignores what a container asks for. It did so here without a word.
func TestIgnoredRuntimesAreNamedInDiagnostics(t *testing.T) {
	l := newLab(t)
	for asked, want := range map[string]bool{"docker": true, "default": false} {
		id := int64(1)
		if want {
			id = 2
		}
		s := waitDone(t, l.run(job{id: containerID(1, id), env: map[string]string{launch.RuntimeType: asked}, command: "exit 7"}))
		if s.ExitCode != 7 || strings.Contains(s.Diagnostics, launch.RuntimeType+" has no effect") != want {
			t.Errorf("%s: exit code %d, %q", asked, s.ExitCode, s.Diagnostics)
		}
	}
}

package container

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/userfiles"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Where containers run as somebody else than the NodeManager, they own what is theirs and reach nothing else.
func TestContainersOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	const nobody = 65534
	owner := func(string) (*userfiles.User, error) { return &userfiles.User{UID: nobody, GID: nobody}, nil }
	l := newDeadLab(t)
	for dir := l.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.tweak = func(o *Options) { o.Config.Owner = owner }
	l.start()
	c := l.run(job{
		id: containerID(1, 1), resources: map[string]*pb.LocalResource{"in": l.file("in", "content")},
		command: "id -u > who; cat container_tokens | wc -c > tokens; cat in > copy; ls " + l.dir + "/local1/nmPrivate 2> denied; echo log > <LOG_DIR>/stdout; touch ready; sleep 600; :",
	})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running || c.State() == Done })
	s := c.Status()
	if s.State != Running {
		t.Fatalf("%+v", s)
	}
	waitFile(t, s.WorkDir+"/ready")
	for name, want := range map[string]string{"who": "65534\n", "tokens": "7\n", "copy": "content"} {
		if b, err := os.ReadFile(filepath.Join(s.WorkDir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if b, err := os.ReadFile(s.WorkDir + "/denied"); err != nil || !strings.Contains(string(b), "Permission denied") {
		t.Errorf("the private folder: %q, %v", b, err)
	}
	uid := func(path string) uint32 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	for path, want := range map[string]uint32{
		s.WorkDir: nobody, s.WorkDir + "/tmp": nobody, s.WorkDir + "/launch_container.sh": nobody, s.WorkDir + "/container_tokens": nobody,
		s.LogDirs[0]: nobody, filepath.Dir(s.LogDirs[0]): nobody,
	} {
		if got := uid(path); got != want {
			t.Errorf("%s belongs to %d", path, got)
		}
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	if s := waitDone(t, c); s.ExitCode != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	await.Until(t, "removal of the work folder", func() bool { return !exists(s.WorkDir) })
}

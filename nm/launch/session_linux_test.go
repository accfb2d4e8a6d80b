package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

type lab struct {
	t       *testing.T
	handler cgroup.Handler
	dir     string
	n       int
	owner   *syscall.Credential // of containers; nil: the test's own
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := logrus.New()
	l.Out = io.Discard
	d, err := cgroup.Detect(cgroup.Options{ID: fmt.Sprintf("launch-test:%d", os.Getpid()), Log: logrus.NewEntry(l)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &lab{t: t, handler: d, dir: t.TempDir()}
}

func (l *lab) group(id string) cgroup.Group {
	l.t.Helper()
	g, err := l.handler.Create(id, cgroup.Limits{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := g.Kill(context.Background()); err != nil {
			l.t.Error(err)
		}
		if err := g.Destroy(context.Background()); err != nil {
			l.t.Error(err)
		}
	})
	return g
}

// start begins a container that runs command.
func (l *lab) start(command string) *Session {
	l.t.Helper()
	s := l.prepare(command)
	if err := s.Open(); err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) prepare(command string) *Session {
	l.t.Helper()
	l.n++
	spec := l.spec(fmt.Sprintf("container_2_1_%d_1", l.n)) // no other package has such ids: some handlers of cgroups find processes by them
	if err := os.MkdirAll(spec.WorkDir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	script, err := Script{LogDir: spec.WorkDir, Command: []string{command}}.Bytes()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(spec.Script, script, 0o700); err != nil {
		l.t.Fatal(err)
	}
	if l.owner != nil {
		spec.Credential = l.owner
		for _, path := range []string{spec.WorkDir, spec.Script} {
			if err := os.Chown(path, int(l.owner.Uid), int(l.owner.Gid)); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	s, err := Start(spec, l.group(spec.ID))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { // nobody else may wait
		s.group.Kill(context.Background())
		s.Wait(context.Background())
	})
	return s
}

func (l *lab) spec(id string) Spec {
	dir := filepath.Join(l.dir, id)
	return Spec{ID: id, Script: dir + "/" + ScriptFile, WorkDir: dir, Status: dir + "/status", Output: dir + "/output"}
}

func wait(t *testing.T, s *Session) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code, err := s.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestExitCodes(t *testing.T) {
	l := newLab(t)
	for command, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "exit -1": 255, "kill -9 $$": 137, "kill $$": 143, "kill -9 0": 137, "nosuchcmd": 127,
		"if; exit 0": 2, "": 0, `kill -9 \$\$; true`: 137,
	} {
		s := l.start(command)
		if got := wait(t, s); got != want {
			t.Errorf("%q: exit code %d, want %d; %s", command, got, want, s.Output(1000))
		}
		// the same is in the status file, for whoever comes later
		r, started := again(t, s.spec, s.group, s.keeper)
		if got := wait(t, r); got != want || !started {
			t.Errorf("%q: exit code %d after recovery, want %d", command, got, want)
		}
	}
}

func TestEnvironmentIsTheScriptsAlone(t *testing.T) {
	t.Setenv("SECRET_OF_THE_NODE", "1")
	l := newLab(t)
	s := l.start("env > env; ls /proc/self/fd > fd")
	if code := wait(t, s); code != 0 {
		t.Fatal(code)
	}
	env, _ := os.ReadFile(s.spec.WorkDir + "/env")
	if strings.Contains(string(env), "SECRET") || !strings.Contains(string(env), "CONTAINER_ID="+s.spec.ID) {
		t.Errorf("environment:\n%s", env)
	}
	// 3 is what ls itself opens
	if fd, _ := os.ReadFile(s.spec.WorkDir + "/fd"); string(fd) != "0\n1\n2\n3\n" {
		t.Errorf("descriptors: %q", fd)
	}
}

func TestNothingRunsBeforeTheGateOpens(t *testing.T) {
	l := newLab(t)
	s := l.prepare("touch ran")
	s.Abandon()
	if _, started := again(t, s.spec, s.group, s.keeper); started {
		t.Error("an abandoned container counts as started")
	}
	if _, err := os.Stat(s.spec.WorkDir + "/ran"); err == nil {
		t.Error("the script ran")
	}
	if pids, err := s.group.Processes(); err != nil || len(pids) > 0 {
		t.Errorf("left: %v, %v", pids, err)
	}
}

func TestStopAsksFirst(t *testing.T) {
	l := newLab(t)
	s := l.start(`trap 'echo asked > asked; exit 9' TERM; touch ready; while :; do sleep 0.01; done`)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(s.spec.WorkDir + "/ready"); return err == nil })
	if err := s.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, s); code != 9 {
		t.Errorf("exit code %d", code)
	}
}

// Whoever is stopped while the session begins is asked as well, and doesn't run until the grace is over.
func TestStopAsksWhoeverHasJustBegun(t *testing.T) {
	l := newLab(t)
	for range 10 {
		s := l.start("while :; do sleep 0.01; done")
		if err := s.Stop(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if code := wait(t, s); code != 143 {
			t.Errorf("exit code %d", code)
		}
	}
}

// The grace is for every process, not only for the first.
func TestStopGivesTimeToAll(t *testing.T) {
	l := newLab(t)
	s := l.start(`(trap 'sleep 0.1; touch cleaned; exit' TERM; touch ready; while :; do sleep 0.01; done) & wait`)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(s.spec.WorkDir + "/ready"); return err == nil })
	if err := s.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.spec.WorkDir + "/cleaned"); err != nil {
		t.Error("a child was killed before it had cleaned up")
	}
	if code := wait(t, s); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

func TestStopInsists(t *testing.T) {
	l := newLab(t)
	s := l.start(`trap '' TERM; setsid --fork sleep 600; touch ready; while :; do sleep 0.01; done`)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(s.spec.WorkDir + "/ready"); return err == nil })
	if err := s.Stop(t.Context(), 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, s); code != 137 {
		t.Errorf("exit code %d", code)
	}
	if pids, err := s.group.Processes(); err != nil || len(pids) > 0 {
		t.Errorf("left: %v, %v", pids, err)
	}
}

func TestStopOfAFrozenContainer(t *testing.T) {
	l := newLab(t)
	s := l.start(`trap 'touch heard' TERM; touch ready; while :; do sleep 0.01; done`)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(s.spec.WorkDir + "/ready"); return err == nil })
	if err := s.group.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, s); code != 137 {
		t.Errorf("exit code %d", code)
	}
}

func TestRecoverALiveContainer(t *testing.T) {
	l := newLab(t)
	s := l.start("while ! [ -e go ]; do sleep 0.01; done; exit 11")
	await.Until(t, "the session", func() bool { return s.PID() != 0 })
	r, started := again(t, s.spec, s.group, s.keeper)
	if !started || r.PID() != s.PID() {
		t.Fatalf("recovered %d, %v, want %d", r.PID(), started, s.PID())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if code, err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a live container ended with %d, %v", code, err)
	}
	if err := os.WriteFile(s.spec.WorkDir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// its parent has to wait, or there is a zombie
	go s.Wait(context.Background())
	if code := wait(t, r); code != 11 {
		t.Errorf("exit code %d", code)
	}
}

func TestRecoverOfWhatNobodyKnows(t *testing.T) {
	l := newLab(t)
	spec := l.spec("container_2_1_99_1")
	s, started := again(t, spec, l.group(spec.ID), proc.ID{PID: 1 << 22, Start: 1})
	if started {
		t.Error("it counts as started")
	}
	if code := wait(t, s); code != ExitLost {
		t.Errorf("exit code %d", code)
	}
}

func TestSignalSparesTheKeeper(t *testing.T) {
	l := newLab(t)
	s := l.start(`trap 'exit 12' QUIT; touch ready; while :; do sleep 0.01; done`)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(s.spec.WorkDir + "/ready"); return err == nil })
	if err := s.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, s); code != 12 {
		t.Errorf("exit code %d", code)
	}
}

func TestAScriptThatCannotStartSaysWhy(t *testing.T) {
	l := newLab(t)
	spec := l.spec("container_2_1_98_1")
	if err := os.MkdirAll(spec.WorkDir, 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := Script{LogDir: spec.WorkDir + "/missing", Command: []string{"true"}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec.Script, script, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Start(spec, l.group(spec.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, s); code != 1 || !strings.Contains(s.Output(4096), "missing/prelaunch.out: No such file") {
		t.Errorf("exit code %d, output %q", code, s.Output(4096))
	}
}

func TestStartFailsCleanly(t *testing.T) {
	l := newLab(t)
	good := l.spec("container_2_1_97_1")
	if err := os.MkdirAll(good.WorkDir, 0o700); err != nil {
		t.Fatal(err)
	}
	g := l.group(good.ID)
	for name, spoil := range map[string]func(*Spec){
		"no work folder":   func(s *Spec) { s.WorkDir += "/missing" },
		"no status folder": func(s *Spec) { s.Status = s.WorkDir + "/missing/status" },
		"no output folder": func(s *Spec) { s.Output = s.WorkDir + "/missing/output" },
	} {
		spec := good
		spoil(&spec)
		if s, err := Start(spec, g); err == nil {
			t.Errorf("%s: started", name)
			s.Abandon()
		} else if !strings.Contains(err.Error(), good.ID) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTails(t *testing.T) {
	dir := t.TempDir()
	logs, err := userfiles.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	const pattern = "{*stderr*,*STDERR*}"
	if got := ReadTails(logs, userfiles.Anybody, pattern, 10); got.HasErr || got.ErrorName != "" {
		t.Errorf("nothing gave %+v", got)
	}
	old := time.Now().Add(-time.Hour)
	for name, content := range map[string]string{PrelaunchErr: "0123456789ABC", "my-STDERR.txt": "older", "stderr": "newer", "stdout": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "stderr" {
			os.Chtimes(filepath.Join(dir, name), old, old)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "stderr.link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "stderr.fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ReadTails(logs, os.Getuid(), pattern, 10)
	if got.Prelaunch != "3456789ABC" || got.ErrorName != "stderr" || got.ErrorText != "newer" || len(got.ErrorFiles) != 2 {
		t.Errorf("got %+v", got)
	}
	// A hard link leads to a file of somebody else's.
	if got := ReadTails(logs, os.Getuid()+1, pattern, 10); got.Prelaunch != "" || got.ErrorText != "" {
		t.Errorf("of another user: %+v", got)
	}
}

func TestTailsAreTextWhateverTheProgramWrites(t *testing.T) {
	dir := t.TempDir()
	logs, err := userfiles.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	for content, want := range map[string]string{
		"Datei nicht gefunden: \xfcbung": "nden: \uFFFDbung",
		"1234日本日本":                       "本日本",
		"\xff\xff\xff\xff\xff":           strings.Repeat("\uFFFD", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, "stderr"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ReadTails(logs, userfiles.Anybody, "stderr", 11).ErrorText; got != want {
			t.Errorf("%q: %q, not %q", content, got, want)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("pid 12\nexit 7\n\x00\x00")
	f.Add("pid 12\nexit 7")
	f.Add("exit -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		pid, code, ended := parseStatus(text)
		if pid < 0 || pid > maxPID || code < 0 || code > 255 || code != 0 && !ended {
			t.Errorf("%q gave %d, %d, %v", text, pid, code, ended)
		}
		if p, c, e := parseStatus(text + "\x00\x00"); text != "" && (p != pid || c != code || e != ended) && !strings.HasSuffix(text, " ") {
			t.Errorf("%q: what follows changes the meaning", text)
		}
	})
}

// again is what the next life of a NodeManager does with a container.
func again(t *testing.T, spec Spec, group cgroup.Group, keeper proc.ID) (s *Session, begun bool) {
	s = Reattach(spec, group, keeper)
	return s, s.Begun(t.Context(), false)
}

// A container that was frozen before it had begun was waited for during five seconds, by looking a thousand times a second, after each restart of its node. With
// two hundred of them others got no time to stand still.
func TestAContainerThatWasFrozenAtOnceIsNotWaitedFor(t *testing.T) {
	keeper := exec.Command("sleep", "600")
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = keeper.Process.Kill(), keeper.Wait() }()
	p, err := proc.Read(keeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &Session{spec: Spec{Status: filepath.Join(t.TempDir(), "status")}, keeper: p.ID}
		began := time.Now()
		if !s.Begun(t.Context(), true) || time.Since(began) > 0 {
			t.Errorf("one that has passed the gate has not begun, or was waited for: %v", time.Since(began))
		}
		if !s.Begun(t.Context(), false) || time.Since(began) < 4*time.Second {
			t.Errorf("one that may wait at the gate was waited for %v", time.Since(began))
		}
		time.Sleep(time.Second) // what looks in the background gives up
		other := &Session{spec: s.spec, keeper: s.keeper}
		other.keeper.Start++ // it is another process
		if other.Begun(t.Context(), true) {
			t.Error("one that has gone has begun")
		}
	})
}

// A folder that the container's user can't enter is named, with who can't: the bare error blames bash.
func TestAFolderThatTheUserCantEnterIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root starts programs as others")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		ID: "container_1_0001_01_000001", Script: filepath.Join(dir, "script"), WorkDir: dir, Status: filepath.Join(dir, "status"),
		Output: filepath.Join(dir, "output"), Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
	}
	_, err := Start(spec, nil)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "65534") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want the folder, the user and what to do", err)
	}
}

package container

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/nm/disks"
	"heddle/nm/workdir"
)

// smallDisk mounts a disk of a few pages on dir.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func onlyDisk(l *lab, local, log string) func(*Options) {
	return func(o *Options) {
		d, err := disks.New(disks.Config{Local: []string{local}, Logs: []string{log}}, o.Log, nil)
		if err != nil {
			panic(err)
		}
		o.Disks = d
	}
}

func TestFullDiskUnderTheLogs(t *testing.T) {
	l := newDeadLab(t)
	log := l.dir + "/small"
	smallDisk(t, log, "64k")
	l.tweak = onlyDisk(l, l.dir+"/local1", log)
	l.start()
	// it fills the disk itself
	s := waitDone(t, l.run(job{id: containerID(1, 1), command: "cat /dev/zero > <LOG_DIR>/stdout"}))
	if s.ExitCode != 1 || !strings.Contains(s.Diagnostics, "No space left on the disk of "+log) {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	// with the disk full not even the script can say anything
	s = waitDone(t, l.run(job{id: containerID(1, 2), command: "true"}))
	if s.ExitCode == 0 || !strings.Contains(s.Diagnostics, log) || !strings.Contains(strings.ToLower(s.Diagnostics), "no space left on") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	if err := os.RemoveAll(workdir.AppLogs(log, appID(1))); err != nil {
		t.Fatal(err)
	}
	if s = waitDone(t, l.run(job{id: containerID(1, 3), command: "true"})); s.ExitCode != 0 {
		t.Errorf("with room again: exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

func TestFullDiskUnderTheWorkFolders(t *testing.T) {
	l := newDeadLab(t)
	for _, local := range []string{"/local1", "/local2"} {
		smallDisk(t, l.dir+local, "256k")
	}
	l.start()
	running := l.run(job{id: containerID(1, 1), command: "while ! [ -e " + l.dir + "/go ]; do sleep 0.01; done; exit 7"})
	await.Until(t, "the session", func() bool { return running.Status().PID != 0 })
	for _, local := range []string{"/local1", "/local2"} {
		f, err := os.Create(l.dir + local + "/filler")
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(bytes.Repeat([]byte{1}, 4096))
		}
		f.Close()
	}
	s := waitDone(t, l.run(job{id: containerID(1, 2), command: "true"}))
	if s.ExitCode == 0 || !strings.Contains(s.Diagnostics, l.dir+"/local") || !strings.Contains(s.Diagnostics, "no space left on device") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	// the exit code of one that runs has its place
	if err := os.WriteFile(l.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.waitStatus(1, "exit 7")
	if s := waitDone(t, running); s.ExitCode != 7 {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

func TestFullDiskUnderTheState(t *testing.T) {
	l := newDeadLab(t)
	state := l.dir + "/state"
	smallDisk(t, state, "1m")
	l.start()
	running := l.run(job{id: containerID(1, 1), command: "while ! [ -e " + l.dir + "/go ]; do sleep 0.01; done; exit 7"})
	await.Until(t, "the session", func() bool { return running.Status().PID != 0 })
	var err error
	n := int64(1)
	for err == nil && n < 1000 {
		n++
		j := job{id: containerID(1, n), user: "ann", memory: 100, command: "true " + strings.Repeat("x", 20000)}
		err = l.node.Start(j.grant(0), j.context(), j.token(0))
	}
	if err == nil || !strings.Contains(err.Error(), state) || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("after %d containers: %v", n, err)
	}
	// that one was not accepted, the others are not harmed
	if _, err := l.node.Container(containerID(1, n)); err == nil {
		t.Error("a container is there that was refused")
	}
	if err := os.WriteFile(l.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := waitDone(t, running); s.ExitCode != 7 {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	for i := int64(2); i < n; i++ {
		if s := waitDone(t, l.container(containerID(1, i))); s.ExitCode != 0 && !strings.Contains(s.Diagnostics, "no space left") {
			t.Errorf("container %d: exit code %d, %q", i, s.ExitCode, s.Diagnostics)
		}
	}
	for i := int64(1); i < n; i++ {
		l.node.Forget(containerID(1, i))
	}
	if s := waitDone(t, l.run(job{id: containerID(2, 1), command: "true"})); s.ExitCode != 0 {
		t.Errorf("with room again: exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

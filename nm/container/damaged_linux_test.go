package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/claims"
	"heddle/nm/cgroup"
	"heddle/nm/kept"
	"heddle/nm/proc"
	"heddle/nm/workdir"
	"heddle/yarn/records"
)

// processesOf are those that say they belong to a container, whatever group they are in.
func processesOf(t *testing.T, id records.ContainerID) (out []proc.ID) {
	t.Helper()
	table, err := proc.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	table.All(func(p proc.Process) bool {
		if v, err := claims.Environ(p.PID, cgroup.Marker); err == nil && v.First == id.String() && !p.Dead() {
			out = append(out, p.ID)
		}
		return true
	})
	return out
}

// A damaged record of one container, or of one application, ended the NodeManager at each start.
func TestADamagedRecordIsItsContainersLossAlone(t *testing.T) {
	bad, good := containerID(1, 1), containerID(1, 2)
	for name, damage := range map[string]map[string]string{
		"request":                      {bad.String() + kept.RequestKey: "\xff\xff"},
		"record":                       {bad.String() + kept.RecordKey: "{"},
		"both":                         {bad.String() + kept.RequestKey: "", bad.String() + kept.RecordKey: ""},
		"record of another shape":      {bad.String() + kept.RecordKey: `{"keeper":"yes","complete":3}`},
		"a key of no container's":      {"nonsense": "x", "container_x/record": "{}"},
		"another container's request":  {bad.String() + kept.RequestKey: "the other's"},
		"a key that isn't the usual":   {strings.Replace(bad.String(), "_01_", "_1_", 1) + kept.RecordKey: "{}"},
		"the application":              {"apps": "["},
		"the application and a record": {"apps": "[", bad.String() + kept.RecordKey: "\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			for _, id := range []records.ContainerID{bad, good} {
				c := l.run(job{id: id, command: "while ! [ -e end ]; do sleep 0.01; done; exit 5"})
				await.Until(t, "RUNNING", func() bool { return c.State() == Running })
			}
			l.node.close()
			l.spoil(damage, good)
			l.start()

			c, ended := l.container(good), l.container(bad)
			await.Until(t, "the other one goes on", func() bool { return c.State() == Running })
			hurt := damage[bad.String()+kept.RequestKey]+damage[bad.String()+kept.RecordKey] != "" || name == "both"
			if hurt {
				s := waitDone(t, ended)
				if s.ExitCode != records.ExitAborted || !strings.Contains(s.Diagnostics, "its record of the container is damaged: "+bad.String()) {
					t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
				}
				await.Until(t, "the end of its processes", func() bool { return len(processesOf(t, bad)) == 0 })
				l.node.Forget(bad)
				if err := l.node.Start(job{id: bad, user: "ann", memory: 256}.grant(0), nil, nil); !errors.Is(err, ErrExists) {
					t.Errorf("it can be started again: %v", err)
				}
			} else if await.Until(t, "RUNNING", func() bool { return ended.State() == Running }); len(processesOf(t, bad)) == 0 {
				t.Error("its processes are gone")
			}
			for _, c := range []*Container{c, ended} {
				if c.State() == Done {
					continue
				}
				if err := os.WriteFile(c.Status().WorkDir+"/end", nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if s := waitDone(t, c); s.ExitCode != 5 {
					t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
				}
			}
		})
	}
}

// spoil changes the state of a node that doesn't run.
func (l *lab) spoil(damage map[string]string, other records.ContainerID) {
	l.t.Helper()
	s := l.openState()
	defer s.Close()
	for key, value := range damage {
		bucket := s.Bucket("containers")
		if key == "apps" {
			bucket, key = s.Bucket("apps"), appID(1).String()
		}
		b := []byte(value)
		if value == "the other's" {
			var err error
			if b, err = bucket.Get(other.String() + kept.RequestKey); err != nil {
				l.t.Fatal(err)
			}
		}
		if err := bucket.Put(key, b); err != nil {
			l.t.Fatal(err)
		}
	}
}

// Whatever a container's files have become while no NodeManager ran, the next one starts, and other containers go on.
func TestDamagedFilesAreTheirContainersLossAlone(t *testing.T) {
	bad, good := containerID(1, 1), containerID(1, 2)
	replace := func(with func(path string) error) func(string) error {
		return func(path string) error { return errors.Join(os.RemoveAll(path), with(path)) }
	}
	ways := map[string]func(path string) error{
		"gone":        os.RemoveAll,
		"a folder":    replace(func(path string) error { return os.Mkdir(path, 0o700) }),
		"a pipe":      replace(func(path string) error { return syscall.Mkfifo(path, 0o600) }),
		"a link":      replace(func(path string) error { return os.Symlink("/proc/self/mem", path) }),
		"endless":     replace(func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) }),
		"nonsense":    replace(func(path string) error { return os.WriteFile(path, []byte("pid -1\nexit x\n\xff"), 0o600) }),
		"no readable": func(path string) error { return os.Chmod(path, 0) },
	}
	files := map[string]func(*Container) string{
		"status":  func(c *Container) string { return filepath.Join(c.record.Places.Private, workdir.StatusFile) },
		"output":  func(c *Container) string { return filepath.Join(c.record.Places.Private, workdir.OutputFile) },
		"private": func(c *Container) string { return c.record.Places.Private },
		"work":    func(c *Container) string { return c.record.Places.Work },
		"log":     func(c *Container) string { return c.record.Places.Log },
		"script":  func(c *Container) string { return filepath.Join(c.record.Places.Work, "launch_container.sh") },
	}
	l := newLab(t)
	other := l.run(job{id: good, command: "while :; do sleep 0.01; done"})
	await.Until(t, "RUNNING", func() bool { return other.State() == Running })
	id := bad
	for what, path := range files {
		for how, spoil := range ways {
			id.ID++
			if id == good {
				id.ID++
			}
			c := l.run(job{id: id, command: "touch begun; sleep 0.01; exit 3"})
			await.Until(t, "its process", func() bool { return exists(c.Status().WorkDir+"/begun") || c.State() == Done })
			l.node.close()
			if err := spoil(path(c)); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				t.Fatalf("%s %s: %v", what, how, err)
			}
			l.start()
			again := l.container(id)
			await.Until(t, what+" "+how+": its end", func() bool { return again.State() == Done })
			if s := l.container(good).State(); s != Running {
				t.Errorf("%s %s: the other container is %s", what, how, s)
			}
		}
	}
	l.container(good).Kill(records.ExitKilledByAppMaster, "killed\n")
	waitDone(t, l.container(good))
}

// An ended container's id was forgotten when its NodeManager was restarted: whoever sent its token once more ran it again.
func TestAnEndedContainerIsNotStartedAgainAfterARestart(t *testing.T) {
	l := newLab(t)
	j := job{id: containerID(1, 1), user: "ann", memory: 256, command: "exit 0"}
	waitDone(t, l.run(j))
	l.node.Forget(j.id)
	l.restart()
	if err := l.node.Start(j.grant(0), j.context(), j.token(0)); !errors.Is(err, ErrExists) {
		t.Errorf("started again: %v", err)
	}
	if _, err := l.node.Container(j.id); !errors.Is(err, ErrStoppedBefore) {
		t.Error(err)
	}
}

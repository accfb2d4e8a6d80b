package modes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/publicdir"
)

// A user's folder above the state let that user move the state of a node of root's away. The daemons refuse it now, and
// say what to mend. An account of its own is protected, too.
func TestDaemonsRefuseStateThatOthersCanMove(t *testing.T) {
	if os.Geteuid() != 0 || !hadooplab.OnHeddle() {
		t.Skip("only root can start daemons as other users")
	}
	binary := program(t)
	dir := publicdir.New(t, "")
	const games, nobody = 5, 65534
	folder := func(name string, uid int, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, uid, -1), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	games777, games755, mine := folder("games-777", games, 0o777), folder("games-755", games, 0o755), folder("root", 0, 0o755)
	his, all := folder("nobody", nobody, 0o755), folder("all", 0, 0o777)
	for name, c := range map[string]struct {
		role, key, at string
		uid           int
		mend          string
	}{
		"a node's state":               {"nm", "heddle.state.dir", games777, 0, "chown 0 " + games777},
		"a node's state of mode 0755":  {"nm", "heddle.state.dir", games755, 0, "chown 0 " + games755},
		"a node's local folder":        {"nm", "yarn.nodemanager.local-dirs", games777, 0, "chown 0 " + games777},
		"a node's logs":                {"nm", "yarn.nodemanager.log-dirs", all, 0, "chmod go-w " + all},
		"a ResourceManager's state":    {"rm", "heddle.state.dir", games777, 0, "chown 0 " + games777},
		"an account's node":            {"nm", "heddle.state.dir", games755, nobody, "chown 65534 " + games755},
		"an account's log":             {"rm", "heddle.state.dir", all, nobody, "chmod go-w " + all},
		"a node that is told so":       {"nm -D heddle.files.strict-modes=false", "heddle.state.dir", games777, 0, ""},
		"a node of root's":             {"nm", "heddle.state.dir", mine, 0, ""},
		"an account's node in its own": {"nm", "heddle.state.dir", his, nobody, ""},
	} {
		if c.mend != "" && len(contents(t, c.at)) == 1 { // what an earlier run has left there
			below := filepath.Join(c.at, "below")
			if err := errors.Join(os.Mkdir(below, 0o700), os.WriteFile(filepath.Join(below, "kept"), []byte("kept"), 0o600), os.Chown(below, c.uid, -1)); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(name, func(t *testing.T) {
			tmp := filepath.Join(map[int]string{0: mine, nobody: his}[c.uid], strings.ReplaceAll(name, " ", "-"))
			args := append(strings.Fields(c.role), "-D", "hadoop.tmp.dir="+tmp, "-D", "yarn.log.dir="+tmp, "-D", c.key+"="+filepath.Join(c.at, "below"))
			for _, key := range []string{"nodemanager.webapp", "nodemanager", "resourcemanager", "resourcemanager.webapp", "resourcemanager.scheduler", "resourcemanager.admin"} {
				args = append(args, "-D", "yarn."+key+".address=localhost:0")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, args...)
			cmd.Dir = "/"
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}}
			before := contents(t, c.at)
			said := &watched{until: "no ResourceManager answers", end: cancel}
			cmd.Stdout, cmd.Stderr = said, said
			err := cmd.Run()
			switch {
			case c.mend == "" && !said.seen():
				t.Errorf("it has not come up: %v\n%s", err, said)
			case c.mend != "" && (said.seen() || err == nil || !strings.Contains(said.String(), c.mend)):
				t.Errorf("%v, want %q\n%s", err, c.mend, said)
			}
			if after := contents(t, c.at); c.mend != "" && !slices.Equal(before, after) {
				t.Errorf("it refuses %s, and leaves there\n%s\nwhere was\n%s", c.at, strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
		})
	}
}

// contents describes a folder and everything below it: path, mode, owner, size, and when it was changed.
func contents(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		out = append(out, fmt.Sprintln(path, fi.Mode(), fi.Sys().(*syscall.Stat_t).Uid, fi.Size(), fi.ModTime().UnixNano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

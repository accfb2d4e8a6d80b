package localizer

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"heddle/internal/userfiles"
)

// Directories that an earlier release has left, which belong to the NodeManager and let the user's group pass, are used
// again, and the user's group can't enter any more.
func TestDirectoriesOfAnEarlierReleaseAreTakenOver(t *testing.T) {
	n, o := newOwnedNode(t)
	for _, dir := range n.dirs {
		leaveOld(t, dir, o)
	}
	own := UserDir(n.dirs[0], "alice")
	for i, v := range []Visibility{Private, Application} {
		for _, a := range []int32{1, 2} { // one that runs on, and a new one
			if _, err := n.InitApplication("alice", app(a)); err != nil {
				t.Fatal(err)
			}
			got := n.get(container(a, 1), "alice", n.file(string(rune('a'+i)), "content", v))
			err := userfiles.As(o, func() error {
				_, err := os.ReadFile(got)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	fi, err := os.Lstat(own)
	if err != nil {
		t.Fatal(err)
	}
	if uid, gid := ownerOf(t, own); uid != o.UID || gid != o.Shared || fi.Mode() != fs.ModeDir|fs.ModeSetgid|0o750 {
		t.Errorf("%s: %v of %d:%d", own, fi.Mode(), uid, gid)
	}
}

// leaveOld makes the directories of a user and an application as an earlier release did.
func leaveOld(t *testing.T, dir string, o *userfiles.User) {
	t.Helper()
	own := UserDir(dir, "alice")
	for _, d := range []struct {
		path string
		uid  int
		mode fs.FileMode
	}{
		{filepath.Dir(own), 0, 0o755},
		{own, 0, 0o750},
		{filepath.Join(own, FileCache), 0, 0o710},
		{filepath.Join(own, FileCache, "10"), 0, 0o755},
		{filepath.Join(own, AppCache), 0, 0o710},
		{AppDir(dir, "alice", app(1)), o.UID, 0o710},
		{filepath.Join(AppDir(dir, "alice", app(1)), FileCache), 0, 0o710},
		{filepath.Join(AppDir(dir, "alice", app(1)), FileCache, "10"), 0, 0o755},
	} {
		if err := os.MkdirAll(d.path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d.path, d.uid, o.GID); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d.path, d.mode); err != nil {
			t.Fatal(err)
		}
	}
}

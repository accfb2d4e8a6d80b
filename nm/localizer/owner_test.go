package localizer

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/userfiles"
)

// nobody is the user that containers run as in these tests; only root can give files away.
func nobody(t *testing.T) *userfiles.User {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &userfiles.User{UID: uid, GID: gid, Groups: []int{gid}, Shared: 4343}
}

func newOwnedNode(t *testing.T) (*node, *userfiles.User) {
	o := nobody(t)
	owner := func(string) (*userfiles.User, error) { return o, nil }
	n := newNode(t, func(c *Config) { c.Owner = owner })
	n.source.LocalFiles.Owner = owner
	return n, o
}

func ownerOf(t *testing.T, path string) (uid, gid int) {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := fi.Sys().(*syscall.Stat_t)
	return int(s.Uid), int(s.Gid)
}

func TestFilesBelongToTheUser(t *testing.T) {
	n, o := newOwnedNode(t)
	dirs, err := n.InitApplication("alice", app(1))
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(n.src, "tree")
	realTree(t, tree)
	path := filepath.Join(n.src, "a.tar.gz")
	run(t, tree, "tar", "-czf", path, ".")
	got := n.get(container(1, 1), "alice", resource(t, path, Archive, Private))
	err = filepath.WalkDir(got, func(p string, _ fs.DirEntry, err error) error {
		if uid, gid := ownerOf(t, p); uid != o.UID || gid != o.GID {
			t.Errorf("%s belongs to %d:%d", p, uid, gid)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// What leads to the user's own directory is the NodeManager's, and only the user and the NodeManager's group enter that.
	own := UserDir(n.dirs[0], "alice")
	for p := filepath.Dir(own); p != filepath.Dir(n.src); p = filepath.Dir(p) {
		if uid, _ := ownerOf(t, p); uid != 0 {
			t.Errorf("%s belongs to uid %d", p, uid)
		}
	}
	for p, want := range map[string]fs.FileMode{
		own: fs.ModeSetgid | 0o750, filepath.Join(own, FileCache): 0o710, dirs[0]: fs.ModeSetgid | 0o750, filepath.Join(dirs[0], FileCache): 0o710,
	} {
		fi, err := os.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		if uid, gid := ownerOf(t, p); uid != o.UID || gid != o.Shared || fi.Mode() != fs.ModeDir|want {
			t.Errorf("%s: %v of %d:%d", p, fi.Mode(), uid, gid)
		}
	}
	// The user gets at his files, and at nothing else.
	err = userfiles.As(o, func() error {
		_, err := os.ReadFile(filepath.Join(got, "bin/run.sh"))
		return err
	})
	if err != nil {
		t.Errorf("the user cannot read his own file: %v", err)
	}
	// Others of the user's own group don't.
	err = userfiles.As(&userfiles.User{UID: 4242, GID: o.GID}, func() error {
		_, err := os.ReadDir(own)
		return err
	})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another user of the group could list the user's directory: %v", err)
	}
	pub := n.get(container(1, 1), "alice", n.file("pub", "p", Public))
	if uid, _ := ownerOf(t, pub); uid != 0 {
		t.Errorf("a PUBLIC file belongs to uid %d", uid)
	}
}

// A file that only root can read is not to be had for a user by way of the NodeManager.
func TestReadsAsTheUser(t *testing.T) {
	n, o := newOwnedNode(t)
	secret := n.file("secret", "root's", Private)
	if err := os.Chmod(secret.Location.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.fail(container(1, 1), "alice", secret); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	group := n.file("group", "the group's", Private)
	if err := os.Chown(group.Location.Path, 0, 4242); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(group.Location.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := n.fail(container(1, 1), "alice", group); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	o.Groups = append(o.Groups, 4242)
	n.get(container(1, 1), "alice", group)
	// None of this stays with the NodeManager's own threads.
	for range 100 {
		if _, err := os.ReadFile(secret.Location.Path); err != nil {
			t.Fatalf("the NodeManager lost its rights: %v", err)
		}
	}
	if err := os.Mkdir(filepath.Join(n.src, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	inside := n.file("closed/f", "x", Private)
	if err := n.fail(container(1, 1), "alice", inside); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// An application owns its directory, and may replace what lies there by links to elsewhere.
func TestPlantedLinks(t *testing.T) {
	n, o := newOwnedNode(t)
	dirs, err := n.InitApplication("alice", app(1))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(n.src), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	err = userfiles.As(o, func() error {
		for _, d := range dirs {
			if err := os.Rename(filepath.Join(d, "filecache"), filepath.Join(d, "mine")); err != nil {
				return err
			}
			if err := os.Symlink(outside, filepath.Join(d, "filecache")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := n.file("f", "f", Application)
	if err := n.fail(container(1, 1), "alice", r); !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
	n.restart() // the sweep looks there too
	if err := n.EndApplication("alice", app(1)); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if uid, _ := ownerOf(t, outside); uid != 0 {
		t.Errorf("outside was given to uid %d", uid)
	}
	if _, err := os.Lstat(dirs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the application's directory is still there: %v", err)
	}
}

func TestUnknownUser(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.Owner = func(u string) (*userfiles.User, error) { return nil, user.UnknownUserError(u) }
	})
	r := n.file("f", "f", Public)
	if err := n.fail(container(1, 1), "ghost", r); !strings.Contains(err.Error(), "user ghost") {
		t.Errorf("got %v", err)
	}
	if _, err := n.InitApplication("ghost", app(1)); err == nil || !strings.Contains(err.Error(), "user ghost") {
		t.Errorf("got %v", err)
	}
}

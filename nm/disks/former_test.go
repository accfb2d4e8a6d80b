package disks

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"heddle/internal/publicdir"
)

const yarn, alice = 902, 1001 // user ids, which need no accounts

// tree makes folders with owners, in the order of their paths.
func tree(t *testing.T, top string, uid int, mode fs.FileMode, below map[string]int) string {
	t.Helper()
	if err := errors.Join(os.Mkdir(top, 0o700), os.Chmod(top, mode), os.Chown(top, uid, -1)); err != nil {
		t.Fatal(err)
	}
	for name, uid := range below {
		path := filepath.Join(top, name)
		err := os.Mkdir(path, 0o755)
		if strings.HasSuffix(name, ".log") {
			err = errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		}
		if err := errors.Join(err, os.Lchown(path, uid, -1)); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func owner(t *testing.T, path string) int {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

// A NodeManager of root's refused the folders with which YARN's had run the day before as yarn.
func TestFoldersOfYARNsNodeManagerAreTakenOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	inside := []string{"filecache", "usercache", "nmPrivate"}
	theirs := map[string]int{"filecache": yarn, "usercache": yarn, "nmPrivate": yarn}
	for name, c := range map[string]struct {
		uid     int
		mode    fs.FileMode
		below   map[string]int
		logs    bool
		trusted bool // it is taken over
	}{
		"local folder":                       {yarn, 0o755, theirs, false, true},
		"empty local folder":                 {yarn, 0o755, nil, false, true},
		"half taken over":                    {yarn, 0o755, map[string]int{"filecache": yarn, "usercache": 0}, false, true},
		"log folder":                         {yarn, 0o755, map[string]int{"application_1_0001": alice}, true, true},
		"what is being deleted":              {yarn, 0o755, map[string]int{"usercache_DEL_1": yarn}, false, true},
		"a submitter's":                      {alice, 0o755, nil, false, false},
		"writable for the group":             {yarn, 0o775, theirs, false, false},
		"a submitter's folder in it":         {yarn, 0o755, map[string]int{"usercache": alice}, false, false},
		"other things in it":                 {yarn, 0o755, map[string]int{"usercache": yarn, "timeline": yarn}, false, false},
		"a log folder with logs of a daemon": {yarn, 0o755, map[string]int{"application_1_0001": alice, "resourcemanager.log": yarn}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := publicdir.New(t, "")
			path := tree(t, filepath.Join(dir, "data"), c.uid, c.mode, c.below)
			own := tree(t, filepath.Join(dir, "own"), 0, 0o755, nil)
			cfg := Config{Local: []string{path}, Logs: []string{own}, Inside: inside, Former: func(uid int) bool { return uid == yarn }}
			if c.logs {
				cfg.Local, cfg.Logs = cfg.Logs, cfg.Local
			}
			log, said := test.NewNullLogger()
			_, err := New(cfg, logrus.NewEntry(log), func(string) (Space, error) { return Space{}, nil })
			if (err == nil) != c.trusted {
				t.Errorf("it starts: %v", err)
			}
			if got := owner(t, path); (got == 0) != c.trusted {
				t.Errorf("it belongs to %d", got)
			}
			back := ""
			for _, e := range said.AllEntries() {
				if i := strings.Index(e.Message, "chown 902 "+path); i >= 0 {
					back, _, _ = strings.Cut(e.Message[i:], ";")
				}
			}
			if (back != "") != c.trusted {
				t.Errorf("the log says how to give it back: %q", back)
			}
			for name, uid := range c.below {
				want := uid
				if c.trusted && !c.logs && !strings.Contains(name, leaving) {
					want = 0
				}
				if got := owner(t, filepath.Join(path, name)); got != want {
					t.Errorf("%s belongs to %d, want %d", name, got, want)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", back).CombinedOutput(); err != nil { // as on the way back to YARN
				t.Errorf("%s: %v: %s", back, err, out)
			}
			if got := owner(t, path); got != c.uid {
				t.Errorf("after %s it belongs to %d", back, got)
			}
			for name, uid := range c.below {
				if got := owner(t, filepath.Join(path, name)); got != uid && uid != 0 {
					t.Errorf("after %s %s belongs to %d, want %d", back, name, got, uid)
				}
			}
		})
	}
}

// A parent that others can replace, or a link in the folder's place, is no folder to take over.
func TestFoldersThatOthersCanReplaceAreNotTakenOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	dir := publicdir.New(t, "")
	cfg := Config{Former: func(uid int) bool { return uid == yarn }}
	parent := tree(t, filepath.Join(dir, "parent"), yarn, 0o755, nil)
	below := tree(t, filepath.Join(parent, "data"), yarn, 0o755, nil)
	data, link := tree(t, filepath.Join(dir, "data"), yarn, 0o755, nil), filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink(data, link), os.Lchown(link, yarn, -1)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{below, link} {
		if to := cfg.FormerOf(path, true); to != nil {
			t.Errorf("%s: %+v", path, to)
		}
	}
	to := cfg.FormerOf(data, true)
	if to == nil {
		t.Fatal("the folder itself isn't taken over")
	}
	if err := os.Chown(data, alice, -1); err != nil { // between the look and the deed
		t.Fatal(err)
	}
	if err := to.do(); err == nil || owner(t, data) != alice {
		t.Errorf("%v, and it belongs to %d", err, owner(t, data))
	}
}

package disks

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Local and log folders were taken below folders that others can write to, and folders in them that others have made.
func TestFoldersThatOthersCanReplaceAreRefused(t *testing.T) {
	base := t.TempDir()
	at := func(elems ...string) string { return filepath.Join(append([]string{base}, elems...)...) }
	for path, mode := range map[string]os.FileMode{
		at("good", "local"): 0o755, at("open", "local"): 0o755, at("good", "log"): 0o755, at("open", "log"): 0o755,
		at("planted", "local", "usercache"): 0o777, at("sticky", "local"): os.ModeSticky | 0o777,
	} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(at("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		local, log string
		want       []string // culprits
	}{
		"good":              {at("good", "local"), at("good", "log"), nil},
		"a parent for all":  {at("open", "local"), at("good", "log"), []string{at("open")}},
		"logs, too":         {at("planted", "local"), at("open", "log"), []string{at("planted", "local", "usercache"), at("open")}},
		"itself like /tmp":  {at("sticky", "local"), at("good", "log"), []string{at("sticky", "local")}},
		"one of two is bad": {at("good", "local") + "," + at("open", "local"), at("good", "log"), []string{at("open")}},
	} {
		_, err := New(Config{Local: strings.Split(c.local, ","), Logs: []string{c.log}, Check: true, Inside: []string{"usercache"}}, quiet(), fullness{}.space)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, culprit := range c.want {
			if err != nil && !strings.Contains(err.Error(), "chmod go-w "+culprit) {
				t.Errorf("%s: %v, without how to mend %s", name, err, culprit)
			}
		}
	}
	// nothing is made below such a folder
	if _, err := New(Config{Local: []string{at("open", "new", "local")}, Logs: []string{at("good", "log")}, Check: true}, quiet(), fullness{}.space); err == nil {
		t.Error("a folder to be made below one that others can write to is taken")
	}
	if _, err := os.Lstat(at("open", "new")); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
	// one that is opened later gets no new files
	d, err := New(Config{Local: []string{at("good", "local")}, Logs: []string{at("good", "log")}, Check: true}, quiet(), fullness{}.space)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at("good"), 0o777); err != nil {
		t.Fatal(err)
	}
	if !d.Check() || len(d.Local.Writable()) > 0 {
		t.Errorf("still used: %q", d.Local.Writable())
	}
}

// A first start with a umask of 077 made local folders that users of containers couldn't enter, and the node stayed healthy.
func TestUsersOfContainersCanPassThrough(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil { // the folder of the test's folders is its owner's alone
		t.Fatal(err)
	}
	at := func(elems ...string) string { return filepath.Join(append([]string{base}, elems...)...) }
	before := syscall.Umask(0o077)
	d, err := New(Config{Local: []string{at("data", "yarn", "local")}, Logs: []string{at("data", "yarn", "logs")}, Check: true, Users: true}, quiet(), fullness{}.space)
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{at("data"), at("data", "yarn"), at("data", "yarn", "local"), at("data", "yarn", "logs")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := os.Chmod(at("data"), 0o700); err != nil { // as an earlier release, or an administrator, left it
		t.Fatal(err)
	}
	if !d.Check() || len(d.Local.Writable()) > 0 {
		t.Errorf("still used: %q", d.Local.Writable())
	}
	if bad := closedTo(at("data", "yarn", "local")); !strings.Contains(bad, "chmod go+x "+at("data")) {
		t.Errorf("the reason is %q", bad)
	}
}

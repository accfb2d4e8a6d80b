//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder makes a folder with a mode and, if root runs the test, an owner.
func folder(t *testing.T, path string, mode os.FileMode, uid int) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if uid != os.Geteuid() {
		if err := os.Chown(path, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// The state was taken below a folder that others can write to: they moved it away.
func TestWhatOthersCanReplaceIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	const other, me = 4242, 0
	sticky := os.ModeSticky | 0o777
	for name, c := range map[string]struct {
		mode os.FileMode
		uid  int
		want string // ""; or words of the error
	}{
		"root's":               {0o755, me, ""},
		"closed":               {0o700, me, ""},
		"like /tmp":            {sticky, me, ""},
		"of another user":      {0o755, other, "chown 0 "},
		"another's for all":    {0o777, other, "chown 0 "},
		"another's like /tmp":  {sticky, other, "chown 0 "},
		"writable for all":     {0o777, me, "chmod go-w "},
		"writable for a group": {0o775, me, "mode 0775, and must not be writable for its group"},
	} {
		base := t.TempDir()
		parent := filepath.Join(base, "parent")
		folder(t, filepath.Join(parent, "nm", "state"), 0o700, me)
		folder(t, parent, c.mode, c.uid)
		for _, path := range []string{
			filepath.Join(parent, "nm", "state"), filepath.Join(parent, "not", "yet"), parent, filepath.Join(parent, "nm", "..", "nm"),
		} {
			err := Check(path)
			var culprit *Error
			switch {
			case c.want == "" && (err == nil) != (path == parent && c.mode == sticky): // it must not be the last one
			case !errors.As(err, &culprit) || c.want == "" || !strings.Contains(err.Error(), c.want) || culprit.At != parent:
				t.Errorf("%s: %s: %v, want %q about %s", name, path, err, c.want, parent)
			}
		}
	}
}

// A link is as good as the folders that it leads through, and as whoever may change it.
func TestLinksAreFollowedStepByStep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	const other = 4242
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	folder(t, at("good/state"), 0o700, 0)
	folder(t, at("bad/state"), 0o700, 0)
	folder(t, at("bad"), 0o777, 0)
	folder(t, at("shared"), os.ModeSticky|0o777, 0)
	for from, to := range map[string]string{
		"plain": "good/state", "whole": at("good/state"), "to-bad": "bad/state", "good/up": "../bad", "chain": "plain", "circle": "circle", "shared/his": at("good/state"),
	} {
		if err := os.Symlink(to, at(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Lchown(at("shared/his"), other, other); err != nil {
		t.Fatal(err)
	}
	for path, culprit := range map[string]string{
		"plain": "", "whole": "", "chain": "", "plain/below": "", "to-bad": "bad", "good/up/state": "bad", "shared/his": "shared/his",
	} {
		err := Check(at(path))
		var e *Error
		switch {
		case culprit == "" && err == nil:
		case !errors.As(err, &e) || e.At != at(culprit):
			t.Errorf("%s: %v, want %q to be named", path, err, culprit)
		}
	}
	if err := Check(at("circle")); err == nil {
		t.Error("a circle leads somewhere")
	}
}

func TestFilesThatOthersCanWriteAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o766); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "chmod go-w "+path) {
		t.Error(err)
	}
}

package secret

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const text = "correct horse battery staple\n"

func write(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	a, err := Load(write(t, text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load(write(t, "  "+text+"\n", 0o400))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Key("raft", 32), b.Key("raft", 32)) {
		t.Error("white space around the secret changes its keys")
	}
	if bytes.Equal(a.Key("raft", 32), a.Key("nodes", 32)) {
		t.Error("two uses have one key")
	}
}

// heddle conf check, run as root, called a secret of the daemons' user an error.
func TestASecretOfAnotherUserMayBeRightForAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := write(t, text, 0o600)
	if err := os.Chown(path, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !ForOthers(err) || !strings.Contains(err.Error(), "it belongs to user 4711, and user 0 runs this daemon") {
		t.Errorf("%v", err)
	}
	if _, err := Load(write(t, text, 0o644)); err == nil || ForOthers(err) {
		t.Errorf("one that others may read: %v", err)
	}
}

func TestRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"readable by others": {write(t, text, 0o644), "mode 0644"},
		"too short":          {write(t, "secret\n", 0o600), "6 bytes"},
		"too long":           {write(t, strings.Repeat("x", MaxBytes+1), 0o600), "bytes"},
		"a folder":           {t.TempDir(), "not a regular file"},
		"a pipe":             {pipe, "not a regular file"},
		"missing":            {filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		if _, err := Load(c.path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: got %v, want an error with %q and the path", name, err, c.want)
		}
	}
}

func TestNeverPrinted(t *testing.T) {
	s, err := New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, "horse") || strings.Contains(got, fmt.Sprintf("%x", "horse")) {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

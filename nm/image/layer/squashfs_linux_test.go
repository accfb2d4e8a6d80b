package layer_test

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/imagetest"
	"heddle/nm/image/layer"
)

func unsquash(t testing.TB, path string, most layer.Limits) (dir string, size layer.Size, err error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir = t.TempDir()
	size, err = layer.UnpackSquashfs(t.Context(), f, dir, most)
	return dir, size, err
}

// A squashfs file has what a layer has: files with owners and times, links, and overlayfs's signs of what is removed. Devices, other
// attributes and setuid bits are left out. Its file is one that only root can reach.
func TestSquashfs(t *testing.T) {
	root(t)
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	opaque := map[string]string{"SCHILY.xattr.trusted.overlay.opaque": "y", "SCHILY.xattr.user.other": "z"}
	path := closed + "/layer"
	imagetest.Squash(t, imagetest.Tar(t,
		imagetest.Entry{Header: tar.Header{Name: "hidden", Typeflag: tar.TypeDir, Mode: 0o755, PAXRecords: opaque}},
		imagetest.Entry{Header: tar.Header{Name: "a/file", Mode: 0o4755, Uid: 7, Gid: 8}, Content: []byte("content")},
		imagetest.Entry{Header: tar.Header{Name: "a/removed", Typeflag: tar.TypeChar, Mode: 0o600}},
		imagetest.Entry{Header: tar.Header{Name: "a/zero", Typeflag: tar.TypeChar, Mode: 0o666, Devmajor: 1, Devminor: 5}},
		imagetest.Entry{Header: tar.Header{Name: "a/disk", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 8}},
		imagetest.Link("a/link", "../../etc/passwd"), imagetest.File("a/.wh.kept", "x"),
	), path)
	dir, size, err := unsquash(t, path, limits)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if text, err := os.ReadFile(dir + "/a/file"); err != nil || string(text) != "content" || unix.Stat(dir+"/a/file", &st) != nil || st.Uid != 7 || st.Gid != 8 || st.Mode&0o7777 != 0o755 {
		t.Errorf("%q, %v, %+v", text, err, st)
	}
	if err := unix.Lstat(dir+"/a/removed", &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
		t.Errorf("what removes a file: %v, %+v", err, st)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(dir+"/hidden", "trusted.overlay.opaque", value); err != nil || string(value[:n]) != "y" {
		t.Errorf("what hides a folder's files: %v, %q", err, value)
	}
	if _, err := unix.Getxattr(dir+"/hidden", "user.other", value); err == nil {
		t.Error("another attribute is there")
	}
	names, err := os.ReadDir(dir + "/a")
	if err != nil || len(names) != 4 || size.Bytes < 7 {
		t.Errorf("%v, %v, %+v", names, err, size)
	}
}

// Whatever a squashfs file says, it is unpacked within its limits, or refused.
func TestSquashfsThatIsHostile(t *testing.T) {
	root(t)
	dir := t.TempDir()
	imagetest.Squash(t, imagetest.Tar(t, imagetest.File("zeros", strings.Repeat("\x00", 8<<20))), dir+"/bomb")
	good, err := os.ReadFile(dir + "/bomb")
	if err != nil {
		t.Fatal(err)
	}
	if made, _, err := unsquash(t, dir+"/bomb", limits); !errors.Is(err, layer.ErrTooLarge) {
		t.Errorf("8 MB of 1: %v, %s", err, made)
	}
	for what, b := range map[string][]byte{"nothing": nil, "noise": []byte(strings.Repeat("noise", 1000)), "cut": good[:100], "other tables": damaged(good)} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := unsquash(t, path, layer.Limits{Bytes: 1 << 30, Entries: 100}); err == nil || !strings.Contains(err.Error(), "sqfs2tar") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f, err := os.Open(dir + "/bomb")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := layer.UnpackSquashfs(ctx, f, t.TempDir(), limits); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// damaged changes where the tables of a squashfs file are.
func damaged(b []byte) []byte {
	b = append([]byte{}, b...)
	for at := 32; at < 96; at++ {
		b[at] ^= 0x55
	}
	return b
}

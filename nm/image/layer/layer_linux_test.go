package layer_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/klauspost/compress/zstd"

	"heddle/internal/imagetest"
	"heddle/nm/image/layer"
)

var limits = layer.Limits{Bytes: 1 << 20, Entries: 100}

// unpack unpacks an archive beside a file that must stay as it is.
func unpack(t testing.TB, archive []byte, most layer.Limits) (dir string, size layer.Size, err error) {
	t.Helper()
	base := t.TempDir()
	if err := os.WriteFile(base+"/victim", []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir = base + "/layer"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	size, err = layer.Unpack(t.Context(), bytes.NewReader(archive), dir, imagetest.Digest(archive), "", most)
	if b, err := os.ReadFile(base + "/victim"); err != nil || string(b) != "whole" {
		t.Errorf("a file outside is %q, %v", b, err)
	}
	outside, err2 := os.ReadDir(base)
	if err2 != nil || len(outside) != 2 {
		t.Errorf("outside are %v, %v", outside, err2)
	}
	return dir, size, err
}

func root(t testing.TB) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to other users")
	}
}

func TestALayerIsUnpackedAsOverlayfsReadsIt(t *testing.T) {
	root(t)
	at := time.Unix(1700000000, 0)
	owned := imagetest.File("usr/bin/tool", "tool")
	owned.Uid, owned.Gid, owned.ModTime, owned.Mode = 1234, 1235, at, 0o6755
	archive := imagetest.Tar(t, imagetest.Dir("tmp", 0o1777), owned, imagetest.Link("bin", "/usr/bin"),
		imagetest.Entry{Header: tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "/usr/bin/tool"}},
		imagetest.File("opt/.wh..wh..opq", ""), imagetest.File("etc/.wh.passwd", ""), imagetest.File("twice", "old"), imagetest.File("twice", "new"))
	dir, size, err := unpack(t, archive, limits)
	if err != nil || size.Entries < 8 {
		t.Fatalf("%v, %+v", err, size)
	}
	fi, err := os.Lstat(dir + "/usr/bin/tool")
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	if st.Uid != 1234 || st.Gid != 1235 || !fi.ModTime().Equal(at) || fi.Mode() != 0o755 || st.Nlink != 2 {
		t.Errorf("%v, %+v: want no setuid, and its owner and time", fi.Mode(), st)
	}
	if to, err := os.Readlink(dir + "/bin"); err != nil || to != "/usr/bin" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if fi, err := os.Stat(dir + "/tmp"); err != nil || fi.Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("%v, %v", fi, err)
	}
	var value [8]byte
	if n, err := unix.Getxattr(dir+"/opt", "trusted.overlay.opaque", value[:]); err != nil || string(value[:n]) != "y" {
		t.Errorf("opaque: %q, %v", value[:max(n, 0)], err)
	}
	if fi, err := os.Lstat(dir + "/etc/passwd"); err != nil || fi.Mode()&fs.ModeCharDevice == 0 || fi.Sys().(*syscall.Stat_t).Rdev != 0 {
		t.Errorf("the sign of a removed file is %v, %v", fi, err)
	}
	if b, err := os.ReadFile(dir + "/twice"); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestLayersOfAttackers(t *testing.T) {
	root(t)
	link := func(name, target string) imagetest.Entry {
		return imagetest.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}}
	}
	device := imagetest.Entry{Header: tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8}}
	pipe := imagetest.Entry{Header: tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}}
	huge := imagetest.File("huge", "x")
	huge.Size = 8 << 40
	for name, c := range map[string]struct {
		entries []imagetest.Entry
		want    string // of the error; "": none
	}{
		"up and out":                   {[]imagetest.Entry{imagetest.File("../victim", "x")}, "leads out"},
		"up in the middle":             {[]imagetest.Entry{imagetest.File("a/../../victim", "x")}, "leads out"},
		"from the root":                {[]imagetest.Entry{imagetest.File("/victim", "x")}, ""},
		"through an absolute link":     {[]imagetest.Entry{imagetest.Link("a", "/tmp"), imagetest.File("a/heddle-victim", "x")}, "folder"},
		"through a relative link":      {[]imagetest.Entry{imagetest.Link("a", ".."), imagetest.File("a/victim", "x")}, "folder"},
		"through two links":            {[]imagetest.Entry{imagetest.Link("a", "b"), imagetest.Link("b", ".."), imagetest.File("a/victim", "x")}, "folder"},
		"over a link":                  {[]imagetest.Entry{imagetest.Link("a", "../victim"), imagetest.File("a", "x")}, ""},
		"a folder over a link":         {[]imagetest.Entry{imagetest.Link("a", ".."), imagetest.Dir("a", 0o755), imagetest.File("a/victim", "x")}, ""},
		"a hard link to a file":        {[]imagetest.Entry{link("a", "../victim")}, "leads out"},
		"a hard link through a link":   {[]imagetest.Entry{imagetest.Link("a", ".."), link("b", "a/victim")}, "escape"},
		"a hard link to nothing":       {[]imagetest.Entry{link("a", "b")}, "no such file"},
		"devices and pipes":            {[]imagetest.Entry{device, pipe}, ""},
		"no removal":                   {[]imagetest.Entry{imagetest.File("a/.wh.", "")}, "removes no file"},
		"a removal of the parent":      {[]imagetest.Entry{imagetest.File("a/.wh...", "")}, "removes no file"},
		"the root removed":             {[]imagetest.Entry{imagetest.File(".wh..", "")}, "removes no file"},
		"the root as a file":           {[]imagetest.Entry{imagetest.File(".", "x")}, "no folder"},
		"terabytes":                    {[]imagetest.Entry{huge}, "too large"},
		"a long name":                  {[]imagetest.Entry{imagetest.File(strings.Repeat("x", 300), "x")}, "file name too long"},
		"a long path":                  {[]imagetest.Entry{imagetest.File(strings.Repeat("x/", 3000)+"x", "x")}, "no path"},
		"many implied folders":         {[]imagetest.Entry{imagetest.File(strings.Repeat("x/", 100)+"y", "x")}, "too large"},
		"a thousand folders in a path": {[]imagetest.Entry{imagetest.File(strings.Repeat("x/", 1100)+"y", "x")}, "no path"},
	} {
		dir, _, err := unpack(t, imagetest.Tar(t, c.entries...), limits)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
				t.Errorf("%s: made %s, %v", name, path, d.Type())
			}
			return nil
		})
	}
	if _, err := os.Lstat("/tmp/heddle-victim"); err == nil {
		t.Error("a file was written outside")
		os.Remove("/tmp/heddle-victim")
	}
}

// A million entries, in an archive of a few kilobytes when compressed, and gigabytes of zeros end at the limits, and cost little.
func TestLayersWithoutEnd(t *testing.T) {
	root(t)
	squeeze := func(write func(*gzip.Writer)) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		write(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	many := squeeze(func(w *gzip.Writer) {
		one := imagetest.Tar(t, imagetest.File("x", ""))[:512]
		out := tar.NewWriter(w)
		for i := range 150 {
			if err := out.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
				t.Fatal(err)
			}
		}
		w.Write(one)
	})
	zeros := squeeze(func(w *gzip.Writer) {
		out := tar.NewWriter(w)
		if err := out.WriteHeader(&tar.Header{Name: "zeros", Size: 8 << 20, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		out.Write(make([]byte, 8<<20))
	})
	tail := squeeze(func(w *gzip.Writer) { w.Write(make([]byte, 8<<20)) }) // nothing but the end of an archive, which never comes
	for name, archive := range map[string][]byte{"entries": many, "zeros": zeros, "a tail": tail} {
		dir, _, err := unpack(t, archive, limits)
		if !errors.Is(err, layer.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) > int(limits.Entries) {
			t.Errorf("%s: %d entries were made, %v", name, len(made), err)
		}
	}
}

func zstandard(t *testing.T, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

func TestLayersThatAreOthers(t *testing.T) {
	root(t)
	archive := []byte(imagetest.Tar(t, imagetest.File("a", "x")))
	good, other := imagetest.Digest(archive), imagetest.Digest(nil)
	for name, c := range map[string]struct {
		in             []byte
		diffID, digest string
		want           string
	}{
		"good":             {archive, good, good, ""},
		"another content":  {archive, other, good, "damaged"},
		"another download": {archive, good, other, "damaged"},
		"cut":              {archive[:300], imagetest.Digest(archive[:300]), "", "EOF"},
		"zstd":             {zstandard(t, archive), good, imagetest.Digest(zstandard(t, archive)), ""},
		"damaged zstd":     {append([]byte{0x28, 0xb5, 0x2f, 0xfd}, make([]byte, 100)...), good, "", "archive"},
		"cut zstd":         {zstandard(t, archive)[:20], good, "", "EOF"},
		"a window of 2 GB": {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3}, good, "", "window size exceeded"},
		"squashfs":         {[]byte("hsqs1234"), good, "", "squashfs"},
		"noise":            {bytes.Repeat([]byte("noise"), 500), good, "", "archive"},
	} {
		_, err := layer.Unpack(t.Context(), bytes.NewReader(c.in), t.TempDir(), c.diffID, c.digest, limits)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := layer.Unpack(ctx, bytes.NewReader(archive), t.TempDir(), good, good, limits); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// Whatever an archive says, nothing is written outside of its folder, and no device is made but the sign of a removed file.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte(imagetest.Tar(f, imagetest.File("a/b", "x"), imagetest.Link("c", "../.."), imagetest.File("c/victim", "y"), imagetest.File(".wh.a", ""))))
	f.Add([]byte(imagetest.Tar(f, imagetest.Dir("a", 0o755), imagetest.Entry{Header: tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "a/../../victim"}})))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, archive []byte) {
		if os.Geteuid() != 0 {
			return
		}
		dir, size, err := unpack(t, archive, layer.Limits{Bytes: 1 << 16, Entries: 50})
		if err == nil && (size.Bytes > 1<<16 || size.Entries > 50) {
			t.Errorf("%+v", size)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			fi, err := d.Info()
			if err == nil && fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeNamedPipe) != 0 || err == nil && fi.Mode()&fs.ModeDevice != 0 && fi.Sys().(*syscall.Stat_t).Rdev != 0 {
				t.Errorf("%s is %v", path, fi.Mode())
			}
			return nil
		})
	})
}

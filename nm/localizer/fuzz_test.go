package localizer

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/userfiles"
)

// unpackBeside unpacks an archive into a directory with a file outside of it, and fails if anything but that directory
// changes or the directory holds what it may not.
func unpackBeside(t *testing.T, unpack func(*tree) error) {
	base := t.TempDir()
	inside := filepath.Join(base, "slot", "archive")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	sentinel := filepath.Join(base, "sentinel")
	if err := os.WriteFile(sentinel, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	looks := 0
	m := &meter{ctx: t.Context(), dir: base, space: func(string) (Space, error) {
		if looks++; looks > 2 {
			return Space{}, nil
		}
		return Space{Free: 1 << 40}, nil
	}, reserve: 1}
	tr := newTree(root, m, 0o500)
	defer tr.close()
	err = unpack(tr)
	if err == nil {
		outer, oerr := userfiles.OpenDir(filepath.Dir(inside))
		if oerr != nil {
			t.Fatal(oerr)
		}
		defer outer.Close()
		d := &download{res: Resource{Visibility: Private}}
		if _, err := d.settle(outer, "archive"); err != nil {
			t.Errorf("unpacked, but: %v", err)
		}
	}
	if content, err := os.ReadFile(sentinel); err != nil || string(content) != "untouched" {
		t.Errorf("the file outside: %q, %v", content, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Dir(inside): 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
	err = filepath.WalkDir(inside, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
			t.Errorf("%s is a %v", p, e.Type())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func FuzzUntar(f *testing.F) {
	reg := tar.Header{Typeflag: tar.TypeReg, Name: "d/f", Linkname: "content"}
	f.Add([]byte(tarOf(f, reg)))
	f.Add([]byte(tarOf(f, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "../../sentinel"}, tar.Header{Typeflag: tar.TypeReg, Name: "l/x", Linkname: "x"})))
	f.Add([]byte(tarOf(f, reg, tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "d/f"}, tar.Header{Typeflag: tar.TypeSymlink, Name: "d/f", Linkname: "/"})))
	f.Add([]byte(tarOf(f, tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("long/", 50) + "x", Linkname: "x", Format: tar.FormatPAX})))
	f.Add([]byte(tarOf(f, tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("n", 120), Linkname: "x", Format: tar.FormatGNU})))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		unpackBeside(t, func(tr *tree) error { return untar(tr, strings.NewReader(string(data))) })
	})
}

func FuzzUnzip(f *testing.F) {
	f.Add([]byte(zipOf(f, "d/f", "content", "e/", "")))
	f.Add([]byte(zipOf(f, "@l", "../../sentinel", "l", "x", "l/x", "y")))
	f.Add([]byte(zipOf(f, "../sentinel", "x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		unpackBeside(t, func(tr *tree) error {
			return unzip(tr, strings.NewReader(string(data)), int64(len(data)), nil)
		})
	})
}

package oci_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/imagetest"
	"heddle/nm/image/oci"
)

func small(t testing.TB, content string) imagetest.Image {
	return imagetest.Image{Layers: []imagetest.Layer{imagetest.Tar(t, imagetest.File("a", content)), imagetest.Tar(t, imagetest.File("b", "b"))}, Env: []string{"A=" + content}}
}

func TestImagesAreFoundInEachFormat(t *testing.T) {
	dir := t.TempDir()
	small(t, "layout").Layout(t, dir+"/team/layout", "1")
	small(t, "folder").Layout(t, dir+"/team/folder/1", "")
	small(t, "archive").Archive(t, dir+"/team/archive/1.tar", "1")
	small(t, "saved").Saved(t, dir+"/reg.example.com_5000/saved/1.tar", "reg.example.com:5000/saved:1")
	small(t, "latest").Saved(t, dir+"/plain/latest.tar")
	for name, want := range map[string]string{
		"team/layout:1": "layout", "team/folder:1": "folder", "team/archive:1": "archive", "reg.example.com:5000/saved:1": "saved", "plain": "latest",
	} {
		n, err := oci.ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		i, err := oci.Find([]string{dir + "/none", dir}, n)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := i.Config.Config.Env; len(got) != 1 || got[0] != "A="+want || len(i.Layers) != 2 {
			t.Errorf("%s: %v, %d layers", name, got, len(i.Layers))
		}
		for _, l := range i.Layers {
			in, err := l.Open()
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(in); err != nil || imagetest.Digest(b) != l.DiffID {
				t.Errorf("%s: a layer has another digest, or %v", name, err)
			}
			in.Close()
		}
		i.Close()
	}
	for _, name := range []string{"team/layout:2", "team/none:1", "team/layout@sha256:" + strings.Repeat("0", 64)} {
		n, err := oci.ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := oci.Find([]string{dir}, n); err == nil || !strings.Contains(err.Error(), n.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n, _ := oci.ParseName("team/none")
	if _, err := oci.Find([]string{dir}, n); !errors.Is(err, oci.ErrNotFound) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want where it was looked for", err)
	}
}

// Images that lie are refused, with what is wrong.
func TestImagesThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(files map[string][]byte)
		want  string
	}{
		"a manifest with another digest": {func(files map[string][]byte) {
			for path, b := range files {
				if strings.Contains(string(b), `"layers":[`) && strings.HasPrefix(path, "blobs/") {
					files[path] = append(b, ' ')
				}
			}
		}, "its digest is"},
		"an index that is no JSON": {func(files map[string][]byte) { files["index.json"] = []byte("x") }, "manifest"},
		"an index without images":  {func(files map[string][]byte) { files["index.json"] = []byte("{}") }, "no manifest"},
		"a digest that leads away": {func(files map[string][]byte) {
			files["index.json"] = []byte(`{"manifests":[{"digest":"sha256:../../../etc/passwd"}]}`)
		}, "hexadecimal"},
		"a blob that isn't there": {func(files map[string][]byte) {
			files["index.json"] = fmt.Appendf(nil, `{"manifests":[{"digest":"sha256:%064d"}]}`, 0)
		}, "no such file"},
		"an index of five megabytes": {func(files map[string][]byte) { files["index.json"] = make([]byte, 5<<20) }, "longer than allowed"},
		"a thousand layers": {func(files map[string][]byte) {
			m := []byte(`{"layers":[` + strings.Repeat(`{},`, 999) + `{}]}`)
			files["blobs/sha256/"+imagetest.Digest(m)] = m
			files["index.json"] = fmt.Appendf(nil, `{"manifests":[{"digest":"sha256:%s"}]}`, imagetest.Digest(m))
		}, "1000 layers"},
		"an index that leads to itself, as far as it can": {func(files map[string][]byte) {
			for range 10 {
				m := files["index.json"]
				files["blobs/sha256/"+imagetest.Digest(m)] = m
				files["index.json"] = fmt.Appendf(nil, `{"manifests":[{"digest":"sha256:%s"}]}`, imagetest.Digest(m))
			}
		}, "indices"},
	} {
		for _, form := range []string{"folder", "archive"} {
			dir := t.TempDir()
			files := small(t, "x").Blobs(t, "")
			c.spoil(files)
			var entries []imagetest.Entry
			for path, b := range files {
				entries = append(entries, imagetest.File(path, string(b)))
				at := filepath.Join(dir, "x/1", path)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if form == "archive" {
				if err := os.WriteFile(dir+"/x/1.tar", imagetest.Tar(t, entries...), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			n, _ := oci.ParseName("x:1")
			_, err := oci.Find([]string{dir}, n)
			if want := strings.ReplaceAll(c.want, "no such file", "not exist"); err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), want) {
				t.Errorf("%s in a %s: %v, want %q", name, form, err, c.want)
			}
		}
	}
}

// An archive of images can be anything: it is read within bounds, or refused.
func FuzzArchive(f *testing.F) {
	dir := f.TempDir()
	small(f, "x").Archive(f, dir+"/x/1.tar", "1")
	small(f, "x").Saved(f, dir+"/y/1.tar", "x:1")
	for _, name := range []string{"/x/1.tar", "/y/1.tar"} {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(imagetest.Tar(f, imagetest.Entry{Header: tar.Header{Name: "manifest.json", Typeflag: tar.TypeSymlink, Linkname: "manifest.json"}})))
	f.Add([]byte(imagetest.Tar(f, imagetest.File("manifest.json", `[{"Config":"../../etc/passwd","Layers":["/etc/passwd"]}]`))))
	n, err := oci.ParseName("z:1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/z", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/z/1.tar", archive, 0o644); err != nil {
			t.Fatal(err)
		}
		i, err := oci.Find([]string{dir}, n)
		if err != nil {
			return
		}
		defer i.Close()
		if len(i.Layers) == 0 || len(i.Layers) > 128 {
			t.Errorf("%d layers", len(i.Layers))
		}
		for _, l := range i.Layers {
			if in, err := l.Open(); err == nil {
				if _, err := io.Copy(io.Discard, in); err != nil {
					t.Error(err)
				}
				in.Close()
			}
		}
	})
}

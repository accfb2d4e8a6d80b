package localizer

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/needs"
)

// realTree makes a directory with what real archives hold.
func realTree(t testing.TB, dir string) {
	t.Helper()
	long := strings.Repeat("long-name-", 12) + "end" // beyond ustar's 100
	for name, content := range map[string]string{
		"bin/run.sh":                "#!/bin/sh\necho hello\n",
		"lib/a.jar":                 strings.Repeat("jar", 50000),
		"lib/ünïcode name.txt":      "é",
		"classes/org/x/Main.class":  "\xca\xfe\xba\xbe",
		"empty.txt":                 "",
		"deep/" + long + "/" + long: "long",
		"META-INF/other.properties": "k=v",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []func() error{
		func() error { return os.Chmod(filepath.Join(dir, "bin/run.sh"), 0o755) },
		func() error { return os.Mkdir(filepath.Join(dir, "emptydir"), 0o755) },
		func() error { return os.Symlink("run.sh", filepath.Join(dir, "bin/link")) },
		func() error { return os.Symlink("../lib", filepath.Join(dir, "bin/libs")) },
		func() error { return os.Symlink("nowhere", filepath.Join(dir, "dangling")) },
		func() error { return os.Link(filepath.Join(dir, "lib/a.jar"), filepath.Join(dir, "lib/hard.jar")) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
}

// sameTree compares names, kinds and content.
func sameTree(t *testing.T, got, want string, only func(string) bool) {
	t.Helper()
	list := func(root string) map[string]string {
		m := map[string]string{}
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, p)
			switch {
			case d.IsDir():
				m[rel] = "directory"
			case d.Type()&fs.ModeSymlink != 0:
				target, _ := os.Readlink(p)
				m[rel] = "link to " + target
			default:
				content, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				m[rel] = "file " + string(content)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	g, w := list(got), list(want)
	for name, v := range w {
		if only != nil && !only(name) {
			continue
		}
		if g[name] != v {
			t.Errorf("%s: got %.60q, want %.60q", name, g[name], v)
		}
	}
	for name := range g {
		if _, ok := w[name]; !ok {
			t.Errorf("%s is too much", name)
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Program(t, name), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func TestArchivesOfRealTools(t *testing.T) {
	n := newNode(t)
	tree := filepath.Join(n.src, "tree")
	realTree(t, tree)
	for i, c := range []struct {
		name string
		cmd  []string
		typ  Type
	}{
		{"gnu.tar", []string{"tar", "--format=gnu", "-cf", "%", "."}, Archive},
		{"pax.tar", []string{"tar", "--format=pax", "-cf", "%", "."}, Archive},
		{"zipped.tar.gz", []string{"tar", "-czf", "%", "."}, Archive},
		{"Upper.TGZ", []string{"tar", "-czf", "%", "."}, Archive},
		{"pattern.tgz", []string{"tar", "-czf", "%", "."}, Pattern},
		{"zipped-by-name.tar", []string{"tar", "-czf", "%", "."}, Archive},
		{"a.zip", []string{"zip", "-qry", "%", "."}, Archive},
		{"pattern.zip", []string{"zip", "-qry", "%", "."}, Pattern},
		{"stored.zip", []string{"zip", "-0qry", "%", "."}, Archive},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(n.src, c.name)
			for i := range c.cmd {
				c.cmd[i] = strings.Replace(c.cmd[i], "%", path, 1)
			}
			run(t, tree, c.cmd[0], c.cmd[1:]...)
			r := resource(t, path, c.typ, Private)
			r.Pattern = "nothing matches this"
			got := n.get(container(1, int64(i)), "alice", r)
			sameTree(t, got, tree, nil)
			if filepath.Base(got) != c.name {
				t.Errorf("the directory is called %s", got)
			}
			for p, want := range map[string]fs.FileMode{".": 0o700, "bin": 0o700, "bin/run.sh": 0o500, "empty.txt": 0o500} {
				if m := mode(t, filepath.Join(got, p)); m != want {
					t.Errorf("%s: mode %04o, want %04o", p, m, want)
				}
			}
			if left, _ := os.ReadDir(filepath.Dir(got)); len(left) != 1 {
				t.Errorf("the slot holds %v", left)
			}
			was, _ := os.Stat(filepath.Join(tree, "lib/a.jar"))
			is, _ := os.Stat(filepath.Join(got, "lib/a.jar"))
			if d := was.ModTime().Sub(is.ModTime()); d < -2*time.Second || d > 2*time.Second {
				t.Errorf("modification time off by %v", d)
			}
		})
	}
}

// An empty tar file passed as an archive, so that tasks started without what their job had packed. YARN's tar refuses it,
// and takes an archive without entries and an empty zip file.
func TestAnEmptyArchiveFailsAsOnYARN(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	zeros := strings.Repeat("\x00", 10240)
	for _, c := range []struct{ name, content, want string }{
		{"a.tar", "", "the file is empty"},
		{"a.tar.gz", "", "the file is empty"},
		{"a.tgz", "", "the file is empty"},
		{"zipped.tgz", zipped.String(), "the file is empty"},
		{"zipped.tar", zipped.String(), "the file is empty"},
		{"part.tar", zeros[:100], "tar: unexpected EOF"},
		{"block.tar", zeros[:512], ""},
		{"zeros.tar", zeros, ""},
		{"a.zip", "", ""},
		{"a.jar", "", ""},
	} {
		n := newNode(t)
		r := n.file(c.name, c.content, Private)
		r.Type = Archive
		_, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"x": r}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %d bytes: %v, want %q", c.name, len(c.content), err, c.want)
		}
	}
}

func TestUstar(t *testing.T) {
	n := newNode(t)
	tree := filepath.Join(n.src, "t")
	if err := os.MkdirAll(filepath.Join(tree, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "d/f"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"ustar", "v7", "oldgnu"} {
		path := filepath.Join(n.src, format+".tar")
		run(t, tree, "tar", "--format="+format, "-cf", path, ".")
		sameTree(t, n.get(container(1, 1), "alice", resource(t, path, Archive, Public)), tree, nil)
	}
}

func TestJars(t *testing.T) {
	n := newNode(t)
	tree := filepath.Join(n.src, "tree")
	for name, content := range map[string]string{
		"lib/dep.jar": "dep", "classes/A.class": "A", "org/B.class": "B", "lib.txt": "no", "job.jar": "an entry of the jar's own name",
	} {
		p := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(n.src, "job.jar")
	run(t, tree, "jar", "cf", path, ".")
	jar, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	r := resource(t, path, Pattern, Application)
	r.Pattern = "(?:classes/|lib/).*" // MapReduce's default
	got := n.get(container(1, 1), "alice", r)
	if kept, err := os.ReadFile(filepath.Join(got, "job.jar")); err != nil || !bytes.Equal(kept, jar) {
		t.Errorf("the jar itself was not kept: %v", err)
	}
	for name, want := range map[string]bool{"lib/dep.jar": true, "classes/A.class": true, "org/B.class": false, "lib.txt": false, "META-INF": false} {
		if _, err := os.Stat(filepath.Join(got, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}

	r.Pattern = "" // everything
	got = n.get(container(1, 2), "alice", r)
	if kept, err := os.ReadFile(filepath.Join(got, "job.jar")); err != nil || !bytes.Equal(kept, jar) {
		t.Errorf("the jar was replaced by its entry: %v", err)
	}
	if _, err := os.Stat(filepath.Join(got, "org/B.class")); err != nil {
		t.Error(err)
	}

	r.Pattern = "(?=x)y"
	if err := n.fail(container(1, 3), "alice", r); !strings.Contains(err.Error(), `pattern "(?=x)y"`) {
		t.Errorf("a pattern that can't be had: %v", err)
	}

	r.Type = Archive
	got = n.get(container(1, 4), "alice", r)
	if content, err := os.ReadFile(filepath.Join(got, "job.jar")); err != nil || string(content) != "an entry of the jar's own name" {
		t.Errorf("as ARCHIVE: %q, %v", content, err)
	}
}

// remoteSource hides that files are local.
type remoteSource struct{ gatedSource }

// A zip file from elsewhere is copied before it is unpacked; the copy doesn't stay.
func TestRemoteZip(t *testing.T) {
	src := &remoteSource{}
	n := newNode(t, func(c *Config) { c.Source = src })
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("a/b.txt")
	fmt.Fprint(w, "content")
	z.Close()
	for _, name := range []string{"x.zip", ".part.zip"} {
		r := n.file(name, b.String(), Private)
		r.Type = Archive
		got := n.get(container(1, 1), "alice", r)
		if content, err := os.ReadFile(filepath.Join(got, "a/b.txt")); err != nil || string(content) != "content" {
			t.Errorf("%q, %v", content, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(got)); len(left) != 1 {
			t.Errorf("the slot holds %v", left)
		}
	}
}

func TestOtherSuffixesAreCopied(t *testing.T) {
	n := newNode(t)
	for _, typ := range []Type{Archive, Pattern} {
		r := n.file("data.bz2", "BZh9", Private)
		r.Type = typ
		got := n.get(container(1, 1), "alice", r)
		if content, err := os.ReadFile(got); err != nil || string(content) != "BZh9" {
			t.Errorf("%v: %q, %v", typ, content, err)
		}
	}
}

// tarOf writes a tar file of headers; a regular file's content is its Linkname.
func tarOf(t testing.TB, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zipOf writes a zip file of names with content; a name that starts with @ is a link to its content.
func zipOf(t testing.TB, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		h := &zip.FileHeader{Name: entries[i], Method: zip.Deflate}
		h.SetMode(0o644)
		if name, ok := strings.CutPrefix(h.Name, "@"); ok {
			h.Name = name
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, entries[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHostileArchives(t *testing.T) {
	reg := func(name, content string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content}
	}
	sym := func(name, target string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
	}
	hard := func(name, target string) tar.Header {
		return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}
	}
	deep := strings.Repeat("d/", 300) + "f"
	for _, c := range []struct {
		name, file, content string
		want                string // in the error; empty: it is unpacked, harmlessly
	}{
		{"dots", "a.tar", tarOf(t, reg("../evil", "x")), "would create entry outside of"},
		{"dots inside", "a.tar", tarOf(t, reg("a/../../evil", "x")), "would create entry outside of"},
		{"only dots", "a.tar", tarOf(t, reg("..", "x")), "would create entry outside of"},
		{"harmless dots", "a.tar", tarOf(t, reg("a/../ok", "x")), ""},
		{"absolute", "a.tar", tarOf(t, reg("/SENTINEL", "x")), ""},
		{"through an absolute link", "a.tar", tarOf(t, sym("l", "/OUTSIDE"), reg("l/evil", "x")), "escapes"},
		{"through a relative link", "a.tar", tarOf(t, sym("l", "../../../.."), reg("l/evil", "x")), "escapes"},
		{"through two links", "a.tar", tarOf(t, sym("a", "."), sym("a/b", ".."), reg("b/evil", "x")), "escapes"},
		{"over a link", "a.tar", tarOf(t, sym("l", "/SENTINEL"), reg("l", "x")), ""},
		{"directory over a link", "a.tar", tarOf(t, sym("l", "/OUTSIDE"), tar.Header{Typeflag: tar.TypeDir, Name: "l"}), "entry \"l\""},
		{"hard link out", "a.tar", tarOf(t, hard("l", "../../../../SENTINEL")), "would create entry outside of"},
		{"absolute hard link", "a.tar", tarOf(t, hard("l", "/SENTINEL"), reg("l", "x")), "no such file"},
		{"hard link through a link", "a.tar", tarOf(t, sym("s", "/OUTSIDE"), hard("l", "s/sentinel"), reg("l", "x")), "escapes"},
		{"hard link to itself", "a.tar", tarOf(t, reg("l", "x"), hard("l", "l")), ""},
		{"device", "a.tar", tarOf(t, tar.Header{Typeflag: tar.TypeBlock, Name: "sda", Devmajor: 8}), "only files, directories and links"},
		{"pipe", "a.tar", tarOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "p"}), "only files, directories and links"},
		{"file for a directory", "a.tar", tarOf(t, reg("d/f", "x"), reg("d", "x")), "an earlier entry made it a directory"},
		{"directory for a file", "a.tar", tarOf(t, reg("d", "x"), reg("d/f", "x")), "entry \"d/f\""},
		{"its own directory", "a.tar", tarOf(t, reg(".", "x")), "names the archive's own directory"},
		{"too deep", "a.tar", tarOf(t, reg(deep, "x")), "directories deep"},
		{"name too long", "a.tar", tarOf(t, reg(strings.Repeat("n", 300), "x")), "file name too long"},
		{"truncated", "a.tar", tarOf(t, reg("f", strings.Repeat("x", 5000)))[:3000], "unexpected EOF"},
		{"not tar", "a.tar", strings.Repeat("no tar ", 200), "tar: "},
		{"not gzip", "a.tgz", "\x1f\x8bno", "gzip: "},
		{"zip dots", "a.zip", zipOf(t, "../evil", "x"), "would create entry outside of"},
		{"zip absolute", "a.jar", zipOf(t, "/SENTINEL", "x"), ""},
		{"zip backslash", "a.zip", zipOf(t, `..\evil`, "x"), ""},
		{"zip through a link", "a.zip", zipOf(t, "@l", "/OUTSIDE", "l/evil", "x"), "escapes"},
		{"zip over a link", "a.zip", zipOf(t, "@l", "/SENTINEL", "l", "x"), ""},
		{"same name twice", "a.tar", tarOf(t, reg("d/f", "x"), sym("d/f", "nowhere"), reg("d/f", "y")), ""},
		{"directory turned link", "a.tar", tarOf(t, reg("d/f", "x"), sym("d", "/OUTSIDE"), reg("d/evil", "x")), "an earlier entry made it a directory"},
		{"link turned elsewhere", "a.tar", tarOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "e"}, sym("d", "e"), reg("d/f", "x"), sym("d", "/OUTSIDE"), reg("d/evil", "x")), "escapes"},
		{"zip name with zero", "a.zip", zipOf(t, "a\x00b", "x"), "zero byte"},
		{"zip link with zero", "a.zip", zipOf(t, "@l", "a\x00b"), "entry \"l\""},
		{"zip encrypted", "a.zip", strings.ReplaceAll(zipOf(t, "f", "x"), "PK\x01\x02\x14\x03\x14\x00\x08\x00", "PK\x01\x02\x14\x03\x14\x00\x09\x00"), "encrypted"},
		{"zip wrong sum", "a.zip", strings.Replace(zipOf(t, "f", "content"), "content", "kontent", 1), ""},
		{"not zip", "a.zip", "PK no", "zip: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t)
			outside := filepath.Join(filepath.Dir(n.src), "outside")
			sentinel := filepath.Join(outside, "sentinel")
			if err := os.Mkdir(outside, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(sentinel, []byte("untouched"), 0o644); err != nil {
				t.Fatal(err)
			}
			content := c.content
			if strings.Contains(c.name, "zip") || len(outside) < 80 {
				content = rewrite(t, content, outside)
			}
			r := n.file(c.file, content, Private)
			r.Type = Archive
			res, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"x": r}})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("not unpacked: %v", err)
			case c.want != "" && err == nil:
				t.Errorf("unpacked to %v", res.Paths)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if got, err := os.ReadFile(sentinel); err != nil || string(got) != "untouched" {
				t.Errorf("the file outside was touched: %q, %v", got, err)
			}
			if m := mode(t, sentinel); m != 0o644 {
				t.Errorf("the mode of the file outside was changed to %04o", m)
			}
			for _, dir := range []string{outside, filepath.Dir(n.src), n.dirs[0], n.dirs[1], filepath.Join(n.dirs[0], "usercache/alice/filecache")} {
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					if strings.Contains(e.Name(), "evil") {
						t.Errorf("%s/%s was written", dir, e.Name())
					}
				}
			}
			if c.want != "" && len(slots(t, n.dirs, "usercache/alice/filecache")) != 0 {
				t.Errorf("something is left: %v", slots(t, n.dirs, "usercache/alice/filecache"))
			}
		})
	}
}

// rewrite puts the real places into an archive that was written with placeholders, keeping checksums right.
func rewrite(t testing.TB, archive, outside string) string {
	t.Helper()
	if !strings.Contains(archive, "OUTSIDE") && !strings.Contains(archive, "SENTINEL") {
		return archive
	}
	real := func(s string) string {
		s = strings.ReplaceAll(s, "/SENTINEL", outside+"/sentinel")
		return strings.ReplaceAll(s, "/OUTSIDE", outside)
	}
	if strings.HasPrefix(archive, "PK") {
		z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, f := range z.File {
			name := real(f.Name)
			if f.Mode()&fs.ModeSymlink != 0 {
				name = "@" + name
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, _ := io.ReadAll(r)
			entries = append(entries, name, real(string(content)))
		}
		return zipOf(t, entries...)
	}
	var headers []tar.Header
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tarOf(t, headers...)
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(r)
		h.Name, h.Linkname, h.Format, h.PAXRecords = real(h.Name), real(h.Linkname), tar.FormatUnknown, nil
		if h.Typeflag == tar.TypeReg {
			h.Linkname = string(content)
		}
		headers = append(headers, *h)
	}
}

// Links out of the archive are kept, as by YARN: packed Python environments link to the node's interpreter.
func TestOutwardLinks(t *testing.T) {
	for i, links := range [][]tar.Header{
		{{Typeflag: tar.TypeSymlink, Name: "bin/python", Linkname: "/usr/bin/python3"}},
		{{Typeflag: tar.TypeSymlink, Name: "up", Linkname: "../../x"}},
		{{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "d/e/f"}, {Typeflag: tar.TypeDir, Name: "d/e/f"}, {Typeflag: tar.TypeSymlink, Name: "x", Linkname: "a/../../../.."}},
		{{Typeflag: tar.TypeSymlink, Name: "a/b/up", Linkname: "../../c"}},
	} {
		n := newNode(t)
		r := n.file("env.tar", tarOf(t, links...), Private)
		r.Type = Archive
		res, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"x": r}})
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		last := links[len(links)-1]
		if got, err := os.Readlink(filepath.Join(res.Paths["x"], last.Name)); err != nil || got != last.Linkname {
			t.Errorf("case %d: link to %q, want %q: %v", i, got, last.Linkname, err)
		}
	}
}

// An archive of a few kilobytes that unpacks to a thousand times as much stops at the disk's reserve.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	const size = 48 << 20
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	w.Close()
	gz.Close()
	var n *node
	const disk, reserve = 40 << 20, 20 << 20
	n = newNode(t, func(c *Config) {
		c.Reserve = reserve
		c.Space = func(dir string) (Space, error) {
			used, err := diskUse(dir)
			return Space{Free: uint64(max(0, disk-used))}, err
		}
	})
	r := n.file("bomb.tar.gz", b.String(), Private)
	r.Type = Archive
	err := n.fail(container(1, 1), "alice", r)
	var full *DiskFullError
	if !errors.As(err, &full) || !strings.Contains(err.Error(), "no space left on the disk of "+full.Dir) {
		t.Fatalf("got %v", err)
	}
	if full.Free+2*checkBytes < reserve {
		t.Errorf("noticed only at %d bytes free", full.Free)
	}
	if left, err := diskUse(full.Dir); left != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", left, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Many tiny files are stopped by the number of inodes left.
func TestInodeBomb(t *testing.T) {
	entries := make([]tar.Header, 2000)
	for i := range entries {
		entries[i] = tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("d%d", i)}
	}
	looks := 0
	n := newNode(t, func(c *Config) {
		c.Space = func(string) (Space, error) {
			looks++
			return Space{Free: 1 << 40, Inodes: uint64(max(0, 1000-200*looks)), Counts: true}, nil
		}
	})
	r := n.file("inodes.tar", tarOf(t, entries...), Private)
	r.Type = Archive
	if err := n.fail(container(1, 1), "alice", r); !strings.Contains(err.Error(), "no inodes left on the disk of") {
		t.Errorf("got %v", err)
	}
}

// The directory of a zip file is held in memory, so its size is bounded.
func TestZipDirectoryBomb(t *testing.T) {
	if _, err := openZip(hugeZip{}, hugeZip{}.size(), 2<<20); err == nil || !strings.Contains(err.Error(), "directory larger than 2 MB") {
		t.Errorf("got %v", err)
	}
}

// hugeZip is a zip file of four gigabytes of directory entries.
type hugeZip struct{}

const hugeEntry = "PK\x01\x02" + // 46 bytes and a name of two
	"\x14\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "ab"

func (hugeZip) directory() int64 { return 80_000_000 * int64(len(hugeEntry)) }
func (z hugeZip) size() int64    { return z.directory() + 22 }

func (z hugeZip) ReadAt(p []byte, off int64) (int, error) {
	end := "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff" + "\x00\x28\xe1\xe4" + "\x00\x00\x00\x00" + "\x00\x00"
	n := 0
	for at := off; at < z.directory() && n < len(p); at = off + int64(n) {
		n += copy(p[n:min(int64(len(p)), z.directory()-off)], hugeEntry[at%int64(len(hugeEntry)):])
	}
	if at := off + int64(n); at < z.size() && n < len(p) {
		n += copy(p[n:], end[at-z.directory():])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

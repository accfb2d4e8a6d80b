package hdfsadapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
)

func TestLocalConformance(t *testing.T) {
	conformance(t, newAdapter(t, "").As(""), "file://"+t.TempDir(), self(t))
}

func TestHDFSConformance(t *testing.T) {
	_, f, dir := onHDFS(t)
	conformance(t, f, cluster.Lab(t).URI()+dir, self(t))
}

// Hadoop's classes in a JVM do what this package does itself: here those of ViewFS over the same HDFS.
func TestJavaConformance(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	_, hdfs, dir := onHDFS(t)
	lib := jvmtest.Hadoop(t)
	a := newAdapter(t, cluster.Lab(t).Conf(), "heddle.nodemanager.java.class-path="+lib+"/*", "fs.viewfs.mounttable.c.linkFallback="+cluster.Lab(t).URI()+"/")
	conformance(t, a.As(""), "viewfs://c"+dir, self(t))
	if infos, err := hdfs.List(t.Context(), dir); err != nil || len(infos) == 0 {
		t.Errorf("nothing was written to HDFS: %v", err)
	}
}

// conformance is what every file system has to do alike. base is the full name of an empty directory.
func conformance(t *testing.T, f *FS, base, owner string) {
	c := &conformer{f, base, owner}
	for name, test := range map[string]func(t *testing.T, dir string){
		"write and read":        c.writeAndRead,
		"many writes":           c.manyWrites,
		"positions":             c.positions,
		"attributes":            c.attributes,
		"create":                c.creates,
		"append":                c.appends,
		"directories":           c.directories,
		"remove":                c.removes,
		"rename":                c.renames,
		"blocks":                c.blocks,
		"glob":                  c.glob,
		"contexts":              c.contexts,
		"file system interface": c.fileSystemInterface,
	} {
		t.Run(name, func(t *testing.T) {
			dir := base + "/" + strings.ReplaceAll(name, " ", "-")
			c.ok(t, "mkdir", f.MkdirAll(t.Context(), dir, 0))
			test(t, dir)
		})
	}
}

type conformer struct {
	fs          *FS
	base, owner string
}

func (c *conformer) is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
	if p := (*fs.PathError)(nil); err != nil && (!errors.As(err, &p) || !strings.HasPrefix(p.Path, c.base)) {
		t.Errorf("%s: %v doesn't name the file", what, err)
	}
}

func (c *conformer) ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func (c *conformer) names(infos []Info) []string {
	out := []string{}
	for _, i := range infos {
		out = append(out, strings.TrimPrefix(i.Path, c.base+"/"))
	}
	return out
}

func (c *conformer) writeAndRead(t *testing.T, dir string) {
	for _, size := range []int{0, 1, 511, 512, 513, 65536, 300_001} {
		data := randomBytes(size, uint64(size))
		name := fmt.Sprintf("%s/f%d", dir, size)
		put(t, c.fs, name, data, CreateOptions{})
		r, err := c.fs.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, data); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if i := r.Info(); i.Size != int64(size) || i.Path != name || i.Name != fmt.Sprintf("f%d", size) {
			t.Errorf("%d bytes: %+v", size, i)
		}
		c.ok(t, "close", r.Close())
		c.is(t, "closing again", r.Close(), fs.ErrClosed)
		_, err = r.Read(make([]byte, 1))
		if size > 0 {
			c.is(t, "reading after that", err, fs.ErrClosed)
		}
	}
}

func (c *conformer) manyWrites(t *testing.T, dir string) {
	w, err := c.fs.Create(t.Context(), dir+"/f", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for i := range 2000 {
		piece := randomBytes(i%257, uint64(i))
		want.Write(piece)
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("write %d: %d, %v", i, n, err)
		}
		if i == 1000 {
			c.ok(t, "flush", w.Flush())
		}
	}
	c.ok(t, "close", w.Close())
	c.is(t, "closing again", w.Close(), fs.ErrClosed)
	_, err = w.Write([]byte("x"))
	c.is(t, "writing after that", err, fs.ErrClosed)
	same(t, "content", get(t, c.fs, dir+"/f"), want.Bytes())
}

func (c *conformer) positions(t *testing.T, dir string) {
	data := randomBytes(200_000, 1)
	put(t, c.fs, dir+"/f", data, CreateOptions{BlockSize: 65536})
	r, err := c.fs.Open(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var group sync.WaitGroup
	for i := range 8 { // at the same time, near and across the ends of blocks
		group.Go(func() {
			for _, off := range []int{i * 7919, 65536 - i, 131072 - 100*i, 199_999 - i, 65535, 0} {
				p := make([]byte, min(1+i*5000, len(data)-off))
				if n, err := r.ReadAt(p, int64(off)); n != len(p) || (err != nil && err != io.EOF) {
					t.Errorf("%d bytes at %d: got %d, %v", len(p), off, n, err)
				}
				same(t, fmt.Sprintf("%d bytes at %d", len(p), off), p, data[off:off+len(p)])
			}
		})
	}
	group.Wait()
	p := make([]byte, 10)
	if n, err := r.ReadAt(p, 199_995); n != 5 || err != io.EOF {
		t.Errorf("across the end: %d, %v", n, err)
	}
	if n, err := r.ReadAt(p, 300_000); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	_, err = r.ReadAt(p, -1)
	c.is(t, "before the beginning", err, fs.ErrInvalid)
	for _, s := range []struct {
		off    int64
		whence int
		want   int64
	}{{100, io.SeekStart, 100}, {50, io.SeekCurrent, 150}, {-10, io.SeekEnd, 199_990}, {1 << 40, io.SeekStart, 1 << 40}, {65530, io.SeekStart, 65530}} {
		if got, err := r.Seek(s.off, s.whence); got != s.want || err != nil {
			t.Errorf("seek %d, %d: got %d, %v", s.off, s.whence, got, err)
		}
	}
	if _, err := io.ReadFull(r, p); err != nil {
		t.Error(err)
	}
	same(t, "after seeking", p, data[65530:65540])
	_, err = r.Seek(-1, io.SeekStart)
	c.is(t, "seeking before the beginning", err, fs.ErrInvalid)
	_, err = r.Seek(0, 9)
	c.is(t, "seeking from nowhere", err, fs.ErrInvalid)
}

func (c *conformer) attributes(t *testing.T, dir string) {
	before := time.Now().UnixMilli() - 2000
	put(t, c.fs, dir+"/f", []byte("hello"), CreateOptions{Perm: 0o640})
	i, err := c.fs.Stat(t.Context(), dir+"/f")
	c.ok(t, "stat", err)
	if i.Size != 5 || i.Mode != 0o640 || i.Owner != c.owner || i.Group == "" || i.ModTime < before || i.ModTime > time.Now().UnixMilli()+2000 ||
		i.Path != dir+"/f" || i.Name != "f" || i.IsDir() || i.Replication < 1 || i.BlockSize < 1 {
		t.Errorf("got %+v", i)
	}
	put(t, c.fs, dir+"/g", nil, CreateOptions{})
	if i, err := c.fs.Stat(t.Context(), dir+"/g"); err != nil || i.Mode != 0o644 || i.Size != 0 {
		t.Errorf("default: %+v, %v", i, err)
	}
	if i, err := c.fs.Stat(t.Context(), dir); err != nil || i.Mode != fs.ModeDir|0o755 || !i.IsDir() || i.Size != 0 || i.BlockSize != 0 {
		t.Errorf("directory: %+v, %v", i, err)
	}
	c.ok(t, "chmod", c.fs.Chmod(t.Context(), dir+"/f", 0o400))
	c.ok(t, "chmod", c.fs.Chmod(t.Context(), dir, 0o777|fs.ModeSticky))
	c.ok(t, "chtimes", c.fs.Chtimes(t.Context(), dir+"/f", 1234567891234, 1234567890000))
	if i, err := c.fs.Stat(t.Context(), dir+"/f"); err != nil || i.Mode != 0o400 || i.ModTime != 1234567891234 || i.AccessTime != 1234567890000 {
		t.Errorf("after changes: %+v, %v", i, err)
	}
	if i, err := c.fs.Stat(t.Context(), dir); err != nil || i.Mode != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("sticky directory: %+v, %v", i, err)
	}
	c.ok(t, "chown", c.fs.Chown(t.Context(), dir+"/f", c.owner, ""))
	for what, err := range map[string]error{
		"stat":    second(c.fs.Stat(t.Context(), dir+"/nope")),
		"chmod":   c.fs.Chmod(t.Context(), dir+"/nope", 0o600),
		"chown":   c.fs.Chown(t.Context(), dir+"/nope", c.owner, ""),
		"chtimes": c.fs.Chtimes(t.Context(), dir+"/nope", 0, 0),
		"open":    second(c.fs.Open(t.Context(), dir+"/nope")),
		"append":  second(c.fs.Append(t.Context(), dir+"/nope")),
		"list":    second(c.fs.List(t.Context(), dir+"/nope")),
		"blocks":  second(c.fs.Blocks(t.Context(), dir+"/nope", 0, 1)),
		"remove":  c.fs.Remove(t.Context(), dir+"/nope"),
		"rename":  c.fs.Rename(t.Context(), dir+"/nope", dir+"/x", true),
		"deep":    second(c.fs.Stat(t.Context(), dir+"/nope/nope")),
	} {
		c.is(t, what+" of nothing", err, fs.ErrNotExist)
	}
	c.is(t, "opening a directory", second(c.fs.Open(t.Context(), dir)), syscall.EISDIR)
	c.is(t, "blocks of a directory", second(c.fs.Blocks(t.Context(), dir, 0, 1)), syscall.EISDIR)
	c.is(t, "listing a file", second(c.fs.List(t.Context(), dir+"/f")), syscall.ENOTDIR)
}

func (c *conformer) creates(t *testing.T, dir string) {
	put(t, c.fs, dir+"/a/b/c", []byte("one"), CreateOptions{})
	same(t, "new", get(t, c.fs, dir+"/a/b/c"), []byte("one"))
	c.is(t, "once more", second(c.fs.Create(t.Context(), dir+"/a/b/c", CreateOptions{})), fs.ErrExist)
	same(t, "afterwards", get(t, c.fs, dir+"/a/b/c"), []byte("one"))
	put(t, c.fs, dir+"/a/b/c", []byte("2"), CreateOptions{Overwrite: true})
	same(t, "overwritten", get(t, c.fs, dir+"/a/b/c"), []byte("2"))
	c.is(t, "over a directory", second(c.fs.Create(t.Context(), dir+"/a", CreateOptions{Overwrite: true})), syscall.EISDIR)
	if err := second(c.fs.Create(t.Context(), dir+"/a", CreateOptions{})); err == nil {
		t.Error("a directory was made a file")
	}
	c.is(t, "below a file", second(c.fs.Create(t.Context(), dir+"/a/b/c/d", CreateOptions{})), syscall.ENOTDIR)
}

func (c *conformer) appends(t *testing.T, dir string) {
	data := randomBytes(100_000, 7)
	put(t, c.fs, dir+"/f", data[:1000], CreateOptions{BlockSize: 1 << 20})
	for from, to := range map[int]int{1000: 1001} {
		w, err := c.fs.Append(t.Context(), dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(data[from:to])
		c.ok(t, "write", err)
		c.ok(t, "close", w.Close())
	}
	w, err := c.fs.Append(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(data[1001:])
	c.ok(t, "write", err)
	c.ok(t, "close", w.Close())
	same(t, "content", get(t, c.fs, dir+"/f"), data)
	if err := second(c.fs.Append(t.Context(), dir)); err == nil {
		t.Error("a directory was appended to")
	}
}

func (c *conformer) directories(t *testing.T, dir string) {
	c.ok(t, "mkdir", c.fs.MkdirAll(t.Context(), dir+"/x/y/z", 0o700))
	c.ok(t, "again", c.fs.MkdirAll(t.Context(), dir+"/x/y/z", 0o755))
	if i, err := c.fs.Stat(t.Context(), dir+"/x/y/z"); err != nil || i.Mode != fs.ModeDir|0o700 {
		t.Errorf("got %+v, %v", i, err)
	}
	for _, name := range []string{"b", "a", "ä", ".hidden", "with space", "100%25", "a:b"} {
		if name == "a:b" && !strings.HasPrefix(c.base, "file") {
			continue // HDFS has no colons in names
		}
		put(t, c.fs, dir+"/x/"+name, []byte(name), CreateOptions{})
	}
	infos, err := c.fs.List(t.Context(), dir+"/x")
	c.ok(t, "list", err)
	want := []string{".hidden", "100%25", "a", "a:b", "b", "with space", "y", "ä"}
	if !strings.HasPrefix(c.base, "file") {
		want = slices.DeleteFunc(want, func(s string) bool { return s == "a:b" })
	}
	got := []string{}
	for _, i := range infos {
		got = append(got, i.Name)
		if i.Path != dir+"/x/"+i.Name || i.IsDir() != (i.Name == "y") || (!i.IsDir() && i.Size != int64(len(i.Name))) {
			t.Errorf("got %+v", i)
		}
		if !i.IsDir() {
			same(t, i.Name, get(t, c.fs, i.Path), []byte(i.Name))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want − got +:\n%s", diff)
	}
	if empty, err := c.fs.List(t.Context(), dir+"/x/y/z"); err != nil || len(empty) != 0 {
		t.Errorf("empty: %v, %v", empty, err)
	}
	c.is(t, "over a file", c.fs.MkdirAll(t.Context(), dir+"/x/a", 0), fs.ErrExist)
	c.is(t, "below a file", c.fs.MkdirAll(t.Context(), dir+"/x/a/b", 0), syscall.ENOTDIR)
}

func (c *conformer) removes(t *testing.T, dir string) {
	put(t, c.fs, dir+"/d/e/f", nil, CreateOptions{})
	c.is(t, "a directory that isn't empty", c.fs.Remove(t.Context(), dir+"/d"), syscall.ENOTEMPTY)
	c.ok(t, "a file", c.fs.Remove(t.Context(), dir+"/d/e/f"))
	c.ok(t, "an empty directory", c.fs.Remove(t.Context(), dir+"/d/e"))
	put(t, c.fs, dir+"/d/g/h", nil, CreateOptions{})
	c.ok(t, "everything", c.fs.RemoveAll(t.Context(), dir+"/d"))
	c.ok(t, "nothing", c.fs.RemoveAll(t.Context(), dir+"/d"))
	c.is(t, "stat", second(c.fs.Stat(t.Context(), dir+"/d")), fs.ErrNotExist)
}

func (c *conformer) renames(t *testing.T, dir string) {
	put(t, c.fs, dir+"/a", []byte("a"), CreateOptions{})
	put(t, c.fs, dir+"/b", []byte("b"), CreateOptions{})
	put(t, c.fs, dir+"/full/x", []byte("x"), CreateOptions{})
	c.ok(t, "mkdir", c.fs.MkdirAll(t.Context(), dir+"/empty", 0))
	c.is(t, "over a file", c.fs.Rename(t.Context(), dir+"/a", dir+"/b", false), fs.ErrExist)
	c.is(t, "over an empty directory", c.fs.Rename(t.Context(), dir+"/full", dir+"/empty", false), fs.ErrExist)
	c.is(t, "over itself", c.fs.Rename(t.Context(), dir+"/a", dir+"/a", true), fs.ErrExist)
	c.is(t, "to a directory that isn't there", c.fs.Rename(t.Context(), dir+"/a", dir+"/nope/a", false), fs.ErrNotExist)
	for what, err := range map[string]error{
		"a file over a directory": c.fs.Rename(t.Context(), dir+"/a", dir+"/full", true),
		"a directory over a file": c.fs.Rename(t.Context(), dir+"/full", dir+"/a", true),
		"a directory into itself": c.fs.Rename(t.Context(), dir+"/full", dir+"/full/y", true),
		"a directory over a full": c.fs.Rename(t.Context(), dir+"/empty", dir+"/full", true),
	} {
		if err == nil {
			t.Errorf("%s was renamed", what)
		}
	}
	same(t, "a", get(t, c.fs, dir+"/a"), []byte("a"))
	same(t, "b", get(t, c.fs, dir+"/b"), []byte("b"))
	c.ok(t, "overwriting", c.fs.Rename(t.Context(), dir+"/a", dir+"/b", true))
	same(t, "b", get(t, c.fs, dir+"/b"), []byte("a"))
	c.is(t, "stat", second(c.fs.Stat(t.Context(), dir+"/a")), fs.ErrNotExist)
	c.ok(t, "over an empty directory", c.fs.Rename(t.Context(), dir+"/full", dir+"/empty", true))
	c.ok(t, "to a new name", c.fs.Rename(t.Context(), dir+"/empty", dir+"/new", false))
	same(t, "x", get(t, c.fs, dir+"/new/x"), []byte("x"))
	c.is(t, "to another file system", c.fs.Rename(t.Context(), dir+"/b", "hdfs://elsewhere:1/b", false), syscall.EXDEV)
}

func (c *conformer) blocks(t *testing.T, dir string) {
	put(t, c.fs, dir+"/f", randomBytes(5000, 3), CreateOptions{BlockSize: 1024})
	put(t, c.fs, dir+"/empty", nil, CreateOptions{})
	for _, x := range []struct{ off, n int64 }{{0, 5000}, {0, 1}, {1024, 1}, {1000, 100}, {4999, 100}, {0, 1 << 50}} {
		blocks, err := c.fs.Blocks(t.Context(), dir+"/f", x.off, x.n)
		c.ok(t, "blocks", err)
		if len(blocks) == 0 {
			t.Fatalf("no blocks from %d on", x.off)
		}
		end := blocks[0].Offset
		for _, b := range blocks {
			if b.Offset != end || b.Length < 1 || len(b.Hosts) < 1 || len(b.Names) != len(b.Hosts) || len(b.Racks) != len(b.Hosts) || b.Corrupt {
				t.Errorf("got %+v", b)
			}
			end = b.Offset + b.Length
		}
		if last := blocks[len(blocks)-1]; blocks[0].Offset > x.off || end < min(x.off+x.n, 5000) || last.Offset >= x.off+x.n {
			t.Errorf("%d bytes from %d on: got %+v", x.n, x.off, blocks)
		}
	}
	for _, x := range []struct {
		name   string
		off, n int64
	}{{"f", 5000, 10}, {"f", 0, 0}, {"empty", 0, 10}} {
		if blocks, err := c.fs.Blocks(t.Context(), dir+"/"+x.name, x.off, x.n); err != nil || len(blocks) != 0 {
			t.Errorf("%+v: %v, %v", c, blocks, err)
		}
	}
	c.is(t, "before the beginning", second(c.fs.Blocks(t.Context(), dir+"/f", -1, 10)), fs.ErrInvalid)
}

func (c *conformer) glob(t *testing.T, dir string) {
	for _, name := range []string{"a1", "a2", "b1", "x.tar", "d/a1", "d/b", "e/a1", "e/[b]", "e/f/g"} {
		put(t, c.fs, dir+"/"+name, nil, CreateOptions{})
	}
	for pattern, want := range map[string][]string{
		"a*":              {"a1", "a2"},
		"?1":              {"a1", "b1"},
		"[ab]1":           {"a1", "b1"},
		"[!a]1":           {"b1"},
		"[^a]1":           {"b1"},
		"[a-c][0-9]":      {"a1", "a2", "b1"},
		"{a,b}1":          {"a1", "b1"},
		"{a1,e/a1}":       {"a1", "e/a1"},
		"{d,e}/a?":        {"d/a1", "e/a1"},
		"{d/{a,b}*,e/a1}": {"d/a1", "d/b", "e/a1"},
		"*/a1":            {"d/a1", "e/a1"},
		"*/*/*":           {"e/f/g"},
		"a1":              {"a1"},
		"a1/":             {"a1"},
		"nope":            {},
		"nope/*":          {},
		"a1/*":            {},
		"*.tar":           {"x.tar"},
		"*tar":            {"x.tar"},
		"x?tar":           {"x.tar"},
		`e/\[b\]`:         {"e/[b]"},
		`e/[\[]b]`:        {"e/[b]"},
		`e/\[*`:           {"e/[b]"},
		"*":               {"a1", "a2", "b1", "d", "e", "x.tar"},
		"{a1,a1}":         {"a1"},
		"{a,}1":           {"a1"},
	} {
		infos, err := c.fs.Glob(t.Context(), dir+"/"+pattern)
		c.ok(t, pattern, err)
		got := c.names(infos)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "glob/")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want − got +:\n%s", pattern, diff)
		}
	}
	for _, pattern := range []string{"[a", "{a,b", `a\`, "{a/b", "[z-a]"} {
		if infos, err := c.fs.Glob(t.Context(), dir+"/"+pattern); err == nil {
			t.Errorf("%s: got %v", pattern, c.names(infos))
		}
	}
}

func (c *conformer) contexts(t *testing.T, dir string) {
	put(t, c.fs, dir+"/f", randomBytes(1000, 1), CreateOptions{})
	gone, cancel := context.WithCancel(t.Context())
	r, err := c.fs.Open(gone, dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := c.fs.Create(gone, dir+"/g", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = r.Read(make([]byte, 1))
	c.is(t, "read", err, context.Canceled)
	_, err = w.Write([]byte("x"))
	c.is(t, "write", err, context.Canceled)
	c.is(t, "close", w.Close(), context.Canceled)
	c.is(t, "stat", second(c.fs.Stat(gone, dir)), context.Canceled)
	c.is(t, "open", second(c.fs.Open(gone, dir+"/f")), context.Canceled)
	c.is(t, "list", second(c.fs.List(gone, dir)), context.Canceled)
}

func (c *conformer) fileSystemInterface(t *testing.T, dir string) {
	c.is(t, "unsupported", second(c.fs.Stat(t.Context(), dir)), nil)
	for _, name := range []string{"nosuch://x/y", "", ":x", "file://host/x", "hdfs://:1/x", "file:x"} {
		if i, err := c.fs.Stat(t.Context(), name); err == nil {
			t.Errorf("%q: got %+v", name, i)
		}
	}
	if _, err := c.fs.Stat(t.Context(), "nosuch://x/y"); err == nil || !strings.Contains(err.Error(), "by Java") && !strings.Contains(err.Error(), "set fs.nosuch.impl") {
		t.Errorf("nosuch: %v", err)
	}
}

// second drops a result.
func second[T any](_ T, err error) error { return err }

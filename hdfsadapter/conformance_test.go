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
)

func TestLocalConformance(t *testing.T) {
	conformance(t, newAdapter(t, "").As(""), "file://"+t.TempDir(), self(t))
}

func TestHDFSConformance(t *testing.T) {
	_, f, dir := onHDFS(t)
	conformance(t, f, cluster.Lab(t).URI()+dir, self(t))
}

// conformance is what every file system has to do alike. base is the full name of an empty directory.
func conformance(t *testing.T, f *FS, base, owner string) {
	ctx := t.Context()
	is := func(t *testing.T, what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		if p := (*fs.PathError)(nil); err != nil && (!errors.As(err, &p) || !strings.HasPrefix(p.Path, base)) {
			t.Errorf("%s: %v doesn't name the file", what, err)
		}
	}
	ok := func(t *testing.T, what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	names := func(infos []Info) []string {
		out := []string{}
		for _, i := range infos {
			out = append(out, strings.TrimPrefix(i.Path, base+"/"))
		}
		return out
	}
	sub := func(name string, test func(t *testing.T, dir string)) {
		t.Run(name, func(t *testing.T) {
			dir := base + "/" + strings.ReplaceAll(name, " ", "-")
			ok(t, "mkdir", f.MkdirAll(ctx, dir, 0))
			test(t, dir)
		})
	}

	sub("write and read", func(t *testing.T, dir string) {
		for _, size := range []int{0, 1, 511, 512, 513, 65536, 300_001} {
			data := randomBytes(size, uint64(size))
			name := fmt.Sprintf("%s/f%d", dir, size)
			put(t, f, name, data, CreateOptions{})
			r, err := f.Open(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			if err := iotest.TestReader(r, data); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			if i := r.Info(); i.Size != int64(size) || i.Path != name || i.Name != fmt.Sprintf("f%d", size) {
				t.Errorf("%d bytes: %+v", size, i)
			}
			ok(t, "close", r.Close())
			is(t, "closing again", r.Close(), fs.ErrClosed)
			_, err = r.Read(make([]byte, 1))
			if size > 0 {
				is(t, "reading after that", err, fs.ErrClosed)
			}
		}
	})

	sub("many writes", func(t *testing.T, dir string) {
		w, err := f.Create(ctx, dir+"/f", CreateOptions{})
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
				ok(t, "flush", w.Flush())
			}
		}
		ok(t, "close", w.Close())
		is(t, "closing again", w.Close(), fs.ErrClosed)
		_, err = w.Write([]byte("x"))
		is(t, "writing after that", err, fs.ErrClosed)
		same(t, "content", get(t, f, dir+"/f"), want.Bytes())
	})

	sub("positions", func(t *testing.T, dir string) {
		data := randomBytes(200_000, 1)
		put(t, f, dir+"/f", data, CreateOptions{BlockSize: 65536})
		r, err := f.Open(ctx, dir+"/f")
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
		is(t, "before the beginning", err, fs.ErrInvalid)
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
		is(t, "seeking before the beginning", err, fs.ErrInvalid)
		_, err = r.Seek(0, 9)
		is(t, "seeking from nowhere", err, fs.ErrInvalid)
	})

	sub("attributes", func(t *testing.T, dir string) {
		before := time.Now().UnixMilli() - 2000
		put(t, f, dir+"/f", []byte("hello"), CreateOptions{Perm: 0o640})
		i, err := f.Stat(ctx, dir+"/f")
		ok(t, "stat", err)
		if i.Size != 5 || i.Mode != 0o640 || i.Owner != owner || i.Group == "" || i.ModTime < before || i.ModTime > time.Now().UnixMilli()+2000 ||
			i.Path != dir+"/f" || i.Name != "f" || i.IsDir() || i.Replication < 1 || i.BlockSize < 1 {
			t.Errorf("got %+v", i)
		}
		put(t, f, dir+"/g", nil, CreateOptions{})
		if i, err := f.Stat(ctx, dir+"/g"); err != nil || i.Mode != 0o644 || i.Size != 0 {
			t.Errorf("default: %+v, %v", i, err)
		}
		if i, err := f.Stat(ctx, dir); err != nil || i.Mode != fs.ModeDir|0o755 || !i.IsDir() || i.Size != 0 || i.BlockSize != 0 {
			t.Errorf("directory: %+v, %v", i, err)
		}
		ok(t, "chmod", f.Chmod(ctx, dir+"/f", 0o400))
		ok(t, "chmod", f.Chmod(ctx, dir, 0o777|fs.ModeSticky))
		ok(t, "chtimes", f.Chtimes(ctx, dir+"/f", 1234567891234, 1234567890000))
		if i, err := f.Stat(ctx, dir+"/f"); err != nil || i.Mode != 0o400 || i.ModTime != 1234567891234 || i.AccessTime != 1234567890000 {
			t.Errorf("after changes: %+v, %v", i, err)
		}
		if i, err := f.Stat(ctx, dir); err != nil || i.Mode != fs.ModeDir|fs.ModeSticky|0o777 {
			t.Errorf("sticky directory: %+v, %v", i, err)
		}
		ok(t, "chown", f.Chown(ctx, dir+"/f", owner, ""))
		for what, err := range map[string]error{
			"stat":    second(f.Stat(ctx, dir+"/nope")),
			"chmod":   f.Chmod(ctx, dir+"/nope", 0o600),
			"chown":   f.Chown(ctx, dir+"/nope", owner, ""),
			"chtimes": f.Chtimes(ctx, dir+"/nope", 0, 0),
			"open":    second(f.Open(ctx, dir+"/nope")),
			"append":  second(f.Append(ctx, dir+"/nope")),
			"list":    second(f.List(ctx, dir+"/nope")),
			"blocks":  second(f.Blocks(ctx, dir+"/nope", 0, 1)),
			"remove":  f.Remove(ctx, dir+"/nope"),
			"rename":  f.Rename(ctx, dir+"/nope", dir+"/x", true),
			"deep":    second(f.Stat(ctx, dir+"/nope/nope")),
		} {
			is(t, what+" of nothing", err, fs.ErrNotExist)
		}
		is(t, "opening a directory", second(f.Open(ctx, dir)), syscall.EISDIR)
		is(t, "blocks of a directory", second(f.Blocks(ctx, dir, 0, 1)), syscall.EISDIR)
		is(t, "listing a file", second(f.List(ctx, dir+"/f")), syscall.ENOTDIR)
	})

	sub("create", func(t *testing.T, dir string) {
		put(t, f, dir+"/a/b/c", []byte("one"), CreateOptions{})
		same(t, "new", get(t, f, dir+"/a/b/c"), []byte("one"))
		is(t, "once more", second(f.Create(ctx, dir+"/a/b/c", CreateOptions{})), fs.ErrExist)
		same(t, "afterwards", get(t, f, dir+"/a/b/c"), []byte("one"))
		put(t, f, dir+"/a/b/c", []byte("2"), CreateOptions{Overwrite: true})
		same(t, "overwritten", get(t, f, dir+"/a/b/c"), []byte("2"))
		is(t, "over a directory", second(f.Create(ctx, dir+"/a", CreateOptions{Overwrite: true})), syscall.EISDIR)
		if err := second(f.Create(ctx, dir+"/a", CreateOptions{})); err == nil {
			t.Error("a directory was made a file")
		}
		is(t, "below a file", second(f.Create(ctx, dir+"/a/b/c/d", CreateOptions{})), syscall.ENOTDIR)
	})

	sub("append", func(t *testing.T, dir string) {
		data := randomBytes(100_000, 7)
		put(t, f, dir+"/f", data[:1000], CreateOptions{BlockSize: 1 << 20})
		for from, to := range map[int]int{1000: 1001} {
			w, err := f.Append(ctx, dir+"/f")
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(data[from:to])
			ok(t, "write", err)
			ok(t, "close", w.Close())
		}
		w, err := f.Append(ctx, dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(data[1001:])
		ok(t, "write", err)
		ok(t, "close", w.Close())
		same(t, "content", get(t, f, dir+"/f"), data)
		if err := second(f.Append(ctx, dir)); err == nil {
			t.Error("a directory was appended to")
		}
	})

	sub("directories", func(t *testing.T, dir string) {
		ok(t, "mkdir", f.MkdirAll(ctx, dir+"/x/y/z", 0o700))
		ok(t, "again", f.MkdirAll(ctx, dir+"/x/y/z", 0o755))
		if i, err := f.Stat(ctx, dir+"/x/y/z"); err != nil || i.Mode != fs.ModeDir|0o700 {
			t.Errorf("got %+v, %v", i, err)
		}
		for _, name := range []string{"b", "a", "ä", ".hidden", "with space", "100%25", "a:b"} {
			if name == "a:b" && strings.HasPrefix(base, "hdfs") {
				continue // HDFS has no colons in names
			}
			put(t, f, dir+"/x/"+name, []byte(name), CreateOptions{})
		}
		infos, err := f.List(ctx, dir+"/x")
		ok(t, "list", err)
		want := []string{".hidden", "100%25", "a", "a:b", "b", "with space", "y", "ä"}
		if strings.HasPrefix(base, "hdfs") {
			want = slices.DeleteFunc(want, func(s string) bool { return s == "a:b" })
		}
		got := []string{}
		for _, i := range infos {
			got = append(got, i.Name)
			if i.Path != dir+"/x/"+i.Name || i.IsDir() != (i.Name == "y") || (!i.IsDir() && i.Size != int64(len(i.Name))) {
				t.Errorf("got %+v", i)
			}
			if !i.IsDir() {
				same(t, i.Name, get(t, f, i.Path), []byte(i.Name))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want − got +:\n%s", diff)
		}
		if empty, err := f.List(ctx, dir+"/x/y/z"); err != nil || len(empty) != 0 {
			t.Errorf("empty: %v, %v", empty, err)
		}
		is(t, "over a file", f.MkdirAll(ctx, dir+"/x/a", 0), fs.ErrExist)
		is(t, "below a file", f.MkdirAll(ctx, dir+"/x/a/b", 0), syscall.ENOTDIR)
	})

	sub("remove", func(t *testing.T, dir string) {
		put(t, f, dir+"/d/e/f", nil, CreateOptions{})
		is(t, "a directory that isn't empty", f.Remove(ctx, dir+"/d"), syscall.ENOTEMPTY)
		ok(t, "a file", f.Remove(ctx, dir+"/d/e/f"))
		ok(t, "an empty directory", f.Remove(ctx, dir+"/d/e"))
		put(t, f, dir+"/d/g/h", nil, CreateOptions{})
		ok(t, "everything", f.RemoveAll(ctx, dir+"/d"))
		ok(t, "nothing", f.RemoveAll(ctx, dir+"/d"))
		is(t, "stat", second(f.Stat(ctx, dir+"/d")), fs.ErrNotExist)
	})

	sub("rename", func(t *testing.T, dir string) {
		put(t, f, dir+"/a", []byte("a"), CreateOptions{})
		put(t, f, dir+"/b", []byte("b"), CreateOptions{})
		put(t, f, dir+"/full/x", []byte("x"), CreateOptions{})
		ok(t, "mkdir", f.MkdirAll(ctx, dir+"/empty", 0))
		is(t, "over a file", f.Rename(ctx, dir+"/a", dir+"/b", false), fs.ErrExist)
		is(t, "over an empty directory", f.Rename(ctx, dir+"/full", dir+"/empty", false), fs.ErrExist)
		is(t, "over itself", f.Rename(ctx, dir+"/a", dir+"/a", true), fs.ErrExist)
		is(t, "to a directory that isn't there", f.Rename(ctx, dir+"/a", dir+"/nope/a", false), fs.ErrNotExist)
		for what, err := range map[string]error{
			"a file over a directory": f.Rename(ctx, dir+"/a", dir+"/full", true),
			"a directory over a file": f.Rename(ctx, dir+"/full", dir+"/a", true),
			"a directory into itself": f.Rename(ctx, dir+"/full", dir+"/full/y", true),
			"a directory over a full": f.Rename(ctx, dir+"/empty", dir+"/full", true),
		} {
			if err == nil {
				t.Errorf("%s was renamed", what)
			}
		}
		same(t, "a", get(t, f, dir+"/a"), []byte("a"))
		same(t, "b", get(t, f, dir+"/b"), []byte("b"))
		ok(t, "overwriting", f.Rename(ctx, dir+"/a", dir+"/b", true))
		same(t, "b", get(t, f, dir+"/b"), []byte("a"))
		is(t, "stat", second(f.Stat(ctx, dir+"/a")), fs.ErrNotExist)
		ok(t, "over an empty directory", f.Rename(ctx, dir+"/full", dir+"/empty", true))
		ok(t, "to a new name", f.Rename(ctx, dir+"/empty", dir+"/new", false))
		same(t, "x", get(t, f, dir+"/new/x"), []byte("x"))
		is(t, "to another file system", f.Rename(ctx, dir+"/b", "hdfs://elsewhere:1/b", false), syscall.EXDEV)
	})

	sub("blocks", func(t *testing.T, dir string) {
		put(t, f, dir+"/f", randomBytes(5000, 3), CreateOptions{BlockSize: 1024})
		put(t, f, dir+"/empty", nil, CreateOptions{})
		for _, c := range []struct{ off, n int64 }{{0, 5000}, {0, 1}, {1024, 1}, {1000, 100}, {4999, 100}, {0, 1 << 50}} {
			blocks, err := f.Blocks(ctx, dir+"/f", c.off, c.n)
			ok(t, "blocks", err)
			if len(blocks) == 0 {
				t.Fatalf("no blocks from %d on", c.off)
			}
			end := blocks[0].Offset
			for _, b := range blocks {
				if b.Offset != end || b.Length < 1 || len(b.Hosts) < 1 || len(b.Names) != len(b.Hosts) || len(b.Racks) != len(b.Hosts) || b.Corrupt {
					t.Errorf("got %+v", b)
				}
				end = b.Offset + b.Length
			}
			if last := blocks[len(blocks)-1]; blocks[0].Offset > c.off || end < min(c.off+c.n, 5000) || last.Offset >= c.off+c.n {
				t.Errorf("%d bytes from %d on: got %+v", c.n, c.off, blocks)
			}
		}
		for _, c := range []struct {
			name   string
			off, n int64
		}{{"f", 5000, 10}, {"f", 0, 0}, {"empty", 0, 10}} {
			if blocks, err := f.Blocks(ctx, dir+"/"+c.name, c.off, c.n); err != nil || len(blocks) != 0 {
				t.Errorf("%+v: %v, %v", c, blocks, err)
			}
		}
		is(t, "before the beginning", second(f.Blocks(ctx, dir+"/f", -1, 10)), fs.ErrInvalid)
	})

	sub("glob", func(t *testing.T, dir string) {
		for _, name := range []string{"a1", "a2", "b1", "x.tar", "d/a1", "d/b", "e/a1", "e/[b]", "e/f/g"} {
			put(t, f, dir+"/"+name, nil, CreateOptions{})
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
			infos, err := f.Glob(ctx, dir+"/"+pattern)
			ok(t, pattern, err)
			got := names(infos)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "glob/")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: want − got +:\n%s", pattern, diff)
			}
		}
		for _, pattern := range []string{"[a", "{a,b", `a\`, "{a/b", "[z-a]"} {
			if infos, err := f.Glob(ctx, dir+"/"+pattern); err == nil {
				t.Errorf("%s: got %v", pattern, names(infos))
			}
		}
	})

	sub("contexts", func(t *testing.T, dir string) {
		put(t, f, dir+"/f", randomBytes(1000, 1), CreateOptions{})
		gone, cancel := context.WithCancel(ctx)
		r, err := f.Open(gone, dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w, err := f.Create(gone, dir+"/g", CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		_, err = r.Read(make([]byte, 1))
		is(t, "read", err, context.Canceled)
		_, err = w.Write([]byte("x"))
		is(t, "write", err, context.Canceled)
		is(t, "close", w.Close(), context.Canceled)
		is(t, "stat", second(f.Stat(gone, dir)), context.Canceled)
		is(t, "open", second(f.Open(gone, dir+"/f")), context.Canceled)
		is(t, "list", second(f.List(gone, dir)), context.Canceled)
	})

	sub("file system interface", func(t *testing.T, dir string) {
		is(t, "unsupported", second(f.Stat(ctx, dir)), nil)
		for _, name := range []string{"viewfs://x/y", "s3a://b/k", "", ":x", "file://host/x", "hdfs://:1/x", "file:x"} {
			if i, err := f.Stat(ctx, name); err == nil {
				t.Errorf("%q: got %+v", name, i)
			}
		}
		if _, err := f.Stat(ctx, "viewfs://x/y"); err == nil || !strings.Contains(err.Error(), `unsupported scheme "viewfs"`) {
			t.Errorf("viewfs: %v", err)
		}
	})
}

// second drops a result.
func second[T any](_ T, err error) error { return err }

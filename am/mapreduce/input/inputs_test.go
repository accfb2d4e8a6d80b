package input

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/hdfsadapter"
	"heddle/hdfsadapter/hdfstest"
)

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a", "sub/c", "sub/_hidden", ".hidden/x", "empty", "_named"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "x\n"
		if name == "empty" {
			text = ""
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := hdfstest.Local(t)
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{dir}, "a b sub/c"},
		{[]string{dir + "/b", dir + "/a"}, "b a"},
		{[]string{dir + "/{a,b}"}, "a b"},
		{[]string{dir + "/s*"}, "sub/c"},
		{[]string{dir + "/*"}, "a b sub/c"},
		{[]string{dir + "/_named"}, "_named"},
		{[]string{dir + "/empty"}, ""},
		{[]string{"file://" + dir + "/a"}, "a"},
	} {
		infos, err := Find(t.Context(), files, c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		var got []string
		for _, i := range infos {
			got = append(got, strings.TrimPrefix(i.Path, "file://"+dir+"/"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q", c.in, got)
		}
	}
	for _, in := range []string{dir + "/none", dir + "/none*", dir + "/.hidden*"} {
		_, err := Find(t.Context(), files, []string{dir, in})
		var e *Error
		if !errors.As(err, &e) || e.Input != in || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// What is compressed in a way that can't be read passed as lines.
func TestUnreadableCompressionsAreRefused(t *testing.T) {
	files := hdfstest.Local(t)
	for _, name := range []string{"a.xz", "a.zst", "a.lz4", "a.snappy", "a.ZIP", "a.tgz"} {
		p := Piece{Path: filepath.Join(t.TempDir(), name)}
		if err := os.WriteFile(p.Path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{p.Path, filepath.Dir(p.Path)} {
			_, err := Find(t.Context(), files, []string{in})
			if err == nil || !strings.Contains(err.Error(), p.Path) || !strings.Contains(err.Error(), "gzip") {
				t.Errorf("%s: %v", in, err)
			}
		}
	}
}

func TestCompressedFilesAreUnpacked(t *testing.T) {
	for ext, pack := range map[string]func(io.Writer) io.WriteCloser{
		"gz": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, "GZ": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	} {
		var b strings.Builder
		w := pack(&b)
		if _, err := io.WriteString(w, "a\nb"); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		p := Piece{Path: filepath.Join(t.TempDir(), "x."+ext), Length: int64(b.Len())}
		if err := os.WriteFile(p.Path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := p.Feed(t.Context(), hdfstest.Local(t), &got, make([]byte, 100), nil); err != nil || got.String() != "a\nb\n" {
			t.Errorf("%s: %q, %v", ext, got.String(), err)
		}
	}
}

// Splits have every byte of every file once, are as long as they should be, and compressed files are whole.
func TestSplitsCoverAllFiles(t *testing.T) {
	files := hdfstest.Local(t)
	rapid.Check(t, func(t *rapid.T) {
		var inputs []hdfsadapter.Info
		for i := range rapid.IntRange(0, 40).Draw(t, "files") {
			size := rapid.OneOf(rapid.Int64Range(1, 5000), rapid.Int64Range(1, 100<<20)).Draw(t, "size")
			ext := rapid.SampledFrom([]string{"", ".gz"}).Draw(t, "extension")
			inputs = append(inputs, hdfsadapter.Info{Path: fmt.Sprintf("file:///%d%s", i, ext), Size: size})
		}
		least := rapid.Int64Range(0, 100<<20).Draw(t, "least")
		most := rapid.Int64Range(1<<14, 1<<40).Draw(t, "most")
		splits, err := Cut(context.Background(), files, inputs, least, most)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string][]Piece{}
		for _, s := range splits {
			var n int64
			for _, p := range s.Pieces {
				at[p.Path] = append(at[p.Path], p)
				n += p.Length
			}
			if n != s.Length || n == 0 {
				t.Fatalf("split of %d bytes has %d", s.Length, n)
			}
			if limit := 2 * max(least, min(most, localBlock)); n > limit && Codec(s.Pieces[0].Path) == nil {
				t.Fatalf("split of %d bytes, more than %d", n, limit)
			}
		}
		for _, in := range inputs {
			pieces := at[in.Path]
			slices.SortFunc(pieces, func(a, b Piece) int { return int(a.Offset - b.Offset) })
			var end int64
			for _, p := range pieces {
				if p.Offset != end {
					t.Fatalf("%s: %+v", in.Path, pieces)
				}
				end += p.Length
			}
			if end != in.Size || Codec(in.Path) != nil && len(pieces) != 1 {
				t.Fatalf("%s of %d bytes: %+v", in.Path, in.Size, pieces)
			}
		}
	})
}

// A split of a byte each, of an exabyte: the memory of nobody has room for a list of them.
func TestTooManySplitsAreRefused(t *testing.T) {
	for _, size := range []int64{1 << 60, maxSplits + 10} {
		_, err := Cut(t.Context(), hdfstest.Local(t), []hdfsadapter.Info{{Path: "file:///x", Size: size}}, 0, 1)
		if err == nil || !strings.Contains(err.Error(), "mapreduce.input.fileinputformat.split.maxsize") {
			t.Errorf("a split for each of %d bytes: %v", size, err)
		}
	}
}

func TestSmallFilesKeepToTheirHosts(t *testing.T) {
	p := packer{target: 100, bins: map[string]*Split{}, load: map[string]int64{}}
	var splits []Split
	for i := range 100 {
		hosts := []string{fmt.Sprint("h", i%3), fmt.Sprint("h", (i+1)%3)}
		if s := p.add(Piece{fmt.Sprint(i), 0, 10}, hosts); s != nil {
			splits = append(splits, *s)
		}
	}
	splits = append(splits, p.rest()...)
	total, local := 0, 0
	for _, s := range splits {
		total += len(s.Pieces)
		if len(s.Hosts) != 1 {
			continue
		}
		for _, x := range s.Pieces {
			var i int
			fmt.Sscan(x.Path, &i)
			if s.Hosts[0] == fmt.Sprint("h", i%3) || s.Hosts[0] == fmt.Sprint("h", (i+1)%3) {
				local++
			}
		}
	}
	if total != 100 || local < 90 || len(splits) > 12 {
		t.Errorf("%d files in %d splits, %d of them local", total, len(splits), local)
	}
}

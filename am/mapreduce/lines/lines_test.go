package lines

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// terminated is a text whose last line is ended.
func terminated(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] != '\n' {
		return append(bytes.Clone(b), '\n')
	}
	return b
}

func part(t testing.TB, text []byte, offset, length int64, buf int, r func(io.Reader) io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	in := r(bytes.NewReader(text[max(offset-1, 0):]))
	lines, n, err := Copy(&out, in, offset, length, make([]byte, buf))
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(out.Len()) || lines != int64(bytes.Count(out.Bytes(), newline)) {
		t.Fatalf("%d lines and %d bytes were reported for %q", lines, n, out.Bytes())
	}
	return out.Bytes()
}

func whole(r io.Reader) io.Reader { return r }

// Wherever a text is cut, every line is in one part, and in the right one.
func TestEveryCutKeepsEveryLine(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "\n\n", "ab\ncd", "ab\n\n\ncd\n", "\x00\xff\n\r\n\tx", strings.Repeat("long", 20) + "\nb"} {
		for buf := 1; buf < 8; buf++ {
			for i := range len(text) + 1 {
				for j := i; j <= len(text); j++ {
					var got []byte
					for _, p := range [][2]int{{0, i}, {i, j}, {j, len(text)}} {
						if p[0] < p[1] {
							got = append(got, part(t, []byte(text), int64(p[0]), int64(p[1]-p[0]), buf, whole)...)
						}
					}
					if want := terminated([]byte(text)); !bytes.Equal(got, want) {
						t.Fatalf("%q cut at %d and %d, read by %d bytes: %q", text, i, j, buf, got)
					}
				}
			}
		}
	}
}

func TestCutsOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("\n\nab\x00\xff\r\t")), 0, 200).Draw(t, "text")
		size := rapid.IntRange(1, 50).Draw(t, "size")
		buf := rapid.IntRange(1, 64).Draw(t, "buffer")
		var got []byte
		for at := 0; at < len(text); at += size {
			var out bytes.Buffer
			in := iotest.HalfReader(bytes.NewReader(text[max(at-1, 0):]))
			if _, _, err := Copy(&out, in, int64(at), int64(min(size, len(text)-at)), make([]byte, buf)); err != nil {
				t.Fatal(err)
			}
			got = append(got, out.Bytes()...)
		}
		if want := terminated(text); !bytes.Equal(got, want) {
			t.Fatalf("%q in parts of %d: %q", text, size, got)
		}
	})
}

func FuzzCopyLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), uint8(1), uint8(2))
	f.Add([]byte("\n"), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, a, b uint8) {
		i := min(int(a), len(text))
		j := min(i+int(b), len(text))
		var got []byte
		for _, p := range [][2]int{{0, i}, {i, j}, {j, len(text)}} {
			if p[0] < p[1] {
				got = append(got, part(t, text, int64(p[0]), int64(p[1]-p[0]), 7, whole)...)
			}
		}
		if !bytes.Equal(got, terminated(text)) {
			t.Fatalf("%q cut at %d and %d: %q", text, i, j, got)
		}
	})
}

func TestLineReaderReadsLinesOfAnyLength(t *testing.T) {
	lines := []string{"\n", "short\n", strings.Repeat("x", 1000) + "\n", "\x00\xff\n", strings.Repeat("y", 16) + "\n", "end"}
	r := NewReader(iotest.DataErrReader(strings.NewReader(strings.Join(lines, ""))), 16)
	for _, want := range lines {
		got, err := r.Next()
		if err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	if got, err := r.Next(); err != io.EOF {
		t.Fatalf("%q, %v after the end", got, err)
	}
	if _, err := NewReader(iotest.ErrReader(io.ErrClosedPipe), 16).Next(); err != io.ErrClosedPipe {
		t.Fatalf("an error of the reader became %v", err)
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		line, separator string
		fields          int
		want            string
	}{
		{"a\tb\tc", "\t", 1, "a"},
		{"a\tb\tc", "\t", 2, "a\tb"},
		{"a\tb\tc", "\t", 3, "a\tb\tc"},
		{"a\tb", "\t", 9, "a\tb"},
		{"", "\t", 1, ""},
		{"\tb", "\t", 1, ""},
		{"a::b", "::", 1, "a"},
		{"a:b", "::", 1, "a:b"},
	} {
		if got := Key([]byte(c.line), c.separator, c.fields); string(got) != c.want {
			t.Errorf("%d fields of %q by %q: %q", c.fields, c.line, c.separator, got)
		}
	}
}

// Hadoop's own values: (new Text(key).hashCode() & Integer.MAX_VALUE) % n.
func TestPartitionIsHadoops(t *testing.T) {
	for _, c := range []struct {
		key  string
		n    int
		want int
	}{{"", 7, 1}, {"a", 1000, 128}, {"ab", 1000000, 4066}, {"\xff", 1000, 30}} {
		if got := Partition([]byte(c.key), c.n); got != c.want {
			t.Errorf("partition of %q among %d: %d, want %d", c.key, c.n, got, c.want)
		}
	}
}

package lines

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// read returns the lines of a file for each reduce task, and checks what it says of them.
func read(t interface{ Fatal(...any) }, f File) [][]string {
	b, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	var end int64
	for p, g := range f.Segments {
		part := b[g.Offset : g.Offset+g.Length]
		if g.Offset != end || crc32.Checksum(part, Castagnoli) != g.Sum || int64(bytes.Count(part, newline)) != g.Records {
			t.Fatal(fmt.Sprintf("segment %d is not as the index says: %+v", p, g))
		}
		end = g.Offset + g.Length
		var lines []string
		for l := range strings.Lines(string(part)) {
			lines = append(lines, strings.TrimSuffix(l, "\n"))
		}
		out = append(out, lines)
	}
	if end != int64(len(b)) {
		t.Fatal("there is something behind the last segment")
	}
	return out
}

func testSorter(dir string, partitions int, limit int64, factor int) *Sorter {
	return &Sorter{
		Partitions: partitions, Key: func(l []byte) []byte { return Key(l, "\t", 1) }, Limit: limit, Factor: factor,
		File: func(name string) string { return filepath.Join(dir, name) }, Memory: &Memory{},
	}
}

func TestSorterSortsWhateverTheMemory(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		partitions := rapid.IntRange(1, 4).Draw(t, "partitions")
		s := testSorter(dir, partitions, rapid.Int64Range(1, 2000).Draw(t, "limit"), rapid.IntRange(2, 5).Draw(t, "factor"))
		lines := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\t\x00\x01é ")), 0, 20, -1), 0, 100).Draw(t, "lines")
		want := make([][]string, partitions)
		for _, l := range lines {
			if err := s.Add(context.Background(), []byte(l+"\n")); err != nil {
				t.Fatal(err)
			}
			p := Partition(s.Key([]byte(l)), partitions)
			want[p] = append(want[p], l)
		}
		f, err := s.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			slices.Sort(w)
		}
		if got := read(t, f); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q, want %q", got, want)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("%d files are left, %v", len(files), err)
		}
	})
}

// A combiner that reverses the order of what it reads, and drops repetitions.
func TestCombinerMayWriteInAnyOrder(t *testing.T) {
	s := testSorter(t.TempDir(), 2, 3000, 3)
	s.Combine = func(_ context.Context, feed func(io.Writer) error, take func(io.Reader) error) error {
		var in bytes.Buffer
		if err := feed(&in); err != nil {
			return err
		}
		lines := slices.Compact(strings.Split(strings.TrimSuffix(in.String(), "\n"), "\n"))
		slices.Reverse(lines)
		return take(strings.NewReader(strings.Join(lines, "\n"))) // the last one isn't ended
	}
	want := map[string]bool{}
	for i := range 1000 {
		l := fmt.Sprintf("%d\t1", i*i%97)
		want[l] = true
		if err := s.Add(t.Context(), []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for p, lines := range read(t, f) {
		if !slices.IsSorted(lines) {
			t.Errorf("not sorted: %q", lines)
		}
		for _, l := range lines {
			if total++; !want[l] || Partition(s.Key([]byte(l)), 2) != p {
				t.Errorf("%q for reduce task %d", l, p)
			}
		}
	}
	if total >= 1000 || total < len(want) || s.Counts.CombineInput < 1000 {
		t.Errorf("%d of 1000 lines, %d different ones; %v", total, len(want), s.Counts)
	}
}

// All that a combiner wrote was kept in memory.
func TestCombinerThatWritesMuchGoesToDisk(t *testing.T) {
	dir := t.TempDir()
	s := testSorter(dir, 1, 1<<10, 3)
	const times, size = 200, 10_000
	s.Combine = func(_ context.Context, feed func(io.Writer) error, take func(io.Reader) error) error {
		if err := feed(io.Discard); err != nil {
			return err
		}
		var out bytes.Buffer
		for i := range times {
			fmt.Fprintf(&out, "%03d%s\n", i*7%times, strings.Repeat("x", size))
		}
		return take(&out)
	}
	if err := s.Add(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}
	f, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := read(t, f)[0]
	if len(lines) != times || !slices.IsSorted(lines) || s.Counts.CombineOutput != times {
		t.Errorf("%d lines, sorted: %v; %v", len(lines), slices.IsSorted(lines), s.Counts)
	}
	if n := cap(s.combined.Arena); n > 4*leastCombined {
		t.Errorf("%d bytes in memory of %d", n, times*size)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

func TestSortIsThatOfTheCLocale(t *testing.T) {
	lines := []string{"", "a", "a\t1", "a b", "a\x01", "A", "\xff", "é", "a\t", "~", "\t", "aaaaaaaab", "aaaaaaaa", "aaaaaaaa\x00"}
	s := testSorter(t.TempDir(), 1, 1<<20, 10)
	for _, l := range lines {
		if err := s.Add(t.Context(), []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sort")
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	want, err := cmd.Output()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, but sort says %q, %v", got, want, err)
	}
}

func TestFullDiskIsReported(t *testing.T) {
	full := filepath.Join(t.TempDir(), "full")
	if err := os.Symlink("/dev/full", full); err != nil { // a link, as the file is removed afterwards
		t.Fatal(err)
	}
	s := testSorter("", 1, 1, 2)
	s.File = func(string) string { return full }
	err := s.Add(t.Context(), []byte("a"))
	if err == nil {
		_, err = s.Finish(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), full) {
		t.Errorf("a full disk is %v", err)
	}
}

func BenchmarkSort(b *testing.B) {
	var lines [][]byte
	for i := range 1 << 20 {
		lines = append(lines, fmt.Appendf(nil, "w%d\t1", i*7919%65537))
	}
	dir := b.TempDir()
	memory := &Memory{}
	b.SetBytes(int64(len(lines)) * 8)
	for b.Loop() {
		s := testSorter(dir, 4, 100<<20, 64)
		s.Memory = memory
		for _, l := range lines {
			if err := s.Add(b.Context(), l); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := s.Finish(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// The sum of each segment follows it, whether lines were merged or not, and isn't a part of it.
func TestSealedSegments(t *testing.T) {
	for _, limit := range []int64{1, 1 << 20} {
		s := testSorter(t.TempDir(), 3, limit, 2)
		s.Sealed = true
		for i := range 20 {
			if err := s.Add(t.Context(), []byte(strings.Repeat("x", i))); err != nil {
				t.Fatal(err)
			}
		}
		f, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		at, records := int64(0), int64(0)
		for i, g := range f.Segments {
			if g.Offset != at || g.Offset+g.Length+4 > int64(len(b)) {
				t.Fatalf("segment %d is %+v of %d bytes, and should begin at %d", i, g, len(b), at)
			}
			at += g.Length + 4
			records += g.Records
			if sum := crc32.Checksum(b[g.Offset:g.Offset+g.Length], Castagnoli); sum != g.Sum || binary.BigEndian.Uint32(b[at-4:]) != sum {
				t.Errorf("segment %d: sum %x, noted %x, in the file %x", i, sum, g.Sum, b[at-4:at])
			}
		}
		if at != int64(len(b)) || records != 20 || f.Size() != at-3*4 {
			t.Errorf("%d bytes of %d, %d records", at, len(b), records)
		}
	}
}

package input

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/hdfsadapter/hdfstest"
)

// Wherever a split is parted, and into however many parts, and however a part is read, its lines come once and in order.
func TestPartsHaveEachLineOnce(t *testing.T) {
	files, dir := hdfstest.Local(t), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var s Split
		want := ""
		for i := range rapid.IntRange(1, 3).Draw(t, "files") {
			var text strings.Builder
			for n := range rapid.IntRange(1, 12).Draw(t, "lines") {
				fmt.Fprintf(&text, "%d.%d%s\n", i, n, strings.Repeat("x", rapid.IntRange(0, 40).Draw(t, "width")))
			}
			whole := text.String()
			if rapid.Bool().Draw(t, "open") {
				whole = strings.TrimSuffix(whole, "\n")
			}
			name := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(name, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			want += text.String()
			s.add(Piece{name, 0, int64(len(whole))})
		}
		piece := rapid.IntRange(0, len(s.Pieces)-1).Draw(t, "piece")
		parts := []Split{s}
		if before, behind, err := s.Part(piece, rapid.Int64Range(0, s.Pieces[piece].Length).Draw(t, "at")); err == nil {
			parts = append([]Split{before}, behind.Divide(rapid.IntRange(1, 9).Draw(t, "parts"))...)
		}
		var got strings.Builder
		length := int64(0)
		for _, x := range parts {
			if x.Length < 1 {
				t.Fatalf("%+v", parts)
			}
			length += x.Length
			for _, p := range x.Pieces {
				at, step := p.Offset, rapid.Int64Range(5, 60).Draw(t, "step")
				err := p.FeedBy(context.Background(), files, &got, make([]byte, 64), func() (int64, int64, bool) {
					from := at
					at = min(at+step, p.Offset+p.Length)
					return from, at - from, at > from
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if got.String() != want || length != s.Length {
			t.Fatalf("%q instead of %q, from %+v", got.String(), want, parts)
		}
	})
}

func TestSplitsThatCanNotBeParted(t *testing.T) {
	s := Split{Pieces: []Piece{{"a", 10, 20}, {"b.gz", 0, 50}, {"c", 0, 5}}, Length: 75, Hosts: []string{"h"}}
	for _, c := range []struct {
		piece int
		at    int64
		err   string
	}{
		{-1, 0, "no piece -1"}, {3, 0, "no piece 3"}, {0, 9, "byte 9 isn't"}, {0, 31, "byte 31 isn't"}, {1, 7, "compressed"}, {0, 10, "nothing is before"}, {2, 5, "nothing"},
	} {
		if _, _, err := s.Part(c.piece, c.at); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	before, behind, err := s.Part(1, 0)
	if err != nil || before.Length != 20 || behind.Length != 55 || len(behind.Pieces) != 2 || behind.Hosts[0] != "h" {
		t.Errorf("%+v, %+v, %v", before, behind, err)
	}
	if parts := behind.Divide(11); len(parts) != 2 || len(parts[0].Pieces) != 1 || parts[0].Length != 50 {
		t.Errorf("%+v", parts)
	}
}

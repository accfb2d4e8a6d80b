package worker

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// Whenever a map is told to stop, and wherever: what it takes and what it says that it leaves is its split, once.
func TestWhatIsTakenAndLeftIsTheSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &input.Split{}
		for i := range rapid.IntRange(1, 4).Draw(t, "pieces") {
			ext := rapid.SampledFrom([]string{"", "", ".gz"}).Draw(t, "extension")
			p := input.Piece{Path: fmt.Sprint(i, ext), Offset: rapid.Int64Range(0, 50).Draw(t, "offset"), Length: rapid.Int64Range(1, 1000).Draw(t, "length")}
			s.Pieces = append(s.Pieces, p)
			s.Length += p.Length
		}
		f := newFeeding(s)
		var left input.Split
		taken, orders := int64(0), 0
		told := *s // what the task does, as its reports say
		order := func() {
			orders++
			before := f.stopped()
			f.stop(&job.Stop{Order: orders, At: rapid.Float64Range(-0.1, 1.1).Draw(t, "at")})
			x := f.stopped()
			if x.Order != orders {
				t.Fatalf("%+v answers order %d", x, orders)
			}
			if x.Not {
				if before != nil && (x.Piece != before.Piece || x.Offset != before.Offset) {
					t.Fatalf("%+v, and before %+v", x, before)
				}
				return
			}
			own, rest, err := told.Part(x.Piece, x.Offset)
			if err != nil {
				t.Fatal(err)
			}
			told = own
			left.Length += rest.Length
		}
		for i := range s.Pieces {
			for {
				if rapid.IntRange(0, 9).Draw(t, "ordered") == 0 {
					order()
				}
				offset, length, more := f.take(i)
				if !more {
					break
				}
				p := s.Pieces[i]
				if offset < p.Offset || length < 1 || offset+length > p.Offset+p.Length || input.Codec(p.Path) != nil && length != p.Length {
					t.Fatalf("%d bytes from %d of %+v", length, offset, p)
				}
				taken += length
			}
		}
		order()
		if taken != told.Length || taken+left.Length != s.Length || f.share() != float64(taken)/float64(s.Length) {
			t.Fatalf("%d bytes were taken and %d left of %d; the task says that it does %+v, a share of %v", taken, left.Length, s.Length, told, f.share())
		}
	})
}

// A map that is told to stop while its command reads: the command gets the lines that begin before the end, and what is left has the others.
func TestMapThatStopsLeavesTheOtherLines(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%03d %s\n", i, strings.Repeat("x", 100+i%7))
	}
	for name, c := range map[string]struct {
		packed bool
		files  int
	}{"one file": {false, 1}, "files": {false, 3}, "files of one mapper": {true, 3}} {
		var pieces []input.Piece
		for i := range c.files {
			pieces = append(pieces, writeFile(t, fmt.Sprint("in", i), text.String()))
		}
		gate := filepath.Join(t.TempDir(), "gate")
		// The first mapper says when it has read some lines, and goes on when it may.
		x := testTask(t, `read a; echo "$a"; if [ ! -e `+gate+` ]; then mkfifo `+gate+`; echo >&2 reads; read go < `+gate+`; fi; cat`, pieces...)
		x.spec.Job.Packed = c.packed
		x.feeding = newFeeding(x.Split)
		reads := make(chan struct{})
		x.log = newStderr(onWrite(func() { close(reads) }))
		done := make(chan error, 1)
		var got string
		go func() {
			_, part, err := x.runMap(t.Context())
			if err == nil {
				var b []byte
				b, err = os.ReadFile(part)
				got = string(b)
			}
			done <- err
		}()
		<-reads
		x.feeding.stop(&job.Stop{Order: 1, At: 0.3})
		at := x.feeding.stopped()
		if err := os.WriteFile(gate, []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		own, rest, err := x.Split.Part(at.Piece, at.Offset)
		if err != nil || at.Not {
			t.Fatalf("%s: %+v, %v", name, at, err)
		}
		if p := float64(own.Length) / float64(x.Split.Length); p < 0.299 || p > 0.4 {
			t.Errorf("%s: it does %v of its split instead of 0.3", name, p)
		}
		if f := x.fraction(); f < 0.99 {
			t.Errorf("%s: its progress is %v", name, f)
		}
		all := got
		for _, part := range rest.Divide(3) {
			for _, p := range part.Pieces {
				var b strings.Builder
				if err := p.Feed(t.Context(), x.files, &b, make([]byte, 1000), nil); err != nil {
					t.Fatal(err)
				}
				all += b.String()
			}
		}
		if all != strings.Repeat(text.String(), c.files) {
			t.Errorf("%s: %d lines instead of %d", name, strings.Count(all, "\n"), 400*c.files)
		}
	}
}

type onWrite func()

func (f onWrite) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// A reduce waits for the outputs of maps that there were not when it began.
func TestShuffleOfMapsThatCameLater(t *testing.T) {
	o := &outputs{}
	for m := range 3 {
		mapped(t, o, m, 0, 3, []string{"a", "b", "c"})
	}
	httpServer := httptest.NewServer(signed.NewGuard([]byte("key")).Protect(o))
	defer httpServer.Close()
	server := httpServer.URL
	told := 0
	s := testShuffle(t, 1, 1<<20, func(ctx context.Context, from int) (job.OutputsResponse, error) {
		told++
		switch told {
		case 1: // that there are two maps more, and then what the first has made
			return job.OutputsResponse{Next: 0, Maps: 3}, nil
		case 2:
			return job.OutputsResponse{Events: []job.MapOutput{{Map: 0, URL: server}}, Next: 1, Maps: 3}, nil
		case 3:
			return job.OutputsResponse{Events: []job.MapOutput{{Map: 2, URL: server}, {Map: 1, URL: server}}, Next: 3, Maps: 3}, nil
		}
		<-ctx.Done()
		return job.OutputsResponse{}, ctx.Err()
	})
	s.spec.Job.Speculation = job.SpeculateSplit
	if err := s.run(t.Context()); err != nil || len(s.have) != 3 {
		t.Errorf("%v, outputs of %v", err, s.have)
	}
	// A job whose maps can't be divided has as many as it had.
	s = testShuffle(t, 1, 1<<20, func(context.Context, int) (job.OutputsResponse, error) {
		return job.OutputsResponse{Events: []job.MapOutput{{Map: 2, URL: server}}, Next: 1, Maps: 3}, nil
	})
	if err := s.run(t.Context()); err == nil || !strings.Contains(err.Error(), "map task 2") {
		t.Errorf("%v", err)
	}
}

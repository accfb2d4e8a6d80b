package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/hdfsadapter/hdfstest"
	"heddle/internal/pause"
	"heddle/yarn/records"
)

var testApp = records.ApplicationID{ClusterTimestamp: 1, ID: 2}

// testTask is a map task without reduce tasks over local files; run it with mapped.
func testTask(t *testing.T, mapper string, pieces ...input.Piece) *task {
	t.Helper()
	dir := t.TempDir()
	s := &input.Split{Pieces: pieces}
	for _, p := range pieces {
		s.Length += p.Length
	}
	x := &task{
		Assignment: job.Assignment{ID: job.TaskID{Kind: job.Map}, Split: s, Output: filepath.Join(dir, "out")},
		spec:       &job.Spec{Job: job.Job{Mapper: mapper}}, app: testApp, files: hdfstest.Local(t), dir: dir, log: newStderr(io.Discard), stats: job.Counters{},
		memory: &lines.Memory{}, temp: func(name string) string { return filepath.Join(dir, name) },
	}
	x.gauge.Store(&gauge{})
	x.touch()
	return x
}

func (x *task) mapped(t *testing.T) (string, error) {
	t.Helper()
	_, name, err := x.runMap(t.Context())
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), nil
}

func writeFile(t *testing.T, name, text string) input.Piece {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return input.Piece{Path: path, Length: int64(len(text))}
}

// mapreduce_map_input_file was that of the first file for all that were put together, and head -n 1 read one line of all.
func TestEachFileOfASplitHasAMapperThatKnowsItsName(t *testing.T) {
	a, b := writeFile(t, "a", "1\n2\n"), writeFile(t, "b", "3\n4") // not ended
	x := testTask(t, `echo "$mapreduce_map_input_file $mapreduce_map_input_start $mapreduce_map_input_length"; head -n 1; printf end`, a, b)
	got, err := x.mapped(t)
	want := fmt.Sprintf("%s 0 4\n1\nend\n%s 0 3\n3\nend\n", a.Path, b.Path)
	if err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}

	x = testTask(t, `echo "${mapreduce_map_input_file-unknown}"; cat`, a, b)
	x.spec.Job.Packed = true
	if got, err := x.mapped(t); err != nil || got != "unknown\n1\n2\n3\n4\n" {
		t.Errorf("one mapper for all: %q, %v", got, err)
	}
}

// What was cut off since the job was submitted was passed over in silence.
func TestFileThatHasBecomeShorterIsAnError(t *testing.T) {
	p := writeFile(t, "a", "1\n2\n")
	p.Length++
	if got, err := testTask(t, "cat", p).mapped(t); err == nil || !strings.Contains(err.Error(), p.Path) {
		t.Errorf("%q, %v", got, err)
	}
}

// A reduce task that waits for a slow map task was killed as stuck.
func TestReduceThatWaitsForMapsIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		polls := 0
		s := testShuffle(t, 1, 1000, func(ctx context.Context, from int) (job.OutputsResponse, error) {
			polls++
			return job.OutputsResponse{}, pause.For(ctx, job.LongPoll) // no map task is done
		})
		last := time.Now()
		s.alive = func() {
			if since := time.Since(last); since > 2*job.LongPoll {
				t.Errorf("no sign of life for %v", since)
			}
			last = time.Now()
		}
		if err := s.run(ctx); err == nil || polls < 300 || time.Since(last) > job.LongPoll {
			t.Errorf("%v after %d questions, a sign of life %v ago", err, polls, time.Since(last))
		}
	})
}

// Counters of a command wrapped: a large sum became a negative one.
func TestCountersStayAtTheirLimits(t *testing.T) {
	var out bytes.Buffer
	s := newStderr(&out)
	for _, n := range []string{"9223372036854775807", "1", "1", "-1", "9223372036854775808"} {
		fmt.Fprintf(s, "reporter:counter:g,n,%s\n", n)
	}
	const want = "counter g,n stays at 9223372036854775807: 64 bits hold no more\nreporter:counter:g,n,9223372036854775808\n"
	if got := s.counters.Get("g", "n"); got != math.MaxInt64-1 || out.String() != want {
		t.Errorf("%d, %q", got, out.String())
	}
}

func TestManyCountersAreBounded(t *testing.T) {
	s := newStderr(io.Discard)
	for i := range 3 * maxCounters {
		fmt.Fprintf(s, "reporter:counter:g,n%d,1\n", i)
	}
	fmt.Fprintln(s, "reporter:counter:g,n1,1")
	if len(s.counters["g"]) != maxCounters || s.counters.Get("g", "n1") != 2 {
		t.Errorf("%d counters", len(s.counters["g"]))
	}
}

// The ApplicationMaster is told of a reduce that doesn't have all map outputs yet.
func TestReduceSaysThatItShuffles(t *testing.T) {
	x := testTask(t, "")
	x.ID.Kind, x.spec.Job.Reducer = job.Reduce, "cat"
	asked := errors.New("it has asked for map outputs")
	_, err := x.runReduce(t.Context(), &shuffle{maps: 1, copies: 1, factor: 2, outputs: func(context.Context, int) (job.OutputsResponse, error) {
		if !x.shuffles.Load() {
			t.Error("it waits for outputs, and doesn't say so")
		}
		return job.OutputsResponse{}, asked
	}})
	if !errors.Is(err, asked) {
		t.Fatal(err)
	}
	_, err = x.runReduce(t.Context(), &shuffle{copies: 1, factor: 2, outputs: func(ctx context.Context, _ int) (job.OutputsResponse, error) {
		<-ctx.Done()
		return job.OutputsResponse{}, ctx.Err()
	}})
	if err != nil || x.shuffles.Load() {
		t.Errorf("%v, shuffles: %v, though there is nothing to fetch", err, x.shuffles.Load())
	}
}

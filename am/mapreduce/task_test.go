package mapreduce

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/am/client"
)

// testTask is a map task without reduce tasks over local files; run it with mapped.
func testTask(t *testing.T, mapper string, pieces ...piece) *task {
	t.Helper()
	dir := t.TempDir()
	s := &split{Pieces: pieces}
	for _, p := range pieces {
		s.Length += p.Length
	}
	x := &task{
		assignment: assignment{ID: taskID{Kind: mapTask}, Split: s, Output: filepath.Join(dir, "out")},
		spec:       &spec{Job: Job{Mapper: mapper}}, app: testApp, files: localFiles(t), dir: dir, log: newStderr(io.Discard), stats: Counters{},
		memory: &sortMemory{}, temp: func(name string) string { return filepath.Join(dir, name) },
	}
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

func writeFile(t *testing.T, name, text string) piece {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return piece{Path: path, Length: int64(len(text))}
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
		s := testShuffle(t, 1, 1000, func(ctx context.Context, from int) (outputsResponse, error) {
			polls++
			return outputsResponse{}, pause(ctx, longPoll) // no map task is done
		})
		last := time.Now()
		s.alive = func() {
			if since := time.Since(last); since > 2*longPoll {
				t.Errorf("no sign of life for %v", since)
			}
			last = time.Now()
		}
		if err := s.run(ctx); err == nil || polls < 300 || time.Since(last) > longPoll {
			t.Errorf("%v after %d questions, a sign of life %v ago", err, polls, time.Since(last))
		}
	})
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

// While no ResourceManager answered nothing was said.
func TestLateAnswerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		r, err := patiently(func() (client.Report, error) { return client.Report{Name: "n"}, pause(t.Context(), 30*time.Second) }, awayAfter, func() { said++ })
		if err != nil || r.Name != "n" || said != 1 {
			t.Errorf("%+v, %v, said %d times", r, err, said)
		}
		if _, err := patiently(func() (client.Report, error) { return r, nil }, awayAfter, func() { t.Error("an answer that isn't late") }); err != nil {
			t.Error(err)
		}
	})
}

package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/hdfsadapter"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// frozen stops an attempt at one of its operations, for ever or until it thaws.
type frozen struct {
	files
	mu      sync.Mutex
	left    int // operations until then
	reached chan struct{}
	thaw    chan error // an error: the attempt is dead
}

func (f *frozen) stop(ctx context.Context) error {
	f.mu.Lock()
	f.left--
	at := f.left == 0
	f.mu.Unlock()
	if at {
		close(f.reached)
		return <-f.thaw
	}
	return ctx.Err()
}

func (f *frozen) Stat(ctx context.Context, name string) (hdfsadapter.Info, error) {
	if err := f.stop(ctx); err != nil {
		return hdfsadapter.Info{}, err
	}
	return f.files.Stat(ctx, name)
}

func (f *frozen) List(ctx context.Context, name string) ([]hdfsadapter.Info, error) {
	if err := f.stop(ctx); err != nil {
		return nil, err
	}
	return f.files.List(ctx, name)
}

func (f *frozen) Create(ctx context.Context, name string, o hdfsadapter.CreateOptions) (hdfsadapter.Writer, error) {
	if err := f.stop(ctx); err != nil {
		return nil, err
	}
	return f.files.Create(ctx, name, o)
}

func (f *frozen) Rename(ctx context.Context, from, to string, overwrite bool) error {
	if err := f.stop(ctx); err != nil {
		return err
	}
	return f.files.Rename(ctx, from, to, overwrite)
}

func (f *frozen) RemoveAll(ctx context.Context, name string) error {
	if err := f.stop(ctx); err != nil {
		return err
	}
	return f.files.RemoveAll(ctx, name)
}

func (f *frozen) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	if err := f.stop(ctx); err != nil {
		return err
	}
	return f.files.MkdirAll(ctx, name, perm)
}

const testParts = 3

// live is what an attempt does from its beginning to its end.
func live(ctx context.Context, c *commit) error {
	begun, err := c.claim(ctx)
	if err != nil {
		return err
	}
	if begun == nil {
		if err := c.prepare(ctx); err != nil {
			return err
		}
		var parts []string
		for i := range testParts {
			name := fmt.Sprintf("%s/task/part-%05d", c.work(), i)
			if err := c.write(ctx, name, fmt.Appendf(nil, "attempt %d, part %d", c.attempt, i)); err != nil {
				return err
			}
			parts = append(parts, name)
		}
		if begun, err = c.begin(ctx, parts); err != nil {
			return err
		}
	}
	return c.finish(ctx, begun)
}

// outcome returns which attempt's output there is, all of it and nothing else.
func outcome(t *testing.T, output string) string {
	t.Helper()
	entries, err := os.ReadDir(output)
	if err != nil {
		t.Fatal(err)
	}
	var names, by []string
	for _, e := range entries {
		if names = append(names, e.Name()); strings.HasPrefix(e.Name(), "part-") {
			b, err := os.ReadFile(filepath.Join(output, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			attempt, _, _ := strings.Cut(string(b), ",")
			by = append(by, attempt)
		}
	}
	names = slices.DeleteFunc(names, func(s string) bool { return s == "_temporary" }) // of an attempt that wrote on; readers pass it over
	by = slices.Compact(by)
	if want := "[_SUCCESS part-00000 part-00001 part-00002]"; fmt.Sprint(names) != want || len(by) != 1 {
		t.Fatalf("%v of %v", names, by)
	}
	return by[0]
}

// An attempt that was cut off for longer than its expiry committed under its successor. Here it is frozen at each of its
// operations, while the successor does the whole job; then it goes on, or is dead.
func TestOneAttemptMakesTheOutputWheneverAnotherFreezes(t *testing.T) {
	committed := map[string]int{}
	for _, thaws := range []bool{true, false} {
		for at := 1; ; at++ {
			dir := t.TempDir()
			output, folder := filepath.Join(dir, "out"), filepath.Join(dir, "commit")
			local := localFiles(t)
			if err := (&commit{files: local, folder: folder}).offer(t.Context()); err != nil {
				t.Fatal(err)
			}
			f := &frozen{files: local, left: at, reached: make(chan struct{}), thaw: make(chan error, 1)}
			ended := make(chan error, 1)
			go func() { ended <- live(t.Context(), &commit{files: f, folder: folder, attempt: 1, output: output}) }()
			var first error
			finished := false
			select {
			case <-f.reached:
			case first = <-ended:
				finished = true // it has fewer operations
			}
			if !finished && !thaws {
				f.thaw <- errors.New("dead")
				<-ended
			}
			second := live(t.Context(), &commit{files: local, folder: folder, attempt: 2, output: output})
			if !finished && thaws {
				f.thaw <- nil
				first = <-ended
			}
			by := outcome(t, output)
			if second != nil {
				t.Fatalf("frozen at operation %d: output of %s, but attempt 1 says %v, attempt 2 %v", at, by, first, second)
			}
			if thaws && first != nil && !errors.Is(first, errFenced) {
				// whatever it met, the commit was its successor's
				kind, attempt, err := (&commit{files: local, folder: folder}).state(t.Context())
				if err != nil || kind != begunFile || attempt != 2 {
					t.Fatalf("frozen at operation %d: %v; %s%d, %v", at, first, kind, attempt, err)
				}
			}
			committed[by]++
			if finished {
				break
			}
		}
	}
	if committed["attempt 1"] < testParts || committed["attempt 2"] < testParts {
		t.Errorf("outputs: %v", committed)
	}
}

// One that fails late must not remove what its successor has written.
func TestAttemptThatWasSucceededDiscardsNothing(t *testing.T) {
	dir := t.TempDir()
	local := localFiles(t)
	at := func(n int32) *commit {
		return &commit{files: local, folder: filepath.Join(dir, "commit"), attempt: n, output: filepath.Join(dir, "out")}
	}
	if err := at(0).offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range int32(2) {
		if begun, err := at(n + 1).claim(t.Context()); err != nil || begun != nil {
			t.Fatalf("%v, %v", begun, err)
		}
		if err := at(n + 1).prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := at(1).discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := at(1).claim(t.Context()); !errors.Is(err, errFenced) {
		t.Errorf("attempt 1 after attempt 2: %v", err)
	}
	if _, err := os.Stat(at(2).work()); err != nil {
		t.Fatal(err)
	}
	if err := at(2).discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the output of a job that has failed: %v", err)
	}
	if _, err := at(3).claim(t.Context()); err == nil || !strings.Contains(err.Error(), "attempt 2 has failed") {
		t.Errorf("attempt 3 after that: %v", err)
	}
}

func TestOutputOfOthersIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	local := localFiles(t)
	c := &commit{files: local, folder: filepath.Join(dir, "commit"), output: filepath.Join(dir, "out")}
	if err := c.offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.temporary(), 0o755); err != nil {
		t.Fatal(err)
	}
	for c.attempt = 1; c.attempt <= 2; c.attempt++ {
		var e *OutputError
		if err := live(t.Context(), c); !errors.As(err, &e) || !errors.Is(err, fs.ErrExist) {
			t.Errorf("attempt %d: %v", c.attempt, err)
		}
	}
	if err := c.discard(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.temporary()); err != nil {
		t.Error(err)
	}
}

func testStaging(t *testing.T, base string) *stagingRoot {
	t.Helper()
	cfg := map[string]string{keyStaging: base}
	s, err := newStagingRoot(localFiles(t), configOf(t, cfg), "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The first user made the folder of all users for itself alone.
func TestStagingFolderIsForAllUsers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a", "staging")
	s := testStaging(t, base)
	for range 2 {
		if err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{base: 0o777 | fs.ModeSticky, filepath.Join(base, "somebody"): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode()&^fs.ModeDir != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	s.user = "another"
	if err := s.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "not to another") {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}

// A job that was killed in the background left its staged files behind for good.
func TestStagedFilesOfKilledJobsAreSweptAway(t *testing.T) {
	s := testStaging(t, t.TempDir())
	app := func(stamp int64, n int32) records.ApplicationID {
		return records.ApplicationID{ClusterTimestamp: stamp, ID: n}
	}
	ended, runs, young, forgotten, foreign, mine := app(1, 1), app(1, 2), app(1, 3), app(1, 4), app(2, 1), app(1, 9)
	now := time.Now()
	for _, id := range []records.ApplicationID{ended, runs, young, forgotten, foreign, mine} {
		if err := os.MkdirAll(strings.TrimPrefix(s.folder(id), "file://"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-2 * sweepUnheard)
	if err := os.Chtimes(strings.TrimPrefix(s.folder(forgotten), "file://"), old, old); err != nil {
		t.Fatal(err)
	}
	removed, err := s.sweep(t.Context(), mine, func(_ context.Context, id records.ApplicationID) (client.Report, error) {
		switch id {
		case ended:
			return client.Report{State: pb.YarnApplicationState_KILLED}, nil
		case runs:
			return client.Report{State: pb.YarnApplicationState_RUNNING}, nil
		case young, forgotten:
			return client.Report{}, &ipc.RemoteError{Class: ipc.ApplicationNotFound}
		}
		t.Errorf("asked for %v", id)
		return client.Report{}, nil
	}, now)
	slices.Sort(removed)
	if want := []string{ended.String(), forgotten.String()}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("%v, %v", removed, err)
	}
	left, err := os.ReadDir(strings.TrimPrefix(s.own+"/.staging", "file://"))
	if err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
}

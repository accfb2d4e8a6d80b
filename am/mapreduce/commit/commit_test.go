package commit

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

	"heddle/hdfsadapter"
	"heddle/hdfsadapter/hdfstest"
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

func (f *frozen) Open(ctx context.Context, name string) (hdfsadapter.Reader, error) {
	if err := f.stop(ctx); err != nil {
		return nil, err
	}
	return f.files.Open(ctx, name)
}

func (f *frozen) Create(ctx context.Context, name string, o hdfsadapter.CreateOptions) (hdfsadapter.Writer, error) {
	if err := f.stop(ctx); err != nil {
		return nil, err
	}
	w, err := f.files.Create(ctx, name, o)
	return &frozenWriter{w, f, ctx}, err
}

// frozenWriter may stop in the middle of a file, of which half of each Write is there.
type frozenWriter struct {
	hdfsadapter.Writer
	f   *frozen
	ctx context.Context
}

func (w *frozenWriter) Write(b []byte) (int, error) {
	half, err := w.Writer.Write(b[:len(b)/2])
	if err == nil {
		err = w.f.stop(w.ctx)
	}
	if err != nil {
		return half, err
	}
	rest, err := w.Writer.Write(b[half:])
	return half + rest, err
}

func (w *frozenWriter) Close() error { return errors.Join(w.f.stop(w.ctx), w.Writer.Close()) }

func (f *frozen) Remove(ctx context.Context, name string) error {
	if err := f.stop(ctx); err != nil {
		return err
	}
	return f.files.Remove(ctx, name)
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
func live(ctx context.Context, c *Commit) error {
	begun, err := c.Claim(ctx)
	if err != nil {
		return err
	}
	if begun == nil {
		if err := c.Prepare(ctx); err != nil {
			return err
		}
		var parts []string
		for i := range testParts {
			name := fmt.Sprintf("%s/task/part-%05d", c.Work(), i)
			if err := c.write(ctx, name, fmt.Appendf(nil, "attempt %d, part %d", c.Attempt, i)); err != nil {
				return err
			}
			parts = append(parts, name)
		}
		if begun, err = c.Begin(ctx, parts); err != nil {
			return err
		}
	}
	return c.Finish(ctx, begun)
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
			local := hdfstest.Local(t)
			if err := (&Commit{Files: local, Folder: folder}).Offer(t.Context()); err != nil {
				t.Fatal(err)
			}
			f := &frozen{files: local, left: at, reached: make(chan struct{}), thaw: make(chan error, 1)}
			ended := make(chan error, 1)
			go func() { ended <- live(t.Context(), &Commit{Files: f, Folder: folder, Attempt: 1, Output: output}) }()
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
			second := live(t.Context(), &Commit{Files: local, Folder: folder, Attempt: 2, Output: output})
			if !finished && thaws {
				f.thaw <- nil
				first = <-ended
			}
			by := outcome(t, output)
			if second != nil {
				t.Fatalf("frozen at operation %d: output of %s, but attempt 1 says %v, attempt 2 %v", at, by, first, second)
			}
			if thaws && first != nil && !errors.Is(first, ErrFenced) {
				// whatever it met, the commit was its successor's
				kind, attempt, err := (&Commit{Files: local, Folder: folder}).state(t.Context())
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

// An attempt that fails is killed at each of the operations by which it gives up, or before. Whether another attempt comes, or nobody does and the
// application is over: nothing of the output is left.
func TestNothingIsLeftOfAFailedJobWheneverItIsKilled(t *testing.T) {
	for _, another := range []bool{true, false} {
		for at, finished := 1, false; !finished; at++ {
			dir := t.TempDir()
			output, folder := filepath.Join(dir, "out"), filepath.Join(dir, "commit")
			local := hdfstest.Local(t)
			c := &Commit{Files: local, Folder: folder, Output: output}
			if err := c.Offer(t.Context()); err != nil {
				t.Fatal(err)
			}
			dead := errors.New("dead")
			f := &frozen{files: local, left: at, reached: make(chan struct{}), thaw: make(chan error, 1)}
			f.thaw <- dead
			fails := func(c *Commit) error {
				if _, err := c.Claim(t.Context()); err != nil {
					return err
				}
				if err := c.Prepare(t.Context()); err != nil {
					return err
				}
				if err := c.write(t.Context(), c.Work()+"/part-00000", []byte("a part")); err != nil {
					return err
				}
				return c.Discard(t.Context())
			}
			err := fails(&Commit{Files: f, Folder: folder, Attempt: 1, Output: output})
			if finished = err == nil; !finished && !errors.Is(err, dead) {
				t.Fatalf("killed at operation %d: %v", at, err)
			}
			if another {
				err = fails(&Commit{Files: local, Folder: folder, Attempt: 2, Output: output})
				if err != nil && !strings.Contains(err.Error(), "attempt 1 has failed") {
					t.Errorf("killed at operation %d: the next attempt says %v", at, err)
				}
			} else if err := c.Abandon(t.Context()); err != nil {
				t.Errorf("killed at operation %d: %v", at, err)
			}
			if _, err := os.Stat(output); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("killed at operation %d, another attempt comes: %v. Of the output there is %v", at, another, err)
			}
			if finished && at < 10 {
				t.Errorf("it has %d operations", at-1)
			}
		}
	}
}

// A commit that has begun isn't undone: somebody may do the rest of it.
func TestAbandonLeavesACommitThatHasBegun(t *testing.T) {
	dir := t.TempDir()
	c := &Commit{Files: hdfstest.Local(t), Folder: filepath.Join(dir, "commit"), Output: filepath.Join(dir, "out"), Attempt: 1}
	if err := c.Offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := live(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := c.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	outcome(t, c.Output)
}

// One that fails late must not remove what its successor has written.
func TestAttemptThatWasSucceededDiscardsNothing(t *testing.T) {
	dir := t.TempDir()
	local := hdfstest.Local(t)
	at := func(n int32) *Commit {
		return &Commit{Files: local, Folder: filepath.Join(dir, "commit"), Attempt: n, Output: filepath.Join(dir, "out")}
	}
	if err := at(0).Offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range int32(2) {
		if begun, err := at(n + 1).Claim(t.Context()); err != nil || begun != nil {
			t.Fatalf("%v, %v", begun, err)
		}
		if err := at(n + 1).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := at(1).Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := at(1).Claim(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("attempt 1 after attempt 2: %v", err)
	}
	if _, err := os.Stat(at(2).Work()); err != nil {
		t.Fatal(err)
	}
	if err := at(2).Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the output of a job that has failed: %v", err)
	}
	if _, err := at(3).Claim(t.Context()); err == nil || !strings.Contains(err.Error(), "attempt 2 has failed") {
		t.Errorf("attempt 3 after that: %v", err)
	}
}

func TestOutputOfOthersIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	local := hdfstest.Local(t)
	c := &Commit{Files: local, Folder: filepath.Join(dir, "commit"), Output: filepath.Join(dir, "out")}
	if err := c.Offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.temporary(), 0o755); err != nil {
		t.Fatal(err)
	}
	for c.Attempt = 1; c.Attempt <= 2; c.Attempt++ {
		var e *OutputError
		if err := live(t.Context(), c); !errors.As(err, &e) || !errors.Is(err, fs.ErrExist) {
			t.Errorf("attempt %d: %v", c.Attempt, err)
		}
	}
	if err := c.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.temporary()); err != nil {
		t.Error(err)
	}
}

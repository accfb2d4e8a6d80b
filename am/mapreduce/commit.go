package mapreduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/hdfsadapter"
)

// files is what a commit needs of hdfsadapter.FS.
type files interface {
	Stat(ctx context.Context, name string) (hdfsadapter.Info, error)
	List(ctx context.Context, name string) ([]hdfsadapter.Info, error)
	Open(ctx context.Context, name string) (hdfsadapter.Reader, error)
	Create(ctx context.Context, name string, o hdfsadapter.CreateOptions) (hdfsadapter.Writer, error)
	Rename(ctx context.Context, from, to string, overwrite bool) error
	Remove(ctx context.Context, name string) error
	RemoveAll(ctx context.Context, name string) error
	MkdirAll(ctx context.Context, name string, perm fs.FileMode) error
}

// commit decides which attempt at an application makes the job's output, and makes it. An attempt that was cut off may live on
// beside its successor, and wake up at any moment: the ResourceManager's word, when it was given, may be out of date when it
// is acted upon. Renaming a file isn't: it happens once.
//
// In a folder next to the staged files there is one file, whose name says whose turn it is:
//
//   - turn.N: attempt N may commit. A later attempt takes the turn by renaming the file, by which N has lost it.
//   - begun.N: attempt N has begun to commit what parts.N lists, and nobody can take that from it. Whoever comes later does the
//     rest; each step can be done by several at once, and again.
//   - failed.N: attempt N has given up, and removed what it had written.
type commit struct {
	files   files
	folder  string
	attempt int32
	output  string
}

// Names of files in the folder of a commit; the attempt's number is added to all but the last one.
const (
	turnFile   = "turn."
	begunFile  = "begun."
	failedFile = "failed."
	partsFile  = "parts."
	madeFile   = "made" // the output folder is this job's
)

const successFile = "_SUCCESS"

// errFenced means that a later attempt has taken over.
var errFenced = errors.New("a later attempt at the application has taken over")

// moved is a file of the output, where it is and where it is to be.
type moved struct{ From, To string }

func (c *commit) file(kind string, attempt int32) string {
	return fmt.Sprintf("%s/%s%d", c.folder, kind, attempt)
}

func (c *commit) temporary() string { return c.output + "/_temporary" }

// work is the folder for what this attempt's tasks write.
func (c *commit) work() string { return fmt.Sprintf("%s/%d", c.temporary(), c.attempt) }

// offer lets the first attempt have the turn.
func (c *commit) offer(ctx context.Context) error {
	return c.write(ctx, c.file(turnFile, 0), nil)
}

func (c *commit) write(ctx context.Context, name string, b []byte) error {
	w, err := c.files.Create(ctx, name, hdfsadapter.CreateOptions{Overwrite: true, Perm: 0o600})
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// claim takes the turn. If a commit has begun it returns its parts instead. It fails with errFenced if the attempt isn't the
// latest one.
func (c *commit) claim(ctx context.Context) (begun []moved, err error) {
	for try := 0; ; try++ {
		kind, attempt, err := c.state(ctx)
		switch {
		case err != nil:
			return nil, err
		case kind == begunFile:
			return c.parts(ctx, attempt)
		case kind == failedFile:
			return nil, fmt.Errorf("attempt %d has failed, and removed what it had written", attempt)
		case kind == turnFile && attempt > c.attempt:
			return nil, errFenced
		case kind == turnFile && attempt == c.attempt:
			return nil, nil
		case kind == turnFile:
			if err := c.rename(ctx, c.file(turnFile, attempt), c.file(turnFile, c.attempt)); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		// Somebody else has been quicker, or the file was renamed while the folder was read.
		if try == claimTries {
			return nil, fmt.Errorf("%s says of no attempt that it may commit", c.folder)
		}
		if err := pause(ctx, claimPause); err != nil {
			return nil, err
		}
	}
}

const (
	claimTries = 20
	claimPause = 100 * time.Millisecond
)

// state tells whose turn it is; "" if that can't be seen at the moment.
func (c *commit) state(ctx context.Context) (kind string, attempt int32, err error) {
	list, err := c.files.List(ctx, c.folder)
	if err != nil {
		return "", 0, err
	}
	for _, k := range []string{begunFile, failedFile, turnFile} {
		for _, f := range list {
			if text, ok := strings.CutPrefix(f.Name, k); ok {
				n, err := strconv.ParseInt(text, 10, 32)
				if err != nil {
					return "", 0, fmt.Errorf("%s: not a number of an attempt", f.Path)
				}
				return k, int32(n), nil
			}
		}
	}
	return "", 0, nil
}

func (c *commit) parts(ctx context.Context, attempt int32) ([]moved, error) {
	f, err := c.files.Open(ctx, c.file(partsFile, attempt))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list := []moved{} // not nil, even if there are none
	if err := json.NewDecoder(f).Decode(&list); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", c.file(partsFile, attempt), err)
	}
	return list, nil
}

// rename renames a file that only one can rename. A NameNode may have done so though its answer was lost.
func (c *commit) rename(ctx context.Context, from, to string) error {
	err := c.files.Rename(ctx, from, to, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		if _, gone := c.files.Stat(ctx, from); errors.Is(gone, fs.ErrNotExist) {
			if _, there := c.files.Stat(ctx, to); there == nil {
				return nil
			}
		}
	}
	return err
}

// prepare makes the output folder for an attempt whose turn it is, and removes what earlier ones have left in it.
func (c *commit) prepare(ctx context.Context) error {
	made := c.folder + "/" + madeFile
	_, err := c.files.Stat(ctx, c.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := c.write(ctx, made, nil); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if _, err := c.files.Stat(ctx, made); err != nil {
			return &OutputError{c.output, fs.ErrExist}
		}
		if err := c.files.RemoveAll(ctx, c.temporary()); err != nil {
			return err
		}
	}
	return c.files.MkdirAll(ctx, c.work(), 0)
}

// atOnce is how many files are looked at or moved at a time.
const atOnce = 16

// begin makes the commit of these files irrevocable. It fails with errFenced if the attempt has lost its turn.
func (c *commit) begin(ctx context.Context, from []string) ([]moved, error) {
	list := make([]moved, len(from))
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, name := range from {
		list[i] = moved{name, c.output + "/" + path.Base(name)}
		g.Go(func() error {
			_, err := c.files.Stat(each, name)
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		var b []byte
		if b, err = json.Marshal(list); err == nil {
			err = c.write(ctx, c.file(partsFile, c.attempt), b)
		}
	}
	if err == nil {
		err = c.rename(ctx, c.file(turnFile, c.attempt), c.file(begunFile, c.attempt))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if kind, attempt, e := c.state(ctx); e == nil && (attempt != c.attempt || kind != turnFile) {
			return nil, errFenced
		}
	}
	return list, err
}

// finish moves the parts to where they belong. Several may do that at once.
func (c *commit) finish(ctx context.Context, list []moved) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range list {
		g.Go(func() error { return c.rename(each, p.From, p.To) })
	}
	err := g.Wait()
	if err == nil {
		err = c.files.RemoveAll(ctx, c.temporary())
	}
	if err == nil {
		err = c.succeed(ctx)
	}
	if err != nil {
		return fmt.Errorf("commit of the output, which is incomplete: %w", err)
	}
	return nil
}

// succeed says in the output that it is complete.
func (c *commit) succeed(ctx context.Context) error {
	name := c.output + "/" + successFile
	f, err := c.files.Create(ctx, name, hdfsadapter.CreateOptions{})
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		if _, there := c.files.Stat(ctx, name); there == nil {
			return nil // another attempt was quicker
		}
	}
	return err
}

// discard gives up, and removes what was written. It does nothing if it isn't this attempt's turn.
func (c *commit) discard(ctx context.Context) error {
	err := c.rename(ctx, c.file(turnFile, c.attempt), c.file(failedFile, c.attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = c.files.Stat(ctx, c.folder+"/"+madeFile)
	}
	if err == nil {
		err = c.files.RemoveAll(ctx, c.temporary())
	}
	if err == nil {
		err = c.files.Remove(ctx, c.output)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

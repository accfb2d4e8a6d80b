// Package commit makes the files of a job's tasks its output. It does that once, even if several attempts of the application live at the
// same time. It needs only a file system in which a rename succeeds once.
package commit

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
	"heddle/internal/pause"
)

// files has the methods of hdfsadapter.FS that a commit needs.
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

// Commit decides which attempt at an application makes the job's output, and makes it. An attempt that was cut off may live on
// beside its successor, and wake up at any moment: the ResourceManager's word, when it was given, may be out of date when it
// is acted upon. Renaming a file isn't: it happens once.
//
// In a folder next to the staged files there is one file, whose name says whose turn it is:
//
//   - turn.N: attempt N may commit. A later attempt takes the turn by renaming the file, by which N has lost it.
//   - begun.N: attempt N has begun to commit what parts.N lists, and no other can take that from it. Later callers do the rest;
//     each step can be done by several at once, and again.
//   - failed.N: attempt N has given up, and removes what was written. Later callers do the rest.
type Commit struct {
	Files   files
	Folder  string
	Attempt int32
	Output  string
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

// ErrFenced means that a later attempt has taken over.
var ErrFenced = errors.New("a later attempt at the application has taken over")

// Moved is a file of the output, where it is and where it is to be.
type Moved struct{ From, To string }

func (c *Commit) file(kind string, attempt int32) string {
	return fmt.Sprintf("%s/%s%d", c.Folder, kind, attempt)
}

func (c *Commit) temporary() string { return c.Output + "/_temporary" }

// Work returns the folder for what this attempt's tasks write.
func (c *Commit) Work() string { return fmt.Sprintf("%s/%d", c.temporary(), c.Attempt) }

// Offer lets the first attempt have the turn.
func (c *Commit) Offer(ctx context.Context) error {
	return c.write(ctx, c.file(turnFile, 0), nil)
}

func (c *Commit) write(ctx context.Context, name string, b []byte) error {
	w, err := c.Files.Create(ctx, name, hdfsadapter.CreateOptions{Overwrite: true, Perm: 0o600})
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

// Claim takes the turn. If a commit has begun it returns its parts instead. It fails with ErrFenced if the attempt isn't the
// latest one.
func (c *Commit) Claim(ctx context.Context) (begun []Moved, err error) {
	for try := 0; ; try++ {
		kind, attempt, err := c.state(ctx)
		switch {
		case err != nil:
			return nil, err
		case kind == begunFile:
			return c.parts(ctx, attempt)
		case kind == failedFile:
			// It may have been killed before it had removed them all.
			return nil, errors.Join(fmt.Errorf("attempt %d has failed, and its files are removed", attempt), c.remove(ctx))
		case kind == turnFile && attempt > c.Attempt:
			return nil, ErrFenced
		case kind == turnFile && attempt == c.Attempt:
			return nil, nil
		case kind == turnFile:
			if err := c.rename(ctx, c.file(turnFile, attempt), c.file(turnFile, c.Attempt)); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		// Another has been quicker, or the file was renamed while the folder was read.
		if try == claimTries {
			return nil, fmt.Errorf("%s gives no attempt the right to commit", c.Folder)
		}
		if err := pause.For(ctx, claimPause); err != nil {
			return nil, err
		}
	}
}

const (
	claimTries = 20
	claimPause = 100 * time.Millisecond
)

// state tells whose turn it is; "" if that can't be seen at the moment.
func (c *Commit) state(ctx context.Context) (kind string, attempt int32, err error) {
	list, err := c.Files.List(ctx, c.Folder)
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

func (c *Commit) parts(ctx context.Context, attempt int32) ([]Moved, error) {
	f, err := c.Files.Open(ctx, c.file(partsFile, attempt))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list := []Moved{} // not nil, even if there are none
	if err := json.NewDecoder(f).Decode(&list); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", c.file(partsFile, attempt), err)
	}
	return list, nil
}

// rename renames a file that only one can rename. A NameNode may have done so though its answer was lost.
func (c *Commit) rename(ctx context.Context, from, to string) error {
	err := c.Files.Rename(ctx, from, to, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		if _, gone := c.Files.Stat(ctx, from); errors.Is(gone, fs.ErrNotExist) {
			if _, there := c.Files.Stat(ctx, to); there == nil {
				return nil
			}
		}
	}
	return err
}

// Prepare makes the output folder for an attempt whose turn it is, and removes what earlier ones have left in it.
func (c *Commit) Prepare(ctx context.Context) error {
	made := c.Folder + "/" + madeFile
	_, err := c.Files.Stat(ctx, c.Output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := c.write(ctx, made, nil); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if _, err := c.Files.Stat(ctx, made); err != nil {
			return &OutputError{c.Output, fs.ErrExist}
		}
		if err := c.Files.RemoveAll(ctx, c.temporary()); err != nil {
			return err
		}
	}
	return c.Files.MkdirAll(ctx, c.Work(), 0)
}

// atOnce is how many files are looked at or moved at a time.
const atOnce = 16

// Begin makes the commit of these files irrevocable. It fails with ErrFenced if the attempt has lost its turn.
func (c *Commit) Begin(ctx context.Context, from []string) ([]Moved, error) {
	list := make([]Moved, len(from))
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, name := range from {
		list[i] = Moved{name, c.Output + "/" + path.Base(name)}
		g.Go(func() error {
			_, err := c.Files.Stat(each, name)
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		var b []byte
		if b, err = json.Marshal(list); err == nil {
			err = c.write(ctx, c.file(partsFile, c.Attempt), b)
		}
	}
	if err == nil {
		err = c.rename(ctx, c.file(turnFile, c.Attempt), c.file(begunFile, c.Attempt))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if kind, attempt, e := c.state(ctx); e == nil && (attempt != c.Attempt || kind != turnFile) {
			return nil, ErrFenced
		}
	}
	return list, err
}

// Finish moves the parts to where they belong. Several may do that at once.
func (c *Commit) Finish(ctx context.Context, list []Moved) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range list {
		g.Go(func() error { return c.rename(each, p.From, p.To) })
	}
	err := g.Wait()
	if err == nil {
		err = c.Files.RemoveAll(ctx, c.temporary())
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
func (c *Commit) succeed(ctx context.Context) error {
	name := c.Output + "/" + successFile
	f, err := c.Files.Create(ctx, name, hdfsadapter.CreateOptions{})
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		if _, there := c.Files.Stat(ctx, name); there == nil {
			return nil // another attempt was quicker
		}
	}
	return err
}

// Discard gives up, and removes what was written. It does nothing if it isn't this attempt's turn.
func (c *Commit) Discard(ctx context.Context) error {
	err := c.rename(ctx, c.file(turnFile, c.Attempt), c.file(failedFile, c.Attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.remove(ctx)
}

// remove removes the output folder, if it is this job's, and what tasks have written there.
func (c *Commit) remove(ctx context.Context) error {
	_, err := c.Files.Stat(ctx, c.Folder+"/"+madeFile)
	if err == nil {
		err = c.Files.RemoveAll(ctx, c.temporary())
	}
	if err == nil {
		err = c.Files.Remove(ctx, c.Output)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Abandon discards what attempts have left of an application that is over without success: the last one may have been killed. A commit that has begun
// is left as it is.
func (c *Commit) Abandon(ctx context.Context) error {
	kind, attempt, err := c.state(ctx)
	switch {
	case err != nil:
		return err
	case kind == turnFile:
		latest := *c
		latest.Attempt = attempt
		return latest.Discard(ctx)
	case kind == failedFile:
		return c.remove(ctx)
	}
	return nil
}

package eventlog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/internal/bounded"
)

// DirOptions say how records are kept in a folder.
type DirOptions struct {
	Dir  string
	Name string // of the member, in the names of its files
	// MaxFile is the size, in bytes, from which on a file is followed by the next one.
	MaxFile int64
	// MaxTotal and MaxAge bound what is kept of the member's files: bytes, and time since a file was written to last. The file that is
	// written to stays. 0 is no bound.
	MaxTotal int64
	MaxAge   time.Duration
	Now      func() time.Time // nil: time.Now
}

// dir is a folder of records.
type dir struct{ DirOptions }

// maxFiles bounds a folder.
const maxFiles = 100_000

// OpenDir returns a writer that begins a file in a folder for each session, and another when that is full. The folder is made if need be. A
// session that continues in another file begins there with what there is: each file can be read alone.
func OpenDir(o DirOptions) (*Writer, error) {
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	w := NewWriter(nil)
	w.dir, w.to = &dir{o}, current{w}
	return w, nil
}

// current writes to the current file.
type current struct{ w *Writer }

func (c current) Write(b []byte) (int, error) {
	if c.w.file == nil {
		return 0, errors.New("no session has begun")
	}
	return c.w.file.Write(b)
}

// full reports whether the session should go on in another file.
func (w *Writer) full() bool {
	if w.dir == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err == nil && w.dir.MaxFile > 0 && w.size >= w.dir.MaxFile
}

// next begins another file, and removes what is too much. A name is never used twice. It is called with the lock held, or by the goroutine that alone writes.
func (w *Writer) next() error {
	if w.file != nil {
		f := w.file
		w.file = nil
		if err := f.Close(); err != nil {
			return err
		}
	}
	for at := w.dir.Now(); ; at = at.Add(time.Millisecond) {
		name := fmt.Sprintf("%s%s.log", w.dir.Prefix(), at.UTC().Format("20060102T150405.000"))
		f, err := os.OpenFile(filepath.Join(w.dir.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		w.file = f
		return w.dir.prune(name)
	}
}

// Prefix begins the names of the member's files.
func (o *DirOptions) Prefix() string { return "events-" + o.Name + "-" }

// prune removes the member's oldest files, as far as they are too old, or too much together.
func (d *dir) prune(current string) error {
	names, err := bounded.Names(d.Dir, maxFiles)
	if err != nil {
		return err
	}
	type old struct {
		name string
		size int64
		at   time.Time
	}
	var files []old
	for _, n := range names {
		if !strings.HasPrefix(n, d.Prefix()) || n == current {
			continue
		}
		if info, err := os.Lstat(filepath.Join(d.Dir, n)); err == nil && info.Mode().IsRegular() {
			files = append(files, old{n, info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b old) int { return cmp.Compare(b.name, a.name) }) // the newest first
	total := d.MaxFile
	for _, f := range files {
		total += f.size
		if d.MaxTotal > 0 && total > d.MaxTotal || d.MaxAge > 0 && d.Now().Sub(f.at) > d.MaxAge {
			if err := os.Remove(filepath.Join(d.Dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Package recording opens the record of the scheduler's events that a ResourceManager keeps while it leads, and knows how that goes.
package recording

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/rm/scheduler/eventlog"
)

// Recording is a record. A nil one records nothing.
type Recording struct {
	Writer *eventlog.Writer
	Source *eventlog.Source // of the queues
	file   string           // "": it is a folder
	dir    string
	prefix string // of the folder's files
}

// Open opens the record of a member: file, or, if that is "", the folder heddle.record.dir. It returns nil if there is neither.
func Open(c *conf.Config, file, member string, log *logrus.Entry) (*Recording, error) {
	r := &Recording{file: file, dir: c.Text("heddle.record.dir")}
	if file == "" && r.dir == "" {
		return nil, nil
	}
	var err error
	if r.Source, err = eventlog.SourceOf(c); err != nil {
		return nil, err
	}
	if file != "" {
		r.Writer, err = eventlog.Create(file)
	} else {
		o := eventlog.DirOptions{
			Dir: r.dir, Name: member, MaxFile: int64(c.Int("heddle.record.max-file-mb")) << 20, MaxTotal: int64(c.Int("heddle.record.max-total-mb")) << 20,
			MaxAge: time.Duration(c.Int("heddle.record.max-age-hours")) * time.Hour,
		}
		r.prefix = o.Prefix()
		r.Writer, err = eventlog.OpenDir(o)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of the scheduler's events: %w", err)
	}
	r.Writer.Behind(eventlog.BehindOptions{Changed: func(err error) {
		if err != nil {
			log.WithError(err).Error("the scheduler's events are not recorded: the record has a gap, and continues when that is mended")
			return
		}
		log.Info("the scheduler's events are recorded again")
	}})
	return r, nil
}

// Close writes what isn't written yet.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	return r.Writer.Close()
}

// Leads returns what a leader records to; nil: nothing.
func (r *Recording) Leads() (*eventlog.Writer, *eventlog.Source) {
	if r == nil {
		return nil, nil
	}
	return r.Writer, r.Source
}

// Path returns the file or the folder.
func (r *Recording) Path() string { return cmp.Or(r.file, r.dir) }

// maxFiles bounds a folder.
const maxFiles = 100_000

// Newest opens the newest files of the record, the oldest of them first, which have so many bytes together or less; the newest one in any case. What has
// happened until now is in them. Close the readers that it returns.
func (r *Recording) Newest(ctx context.Context, bytes int64) ([]io.ReadCloser, error) {
	if err := r.Writer.Sync(ctx); err != nil {
		return nil, err
	}
	names := []string{r.file}
	if r.file == "" {
		all, err := bounded.Names(r.dir, maxFiles)
		if err != nil {
			return nil, err
		}
		names = names[:0]
		for _, n := range all {
			if strings.HasPrefix(n, r.prefix) {
				names = append(names, filepath.Join(r.dir, n))
			}
		}
		slices.Sort(names)
		slices.Reverse(names)
	}
	var files []io.ReadCloser
	for _, name := range names {
		f, err := os.Open(name)
		if os.IsNotExist(err) { // it was removed meanwhile
			continue
		}
		if err != nil {
			closeAll(files)
			return nil, err
		}
		info, err := f.Stat()
		if bytes -= sizeOf(info); err != nil || bytes < 0 && len(files) > 0 {
			_ = f.Close()
			break
		}
		files = append(files, part{io.LimitReader(f, info.Size()), f})
	}
	slices.Reverse(files)
	return files, nil
}

func sizeOf(info os.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// part is a file until what it has now.
type part struct {
	io.Reader
	io.Closer
}

func closeAll(files []io.ReadCloser) {
	for _, f := range files {
		_ = f.Close()
	}
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// Local serves the logs on this node.
type Local struct {
	Dirs Dirs
	// UID returns the uid of the user's containers, as in Config.
	UID func(user string) (int, error)
}

// Entry is a log of a container.
type Entry struct {
	Name    string
	Size    int64 // bytes
	ModTime int64 // ms since 1970
}

// ErrNotFound says that a container has no log with that name here, in the words of YARN's REST.
var ErrNotFound error = yarnText("Cannot find this log on the local disk.")

// yarnText is an error in YARN's words.
type yarnText string

func (t yarnText) Error() string { return string(t) }

// List returns the logs of a container, sorted by name. A container may have none yet, or none any more.
func (l Local) List(id records.ContainerID) ([]Entry, error) {
	files, err := list(l.Dirs, id)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", id, err)
	}
	entries := make([]Entry, 0, len(files))
	seen := map[string]bool{}
	for _, f := range files {
		if !seen[f.name] { // Open finds the first one
			seen[f.name] = true
			entries = append(entries, Entry{f.name, f.size, f.modTime})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Log is an open log. It may still grow.
type Log struct {
	Entry
	ID   records.ContainerID
	file *os.File
}

// Open opens a log of a container of user. It returns ErrNotFound for any name that isn't a log's.
func (l Local) Open(id records.ContainerID, user, name string) (*Log, error) {
	uid := userfiles.Anybody
	if l.UID != nil {
		var err error
		if uid, err = l.UID(user); err != nil {
			return nil, fmt.Errorf("container %s: %w", id, err)
		}
	}
	var broken error
	for _, dir := range slices.Sorted(slices.Values(l.Dirs.Readable())) {
		f, err := userfiles.Open(dir, uid, id.Attempt.App.String(), id.String(), name)
		switch {
		case err == nil:
			log, err := newLog(id, name, f)
			if err != nil {
				f.Close()
				return nil, err
			}
			return log, nil
		case errors.Is(err, userfiles.ErrOwner):
			broken = yarnText(fmt.Sprintf("Exception reading log file. Application submitted by '%s' doesn't own requested log file : %s", user, name))
		}
	}
	if broken != nil {
		return nil, broken
	}
	return nil, ErrNotFound
}

func newLog(id records.ContainerID, name string, f *os.File) (*Log, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &Log{Entry: Entry{name, fi.Size(), fi.ModTime().UnixMilli()}, ID: id, file: f}, nil
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }

// Section reads count bytes from offset on, or fewer if the log is shorter.
func (l *Log) Section(offset, count int64) *io.SectionReader {
	return io.NewSectionReader(l.file, offset, count)
}

// Size returns the part of a log of length bytes that the parameter size of YARN's REST selects: so many bytes from the
// beginning, or from the end if size is negative.
func Size(length, size int64) (offset, count int64) {
	switch {
	case size >= 0:
		return 0, min(size, length)
	case size == math.MinInt64 || -size >= length:
		return 0, length
	}
	return length + size, -size
}

// Window returns the part of a log of length bytes that the parameters start and end of YARN's page for logs select.
// Negative ones count from the end. It fails if there is no such part, in the page's words.
func Window(length, start, end int64) (offset, count int64, err error) {
	if start < 0 {
		start = max(0, start+length)
	}
	if end < 0 {
		if end += length; end < 0 {
			end = length
		}
	}
	if start > end {
		return 0, 0, yarnText(fmt.Sprintf("Invalid start and end values. Start: [%d], end[%d]", start, end))
	}
	end = min(end, length)
	start = min(start, end)
	return start, end - start, nil
}

// DefaultStart is the default start of the page for logs. The default end is the log's end.
const DefaultStart = -4096

// WriteText writes a log as YARN's REST does: a header, the part that size selects, and a trailer, which warns if the
// container still runs. The part is taken from the log's length when it was opened. If the log has become shorter since, WriteText writes what is left and
// returns io.ErrUnexpectedEOF. On Linux the kernel copies it from file to socket, if w supports that.
func (l *Log) WriteText(w io.Writer, node records.NodeID, size int64, running bool) error {
	if err := writeHead(w, l.ID.String(), node.String(), "LOCAL", l.Name, l.ModTime, l.Entry.Size); err != nil {
		return err
	}
	offset, count := Size(l.Entry.Size, size)
	if _, err := l.file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if n, err := io.Copy(w, io.LimitReader(l.file, count)); err != nil {
		return err
	} else if n < count {
		return fmt.Errorf("log %s of %s became shorter while it was read: %w", l.Name, l.ID, io.ErrUnexpectedEOF)
	}
	end := "End of LogType:" + l.Name
	text := end + ".\n"
	if running {
		text = end + ".This log file belongs to a running container (" + l.ID.String() + ") and so may not be complete.\n"
	}
	_, err := io.WriteString(w, text+stars(end)+"\n\n")
	return err
}

// writeHead writes the header of a log in YARN's text form (LogToolUtils).
func writeHead(w io.Writer, container, node, aggregation, name string, modTime, length int64) error {
	title := fmt.Sprintf("Container: %s on %s", container, node)
	_, err := fmt.Fprintf(w, "%s\nLogAggregationType: %s\n%s\nLogType:%s\nLogLastModifiedTime:%s\nLogLength:%d\nLogContents:\n",
		title, aggregation, strings.Repeat("=", len(title)), name, FormatTime(modTime), length)
	return err
}

func stars(end string) string { return strings.Repeat("*", len(end)+50) }

// Follow writes a growing log to w from offset on. It ends when ctx ends, or when done returns true and everything is
// written. If the log is replaced, as rolling logs are, it completes the old one and continues at the beginning of the
// new one. It does the same if the log becomes shorter.
func (l Local) Follow(ctx context.Context, w io.Writer, id records.ContainerID, user, name string, offset int64, every time.Duration, done func() bool) error {
	log, err := l.Open(id, user, name)
	if err != nil {
		return err
	}
	defer func() { log.Close() }()
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for {
		last := done()
		n, err := copyFrom(w, log.file, offset)
		offset += n
		if err != nil {
			return err
		}
		if n == 0 {
			fi, err := log.file.Stat()
			if err != nil {
				return err
			}
			if fi.Size() < offset {
				offset = 0
				continue
			}
			next, err := l.replacement(log, user)
			if err != nil {
				return err
			}
			if next != nil {
				log.Close()
				log, offset = next, 0
				continue
			}
			if last {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// copyFrom copies a file from offset on.
func copyFrom(w io.Writer, f *os.File, offset int64) (int64, error) {
	return io.Copy(w, io.NewSectionReader(f, offset, math.MaxInt64-offset))
}

// replacement opens the file that has replaced a log, if there is one.
func (l Local) replacement(log *Log, user string) (*Log, error) {
	next, err := l.Open(log.ID, user, log.Name)
	if errors.Is(err, ErrNotFound) {
		return nil, nil // it was moved away, and may reappear
	}
	if err != nil {
		return nil, err
	}
	was, werr := log.file.Stat()
	is, ierr := next.file.Stat()
	if werr != nil || ierr != nil || os.SameFile(was, is) {
		next.Close()
		return nil, errors.Join(werr, ierr)
	}
	return next, nil
}

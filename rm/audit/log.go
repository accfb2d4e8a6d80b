package audit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"heddle/internal/trust"

	"github.com/sirupsen/logrus"
)

// maxWaiting bounds the lines that wait for a slow disk. Requests don't wait for it.
const maxWaiting = 10_000

// Log writes entries to a file or, without one, to the log of the ResourceManager. It is safe for concurrent use. A nil Log writes nothing.
type Log struct {
	path  string
	log   *logrus.Entry
	now   func() time.Time
	lines chan string
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	lost   int // lines since the last one that found room

	file *os.File // the writing goroutine's alone, as is seen
	seen fs.FileInfo
}

// Open returns a log that appends to the file at path, which it makes with mode 0640, and for which it keeps one goroutine until Close. If the file is moved away, as logrotate does,
// a new one is made. With the path "" lines go to log.
func Open(path string, log *logrus.Entry, now func() time.Time) (*Log, error) {
	l := &Log{path: path, log: log, now: now}
	if path == "" {
		return l, nil
	}
	err := trust.Check(filepath.Dir(path)) // others could put a link there
	if err == nil {
		err = l.open()
	}
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	l.lines, l.done = make(chan string, maxWaiting), make(chan struct{})
	go l.write()
	return l, nil
}

// Write adds an entry. It never waits for the disk: if too many lines wait, the line is lost, and the ResourceManager's log says how many were.
func (l *Log) Write(e Entry) {
	switch {
	case l == nil:
	case l.path != "":
		l.add(l.line(&e))
	case e.Failed != nil:
		l.log.Warn(e.String())
	default:
		l.log.Info(e.String())
	}
}

// line has the layout of Hadoop's log4j.properties, "%d{ISO8601} %p %c{2}: %m%n".
func (l *Log) line(e *Entry) string {
	level := "INFO"
	if e.Failed != nil {
		level = "WARN"
	}
	return l.now().Format("2006-01-02 15:04:05,000") + " " + level + " resourcemanager.RMAuditLogger: " + e.String() + "\n"
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.lines <- line:
		if l.lost > 0 {
			l.log.WithField("file", l.path).Errorf("%d lines of the audit log are lost: its disk was too slow", l.lost)
			l.lost = 0
		}
	default:
		l.lost++
	}
}

func (l *Log) write() {
	defer close(l.done)
	failing := false
	for line := range l.lines {
		err := l.append(line)
		if err != nil && !failing {
			l.log.WithError(err).WithField("file", l.path).Error("lines of the audit log are lost: it can't be written")
		}
		failing = err != nil
	}
	if l.file != nil {
		_ = l.file.Close()
	}
}

// append writes a line to the file that is at the path now.
func (l *Log) append(line string) error {
	if at, err := os.Stat(l.path); err != nil || !os.SameFile(at, l.seen) {
		if err := l.open(); err != nil {
			return err
		}
	}
	_, err := l.file.WriteString(line)
	return err
}

func (l *Log) open() error {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		l.seen = nil
		return err
	}
	if l.seen, err = f.Stat(); err != nil {
		_ = f.Close()
		return err
	}
	l.file = f
	return nil
}

// Close writes what waits, and ends the goroutine.
func (l *Log) Close() error {
	if l == nil || l.path == "" {
		return nil
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
	return nil
}

package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Waits for the end of an output when the first process has ended. Usually nobody else has the pipe. Else strays are
// looked for, and given up at last.
const (
	briefly = 20 * time.Millisecond
	escaped = time.Second
)

// pipe brings an output from a command to a writer. Nil is the pipe of an output that needs none.
type pipe struct {
	r, w *os.File
	to   io.Writer
	done chan struct{}
}

// outlet returns what a command is to write to.
func outlet(to io.Writer) (io.Writer, *pipe, error) {
	if _, ok := to.(*os.File); ok || to == nil {
		return to, nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return w, &pipe{r: r, w: w, to: to, done: make(chan struct{})}, nil
}

// same reports whether two writers are one.
func same(a, b io.Writer) bool { return a != nil && reflect.TypeOf(a).Comparable() && a == b }

// begin copies, once the command has the other end.
func (p *pipe) begin() {
	if p == nil {
		return
	}
	p.w.Close()
	go func() {
		defer close(p.done)
		defer p.r.Close() // the command gets SIGPIPE if nobody wants its output
		b := buffers.Get().(*[]byte)
		defer buffers.Put(b)
		// Both ends know their errors. Neither copies by itself, which would take a buffer for each command.
		_, _ = io.CopyBuffer(struct{ io.Writer }{p.to}, struct{ io.Reader }{p.r}, *b)
	}()
}

// buffers are for copying.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (p *pipe) abandon() {
	if p != nil {
		p.w.Close()
		p.r.Close()
	}
}

// drained waits for the end of the output.
func (p *pipe) drained(within time.Duration) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
	}
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// close stops reading, also if somebody has the pipe still open.
func (p *pipe) close() {
	if p == nil {
		return
	}
	_ = p.r.SetReadDeadline(time.Unix(1, 0)) // an error if it is closed
	<-p.done
}

// look finds a program as execvp does: a file that isn't executable is an error of its own.
func look(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/bin:/usr/bin"
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			path = rest
		}
	}
	missing := error(syscall.ENOENT)
	for _, d := range filepath.SplitList(path) {
		if d == "" {
			d = "."
		}
		file := d + "/" + name
		at := file
		if dir != "" && !filepath.IsAbs(d) {
			at = filepath.Join(dir, file)
		}
		denied := syscall.Access(at, runs)
		if errors.Is(denied, syscall.ENOENT) || errors.Is(denied, syscall.ENOTDIR) {
			continue // most folders, in less time than Stat takes
		}
		info, err := os.Stat(at)
		switch {
		case err != nil || info.IsDir():
		case denied == nil && info.Mode().Perm()&0o111 != 0:
			return file, nil
		default:
			missing = syscall.EACCES
		}
	}
	return "", missing
}

// runs asks whether a file may be executed.
const runs = 1

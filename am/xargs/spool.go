package xargs

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// store keeps outputs that can't be printed yet: some in memory, the rest in one file without a name. It is safe for
// concurrent use.
type store struct {
	dir    string // of the file; the default folder for temporary files if empty
	budget int    // bytes in memory, for all spools

	mu   sync.Mutex
	used int
	file *os.File
	free []int64 // unused extents of the file
	end  int64
}

// extent is the unit of the store's file. Outputs below small stay in memory, since the file would have no use of them.
const (
	extent = 64 << 10
	small  = 4 << 10
)

// spool is the output of one command that waits in a store. One goroutine uses it at a time.
type spool struct {
	store   *store
	tail    []byte
	written []stretch // what is in the file, before tail
}

// stretch is a part of the file within one extent.
type stretch struct {
	at   int64
	size int
}

func (s *spool) empty() bool { return len(s.tail) == 0 && len(s.written) == 0 }

func (s *spool) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		take := min(len(p), extent-len(s.tail))
		s.tail = append(s.tail, p[:take]...)
		p = p[take:]
		if full := s.store.hold(take); full && len(s.tail) >= small || len(s.tail) == extent {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// flush moves the tail into the file.
func (s *spool) flush() error {
	at, err := s.store.put(s.tail)
	if err != nil {
		return fmt.Errorf("output of commands that waits to be printed: %w", err)
	}
	s.written = append(s.written, stretch{at, len(s.tail)})
	s.tail = s.tail[:0]
	if s.store.short() {
		s.tail = nil
	}
	return nil
}

// drain writes everything to w, and empties the spool, also if that fails.
func (s *spool) drain(w io.Writer) error {
	defer s.discard()
	if len(s.written) > 0 {
		buf := make([]byte, extent)
		for _, x := range s.written {
			if _, err := s.store.file.ReadAt(buf[:x.size], x.at); err != nil {
				return fmt.Errorf("output of commands that waits to be printed: %w", err)
			}
			if _, err := w.Write(buf[:x.size]); err != nil {
				return err
			}
		}
	}
	if len(s.tail) == 0 {
		return nil
	}
	_, err := w.Write(s.tail)
	return err
}

// discard empties the spool.
func (s *spool) discard() {
	s.store.release(len(s.tail), s.written)
	s.tail, s.written = nil, nil
}

// hold counts bytes in memory, and reports whether there are too many.
func (t *store) hold(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used += n
	return t.used > t.budget
}

func (t *store) short() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used > t.budget/2
}

// put writes at most an extent.
func (t *store) put(p []byte) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		f, err := os.CreateTemp(t.dir, "heddle-xargs-")
		if err != nil {
			return 0, err
		}
		if err := os.Remove(f.Name()); err != nil {
			f.Close()
			return 0, err
		}
		t.file = f
	}
	at := t.end
	if n := len(t.free); n > 0 {
		at, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.end += extent
	}
	t.used -= len(p)
	if _, err := t.file.WriteAt(p, at); err != nil {
		t.free = append(t.free, at)
		return 0, err
	}
	return at, nil
}

func (t *store) release(tail int, written []stretch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used -= tail
	for _, x := range written {
		t.free = append(t.free, x.at)
	}
	// An unused file gives its space back.
	if t.file != nil && len(written) > 0 && int64(len(t.free))*extent == t.end {
		if t.file.Truncate(0) == nil {
			t.free, t.end = slices.Delete(t.free, 0, len(t.free)), 0
		}
	}
}

// close gives the file back.
func (t *store) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		t.file.Close()
	}
}

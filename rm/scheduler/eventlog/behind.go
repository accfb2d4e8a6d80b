package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Gap says what a record lacks before a session: there was no room for it, as the disk was slow, full or broken.
type Gap struct {
	From   int64  `json:"from"`   // ms since 1970; the gap's end is the session's begin
	Events int64  `json:"events"` // that aren't on record
	Why    string `json:"why"`
}

// BehindOptions say how a log is written behind the scheduler's back.
type BehindOptions struct {
	// Limit is how many bytes may wait for the disk. 0: 64 MB.
	Limit int
	// Retry is how long after an error a folder's record tries to continue. 0: 30 s.
	Retry time.Duration
	// Changed is told when recording fails, and, with nil, when it continues; nil: nothing is told. It is called by the log's own goroutine.
	Changed func(error)
	Now     func() time.Time // nil: time.Now
}

const (
	defaultLimit = 64 << 20
	defaultRetry = 30 * time.Second
	// closeWithin bounds the wait for a disk at the end.
	closeWithin = 10 * time.Second
)

// behind writes what a Writer hands over in a goroutine of its own, so that the scheduler never waits for a disk. If too much waits, or writing
// fails, what follows is lost until the record can begin anew with what there is then: it has a gap, which the next session's header names.
type behind struct {
	BehindOptions
	w    *Writer
	mu   sync.Mutex // below Writer.mu
	more *sync.Cond
	jobs []job
	size int    // bytes that wait
	free []byte // a buffer for the next lines
	end  bool
	done chan struct{}

	opening bool        // a session's beginning is written, whose size the number of nodes and containers bounds
	lost    atomic.Bool // what comes isn't written; it changes with the lock held
	gap     Gap         // since lost
	err     error
	failed  time.Time
	gaps    int
	events  int64 // that were lost in them
	written int64 // bytes
}

// job is some lines, or, with next, another file, or, with written, closes that.
type job struct {
	lines   []byte
	next    bool
	written chan struct{}
}

// Behind has a goroutine write the log until Close. It must be called before the first session.
func (w *Writer) Behind(o BehindOptions) {
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &behind{BehindOptions: o, w: w, done: make(chan struct{})}
	b.more = sync.NewCond(&b.mu)
	w.behind = b
	go b.run()
}

// admits reports whether an event is recorded, and counts it if it isn't.
func (b *behind) admits() bool {
	if !b.lost.Load() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gap.Events++
	b.events++
	return false
}

// hand takes lines, and returns a buffer for others.
func (b *behind) hand(lines []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost.Load() || b.end {
		return lines[:0]
	}
	if b.size+len(lines) > b.Limit && !b.opening {
		b.lose(fmt.Errorf("the disk is too slow: %d MB wait for it", b.size>>20))
		b.more.Signal() // it says so
		return lines[:0]
	}
	b.jobs = append(b.jobs, job{lines: lines})
	b.size += len(lines)
	b.more.Signal()
	next := b.free
	if b.free = nil; next == nil {
		next = make([]byte, 0, chunk+chunk/8)
	}
	return next[:0]
}

// lose begins a gap. It is called with the lock held.
func (b *behind) lose(err error) {
	if b.lost.Swap(true) {
		return
	}
	b.err, b.failed = err, b.Now()
	if b.gap.From != 0 { // the record has not continued since
		return
	}
	b.gap = Gap{From: b.failed.UnixMilli(), Why: err.Error()}
	b.gaps++
}

// begin enters another session, and what its header says of a gap before it.
func (b *behind) begin(w *Writer, h *Header) {
	w.hand()
	b.mu.Lock()
	defer b.mu.Unlock()
	again := b.lost.Swap(false)
	if again {
		gap := b.gap
		h.Gap = &gap
	}
	if w.dir != nil || again {
		w.size = 0
		b.jobs = append(b.jobs, job{next: true})
		b.more.Signal()
	}
	b.opening = true
}

// opened ends a session's beginning: from here on the limit holds.
func (b *behind) opened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opening = false
}

// may reports whether a record with a gap may begin anew: the disk has written what waited, and after an error some time has passed.
func (b *behind) may() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost.Load() && b.size == 0 && len(b.jobs) == 0 && b.Now().Sub(b.failed) >= b.Retry
}

func (b *behind) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// run writes until close.
func (b *behind) run() {
	defer close(b.done)
	var told error
	for {
		b.mu.Lock()
		for len(b.jobs) == 0 && !b.end && b.err == told {
			b.more.Wait()
		}
		jobs, end, now := b.jobs, b.end, b.err
		b.jobs = nil
		b.mu.Unlock()
		if now != told {
			b.tell(now)
			told = now
		}
		if len(jobs) == 0 && end {
			return
		}
		for _, j := range jobs {
			b.do(j)
		}
	}
}

func (b *behind) tell(err error) {
	if b.Changed != nil {
		b.Changed(err)
	}
}

// do writes lines, or begins another file. After an error it throws lines away until there is another file.
func (b *behind) do(j job) {
	if j.written != nil {
		close(j.written)
		return
	}
	b.mu.Lock()
	broken := b.lost.Load() && b.err != nil && errors.As(b.err, new(*writeError))
	b.mu.Unlock()
	var err error
	n := 0
	switch {
	case j.next:
		err = b.next()
	case !broken:
		n, err = b.write(j.lines)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size -= len(j.lines)
	b.written += int64(n)
	if cap(j.lines) > cap(b.free) && cap(j.lines) <= 4*chunk {
		b.free = j.lines
	}
	switch {
	case err != nil:
		b.lose(&writeError{err})
	case !j.next && n > 0 && !b.lost.Load():
		b.err, b.gap = nil, Gap{}
	}
}

// next begins another file, or, where there is one only, cuts off a line that an error has torn.
func (b *behind) next() error {
	switch {
	case b.w.dir != nil:
		return b.w.next()
	case b.w.file != nil:
		return mend(b.w.file)
	}
	return nil
}

func (b *behind) write(lines []byte) (int, error) {
	n, err := b.w.to.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	return n, err
}

// writeError is an error of the disk: the file may end with a part of a line.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// close waits until all is written, but not for a disk that hangs.
func (b *behind) close() error {
	b.mu.Lock()
	b.end = true
	b.more.Signal()
	b.mu.Unlock()
	hangs := time.NewTimer(closeWithin)
	defer hangs.Stop()
	select {
	case <-b.done:
		return b.w.closeFile()
	case <-hangs.C: // its file is left to it
		return fmt.Errorf("record the scheduler's events: the disk has not taken the last lines within %v", closeWithin)
	}
}

// Sync returns when what was recorded until now is in the file, or with the context's error.
func (w *Writer) Sync(ctx context.Context) error {
	if err := w.Flush(); err != nil && w.behind == nil {
		return err
	}
	if w.behind == nil {
		return nil
	}
	written := make(chan struct{})
	b := w.behind
	b.mu.Lock()
	if b.end {
		close(written)
	} else {
		b.jobs = append(b.jobs, job{written: written})
		b.more.Signal()
	}
	b.mu.Unlock()
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status is how recording goes.
type Status struct {
	Err    error // why nothing is recorded now; nil: it is
	Gaps   int
	Events int64 // that aren't on record, in all gaps
	Bytes  int64 // written
	Queued int   // bytes that wait for the disk
}

// Status returns how recording goes. Only a writer with Behind counts.
func (w *Writer) Status() Status {
	s := Status{Err: w.Err()}
	if b := w.behind; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		s.Gaps, s.Events, s.Bytes, s.Queued = b.gaps, b.events, b.written, b.size
	}
	return s
}

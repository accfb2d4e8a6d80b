package xargs

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// printer brings the outputs of commands to standard output and standard error, such that they don't mix.
//
// By default it prints the output of a command as a whole when the command has ended. In the order of the input, or with
// one command at a time, the command whose turn it is prints as it goes, and all others wait in the store. With
// LineBuffer each line is printed when it is complete.
type printer struct {
	keepOrder, lines bool
	alone            bool // one command runs at a time
	again            bool // commands may run again: those whose turn it is print nothing before they have ended
	bar              *bar

	mu       sync.Mutex
	to       [2]io.Writer // standard output and standard error
	store    store
	next     sync.Cond
	printing int             // the command whose turn it is, in the order of the input
	begun    map[int]*output // those that have begun, of which the ones before printing are printed
	err      error           // of writing; nothing is written after it
	over     bool            // no further command begins
	mute     bool            // a message couldn't be written
}

// Streams of an output.
const (
	stdout = iota
	stderr
)

// storeMemory bounds what waits in memory.
const storeMemory = 64 << 20

func newPrinter(o *Options, out, errs io.Writer, b *bar) *printer {
	again := o.Again || o.Tries > 1
	p := &printer{
		keepOrder: o.KeepOrder, lines: o.LineBuffer, alone: o.Procs == 1 && !again, again: again, bar: b,
		to: [2]io.Writer{out, errs}, store: store{budget: storeMemory}, begun: map[int]*output{},
	}
	p.next.L = &p.mu
	return p
}

// await returns when a command may begin: not too far ahead of the one whose turn it is to print. After halt it returns at once.
func (p *printer) await(number, ahead int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.keepOrder && !p.over && p.err == nil && number-p.printing >= ahead {
		p.next.Wait()
	}
}

// several says that more than one command runs at a time from now on.
func (p *printer) several() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = false
}

// halt says that no further command begins. The turn of those that don't never ends, so it must not be waited for.
func (p *printer) halt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.next.Broadcast()
}

// output is the output of one command.
type output struct {
	p       *printer
	number  int
	waiting [2]spool
	ended   bool
	// files get all of the streams as well, if they are set. p.mu guards the field.
	files [2]io.Writer
}

func (p *printer) output(number int) *output {
	o := &output{p: p, number: number}
	o.waiting[stdout].store, o.waiting[stderr].store = &p.store, &p.store
	if p.keepOrder {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.begun[number] = o
	}
	return o
}

// stream is one of an output's two streams.
type stream struct {
	o     *output
	which int
}

// keep sets the files that get the streams from now on.
func (o *output) keep(files [2]io.Writer) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.files = files
}

// kept returns the file that gets a stream, or nil.
func (o *output) kept(which int) io.Writer {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.files[which]
}

// writer returns what a command writes to: the file itself where nothing can mix, so that a command sees the terminal.
func (o *output) writer(which int) io.Writer {
	o.p.mu.Lock()
	alone := o.p.alone
	o.p.mu.Unlock()
	if f, ok := o.p.to[which].(*os.File); ok && alone && o.kept(which) == nil && o.p.bar == nil {
		return f
	}
	return stream{o, which}
}

func (s stream) Write(b []byte) (int, error) {
	if err := s.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (s stream) write(b []byte) error {
	o, p := s.o, s.o.p
	if f := o.kept(s.which); f != nil {
		if _, err := f.Write(b); err != nil {
			p.fail(err)
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	waiting := &o.waiting[s.which]
	now := 0 // so many bytes are printed now
	switch {
	case p.alone, p.keepOrder && p.printing == o.number && !p.again:
		now = len(b)
	case p.lines:
		now = bytes.LastIndexByte(b, '\n') + 1
	}
	if now > 0 {
		if !waiting.empty() {
			if err := p.note(waiting.drain(p.target(s.which))); err != nil {
				return err
			}
		}
		if err := p.write(s.which, b[:now]); err != nil {
			return err
		}
	}
	if now < len(b) {
		_, err := waiting.Write(b[now:])
		return p.note(err)
	}
	return nil
}

// restart forgets what a command has written so far, which is going to be run again. Printed output can't be taken back.
func (o *output) restart() {
	for which := range o.waiting {
		if f, ok := o.kept(which).(*os.File); ok {
			_, err := f.Seek(0, io.SeekStart)
			if err == nil {
				err = f.Truncate(0)
			}
			if err != nil {
				o.p.fail(err)
			}
		}
	}
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	for i := range o.waiting {
		o.waiting[i].discard()
	}
}

// Restart forgets what the command has written to both streams.
func (s stream) Restart() { s.o.restart() }

// end prints what is left of an output when its command has ended, or as soon as it is its turn.
func (o *output) end() error {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.keepOrder {
		return p.print(o)
	}
	o.ended = true
	for {
		o := p.begun[p.printing]
		if o == nil {
			return p.err
		}
		if p.again && !o.ended {
			return p.err
		}
		if err := p.print(o); err != nil || !o.ended {
			return err // a command whose turn it is prints as it goes from now on
		}
		delete(p.begun, p.printing)
		p.printing++
		p.next.Broadcast()
	}
}

func (p *printer) print(o *output) error {
	for which := range o.waiting {
		if !o.waiting[which].empty() {
			if err := p.note(o.waiting[which].drain(p.target(which))); err != nil {
				return err
			}
		}
	}
	return p.err
}

// message prints messages of xargs itself.
func (p *printer) message(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.wipe()
	if _, err := p.to[stderr].Write(b); err != nil {
		p.mute = true // there is no other to tell
	}
}

// unsaid reports whether messages were lost.
func (p *printer) unsaid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mute
}

func (p *printer) write(which int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := p.target(which).Write(b)
	return p.note(err)
}

func (p *printer) target(which int) io.Writer {
	p.bar.wipe()
	return p.to[which]
}

func (p *printer) note(err error) error {
	if err != nil && p.err == nil {
		p.err = err
		p.next.Broadcast()
	}
	return p.err
}

func (p *printer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(err)
}

// broken returns the error of writing, nil if all went well so far.
func (p *printer) broken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

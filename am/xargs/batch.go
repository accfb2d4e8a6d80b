package xargs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// Faults of a command line that the input doesn't fit into.
const (
	errNoRoom  = inputError("cannot fit single argument within argument list size limit")
	errListBig = inputError("argument list too long")
	errLongArg = inputError("command too long") // one argument alone, by what -I puts into it
)

// batcher groups items into command lines.
type batcher struct {
	o     *Options
	items *reader
	fixed int // bytes of the command and its initial arguments, each with a NUL
	room  int // bytes that the kernel has for a command line and its pointers
	times int // how often the items appear in the command line
	spots int // arguments of the command that stand for all items

	next  *item // read, and didn't fit into the last command
	ended error // what ended the input
	made  bool  // a command line was made
}

// newBatcher fails if the command alone is too long.
func newBatcher(o *Options, in io.Reader, warn func(string)) (*batcher, error) {
	b := &batcher{o: o, times: 1, room: cmp.Or(o.kernelChars, kernelChars) - slack}
	for _, v := range os.Environ() {
		b.room -= len(v) + 1 + pointer
	}
	for i, arg := range o.Command {
		if i > 0 && o.Replace != "" {
			break // the arguments are made again for each item
		}
		b.fixed += len(arg) + 1
		if i > 0 && arg == everything {
			b.fixed -= len(arg) + 1
		}
	}
	b.spots = b.places()
	b.times = max(b.times, b.spots)
	if b.fixed > o.MaxChars {
		return nil, errNoRoom
	}
	limit := o.MaxChars - 1
	if o.Replace == "" {
		limit -= b.fixed
	}
	b.items = newReader(o, in, limit, warn)
	return b, nil
}

// everything is the argument that stands for the items of a command, as in parallel and find -exec.
const everything = "{}"

// places counts the arguments that stand for all items.
func (b *batcher) places() int {
	if b.o.Replace != "" {
		return 0
	}
	n := 0
	for _, arg := range b.o.Command[1:] {
		if arg == everything {
			n++
		}
	}
	return n
}

// command returns the next command line. After the last one it returns io.EOF, or the fault that the input has.
func (b *batcher) command() ([]string, error) {
	if b.o.Replace != "" {
		return b.replaced()
	}
	var (
		args  []string
		chars = b.fixed
		lines int
	)
	for b.ended == nil {
		it, err := b.take()
		if err != nil {
			b.ended = err
			break
		}
		size := (len(it.text) + 1) * b.times
		// A single item that the kernel doesn't take is tried: it says so.
		if chars+size > b.o.MaxChars || len(args) > 0 && chars+size+b.pointers(len(args)+1) > b.room {
			if len(args) == 0 {
				b.ended = errNoRoom
				break
			}
			if b.o.Exit && b.o.MaxArgs+b.o.MaxLines > 0 {
				b.ended = errListBig
				break
			}
			b.next = &it
			break
		}
		args, chars = append(args, it.text), chars+size
		if it.lineEnd {
			lines++
		}
		if len(args) == b.o.MaxArgs || b.o.MaxLines > 0 && lines >= b.o.MaxLines {
			break
		}
	}
	if b.o.Exit && b.ended != nil && !errors.Is(b.ended, io.EOF) {
		return nil, b.ended // nothing of what was read last is run
	}
	if len(args) == 0 {
		if b.made || b.o.SkipEmpty || !errors.Is(b.ended, io.EOF) {
			return nil, b.ended
		}
		if b.spots > 0 {
			// Also GNU xargs runs the command once for an empty input.
			b.made = true
			return slices.DeleteFunc(slices.Clone(b.o.Command), func(a string) bool { return a == everything }), nil
		}
	}
	b.made = true
	return b.line(args), nil
}

// pointers returns the bytes of those that a command line with so many items needs.
func (b *batcher) pointers(items int) int {
	return pointer * (len(b.o.Command) + b.times*items)
}

func (b *batcher) take() (item, error) {
	if it := b.next; it != nil {
		b.next = nil
		return *it, nil
	}
	return b.items.next()
}

// line puts the items where {} is, or behind the initial arguments.
func (b *batcher) line(args []string) []string {
	if b.spots == 0 {
		return append(slices.Clone(b.o.Command), args...)
	}
	line := []string{b.o.Command[0]}
	for _, arg := range b.o.Command[1:] {
		if arg == everything {
			line = append(line, args...)
		} else {
			line = append(line, arg)
		}
	}
	return line
}

// replaced is command with -I.
func (b *batcher) replaced() ([]string, error) {
	if b.ended != nil {
		return nil, b.ended
	}
	it, err := b.items.next()
	if err != nil {
		b.ended = err
		return nil, err
	}
	line, chars := []string{b.o.Command[0]}, b.fixed
	for _, arg := range b.o.Command[1:] {
		// Look before replacing: the result may be as large as the product of both.
		size := len(arg) + strings.Count(arg, b.o.Replace)*(len(it.text)-len(b.o.Replace))
		chars += size + 1
		switch {
		case size >= b.o.MaxChars-1:
			b.ended = errLongArg
		case chars > b.o.MaxChars:
			b.ended = errListBig
		}
		if b.ended != nil {
			return nil, b.ended
		}
		line = append(line, strings.ReplaceAll(arg, b.o.Replace, it.text))
	}
	return line, nil
}

// limits says what limits the length of command lines.
func limits(o *Options) string {
	env := 0
	for _, v := range os.Environ() {
		env += len(v) + 1
	}
	return fmt.Sprintf(`environment variables: %d bytes
POSIX lower limit of command lines on any system: 4096 bytes
upper limit of a command line here, with the environment: %d bytes (-s)
limit of a command line now: %d bytes
upper limit of commands at a time: %d (-P)
`, env, maxChars, o.MaxChars, math.MaxInt32)
}

package worker

import (
	"os"
	"sync/atomic"
)

// gauge measures how much of its input a command has read: what was written to it, without what still lies in its pipe. The
// pipe may hold all of a small input, of which each line takes a second.
type gauge struct {
	from, to float64 // progress of the task when the command has read nothing, and all
	total    int64   // size of the input as it is stored, in bytes
	stored   atomic.Int64
	made     atomic.Int64 // bytes for the command that were made of the stored ones
	fed      atomic.Int64 // those that were written to its standard input
	pipe     atomic.Pointer[os.File]
}

// fraction returns how far the command's task is.
func (g *gauge) fraction() float64 {
	read := max(0, g.fed.Load()-unread(g.pipe.Load()))
	made := g.made.Load()
	if made <= 0 || g.total <= 0 {
		return g.from
	}
	// Compressed input counts as such: each byte that was read stands for the same part of it.
	of := float64(g.stored.Load()) / float64(g.total) * float64(read) / float64(made)
	return g.from + (g.to-g.from)*max(0, min(of, 1))
}

// hold continues looking at a pipe to which nothing more is written, and which is about to be closed.
func (g *gauge) hold(pipe *os.File) { g.pipe.Store(readEnd(pipe)) }

// release ends that, when the command has ended.
func (g *gauge) release() {
	if f := g.pipe.Swap(nil); f != nil {
		f.Close()
	}
}

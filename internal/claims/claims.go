// Package claims reads what a process says of itself: its command line and environment.
//
// Linux keeps both in the process's own memory, and readers of them read that. A process may make them any number of
// gigabytes long without using any memory (prctl(2), PR_SET_MM_MAP), and may block a reader for ever: a page of a FUSE
// file system that doesn't answer, in another thread of the process, is enough. So the package holds little of what it
// reads, and gives up after a second. It leaves a thread behind then, but no more than a few for each user.
//
// Nothing in it is proof of anything. Whatever a process is known by should come from the kernel: its cgroup, user,
// parent or session.
package claims

import "errors"

var (
	// ErrSilent says that a process doesn't let itself be read.
	ErrSilent = errors.New("it blocks readers of its memory")

	// ErrGone says that a process has ended.
	ErrGone = errors.New("process is gone")
)

// Variable is what an environment says of a variable.
type Variable struct {
	First, Last string // values; they differ if it is there several times
	Found       bool
	Blank       bool // the environment has no variables at all: kernel threads, zombies, and processes that are just beginning a program
}

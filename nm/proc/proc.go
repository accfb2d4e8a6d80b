// Package proc reads the machine's process table: processes, their descendants and sessions, and what they use. On
// Linux it reads /proc. Elsewhere it runs ps and learns less.
//
// A pid and a start time together identify a process (ID), because a pid alone may belong to another process a moment
// later. Everything here is a snapshot. Callers that act on one repeat until nothing remains.
package proc

import (
	"time"

	"heddle/internal/claims"
)

// ErrGone says that a process has ended, or that its pid belongs to another one.
var ErrGone = claims.ErrGone

// ID names a process as long as the machine runs.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from boot to its start; 0 if the system doesn't say
}

// Process is one row of the table. The table has zombies, too, with State 'Z'.
type Process struct {
	ID
	Parent  int
	Group   int // process group
	Session int
	State   byte          // as in ps: R running, S sleeping, D uninterruptible, T stopped, t traced, Z zombie, …
	CPU     time.Duration // user and system time of this process, without its children
	User    time.Duration // part of CPU outside the kernel
	Virtual int64         // address space in bytes
	RSS     int64         // resident memory in bytes
}

// Dead reports whether the process has ended and only waits for its parent to reap it.
func (p Process) Dead() bool { return p.State == 'Z' || p.State == 'X' }

// Table is a snapshot of all processes.
type Table struct {
	byPID    map[int]Process
	children map[int][]int
}

func newTable(all []Process) *Table {
	t := &Table{byPID: make(map[int]Process, len(all)), children: make(map[int][]int)}
	for _, p := range all {
		t.byPID[p.PID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p.PID)
	}
	return t
}

// Get returns the process with that pid.
func (t *Table) Get(pid int) (Process, bool) {
	p, ok := t.byPID[pid]
	return p, ok
}

// All calls f for every process until it returns false.
func (t *Table) All(f func(Process) bool) {
	for _, p := range t.byPID {
		if !f(p) {
			return
		}
	}
}

// Select returns the processes for which keep returns true, and all their descendants, each once.
func (t *Table) Select(keep func(Process) bool) []Process {
	seen := make(map[int]bool)
	var out []Process
	var add func(pid int)
	add = func(pid int) {
		p, ok := t.byPID[pid]
		if !ok || seen[pid] {
			return
		}
		seen[pid] = true
		out = append(out, p)
		for _, c := range t.children[pid] {
			add(c)
		}
	}
	for pid, p := range t.byPID {
		if keep(p) {
			add(pid)
		}
	}
	return out
}

// Tree returns the process with that pid and its descendants. It returns nil if there is none.
func (t *Table) Tree(pid int) []Process {
	return t.Select(func(p Process) bool { return p.PID == pid })
}

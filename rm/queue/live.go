package queue

import "sync/atomic"

// Live is the tree that holds at the moment. It is safe for concurrent use.
type Live struct{ tree atomic.Pointer[Tree] }

// NewLive begins with a tree.
func NewLive(t *Tree) *Live {
	l := &Live{}
	l.Set(t)
	return l
}

// Tree is the current tree.
func (l *Live) Tree() *Tree { return l.tree.Load() }

// Set puts a tree in the place of the current one.
func (l *Live) Set(t *Tree) { l.tree.Store(t) }

package queue

import "sync/atomic"

// Live holds the tree in effect. It is safe for concurrent use.
type Live struct{ tree atomic.Pointer[Tree] }

// NewLive returns a Live that holds t.
func NewLive(t *Tree) *Live {
	l := &Live{}
	l.Set(t)
	return l
}

// Tree returns the tree in effect.
func (l *Live) Tree() *Tree { return l.tree.Load() }

// Set replaces the tree in effect.
func (l *Live) Set(t *Tree) { l.tree.Store(t) }

package ledger

import (
	"iter"
	"math"
	"slices"

	"heddle/rm/ledger/ledgerpb"
)

// maxPast is how many ended containers an application keeps, to limit memory: the first ones, and as many of the newest, as its end waits for these.
const maxPast = 200

// Past are the first and the newest containers of an application that have ended and were acknowledged, maxPast in all. They never change.
//
// Clones and snapshots share the arrays: a container is only ever added behind what they see.
type Past struct{ first, newest []*Container }

// PastOf returns the given containers as an application's past, in the order of their ends.
func PastOf(all ...*Container) (p Past) {
	for _, c := range all {
		p.add(c)
	}
	return p
}

// All are the containers in the order of their ends.
func (p Past) All() iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		for _, part := range [...][]*Container{p.first, p.newest} {
			for _, c := range part {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Newest are the containers, the last that ended first.
func (p Past) Newest() iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		for _, part := range [...][]*Container{p.newest, p.first} {
			for _, c := range slices.Backward(part) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Len is the number of containers that are kept.
func (p Past) Len() int { return len(p.first) + len(p.newest) }

// shared is the past as it is now, for a second owner: each appends to its own arrays from now on.
func (p Past) shared() Past { return Past{slices.Clip(p.first), slices.Clip(p.newest)} }

func (p Past) full() bool { return p.Len() >= maxPast }

// add keeps a container that ended, and forgets the oldest of the newest if there are as many as may be. The array of the newest moves on with them: all are
// copied when it is used up, and not with each container.
func (p *Past) add(c *Container) {
	switch {
	case len(p.first) < maxPast/2:
		p.first = append(p.first, c)
	case p.full():
		p.newest = append(p.newest[1:], c)
	default:
		p.newest = append(p.newest, c)
	}
}

// remember keeps a copy of an ended container, for the application's timeline and receipt.
func remember(s *State, a *Application, c *Container) {
	if a.Past.full() {
		if a.PastMore++; s.Version < PathVersion {
			return
		}
	}
	past := *c
	past.Diagnostic = "" // it may be long, and was already reported
	a.Past.add(&past)
}

// ago converts a time before now into a time within a container's life. The argument is that time in ms plus one; 0 stays 0.
func (c *Container) ago(now, ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return max(now-(ms-1), c.Allocated)
}

// times records what a node reports of a container's life; nil is nothing.
func (c *Container) times(now int64, t *ledgerpb.ContainerTimes) {
	c.Cold, c.GivenBack = t.GetCold(), t.GetGivenBack()
	c.lacked(t.GetStarved())
	c.Times = TimesOf(c, t, now)
}

// TimesOf are the times in ms since 1970 that a node tells at a time of a container's life; nil is nothing.
func TimesOf(c *Container, t *ledgerpb.ContainerTimes, now int64) Times {
	return Times{c.ago(now, t.GetAccepted()), c.ago(now, t.GetLocalized()), c.ago(now, t.GetLaunched()), c.ago(now, t.GetEnded())}
}

// lacked records for how many ms the container had no processor: a node may tell anything.
func (c *Container) lacked(ms int64) { c.NoProcessor = int32(min(max(ms, 0), math.MaxInt32)) }

package xargs

import "sync/atomic"

// Progress counts the commands of a run, to show how far it is. The zero value has none.
type Progress struct{ all, ended atomic.Int64 }

// Part returns how many of the commands have ended, from 0 to 1. It is 0 until the input has been read to its end, as their number is unknown before,
// and of a nil Progress, which counts nothing: calls of functions have no known end.
func (p *Progress) Part() float32 {
	if p == nil {
		return 0
	}
	all := p.all.Load()
	if all <= 0 {
		return 0
	}
	return float32(p.ended.Load()) / float32(all)
}

package sched

import (
	"math"
	"math/bits"
)

// draw returns n nodes by chance among those that a job may use and that a bitmap shows free of long work.
func (s *Scheduler) draw(j *job, n int, avoid Bitmap) []Node {
	from := s.nodes
	if j.nodes != nil {
		from = j.nodes
	}
	s.draws = s.draws[:0]
	s.drawFrom(from, n, avoid)
	return s.draws
}

// drawFrom adds n nodes to the draws, with or without repetition. Without, all nodes come once before any comes twice. If all nodes have
// long work, it draws among all. The order of from changes.
func (s *Scheduler) drawFrom(from []Node, n int, avoid Bitmap) {
	if len(from) == 0 {
		return
	}
	if avoid.Words != nil {
		if s.cfg.Repeat {
			n = s.drawClear(from, n, avoid)
		}
		if n == 0 {
			return
		}
		if s.findClear(from, avoid); len(s.clear) > 0 {
			from = s.clear
		}
	}
	if s.cfg.Repeat {
		for range n {
			s.draws = append(s.draws, from[s.rng.IntN(len(from))])
		}
		return
	}
	for n > 0 {
		k := min(n, len(from))
		for i := range k {
			r := i + s.rng.IntN(len(from)-i)
			from[i], from[r] = from[r], from[i]
		}
		s.draws = append(s.draws, from[:k]...)
		n -= k
	}
}

// findClear collects the nodes that a bitmap shows free of long work.
func (s *Scheduler) findClear(from []Node, avoid Bitmap) {
	s.clear = s.clear[:0]
	if s.dense && s.cfg.Repeat && &from[0] == &s.nodes[0] {
		for i := 0; i < len(from); i += 64 { // word by word: where clusters are busy, few of tens of thousands are clear
			word := ^avoid.word(i / 64)
			for ; word != 0; word &= word - 1 {
				if node := i + bits.TrailingZeros64(word); node < len(from) {
					s.clear = append(s.clear, Node(node))
				}
			}
		}
		return
	}
	for _, node := range from {
		if !avoid.Has(node) {
			s.clear = append(s.clear, node)
		}
	}
}

// drawClear draws with repetition, and draws again where it meets long work. It returns how many it gave up on, as most nodes have some.
func (s *Scheduler) drawClear(from []Node, n int, avoid Bitmap) int {
	for misses := 0; n > 0 && misses < 16*n+64; {
		if node := from[s.rng.IntN(len(from))]; avoid.Has(node) {
			misses++
		} else {
			s.draws = append(s.draws, node)
			n--
		}
	}
	return n
}

// drawEach returns Ratio nodes for each task from a number on, among those where it may run.
func (s *Scheduler) drawEach(j *job, from int) []Node {
	s.draws = s.draws[:0]
	each := max(1, int(math.Ceil(s.cfg.Ratio)))
	for t := from; t < len(j.tasks); t++ {
		s.drawTask(j, int32(t), each)
	}
	return s.draws
}

// drawTask adds n nodes where a task may run to the draws.
func (s *Scheduler) drawTask(j *job, t int32, n int) {
	switch where := j.nodesOf(t); {
	case where != nil:
		s.drawFrom(where, n, s.known)
	case j.nodes != nil:
		s.drawFrom(j.nodes, n, s.known)
	default:
		s.drawFrom(s.nodes, n, s.known)
	}
}

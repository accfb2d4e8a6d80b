package nodeset

import (
	"cmp"
	"slices"
	"time"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
)

// sorted is the nodes in the order in which some queues look for room: those first of which the least was allocated when they were sorted last (Hadoop:
// ResourceUsageMultiNodeLookupPolicy). It is there once a queue wants it, and costs nothing before.
type sorted struct {
	nodes  []handle.Node // by place in index
	place  []int32       // by node; noPlace: none
	index  nodeindex.Index
	at     int64 // when they were sorted, ms
	cursor int   // where a search begins
}

const noPlace = -1

// RoundRobin returns where to look for room: the index of nodes, which nodes it has (nil: all, by their handles), and where to begin. Nodes are in turn, from cursor on,
// or, if every isn't 0, sorted at least so often; now is in ms.
func (s *Set) RoundRobin(every time.Duration, now int64, cursor *int) (*nodeindex.Index, []handle.Node, *int) {
	if every == 0 {
		return &s.Index, nil, cursor
	}
	x := s.sorted
	if x == nil || now > x.at && now-x.at >= every.Milliseconds() {
		x = s.sort(now)
	}
	x.cursor = 0
	return &x.index, x.nodes, &x.cursor
}

// sort sorts the nodes again.
func (s *Set) sort(now int64) *sorted {
	x := s.sorted
	if x == nil {
		x = &sorted{index: nodeindex.New(s.calc.Types())}
		s.sorted = x
	}
	before := len(x.nodes)
	x.at, x.nodes = now, x.nodes[:0]
	for h := range s.At {
		if s.At[h].Live {
			x.nodes = append(x.nodes, handle.Node(h))
		}
	}
	slices.SortFunc(x.nodes, func(a, b handle.Node) int {
		m, n := &s.At[a], &s.At[b]
		for i := range s.calc.Types() {
			if c := cmp.Compare(m.Used[i], n.Used[i]); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(s.Name(m.Host), s.Name(n.Host)), cmp.Compare(a, b))
	})
	x.place = slices.Grow(x.place[:0], len(s.At))[:len(s.At)]
	for h := range x.place {
		x.place[h] = noPlace
	}
	for i, h := range x.nodes {
		x.place[h] = int32(i)
		free := s.Index.At(int(h))
		x.index.Set(i, &free)
	}
	for i := len(x.nodes); i < before; i++ {
		x.index.Set(i, &nodeindex.Closed)
	}
	return x
}

// changed enters the free resources of a node. New ones come last, until they are sorted.
func (x *sorted) changed(h handle.Node, s *Set) {
	x.place = handle.Fit(x.place, h, noPlace)
	if x.place[h] == noPlace {
		x.place[h] = int32(len(x.nodes))
		x.nodes = append(x.nodes, h)
	}
	free := s.Index.At(int(h))
	x.index.Set(int(x.place[h]), &free)
}

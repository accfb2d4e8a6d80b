package lending

import (
	"slices"
	"sync"

	"heddle/yarn/records"
)

// ProbeNode is a node that takes probes at a port.
type ProbeNode struct {
	ID   records.NodeID
	Port int32
	// Long says that it has containers with long tasks: a bit of the bitmap of Eagle's succinct state sharing.
	Long  bool
	Short bool // it is of the short partition
}

// Ports are where probes are taken now. They are safe for concurrent use. The zero value has none.
type Ports struct {
	mu      sync.Mutex
	changes uint64
	of      map[records.NodeID]int32
	long    map[records.NodeID]bool // nodes with long tasks
	short   map[records.NodeID]bool // nodes of the short partition
}

// Told is what one ApplicationMaster was told. The zero value was told nothing.
type Told struct {
	changes uint64
	of      map[records.NodeID]ProbeNode
}

// SetLong says whether a node has long tasks.
func (p *Ports) SetLong(id records.NodeID, long bool) { p.mark(&p.long, id, long) }

// SetShort says whether a node is of the short partition.
func (p *Ports) SetShort(id records.NodeID, short bool) { p.mark(&p.short, id, short) }

// mark enters a node in a set, or takes it out.
func (p *Ports) mark(set *map[records.NodeID]bool, id records.NodeID, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (*set)[id] == is {
		return
	}
	p.changes++
	if !is {
		delete(*set, id)
		return
	}
	if *set == nil {
		*set = map[records.NodeID]bool{}
	}
	(*set)[id] = true
}

// Set says where a node takes probes; port 0: it doesn't.
func (p *Ports) Set(id records.NodeID, port int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[id] == port {
		return
	}
	p.changes++
	if port == 0 {
		delete(p.of, id)
		return
	}
	if p.of == nil {
		p.of = map[records.NodeID]int32{}
	}
	p.of[id] = port
}

// News returns what there is to tell, in the order of ids, and counts it as told. If nothing has changed it takes no time.
func (p *Ports) News(t *Told) (come []ProbeNode, gone []records.NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.changes == p.changes {
		return nil, nil
	}
	t.changes = p.changes
	if t.of == nil {
		t.of = map[records.NodeID]ProbeNode{}
	}
	for id, port := range p.of {
		if now := (ProbeNode{id, port, p.long[id], p.short[id]}); t.of[id] != now {
			t.of[id] = now
			come = append(come, now)
		}
	}
	for id := range t.of {
		if p.of[id] == 0 {
			delete(t.of, id)
			gone = append(gone, id)
		}
	}
	slices.SortFunc(come, func(a, b ProbeNode) int { return a.ID.Compare(b.ID) })
	slices.SortFunc(gone, records.NodeID.Compare)
	return come, gone
}

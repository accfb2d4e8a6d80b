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
	Long bool // it has containers with long tasks: a bit of the bitmap of Eagle's succinct state sharing
}

// Ports are where probes are taken now. They are safe for concurrent use. The zero value has none.
type Ports struct {
	mu      sync.Mutex
	changes uint64
	of      map[records.NodeID]int32
	long    map[records.NodeID]bool // nodes with long tasks
}

// Told is what one ApplicationMaster was told. The zero value was told nothing.
type Told struct {
	changes uint64
	of      map[records.NodeID]ProbeNode
}

// SetLong says whether a node has long tasks.
func (p *Ports) SetLong(id records.NodeID, long bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.long[id] == long {
		return
	}
	p.changes++
	if !long {
		delete(p.long, id)
		return
	}
	if p.long == nil {
		p.long = map[records.NodeID]bool{}
	}
	p.long[id] = true
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
		if now := (ProbeNode{id, port, p.long[id]}); t.of[id] != now {
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

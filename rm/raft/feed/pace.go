// Package feed is the leader's side of a witness: it decides what a leader sends to the witness, and when.
//
// A witness stores no data. An entry that only the leader and the witness acknowledged lies on one disk. So the leader sends an entry to the
// witness after another full member has it (Pace), and sends it without its data (Transport).
package feed

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Times of a Pace.
type Times struct {
	// Silence is how long a member may be silent until it counts as away.
	Silence time.Duration
	// Patience is how long a member that answers may take to store an entry until it counts as away.
	Patience time.Duration
}

// maxMarks bounds the marks of a Pace. Marks are further apart than Patience / maxMarks.
const maxMarks = 64

// Pace decides how far a leader may send its log to the witness: as far as another full member has it, or without a limit while the
// others are away.
//
// A member is away when it was silent for Silence, or needs longer than Patience for an entry although it answers. It is back
// when it has all entries that are older than Silence. Then an entry waits for it for about Silence, whatever the load is.
type Pace struct {
	times Times
	alone bool // whether entries may be committed while the others are away

	mu      sync.Mutex
	term    uint64 // of the present leadership
	began   time.Time
	peers   map[string]*peer
	marks   []mark // of entries that exist, the oldest first
	changed chan struct{}
}

// peer is another full member.
type peer struct {
	heard time.Time // when anything came from it last; zero for never
	acked uint64    // the highest entry that it is known to have, in the present leadership
	away  bool
}

// mark says that an entry existed at a time.
type mark struct {
	index uint64
	at    time.Time
}

// NewPace returns a Pace. Without alone, entries wait for another full member for as long as it takes, unless none has a vote.
func NewPace(times Times, alone bool) *Pace {
	return &Pace{times: times, alone: alone, peers: map[string]*peer{}, changed: make(chan struct{})}
}

// Begin begins a leadership, unless it is the present one or an earlier one.
func (p *Pace) Begin(term uint64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if term <= p.term {
		return
	}
	p.term, p.began, p.marks = term, now, nil
	for _, m := range p.peers {
		m.acked, m.away = 0, false
	}
}

// Heard notes that a message came from a member.
func (p *Pace) Heard(id string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peer(id).heard = now
}

// Acked notes that a member has all entries up to an index, in a leadership.
func (p *Pace) Acked(term uint64, id string, index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.peer(id); term == p.term && index > m.acked {
		m.acked = index
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

func (p *Pace) peer(id string) *peer {
	m := p.peers[id]
	if m == nil {
		m = &peer{}
		p.peers[id] = m
	}
	return m
}

// Changed returns a channel that is closed when a member acknowledges something.
func (p *Pace) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Limit returns the highest index that may be sent to the witness. last is the last entry that waits to be sent, and full names the other full members that
// have a vote.
func (p *Pace) Limit(last uint64, full []string, now time.Time) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark(last, now)
	limit, all := uint64(0), true // all are away
	for _, id := range full {
		m := p.peer(id)
		m.away = p.judge(m, now)
		all = all && m.away
		limit = max(limit, m.acked)
	}
	if all && (p.alone || len(full) == 0) {
		return math.MaxUint64
	}
	return limit
}

// mark notes that the entries up to an index exist.
func (p *Pace) mark(last uint64, now time.Time) {
	if n := len(p.marks); n > 0 && (last <= p.marks[n-1].index || now.Sub(p.marks[n-1].at) < 2*p.times.Patience/maxMarks) {
		return
	}
	p.marks = append(p.marks, mark{last, now})
	for len(p.marks) > 1 && now.Sub(p.marks[1].at) > p.times.Patience {
		p.marks = p.marks[1:] // the next one is old enough for every decision, too
	}
}

// judge reports whether a member is away.
func (p *Pace) judge(m *peer, now time.Time) bool {
	heard := m.heard
	if heard.IsZero() {
		heard = p.began
	}
	if now.Sub(heard) >= p.times.Silence {
		return true
	}
	if m.away {
		old := p.existed(now.Add(-p.times.Silence))
		return old == 0 || m.acked < old
	}
	return m.acked < p.existed(now.Add(-p.times.Patience))
}

// existed returns the highest entry that is known to have existed at a time, 0 for none.
func (p *Pace) existed(at time.Time) uint64 {
	for _, m := range slices.Backward(p.marks) {
		if !m.at.After(at) {
			return m.index
		}
	}
	return 0
}

// Absent is a full member that lacks entries which are committed without it.
type Absent struct {
	ID     string
	Behind uint64 // number of entries that it isn't known to have
}

// Behind returns how many entries a member isn't known to have.
func (p *Pace) Behind(last uint64, id string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return last - min(last, p.peer(id).acked)
}

// Absent returns the other full members, if all of them are away: what is acknowledged lies on this leader's disk only. last is the leader's
// last entry.
func (p *Pace) Absent(last uint64, full []string, now time.Time) []Absent {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark(last, now)
	var out []Absent
	for _, id := range full {
		m := p.peer(id)
		m.away = p.judge(m, now)
		if !m.away {
			return nil
		}
		out = append(out, Absent{id, last - min(last, m.acked)})
	}
	return out
}

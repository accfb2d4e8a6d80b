// Package feed keeps the last events of the cluster for its followers. Each member makes the same events with the same numbers, as each makes them of
// the replicated log: a follower of one member continues at another from the same number.
//
// A follower costs only its position here: it misses events that the feed drops before it reads them, and is told so.
package feed

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"

	"heddle/yarn/records"
)

// ID is an event's number: the log's entry, and which of the entry's events it is.
type ID struct {
	Entry uint64
	Nth   uint32
}

// String writes an ID as ParseID reads it.
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.Entry, id.Nth) }

// Less reports whether id is before o.
func (id ID) Less(o ID) bool { return id.Entry < o.Entry || id.Entry == o.Entry && id.Nth < o.Nth }

// ParseID reads an ID.
func ParseID(text string) (ID, error) {
	entry, nth, ok := strings.Cut(text, "-")
	e, err1 := strconv.ParseUint(entry, 10, 64)
	n, err2 := strconv.ParseUint(nth, 10, 32)
	id := ID{e, uint32(n)}
	if !ok || errors.Join(err1, err2) != nil || id.String() != text {
		return ID{}, fmt.Errorf("%.60q is no number of an event, which is like 4711-0", text)
	}
	return id, nil
}

// Kind is the subject of an event.
type Kind string

// Kinds of events.
const (
	Application Kind = "application"
	Attempt     Kind = "attempt"
	Container   Kind = "container" // its level: suspended, shrunk, running again. Grants and ends are too many
	Node        Kind = "node"
	Queues      Kind = "queues"
	Leadership  Kind = "leadership"
)

// Kinds lists all kinds.
var Kinds = []Kind{Application, Attempt, Container, Node, Queues, Leadership}

// Event is a change that may interest every user who may see its application. Fields that don't apply are empty.
type Event struct {
	ID   ID
	Time int64 // ms since 1970
	Kind Kind
	What string // has happened, such as submitted or ended

	App               records.ApplicationID
	User, Queue, Name string // of the application
	State             string // of what the event is about, afterwards
	Subject           string // the id of the attempt, container, node or member
	Detail            string // diagnostics, a health report, or for whom a container is suspended
}

// size is about how many bytes the event takes.
func (e *Event) size() int {
	return 200 + len(e.User) + len(e.Queue) + len(e.Name) + len(e.State) + len(e.Subject) + len(e.Detail)
}

// Bounds of what is remembered.
const (
	maxEvents = 10_000
	maxBytes  = 8 << 20
	maxText   = 500 // bytes of a name or a detail
)

// Feed has the last events. The zero Feed isn't ready: use New.
type Feed struct {
	mu     sync.Mutex
	events []Event
	bytes  int
	begun  bool // lost is known
	lost   ID   // the last event that isn't here any more
	more   chan struct{}
	closed bool
}

// New returns an empty feed.
func New() *Feed { return &Feed{more: make(chan struct{})} }

// Add appends the changes of an entry of the log, of which there may be none. Entries come in order.
func (f *Feed) Add(entry uint64, events []Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.begun = true
		if entry > 0 {
			f.lost = ID{entry - 1, math.MaxUint32}
		}
	}
	if len(events) == 0 {
		return
	}
	for i := range events {
		e := events[i]
		e.ID = ID{entry, uint32(i)}
		e.Name, e.Detail = cut(e.Name), cut(e.Detail)
		f.events = append(f.events, e)
		f.bytes += e.size()
	}
	f.forget()
	f.wake()
}

// forget drops the oldest events, some at a time, while there are too many.
func (f *Feed) forget() {
	if len(f.events) <= maxEvents && f.bytes <= maxBytes {
		return
	}
	n := 0
	for len(f.events)-n > maxEvents*7/8 || f.bytes > maxBytes*7/8 {
		f.bytes -= f.events[n].size()
		n++
	}
	f.lost = f.events[n-1].ID
	f.events = append(make([]Event, 0, maxEvents), f.events[n:]...)
}

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// Jump says that entries are skipped, as a snapshot replaces them.
func (f *Feed) Jump() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events, f.bytes, f.begun = nil, 0, false
	f.wake()
}

// wake wakes followers that wait for more.
func (f *Feed) wake() {
	if !f.closed {
		close(f.more)
		f.more = make(chan struct{})
	}
}

// Close ends the feed and wakes all followers that wait.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.more)
	}
}

// Last returns the number of the newest event, or of the last one that was forgotten.
func (f *Feed) Last() ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.events); n > 0 {
		return f.events[n-1].ID
	}
	return f.lost
}

// Part is what follows a number.
type Part struct {
	Events []Event
	Missed bool            // some between the number and these were forgotten
	More   <-chan struct{} // closed when there is more
	Closed bool            // there will be no more
}

// After returns up to most events after a number.
func (f *Feed) After(id ID, most int) Part {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Part{More: f.more, Closed: f.closed}
	if !f.begun {
		return out
	}
	out.Missed = id.Less(f.lost)
	from := sort.Search(len(f.events), func(i int) bool { return id.Less(f.events[i].ID) })
	out.Events = append(out.Events, f.events[from:min(from+most, len(f.events))]...)
	return out
}

// Before returns up to most events before a number, those next to it, the oldest first; the zero ID stands for the end.
func (f *Feed) Before(id ID, most int) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := len(f.events)
	if id != (ID{}) {
		to = sort.Search(len(f.events), func(i int) bool { return !f.events[i].ID.Less(id) })
	}
	return append([]Event(nil), f.events[max(0, to-most):to]...)
}

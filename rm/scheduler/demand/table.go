package demand

import (
	"fmt"
	"iter"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
)

// Set is the demands of one application. Make it with NewSet. Its fields are for reading.
type Set struct {
	ranking  ranking.Ranking
	Requests int32   // demands
	Blocked  int32   // demands that wait for more urgent ones, or for the policy of the leaf
	Sole     *Demand // if there is just one
}

// NewSet returns an empty set.
func NewSet() Set { return Set{ranking: ranking.New(ranking.ByPriority)} }

// Table holds the demands of all applications. The zero value is empty and ready.
type Table struct {
	arena   ranking.Arena
	of      []*Demand // by their elements in the arena
	Passed  int64     // demands that were gone through one by one, which tests hold down
	Blocked int32     // Set.Blocked of all sets. It is for reading
}

// All returns a set's demands, the most urgent first. None may be entered or taken out meanwhile.
func (t *Table) All(s *Set) iter.Seq[*Demand] {
	return func(yield func(*Demand) bool) {
		t.arena.All(&s.ranking, func(i int32) bool {
			t.Passed++
			return yield(t.of[i])
		})
	}
}

// First returns a set's most urgent demand that may be tried and is of one of some classes, or nil. Most applications
// have just one demand.
func (t *Table) First(s *Set, of ranking.Mask) *Demand {
	if d := s.Sole; d != nil {
		if d.offers()&of == 0 {
			return nil
		}
		return d
	}
	return t.at(t.arena.First(&s.ranking, of))
}

// Next returns the next such one behind a demand, or nil.
func (t *Table) Next(s *Set, d *Demand, of ranking.Mask) *Demand {
	if s.Sole != nil {
		return nil
	}
	return t.at(t.arena.Next(d.el, of))
}

// Front returns a set's most urgent demand, or nil.
func (t *Table) Front(s *Set) *Demand { return t.at(t.arena.Front(&s.ranking)) }

// After returns the demand behind another one, or nil.
func (t *Table) After(d *Demand) *Demand { return t.at(t.arena.After(d.el)) }

func (t *Table) at(i int32) *Demand {
	if i == ranking.Nothing {
		return nil
	}
	return t.of[i]
}

// Find returns the demand of a priority and allocation request id, or nil.
func (t *Table) Find(s *Set, priority int32, requestID int64) *Demand {
	if d := s.Sole; d != nil {
		if d.Compare(priority, requestID) != 0 {
			return nil
		}
		return d
	}
	return t.at(t.arena.Search(&s.ranking, func(i int32) int { return t.of[i].Compare(priority, requestID) }))
}

// Add enters a demand of an application for which there is no row yet.
func (t *Table) Add(h handle.App, s *Set, priority int32, requestID int64) *Demand {
	i := t.arena.TakeBare(int32(h))
	d := &Demand{App: h, Priority: priority, RequestID: requestID, RelaxAny: true, el: i}
	if int(i) == len(t.of) {
		t.of = append(t.of, nil)
	}
	t.of[i] = d
	*t.arena.Key(i) = ranking.Key{Priority: ^priority, Seq: requestID} // lower numbers first
	t.arena.Enter(&s.ranking, i)
	if s.Requests++; s.Requests == 1 {
		s.Sole = d
	} else {
		s.Sole = nil
	}
	return d
}

// Drop forgets a demand of which nothing is left, and gives its class back.
func (t *Table) Drop(s *Set, d *Demand, classes *class.Table) {
	t.arena.Leave(&s.ranking, d.el)
	t.release(s, d, classes)
	if s.Sole = nil; s.Requests == 1 {
		s.Sole = t.of[t.arena.Front(&s.ranking)]
	}
}

// Clear forgets all demands of a set, and gives their classes back.
func (t *Table) Clear(s *Set, classes *class.Table) {
	for d := range t.All(s) {
		t.release(s, d, classes)
	}
	s.ranking.Clear()
	s.Sole = nil
}

func (t *Table) release(s *Set, d *Demand, classes *class.Table) {
	d.declass(classes)
	if d.Why.Counts() {
		t.block(s, -1)
	}
	d.gone = true
	s.Requests--
	t.of[d.el] = nil
	t.arena.Give(d.el)
}

// mostPlaces is how many places Local looks at.
const mostPlaces = 2000

// Local counts the tasks of a set's demands that prefer places which have room for them. Of very many places it looks at the first ones.
func (t *Table) Local(s *Set, room func(d *Demand, name int32) bool) (n int64) {
	looked := 0
	for d := range t.All(s) {
		local := int32(0)
		for i := 0; i < len(d.Places) && local < d.Pending && looked < mostPlaces; i++ {
			looked++
			if p := &d.Places[i]; p.Count > 0 && room(d, p.Name) {
				local += p.Count
			}
		}
		n += int64(min(local, d.Pending))
	}
	return n
}

// Show takes into account what a demand has to offer, after Pending or Class has changed.
func (t *Table) Show(d *Demand) { t.arena.SetMask(d.el, d.offers()) }

// SetWhy says what keeps a demand of a set from being tried again.
func (t *Table) SetWhy(s *Set, d *Demand, w Blocked) {
	if d.Why == w {
		return
	}
	if d.Why.Counts() {
		t.block(s, -1)
	}
	if d.Why = w; w.Counts() {
		t.block(s, 1)
	}
	t.Show(d)
}

// block counts demands of a set that wait.
func (t *Table) block(s *Set, more int32) {
	s.Blocked += more
	t.Blocked += more
}

// Offers returns the classes of the demands of a set that may be tried.
func (t *Table) Offers(s *Set) ranking.Mask {
	if d := s.Sole; d != nil {
		return d.offers()
	}
	return t.arena.Offers(&s.ranking)
}

// Check looks for demands of a set that are out of order, or hidden, and for sums over them that are wrong.
func (t *Table) Check(s *Set) error {
	if err := t.arena.Check(&s.ranking); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	var last *Demand
	var blocked, requests int32
	var offers ranking.Mask
	for d := range t.All(s) {
		if last != nil && last.Compare(d.Priority, d.RequestID) >= 0 {
			return fmt.Errorf("the request of priority %d, id %d stands before that of priority %d, id %d",
				last.Priority, last.RequestID, d.Priority, d.RequestID)
		}
		if own := t.arena.Own(d.el); own != d.offers() {
			return fmt.Errorf("the request of priority %d, id %d shows %b of %b", d.Priority, d.RequestID, own, d.offers())
		}
		last = d
		offers |= d.offers()
		requests++
		if d.Why.Counts() {
			blocked++
		}
	}
	if requests != s.Requests || blocked != s.Blocked || (s.Sole != nil) != (requests == 1) {
		return fmt.Errorf("%d requests, %d of them blocked; the sums say %d and %d", requests, blocked, s.Requests, s.Blocked)
	}
	if offers != t.Offers(s) {
		return fmt.Errorf("the requests offer %b, the sum %b", offers, t.Offers(s))
	}
	return nil
}

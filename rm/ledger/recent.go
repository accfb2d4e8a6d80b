package ledger

// recent counts events of the last second or so. It isn't replicated: the count begins at 0 with each member's start.
type recent struct {
	slots [16]slot // by their numbers, in a circle
}

// slot counts the events of slotTime.
type slot struct {
	number int64 // time / slotTime
	n      int64
}

// slotTime is in ms, recentTime in slots.
const (
	slotTime   = 100
	recentTime = 10
)

// add counts an event at a time, in ms since 1970.
func (r *recent) add(now int64) {
	number := now / slotTime
	s := &r.slots[number%int64(len(r.slots))]
	if s.number != number {
		*s = slot{number: number}
	}
	s.n++
}

// until counts the events of the second that ends with a slotTime in which now lies.
func (r *recent) until(now int64) (n int64) {
	last := now / slotTime
	for _, s := range r.slots {
		if s.number > last-recentTime && s.number <= last {
			n += s.n
		}
	}
	return n
}

// GrantedLately counts the containers that were granted within a second before now (ms since 1970), to the precision of a tenth. It counts
// those that this member has seen.
func (s *State) GrantedLately(now int64) int64 { return s.granted.until(now) }

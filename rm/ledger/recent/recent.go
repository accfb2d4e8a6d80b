// Package recent counts events of the last second, in little memory however many there are. Pure: time is an argument.
package recent

// Count counts events of the last second. The zero value has counted nothing. Copies are independent.
type Count struct {
	slots [16]slot // by their numbers, in a circle
}

// slot counts the events of slotTime.
type slot struct {
	number int64 // time / slotTime
	n      int64
}

const (
	slotTime   = 100 // ms
	recentTime = 10  // slots
)

// Add counts an event at a time, in ms since 1970. Times don't go back by more than half a second.
func (c *Count) Add(now int64) {
	number := now / slotTime
	s := &c.slots[uint64(number)%uint64(len(c.slots))] // a time before 1970 is no reason to fail
	if s.number != number {
		*s = slot{number: number}
	}
	s.n++
}

// Until counts the events of the second that ends with the tenth of a second in which now (ms since 1970) lies.
func (c *Count) Until(now int64) (n int64) {
	last := now / slotTime
	for _, s := range c.slots {
		if s.number > last-recentTime && s.number <= last {
			n += s.n
		}
	}
	return n
}

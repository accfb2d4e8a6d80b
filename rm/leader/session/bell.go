package session

// Bell wakes a waiting goroutine. Ringing it again before it was heard changes nothing.
type Bell chan struct{}

// NewBell makes a bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring wakes who waits on the bell, or who is the next to.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Hush takes back a ring that wasn't heard.
func (b Bell) Hush() {
	select {
	case <-b:
	default:
	}
}

package shorttasks

import (
	"sync"
	"time"

	"heddle/yarn/wire"
)

// outbox is the messages for a scheduler or an executor. They are sent without the node's lock, in their order.
type outbox struct {
	unsent []wire.Message
	more   chan struct{} // there is something unsent, or it is to end
	last   bool          // nothing more is sent
	bytes  int           // of tasks that aren't sent yet
	wrote  time.Time     // when something was written last
}

func newOutbox() outbox { return outbox{more: make(chan struct{}, 1)} }

// say has a message sent soon. The node's lock is held.
func (o *outbox) say(m wire.Message) {
	o.unsent = append(o.unsent, m)
	if t, ok := m.(*wire.Task); ok {
		o.bytes += weight(t)
	}
	o.ring()
}

// finish has send return when all is sent. The node's lock is held.
func (o *outbox) finish() {
	o.last = true
	o.ring()
}

func (o *outbox) ring() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// send sends what say was given, until finish or the end of the connection, which Receive notices as well. The node's lock is mu.
func (o *outbox) send(mu *sync.Mutex, now func() time.Time, c *wire.Conn) {
	var sent int
	for {
		mu.Lock()
		all, last := o.unsent, o.last
		o.unsent, o.wrote = nil, now()
		o.bytes -= sent
		sent = o.bytes
		mu.Unlock()
		if _, err := c.Write(all...); err != nil || last {
			return
		}
		if len(all) == 0 {
			<-o.more
		}
	}
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package packet

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// Small is the largest packet that is copied together with others into one write.
	Small = 8 << 10
	// WritePiece is how much must be written within the write timeout. A peer that takes less counts as dead.
	WritePiece = 256 << 10
)

// Outbox writes packets to a connection. It has many senders and one writer at a time, which writes all waiting small
// packets at once. Its goroutine runs only while there is something to write.
//
// On a server it also counts calls that have been accepted but not answered, because the speed of writing answers
// bounds them. Packets may change their order.
type Outbox struct {
	nc      net.Conn
	timeout time.Duration // for one WritePiece
	Written func(n int)   // called with the charged bytes that are free again; nil: not counted

	mu      sync.Mutex
	changed sync.Cond // pending, queued, running or err
	waiters int       // goroutines that wait for changed
	small   *Buffer
	large   []*Buffer
	queued  int   // bytes that are waiting, being written, or reserved
	replies int   // in small and large
	charged int   // bytes charged for those replies
	pending int   // calls accepted, their replies not yet written
	running bool  // a flush is under way
	err     error // the reason why the Outbox has failed

	seal *Sealer // set while nothing is written; nil: packets travel as they are
}

// Protect puts all packets that are sent from here on into tokens. The caller makes sure that nothing is being written.
func (o *Outbox) Protect(s *Sealer) {
	o.mu.Lock()
	o.seal = s
	o.mu.Unlock()
}

func (o *Outbox) Init(nc net.Conn, timeout time.Duration) {
	o.nc, o.timeout = nc, timeout
	o.changed.L = &o.mu
}

// Begin accepts a call. It waits while limit calls are pending, or more than maxQueued bytes wait to be written. It
// fails once the Outbox has failed.
func (o *Outbox) Begin(limit, maxQueued int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.pending >= limit || o.queued > maxQueued) {
		o.wait()
	}
	if o.err != nil {
		return o.err
	}
	o.pending++
	return nil
}

func (o *Outbox) wait() {
	o.waiters++
	o.changed.Wait()
	o.waiters--
}

func (o *Outbox) notify() {
	if o.waiters > 0 {
		o.changed.Broadcast()
	}
}

// Reserve waits for room for n bytes; pass n to SendReserved. So a large response isn't even encoded before a slow
// client has read the earlier ones.
func (o *Outbox) Reserve(n, maxQueued int) {
	o.mu.Lock()
	for o.err == nil && o.queued > 0 && o.queued+n > maxQueued {
		o.wait()
	}
	o.queued += n
	o.mu.Unlock()
}

// Send queues a packet and owns its buffer from then on. It never blocks. replies is how many pending calls it answers,
// 0 or 1.
func (o *Outbox) Send(b *Buffer, replies int) error {
	return o.SendReserved(b, replies, 0, 0)
}

// SendReserved does the same with a packet for which bytes have been reserved and charged. The packet's size may differ
// from both.
func (o *Outbox) SendReserved(b *Buffer, replies, reserved, charged int) error {
	o.mu.Lock()
	if o.err != nil {
		err := o.err
		o.mu.Unlock()
		b.Free()
		return err
	}
	o.queued += len(b.B) - reserved
	o.replies += replies
	o.charged += charged
	if len(b.B) <= Small {
		if o.small == nil {
			o.small = b
			b = nil
		} else {
			o.small.B = append(o.small.B, b.B...)
		}
	} else {
		o.large = append(o.large, b)
		b = nil
	}
	start := !o.running
	o.running = true
	others := o.pending > 1
	o.mu.Unlock()
	if b != nil {
		b.Free()
	}
	if start {
		go o.flush(others)
	}
	return nil
}

// flush writes until nothing waits. others says that more packets are likely soon: it lets their senders run first.
func (o *Outbox) flush(others bool) {
	if others {
		runtime.Gosched()
	}
	o.mu.Lock()
	for o.err == nil && (o.small != nil || len(o.large) > 0) {
		small, large, replies, charged := o.small, o.large, o.replies, o.charged
		o.small, o.large, o.replies, o.charged = nil, nil, 0, 0
		o.mu.Unlock()

		written := 0
		var err error
		if small != nil {
			written = len(small.B)
			err = o.write(small.B)
			small.Free()
		}
		for _, b := range large {
			if err == nil {
				err = o.write(b.B)
			}
			written += len(b.B)
			b.Free()
		}
		o.settle(charged)

		o.mu.Lock()
		o.queued -= written
		o.pending -= replies
		if err != nil && o.err == nil {
			o.err = err
			_ = o.nc.Close() // so that the reader fails too
		}
		o.notify()
	}
	o.running = false
	o.notify()
	o.mu.Unlock()
}

func (o *Outbox) write(b []byte) error {
	if o.seal == nil {
		return o.writePlain(b)
	}
	for len(b) > 0 {
		piece := b[:min(len(b), o.seal.Protection.MaxMessage())]
		sealed, err := o.seal.Seal(piece)
		if err != nil {
			return err
		}
		err = o.writePlain(sealed.B)
		sealed.Free()
		if err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

func (o *Outbox) writePlain(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), WritePiece)]
		if o.timeout > 0 {
			if err := o.nc.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
				return err
			}
		}
		if _, err := o.nc.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// Drain waits until all pending calls are answered and all packets written, or the Outbox has failed.
func (o *Outbox) Drain() {
	o.mu.Lock()
	for o.err == nil && (o.pending > 0 || o.running) {
		o.wait()
	}
	o.mu.Unlock()
}

// Flushed waits until all packets queued so far are written, or the Outbox has failed. Calls may still be pending.
func (o *Outbox) Flushed() {
	o.mu.Lock()
	for o.err == nil && o.running {
		o.wait()
	}
	o.mu.Unlock()
}

// Fail drops all packets, now and later. The caller then closes the connection, and may wait with Join.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.notify()
	o.mu.Unlock()
}

// Join waits until the writing goroutine has ended. Call Fail and close the connection first.
func (o *Outbox) Join() {
	o.mu.Lock()
	for o.running {
		o.wait()
	}
	if o.small != nil {
		o.small.Free()
	}
	for _, b := range o.large {
		b.Free()
	}
	charged := o.charged
	o.small, o.large, o.charged = nil, nil, 0
	o.mu.Unlock()
	o.settle(charged)
}

func (o *Outbox) settle(charged int) {
	if o.Written != nil && charged > 0 {
		o.Written(charged)
	}
}

// Idle reports whether no call is pending and nothing waits to be written.
func (o *Outbox) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending == 0 && !o.running
}

package ipc

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// smallPacket is the largest packet that is copied together with others into one write.
	smallPacket = 8 << 10
	// writePiece is how much must be written within the write timeout. A peer that takes less counts as dead.
	writePiece = 256 << 10
)

// outbox writes packets to a connection. It has many senders and one writer at a time, which writes all waiting small
// packets at once. Its goroutine runs only while there is something to write.
//
// On a server it also counts calls that have been accepted but not answered, because the speed of writing answers
// bounds them. Packets may change their order.
type outbox struct {
	nc      net.Conn
	timeout time.Duration // for one writePiece
	written func(n int)   // called with the charged bytes that are free again; nil: nobody counts

	mu      sync.Mutex
	changed sync.Cond // pending, queued, running or err
	waiters int       // goroutines that wait for changed
	small   *buffer
	large   []*buffer
	queued  int   // bytes that are waiting, being written, or reserved
	replies int   // in small and large
	charged int   // bytes charged for those replies
	pending int   // calls accepted, their replies not yet written
	running bool  // a flush is under way
	err     error // the reason why the outbox has failed
}

func (o *outbox) init(nc net.Conn, timeout time.Duration) {
	o.nc, o.timeout = nc, timeout
	o.changed.L = &o.mu
}

// begin accepts a call. It waits while limit calls are pending, or more than maxQueued bytes wait to be written. It
// fails once the outbox has failed.
func (o *outbox) begin(limit, maxQueued int) error {
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

func (o *outbox) wait() {
	o.waiters++
	o.changed.Wait()
	o.waiters--
}

func (o *outbox) notify() {
	if o.waiters > 0 {
		o.changed.Broadcast()
	}
}

// reserve waits for room for n bytes; pass n to sendReserved. So a large response isn't even encoded before a slow
// client has read the earlier ones.
func (o *outbox) reserve(n, maxQueued int) {
	o.mu.Lock()
	for o.err == nil && o.queued > 0 && o.queued+n > maxQueued {
		o.wait()
	}
	o.queued += n
	o.mu.Unlock()
}

// send queues a packet and owns its buffer from then on. It never blocks. replies is how many pending calls it answers,
// 0 or 1.
func (o *outbox) send(b *buffer, replies int) error {
	return o.sendReserved(b, replies, 0, 0)
}

// sendReserved does the same with a packet for which bytes have been reserved and charged. The packet's size may differ
// from both.
func (o *outbox) sendReserved(b *buffer, replies, reserved, charged int) error {
	o.mu.Lock()
	if o.err != nil {
		err := o.err
		o.mu.Unlock()
		b.free()
		return err
	}
	o.queued += len(b.b) - reserved
	o.replies += replies
	o.charged += charged
	if len(b.b) <= smallPacket {
		if o.small == nil {
			o.small = b
			b = nil
		} else {
			o.small.b = append(o.small.b, b.b...)
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
		b.free()
	}
	if start {
		go o.flush(others)
	}
	return nil
}

// flush writes until nothing waits. others says that more packets are likely soon: it lets their senders run first.
func (o *outbox) flush(others bool) {
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
			written = len(small.b)
			err = o.write(small.b)
			small.free()
		}
		for _, b := range large {
			if err == nil {
				err = o.write(b.b)
			}
			written += len(b.b)
			b.free()
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

func (o *outbox) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), writePiece)]
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

// drain waits until all pending calls are answered and all packets written, or the outbox has failed.
func (o *outbox) drain() {
	o.mu.Lock()
	for o.err == nil && (o.pending > 0 || o.running) {
		o.wait()
	}
	o.mu.Unlock()
}

// flushed waits until all packets queued so far are written, or the outbox has failed. Calls may still be pending.
func (o *outbox) flushed() {
	o.mu.Lock()
	for o.err == nil && o.running {
		o.wait()
	}
	o.mu.Unlock()
}

// fail drops all packets, now and later. The caller then closes the connection, and may wait with join.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.notify()
	o.mu.Unlock()
}

// join waits until the writing goroutine has ended. Call fail and close the connection first.
func (o *outbox) join() {
	o.mu.Lock()
	for o.running {
		o.wait()
	}
	if o.small != nil {
		o.small.free()
	}
	for _, b := range o.large {
		b.free()
	}
	charged := o.charged
	o.small, o.large, o.charged = nil, nil, 0
	o.mu.Unlock()
	o.settle(charged)
}

func (o *outbox) settle(charged int) {
	if o.written != nil && charged > 0 {
		o.written(charged)
	}
}

// idle reports whether no call is pending and nothing waits to be written.
func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending == 0 && !o.running
}

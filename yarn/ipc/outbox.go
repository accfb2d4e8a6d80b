package ipc

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// smallPacket is the size up to which packets are copied together to go out in one write.
	smallPacket = 8 << 10
	// writePiece is how much has to go out within the write timeout: a peer that takes less is dead.
	writePiece = 256 << 10
)

// outbox writes packets to a connection: many senders, one writer at a time, one write for all small packets that are
// waiting. Its goroutine runs only while there is something to write.
//
// On a server it also counts the calls that have been accepted and not yet been answered, since what bounds them is how
// fast answers leave. The order of packets is not kept.
type outbox struct {
	nc      net.Conn
	timeout time.Duration // for one writePiece
	written func(n int)   // told of what replies were charged and take no memory any more; nil: nobody counts

	mu      sync.Mutex
	changed sync.Cond // pending, queued, running or err
	waiters int       // goroutines that wait for changed
	small   *buffer
	large   []*buffer
	queued  int   // bytes that are waiting, being written, or reserved
	replies int   // in small and large
	charged int   // for those replies
	pending int   // calls accepted, their replies not yet written
	running bool  // a flush is under way
	err     error // why nothing is written any more
}

func (o *outbox) init(nc net.Conn, timeout time.Duration) {
	o.nc, o.timeout = nc, timeout
	o.changed.L = &o.mu
}

// begin accepts a call. It waits while there are limit calls pending, or more than maxQueued bytes waiting to be
// written, and fails once the outbox has.
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

// reserve waits until there is room for n bytes, which send must be told of then: large responses are not even encoded
// before a client that reads slowly has taken earlier ones.
func (o *outbox) reserve(n, maxQueued int) {
	o.mu.Lock()
	for o.err == nil && o.queued > 0 && o.queued+n > maxQueued {
		o.wait()
	}
	o.queued += n
	o.mu.Unlock()
}

// send queues a packet, and takes the buffer over. It never blocks. replies is how many pending calls it answers, 0 or 1.
func (o *outbox) send(b *buffer, replies int) error {
	return o.sendReserved(b, replies, 0, 0)
}

// sendReserved is send of a packet for which bytes have been reserved, more or less, and charged.
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

// flush writes until nothing is waiting. If others are likely to have something to send soon it lets them run first.
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
			_ = o.nc.Close() // so that the reader, too, learns of it
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

// flushed waits until all packets queued so far are written, or the outbox has failed; calls may still be pending.
func (o *outbox) flushed() {
	o.mu.Lock()
	for o.err == nil && o.running {
		o.wait()
	}
	o.mu.Unlock()
}

// fail makes the outbox drop what it has and will get. The connection has to be closed by the caller; then fail's
// sibling join returns.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.notify()
	o.mu.Unlock()
}

// join waits for the writing goroutine to end; the outbox must have failed, and the connection be closed.
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

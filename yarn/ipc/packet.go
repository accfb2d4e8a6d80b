package ipc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

const (
	// readBuffer is the size of the buffer that every connection has for all of its life, in bytes.
	readBuffer = 4 << 10
	// firstChunk is how much is allocated for a packet before any of its bytes have arrived. From there it doubles.
	firstChunk = 64 << 10
	// readPiece is how much of a large packet must arrive within the read timeout. A peer that sends less counts as
	// dead.
	readPiece = 256 << 10
)

// packetReader reads packets from a connection.
type packetReader struct {
	r   *bufio.Reader
	max int // the longest packet, in bytes
	// activity counts packets and pieces of large ones. Watchers of idle connections read it.
	activity atomic.Uint64
	within   atomic.Bool // a large packet has begun to arrive

	// These count memory: grow is called before a packet takes n bytes, shrink when it is dropped.
	grow   func(n int) error
	shrink func(n int)
}

// lengthError says that a packet's length can't be right.
type lengthError struct {
	length int32
	max    int
}

func (e *lengthError) Error() string {
	return fmt.Sprintf("packet of %d bytes, the limit is %d", e.length, e.max)
}

// next returns a packet without its length. The bytes are valid until the next call. If owner isn't nil, it holds them,
// and the caller may keep them until it frees owner. At the end of the stream the error is io.EOF between packets, and
// io.ErrUnexpectedEOF within one.
func (p *packetReader) next() (packet []byte, owner *buffer, err error) {
	head, err := p.r.Peek(4)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	length := int32(binary.BigEndian.Uint32(head))
	if length < 0 || int64(length) > int64(p.max) {
		return nil, nil, &lengthError{length, p.max}
	}
	n := int(length)
	p.activity.Add(1)
	if n+4 <= p.r.Size() {
		b, err := p.r.Peek(n + 4)
		if err != nil {
			return nil, nil, midPacket(err)
		}
		if _, err := p.r.Discard(n + 4); err != nil {
			return nil, nil, err
		}
		return b[4:], nil, nil
	}
	if _, err := p.r.Discard(4); err != nil {
		return nil, nil, err
	}
	p.within.Store(true)
	defer p.within.Store(false)
	if owner, err = p.large(n); err != nil {
		return nil, nil, err
	}
	return owner.b, owner, nil
}

// large reads a large packet of n bytes. Memory grows as they arrive.
func (p *packetReader) large(n int) (*buffer, error) {
	owner := &buffer{}
	for len(owner.b) < n {
		if len(owner.b) == cap(owner.b) {
			larger, err := p.larger(owner, min(n, max(firstChunk, 2*cap(owner.b))))
			if err != nil {
				return nil, err
			}
			owner = larger
		}
		piece := owner.b[len(owner.b):min(n, cap(owner.b), len(owner.b)+readPiece)]
		got, err := io.ReadFull(p.r, piece)
		owner.b = owner.b[:len(owner.b)+got]
		if err != nil {
			p.drop(owner)
			return nil, midPacket(err)
		}
		p.activity.Add(1)
	}
	return owner, nil
}

// larger moves the bytes of a buffer into a new one of n bytes, and frees the old one.
func (p *packetReader) larger(of *buffer, n int) (*buffer, error) {
	larger := newBuffer(n)
	if p.grow != nil {
		if err := p.grow(cap(larger.b) - cap(of.b)); err != nil {
			larger.free()
			p.drop(of)
			return nil, err
		}
	}
	larger.b = append(larger.b, of.b...)
	of.free()
	return larger, nil
}

// drop frees the buffer of a packet that won't be delivered.
func (p *packetReader) drop(b *buffer) {
	if p.shrink != nil {
		p.shrink(cap(b.b))
	}
	b.free()
}

func midPacket(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

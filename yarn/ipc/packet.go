package ipc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

const (
	// readBuffer is kept by every connection for as long as it lives.
	readBuffer = 4 << 10
	// firstChunk is what is allocated for a packet before any of its bytes have come; from there it doubles.
	firstChunk = 64 << 10
	// readPiece is how much of a large packet has to come within the read timeout: a peer that sends less is dead.
	readPiece = 256 << 10
)

// packetReader takes packets off a connection.
type packetReader struct {
	r   *bufio.Reader
	max int // the longest packet, in bytes
	// activity counts packets and pieces of large ones, for whoever watches for idle connections.
	activity atomic.Uint64
	within   atomic.Bool // a large packet has begun to come

	// Where memory is counted: grow is asked before a packet takes n bytes, shrink told when it takes them no more
	// although nobody got the packet.
	grow   func(n int) error
	shrink func(n int)
}

// lengthError is a packet whose length can't be right.
type lengthError struct {
	length int32
	max    int
}

func (e *lengthError) Error() string {
	return fmt.Sprintf("packet of %d bytes, the limit is %d", e.length, e.max)
}

// next returns a packet without its length. The bytes are good until the following call of next; if owner is not nil
// they are in that buffer, and the caller may keep them until it frees it. At the end of the stream the error is io.EOF
// between packets and io.ErrUnexpectedEOF within one.
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

// large reads the n bytes of a large packet. Memory grows as they come.
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

// larger returns a buffer of n bytes with those of another one, which is free then.
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

// drop frees a buffer of a packet that nobody will get.
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

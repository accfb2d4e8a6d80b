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
)

// packetReader takes packets off a connection.
type packetReader struct {
	r   *bufio.Reader
	max int // the longest packet, in bytes
	// activity counts packets and pieces of large ones, for whoever watches for idle connections.
	activity atomic.Uint64
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
	owner = newBuffer(min(n, firstChunk))
	for len(owner.b) < n {
		if len(owner.b) == cap(owner.b) {
			larger := newBuffer(min(n, 2*cap(owner.b)))
			larger.b = append(larger.b, owner.b...)
			owner.free()
			owner = larger
		}
		piece := owner.b[len(owner.b):min(n, cap(owner.b))]
		got, err := io.ReadFull(p.r, piece)
		owner.b = owner.b[:len(owner.b)+got]
		if err != nil {
			owner.free()
			return nil, nil, midPacket(err)
		}
		p.activity.Add(1)
	}
	return owner.b, owner, nil
}

func midPacket(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

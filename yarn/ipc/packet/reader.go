package packet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"heddle/yarn/sasl"
)

const (
	// ReadBuffer is the size of the buffer that every connection has for all of its life, in bytes.
	ReadBuffer = 4 << 10
	// firstChunk is how much is allocated for a packet before any of its bytes have arrived. From there it doubles.
	firstChunk = 64 << 10
	// ReadPiece is how much of a large packet must arrive within the read timeout. A peer that sends less counts as
	// dead.
	ReadPiece = 256 << 10
)

// Reader reads packets from a connection.
type Reader struct {
	R   *bufio.Reader
	Max int // the longest packet, in bytes
	// Activity counts packets and pieces of large ones. Watchers of idle connections read it.
	Activity atomic.Uint64
	Within   atomic.Int32 // large packets that have begun to arrive
	inner    *Reader      // the reader of packets inside of these, if there is one; what arrives here counts there, too

	// These count memory: Grow is called before a packet takes n bytes, Shrink when it is dropped.
	Grow   func(n int) error
	Shrink func(n int)
}

// LengthError says that a packet's length can't be right.
type LengthError struct {
	Length int32
	Max    int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("packet of %d bytes, the limit is %d", e.Length, e.Max)
}

// Next returns a packet without its length. The bytes are valid until the next call. If owner isn't nil, it holds them,
// and the caller may keep them until it frees owner. At the end of the stream the error is io.EOF between packets, and
// io.ErrUnexpectedEOF within one.
func (p *Reader) Next() (packet []byte, owner *Buffer, err error) {
	head, err := p.R.Peek(4)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	length := int32(binary.BigEndian.Uint32(head))
	if length < 0 || int64(length) > int64(p.Max) {
		return nil, nil, &LengthError{length, p.Max}
	}
	n := int(length)
	p.progress()
	if n+4 <= p.R.Size() {
		b, err := p.R.Peek(n + 4)
		if err != nil {
			return nil, nil, midPacket(err)
		}
		if _, err := p.R.Discard(n + 4); err != nil {
			return nil, nil, err
		}
		return b[4:], nil, nil
	}
	if _, err := p.R.Discard(4); err != nil {
		return nil, nil, err
	}
	p.enter(1)
	defer p.enter(-1)
	if owner, err = p.large(n); err != nil {
		return nil, nil, err
	}
	return owner.B, owner, nil
}

// progress counts a packet or a piece of one.
func (p *Reader) progress() {
	p.Activity.Add(1)
	if p.inner != nil {
		p.inner.Activity.Add(1)
	}
}

// enter counts large packets that begin to arrive (1) or have arrived (−1).
func (p *Reader) enter(n int32) {
	p.Within.Add(n)
	if p.inner != nil {
		p.inner.Within.Add(n)
	}
}

// Open lets p read the packets inside of tokens from here on. most is the longest message of a token, in bytes.
func (p *Reader) Open(by sasl.Protection, most int, token func(packet []byte) ([]byte, error)) *Opener {
	o := &Opener{protection: by, token: token}
	o.packets.R, o.packets.Max, o.packets.inner = p.R, most+wrapRoom, p
	o.packets.Grow, o.packets.Shrink = p.Grow, p.Shrink
	p.R = bufio.NewReaderSize(o, ReadBuffer)
	return o
}

// large reads a large packet of n bytes. Memory grows as they arrive.
func (p *Reader) large(n int) (*Buffer, error) {
	owner := &Buffer{}
	for len(owner.B) < n {
		if len(owner.B) == cap(owner.B) {
			larger, err := p.larger(owner, min(n, max(firstChunk, 2*cap(owner.B))))
			if err != nil {
				return nil, err
			}
			owner = larger
		}
		piece := owner.B[len(owner.B):min(n, cap(owner.B), len(owner.B)+ReadPiece)]
		got, err := io.ReadFull(p.R, piece)
		owner.B = owner.B[:len(owner.B)+got]
		if err != nil {
			p.Drop(owner)
			return nil, midPacket(err)
		}
		p.progress()
	}
	return owner, nil
}

// larger moves the bytes of a buffer into a new one of n bytes, and frees the old one.
func (p *Reader) larger(of *Buffer, n int) (*Buffer, error) {
	larger := NewBuffer(n)
	if p.Grow != nil {
		if err := p.Grow(cap(larger.B) - cap(of.B)); err != nil {
			larger.Free()
			p.Drop(of)
			return nil, err
		}
	}
	larger.B = append(larger.B, of.B...)
	of.Free()
	return larger, nil
}

// Drop frees the buffer of a packet that won't be delivered.
func (p *Reader) Drop(b *Buffer) {
	if p.Shrink != nil {
		p.Shrink(cap(b.B))
	}
	b.Free()
}

func midPacket(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

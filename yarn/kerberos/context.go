package kerberos

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/types"
)

// Context has the keys that two peers share after an exchange. Wrap and Unwrap may run at the same time, but neither may run twice at a time.
type Context struct {
	// Client is the full name of the initiator, such as alice@EXAMPLE.COM or nm/host@EXAMPLE.COM.
	Client string

	initiator  bool
	subkey     bool // the acceptor chose the key
	key        types.EncryptionKey
	send, want uint64 // numbers of the next tokens
	out, in    sealing
}

const (
	wrapHeader = 16 // bytes of a wrap token before its message
	wrapRoom   = 96 // at least what a wrap token has besides its message, in bytes
)

// Flags of wrap tokens (RFC 4121 §4.2.2).
const (
	fromAcceptor   = 1
	sealedFlag     = 2
	acceptorSubkey = 4
)

func header(flags byte, extra uint16, number uint64) []byte {
	h := make([]byte, wrapHeader)
	h[0], h[1], h[2], h[3] = 5, 4, flags, 0xff
	binary.BigEndian.PutUint16(h[4:], extra)
	binary.BigEndian.PutUint64(h[8:], number)
	return h
}

func usage(fromInitiator bool) uint32 {
	if fromInitiator {
		return usageInitiatorSeal
	}
	return usageAcceptorSeal
}

func (c *Context) flags(fromInitiator bool) (f byte) {
	if !fromInitiator {
		f |= fromAcceptor
	}
	if c.subkey {
		f |= acceptorSubkey
	}
	return f
}

// Wrap returns the token of a message, encrypted (seal) or signed (RFC 4121 §4.2.4).
func (c *Context) Wrap(message []byte, seal bool) ([]byte, error) {
	return c.wrap(make([]byte, 0, len(message)+wrapRoom), message, seal)
}

// wrap appends what Wrap returns.
func (c *Context) wrap(to, message []byte, seal bool) ([]byte, error) {
	if err := prepare(&c.out, c.key, usage(c.initiator)); err != nil {
		return to, err
	}
	number := c.send
	c.send++
	flags := c.flags(c.initiator)
	if seal {
		h := header(flags|sealedFlag, 0, number)
		return c.out.seal(append(to, h...), message, h)
	}
	sum, err := c.out.sum(message, header(flags, 0, number))
	if err != nil {
		return to, err
	}
	return append(append(append(to, header(flags, uint16(len(sum)), number)...), message...), sum...), nil
}

// prepare makes the sealing of a direction when it is first used.
func prepare(s *sealing, key types.EncryptionKey, usage uint32) (err error) {
	if *s == nil {
		*s, err = newSealing(key, usage)
	}
	return err
}

var (
	errWrap     = errors.New("not a wrap token of the peer")
	errSequence = errors.New("a wrap token is out of order")
	errSum      = errors.New("a wrap token has a wrong checksum")
)

// Unwrap returns the message of the peer's next token, and whether it was encrypted. It overwrites the token, and the message may be a part of it.
func (c *Context) Unwrap(token []byte) (message []byte, sealed bool, err error) {
	defer noPanic(&err)
	if err := prepare(&c.in, c.key, usage(!c.initiator)); err != nil {
		return nil, false, err
	}
	if len(token) < wrapHeader || token[0] != 5 || token[1] != 4 || token[3] != 0xff || token[2]&^sealedFlag != c.flags(!c.initiator) {
		return nil, false, errWrap
	}
	sealed = token[2]&sealedFlag != 0
	extra, rotated := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	if binary.BigEndian.Uint64(token[8:]) != c.want {
		return nil, sealed, errSequence
	}
	body := token[wrapHeader:]
	if len(body) > 0 && rotated%len(body) != 0 {
		n := rotated % len(body)
		body = append(bytes.Clone(body[n:]), body[:n]...)
	}
	if sealed {
		plain, err := c.in.open(body)
		if err != nil {
			return nil, true, err
		}
		want := header(token[2], uint16(extra), c.want)
		if len(plain) < wrapHeader+extra || !bytes.Equal(plain[len(plain)-wrapHeader:], want) {
			return nil, true, errSum
		}
		c.want++
		return plain[:len(plain)-wrapHeader-extra], true, nil
	}
	if extra != c.in.size() || len(body) < extra {
		return nil, false, errWrap
	}
	message, sum := body[:len(body)-extra], body[len(body)-extra:]
	right, err := c.in.sum(message, header(token[2], 0, c.want))
	if err != nil || subtle.ConstantTimeCompare(sum, right) != 1 {
		return nil, false, errSum
	}
	c.want++
	return message, false, nil
}

// protection is the sasl.Protection of a context.
type protection struct {
	context *Context
	seal    bool
	max     int
}

func (p *protection) MaxMessage() int { return p.max }

func (p *protection) Wrap(to, message []byte) ([]byte, error) {
	return p.context.wrap(to, message, p.seal)
}

func (p *protection) Unwrap(token []byte) ([]byte, error) {
	message, sealed, err := p.context.Unwrap(token)
	if err == nil && sealed != p.seal {
		return nil, fmt.Errorf("a wrap token is encrypted: %v; agreed was %v", sealed, p.seal)
	}
	return message, err
}

package packet

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// After an exchange that agreed on more than authentication, both directions are streams of tokens. A token travels as an RpcSasl message of
// state WRAP. The tokens contain a stream of ordinary packets, which the tokens cut anywhere.

// wrapRoom is how many bytes the packet of a token may have besides its message: headers, a signature and padding.
const wrapRoom = 1 << 10

// Sealer puts what an Outbox writes into tokens.
type Sealer struct {
	Protection sasl.Protection
	Header     func(b []byte) []byte // appends the header of a packet with a token
}

// Seal returns the packet of a token with the message.
func (s *Sealer) Seal(message []byte) (*Buffer, error) {
	sealed := NewBuffer(len(message) + wrapRoom)
	defer sealed.Free()
	var err error
	if sealed.B, err = s.Protection.Wrap(sealed.B, message); err != nil {
		return nil, fmt.Errorf("protecting data: %w", err)
	}
	out := NewBuffer(len(sealed.B) + wrapRoom)
	b := s.Header(Start(out.B))
	b = protowire.AppendVarint(b, uint64(2+1+protowire.SizeBytes(len(sealed.B))))
	b = append(b, 2<<3, byte(pb.RpcSasl_WRAP), 3<<3|2)
	b = protowire.AppendBytes(b, sealed.B)
	out.B = End(b, 0)
	return out, nil
}

// Opener reads the stream inside of tokens.
type Opener struct {
	packets    Reader
	protection sasl.Protection
	token      func(packet []byte) ([]byte, error) // returns the token of a packet

	message []byte  // what is left of the last one
	owner   *Buffer // of message, if it is large
}

// UnsealError says that a peer broke the protection that was agreed on.
type UnsealError struct{ Err error }

func (e *UnsealError) Error() string { return e.Err.Error() }

func (e *UnsealError) Unwrap() error { return e.Err }

var ErrNotSealed = errors.New("the peer sent a packet without the protection that was agreed on")

// Read implements io.Reader.
func (o *Opener) Read(b []byte) (int, error) {
	for len(o.message) == 0 {
		if err := o.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, o.message)
	o.message = o.message[n:]
	return n, nil
}

// next opens the next token.
func (o *Opener) next() error {
	o.Drop()
	packet, owner, err := o.packets.Next()
	if err != nil {
		return err
	}
	o.owner = owner
	token, err := o.token(packet)
	if err != nil {
		return &UnsealError{err}
	}
	if n := 2 * len(token); owner != nil && o.packets.Grow != nil { // Unwrap may copy it
		if err := o.packets.Grow(n); err != nil {
			return err
		}
		defer o.packets.Shrink(n)
	}
	if o.message, err = o.protection.Unwrap(token); err != nil {
		return &UnsealError{err}
	}
	return nil
}

// Drop frees the last token.
func (o *Opener) Drop() {
	o.message = nil
	if o.owner != nil {
		o.packets.Drop(o.owner)
		o.owner = nil
	}
}

package kerberos

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"heddle/yarn/sasl"
)

const (
	buffer     = 0x010000 // bytes of a wrap token that we take, as Java's peers say
	leastRoom  = 256      // a peer with less room for tokens is refused, in bytes
	layerBytes = 4        // of the message that negotiates the quality
)

// refused returns a refusal with the text that Java's server has.
func refused(text string, err error) error { return &sasl.Error{Text: text, Err: err} }

// Server is the server's side of a SASL exchange: Evaluate each of the client's messages until it is done. It is not safe for concurrent use.
type Server struct {
	acceptor  *Acceptor
	qualities sasl.Qualities
	state     state
	context   *Context
	quality   sasl.Quality
	room      int // of the client, in bytes
}

type state int

const (
	wantTicket state = iota
	wantEmpty        // the client has the AP-REP
	wantLayer
	done
	failed
)

// NewServer starts an exchange.
func NewServer(a *Acceptor, q sasl.Qualities) *Server { return &Server{acceptor: a, qualities: q} }

// Evaluate answers a message of the client. complete says that the client is who Client says. Errors are *sasl.Error: the text is for the
// client, what it wraps for the log.
func (s *Server) Evaluate(message []byte) (answer []byte, complete bool, err error) {
	was := s.state
	s.state = failed
	switch was {
	case wantTicket:
		context, reply, err := s.acceptor.Accept(message)
		if err != nil {
			return nil, false, refused("GSS initiate failed", err)
		}
		s.context = context
		if reply != nil {
			s.state = wantEmpty
			return reply, false, nil
		}
		return s.offer()
	case wantEmpty:
		if len(message) > 0 {
			return nil, false, refused("Handshake expecting no response data from server", nil)
		}
		return s.offer()
	case wantLayer:
		if err := s.choose(message); err != nil {
			return nil, false, err
		}
		s.state = done
		return nil, true, nil
	default:
		return nil, false, refused("SASL authentication already complete", nil)
	}
}

// offer sends the qualities that the server has, and the size of its buffer.
func (s *Server) offer() ([]byte, bool, error) {
	token, err := s.context.Wrap(binary.BigEndian.AppendUint32(nil, uint32(s.qualities.Mask())<<24|buffer), false)
	if err != nil {
		return nil, false, refused("Problem wrapping handshake", err)
	}
	s.state = wantLayer
	return token, false, nil
}

func (s *Server) choose(message []byte) error {
	layer, _, err := s.context.Unwrap(message)
	if err != nil {
		return refused("Final handshake failed", err)
	}
	if len(layer) < layerBytes {
		return refused("Final handshake failed", errors.New("the client's choice is too short"))
	}
	number := binary.BigEndian.Uint32(layer)
	q, room := sasl.Quality(number>>24), int(number&0xffffff)
	if !s.qualities.Accepts(q) {
		return refused("Problem with callback handler", errors.New("the client chose a quality of protection that it wasn't offered"))
	}
	if q != sasl.Authentication && room < leastRoom {
		return refused("Problem with callback handler", errors.New("the client's buffer is too small"))
	}
	if as := string(layer[layerBytes:]); as != "" && as != s.context.Client {
		return refused("Problem with callback handler", errors.New("the client wants to be "+as))
	}
	s.quality, s.room = q, room
	return nil
}

// Client returns the full name of the client. It is "" until the exchange is complete.
func (s *Server) Client() string {
	if s.state != done {
		return ""
	}
	return s.context.Client
}

// Protection returns what protects the data that follows, nil if the quality is Authentication. Call it once the exchange is complete.
func (s *Server) Protection() sasl.Protection {
	if s.state != done {
		return nil
	}
	return protect(s.context, s.quality, s.room)
}

func protect(c *Context, q sasl.Quality, room int) sasl.Protection {
	if q == sasl.Authentication {
		return nil
	}
	return &protection{c, q == sasl.Privacy, min(room, buffer) - wrapRoom}
}

// Client is the client's side of a SASL exchange: Start once, then Respond to each of the server's challenges until complete. It is not safe for
// concurrent use.
type Client struct {
	initiator initiator
	qualities sasl.Qualities
	now       func() time.Time
	random    io.Reader

	context    *Context // nil until the server has proved itself
	complete   bool
	protection sasl.Protection
}

// NewClient starts an exchange by a ticket. now and random may be nil: time.Now and crypto/rand.
func NewClient(t Ticket, q sasl.Qualities, now func() time.Time, random io.Reader) *Client {
	if now == nil {
		now = time.Now
	}
	if random == nil {
		random = rand.Reader
	}
	return &Client{initiator: initiator{ticket: t}, qualities: q, now: now, random: random}
}

// Start returns the first message.
func (c *Client) Start() ([]byte, error) { return c.initiator.request(c.now(), c.random) }

// Respond answers a challenge of the server. The first must prove the server's identity.
func (c *Client) Respond(challenge []byte) ([]byte, error) {
	if c.complete {
		return nil, refused("SASL authentication already complete", nil)
	}
	if c.context == nil {
		context, err := c.initiator.establish(challenge)
		if err != nil {
			return nil, refused("GSS initiate failed", err)
		}
		c.context = context
		return []byte{}, nil
	}
	layer, _, err := c.context.Unwrap(challenge)
	if err != nil || len(layer) != layerBytes {
		return nil, refused("Final handshake failed", err)
	}
	number := binary.BigEndian.Uint32(layer)
	room := int(number & 0xffffff)
	q, ok := c.qualities.Preferred(sasl.Quality(number >> 24))
	if !ok || q != sasl.Authentication && room < leastRoom {
		return nil, refused("No common protection layer between client and server", nil)
	}
	ours := uint32(buffer)
	if q == sasl.Authentication {
		ours = 0
	}
	answer, err := c.context.Wrap(binary.BigEndian.AppendUint32(nil, uint32(q)<<24|ours), false)
	if err != nil {
		return nil, refused("Final handshake failed", err)
	}
	c.complete, c.protection = true, protect(c.context, q, room)
	return answer, nil
}

// Complete reports whether the client has sent its last message.
func (c *Client) Complete() bool { return c.complete }

// Protection returns what protects the data that follows, nil if the quality is Authentication. Call it once the exchange is complete.
func (c *Client) Protection() sasl.Protection { return c.protection }

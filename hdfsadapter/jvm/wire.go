package jvm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds of a request and of a reply, bytes; java/Wire.java has the first, too. Calls of ApplicationMasters, which bring the data of applications, are
// shorter by default (ipc.maximum.data.length).
const (
	MaxRequest = 80 << 20
	MaxReply   = 4 << 20
)

// Message composes the body of a request or reply.
type Message struct{ B []byte }

func (m *Message) Octet(v byte) *Message { m.B = append(m.B, v); return m }

func (m *Message) Flag(v bool) *Message {
	if v {
		return m.Octet(1)
	}
	return m.Octet(0)
}

func (m *Message) Integer(v int32) *Message {
	m.B = binary.BigEndian.AppendUint32(m.B, uint32(v))
	return m
}

func (m *Message) Number(v int64) *Message {
	m.B = binary.BigEndian.AppendUint64(m.B, uint64(v))
	return m
}

// Bytes appends bytes; nil stays nil.
func (m *Message) Bytes(v []byte) *Message {
	if v == nil {
		return m.Integer(-1)
	}
	m.Integer(int32(len(v)))
	m.B = append(m.B, v...)
	return m
}

func (m *Message) Text(v string) *Message { return m.Bytes([]byte(v)) }

func (m *Message) Texts(list []string) *Message {
	m.Integer(int32(len(list)))
	for _, v := range list {
		m.Text(v)
	}
	return m
}

var errShort = errors.New("the reply ends too early")

// Fields reads what Message has written. After an error, which is kept, it returns zeros.
type Fields struct {
	B   []byte
	Err error
}

func (f *Fields) take(n int) []byte {
	if f.Err != nil || n < 0 || n > len(f.B) {
		f.Err = errShort
		return make([]byte, min(max(n, 0), 8))
	}
	v := f.B[:n]
	f.B = f.B[n:]
	return v
}

func (f *Fields) Octet() byte    { return f.take(1)[0] }
func (f *Fields) Integer() int32 { return int32(binary.BigEndian.Uint32(f.take(4))) }

func (f *Fields) Number() int64 { return int64(binary.BigEndian.Uint64(f.take(8))) }

func (f *Fields) Bytes() []byte {
	n := f.Integer()
	if f.Err != nil || n < 0 {
		return nil
	}
	return f.take(int(n))
}

func (f *Fields) Text() string { return string(f.Bytes()) }

// Refused is the error of a service, a file system, or the program that runs them: an exception with its causes. The JVM continues.
type Refused struct{ Text string }

func (r *Refused) Error() string { return r.Text }

// decodeReply returns the number of the request that a reply's body answers, and the results or a *Refused.
func decodeReply(body []byte) (id int32, results []byte, err error) {
	f := Fields{B: body}
	id = f.Integer()
	failed := f.Octet()
	switch {
	case f.Err != nil:
		return 0, nil, f.Err
	case failed == 0:
		return id, f.B, nil
	}
	text := f.Text()
	if f.Err != nil {
		return 0, nil, f.Err
	}
	return id, nil, &Refused{text}
}

// writeRequest sends a request.
func writeRequest(w io.Writer, id int32, op byte, args []byte) error {
	if len(args) > MaxRequest-5 {
		return &Refused{fmt.Sprintf("%d bytes are too many for a call; %d are allowed", len(args), MaxRequest-5)}
	}
	var head Message
	head.Integer(int32(5 + len(args))).Integer(id).Octet(op)
	if _, err := w.Write(head.B); err != nil {
		return err
	}
	_, err := w.Write(args)
	return err
}

// readReply reads the body of a reply.
func readReply(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > math.MaxInt32 || n > MaxReply {
		return nil, fmt.Errorf("a reply of %d bytes; %d are allowed", n, MaxReply)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

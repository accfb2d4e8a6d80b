package javahost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Operations, as in java/Services.java.
const (
	opHello byte = iota + 1
	opInit
	opStart
	opApplicationInit
	opApplicationStop
	opContainerInit
	opContainerStop
	opDirs
	opQuit
)

// maxRequest bounds a request, bytes; java/Wire.java has the same number. Calls of ApplicationMasters, which bring the data of applications, are
// shorter by default (ipc.maximum.data.length).
const maxRequest = 80 << 20

// maxReply bounds a reply, bytes: what services have for applications, or an error.
const maxReply = 4 << 20

// maxServices bounds the services that a reply may name.
const maxServices = 1000

// message composes the body of a request or reply.
type message struct{ b []byte }

func (m *message) octet(v byte) *message { m.b = append(m.b, v); return m }
func (m *message) integer(v int32) *message {
	m.b = binary.BigEndian.AppendUint32(m.b, uint32(v))
	return m
}

func (m *message) number(v int64) *message {
	m.b = binary.BigEndian.AppendUint64(m.b, uint64(v))
	return m
}

// bytes appends bytes; nil stays nil.
func (m *message) bytes(v []byte) *message {
	if v == nil {
		return m.integer(-1)
	}
	m.integer(int32(len(v)))
	m.b = append(m.b, v...)
	return m
}

func (m *message) text(v string) *message { return m.bytes([]byte(v)) }

func (m *message) texts(list []string) *message {
	m.integer(int32(len(list)))
	for _, v := range list {
		m.text(v)
	}
	return m
}

var errShort = errors.New("the reply ends too early")

// fields reads what message has written. After an error, which is kept, it returns zeros.
type fields struct {
	b   []byte
	err error
}

func (f *fields) take(n int) []byte {
	if f.err != nil || n < 0 || n > len(f.b) {
		f.err = errShort
		return make([]byte, min(max(n, 0), 8))
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) octet() byte    { return f.take(1)[0] }
func (f *fields) integer() int32 { return int32(binary.BigEndian.Uint32(f.take(4))) }

func (f *fields) number() int64 { return int64(binary.BigEndian.Uint64(f.take(8))) }

func (f *fields) bytes() []byte {
	n := f.integer()
	if f.err != nil || n < 0 {
		return nil
	}
	return f.take(int(n))
}

func (f *fields) text() string { return string(f.bytes()) }

// Refused is the error of a service or of the program that runs it. The JVM goes on.
type Refused struct{ Text string }

func (r *Refused) Error() string { return r.Text }

// decodeReply returns the results in a reply's body to request id, or a *Refused.
func decodeReply(body []byte, id int32) ([]byte, error) {
	f := fields{b: body}
	got, failed := f.integer(), f.octet()
	switch {
	case f.err != nil:
		return nil, f.err
	case got != id:
		return nil, fmt.Errorf("a reply to request %d, not to %d", got, id)
	case failed == 0:
		return f.b, nil
	}
	text := f.text()
	if f.err != nil {
		return nil, f.err
	}
	return nil, &Refused{text}
}

// decodeStarted returns what services have for applications, by name; nil stands for nothing.
func decodeStarted(b []byte) (map[string][]byte, error) {
	f := fields{b: b}
	n := f.integer()
	if f.err != nil || n < 0 || n > maxServices {
		return nil, fmt.Errorf("a reply with %d services", n)
	}
	out := make(map[string][]byte)
	for range n {
		name := f.text()
		out[name] = f.bytes()
	}
	return out, f.err
}

// writeRequest sends a request.
func writeRequest(w io.Writer, id int32, op byte, args []byte) error {
	if len(args) > maxRequest-5 {
		return &Refused{fmt.Sprintf("%d bytes are too many for a call; %d are allowed", len(args), maxRequest-5)}
	}
	var head message
	head.integer(int32(5 + len(args))).integer(id).octet(op)
	if _, err := w.Write(head.b); err != nil {
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
	if n > math.MaxInt32 || n > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes; %d are allowed", n, maxReply)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

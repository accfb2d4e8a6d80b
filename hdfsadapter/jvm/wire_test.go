package jvm

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestReplies(t *testing.T) {
	var m Message
	m.Integer(5).Octet(0).Text("a").Bytes(nil).Bytes([]byte{1, 2})
	id, b, err := decodeReply(m.B)
	x := Fields{B: b}
	if text, none, some := x.Text(), x.Bytes(), x.Bytes(); err != nil || id != 5 || text != "a" || none != nil || !bytes.Equal(some, []byte{1, 2}) || x.Err != nil {
		t.Errorf("%d, %q, %v, %v, %v, %v", id, text, none, some, err, x.Err)
	}
	var refused *Refused
	if id, _, err := decodeReply(new(Message).Integer(5).Octet(1).Text("no").B); id != 5 || !errors.As(err, &refused) || refused.Text != "no" {
		t.Error(err)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	if _, err := readReply(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff})); err == nil || !strings.Contains(err.Error(), "are allowed") {
		t.Error(err)
	}
	var out bytes.Buffer
	var refused *Refused
	if err := writeRequest(&out, 1, 1, make([]byte, MaxRequest)); !errors.As(err, &refused) || out.Len() > 0 {
		t.Error(err, out.Len())
	}
}

func FuzzReply(f *testing.F) {
	f.Add(new(Message).Integer(1).Octet(0).Integer(1).Text("spark_shuffle").Bytes(nil).B)
	f.Add(new(Message).Integer(1).Octet(1).Text("java.io.IOException: x").B)
	f.Fuzz(func(t *testing.T, b []byte) {
		if body, err := readReply(bytes.NewReader(b)); err == nil && len(body) > MaxReply {
			t.Fatal(len(body))
		}
		if _, rest, err := decodeReply(b); err == nil && len(rest) > len(b) {
			t.Fatal(len(rest))
		}
	})
}

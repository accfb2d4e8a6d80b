package raft

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Whatever a caller says first, it is refused, or a greeting that says the same again.
func FuzzGreeting(f *testing.F) {
	for _, seed := range []string{
		`heddle-raft 2 {"cluster":"test","group":"g","from":"rm2","to":"rm1","ask":true}`,
		`heddle-raft 2 {}`, `heddle-raft 2 null`, `heddle-raft 2 {"cluster":`, "heddle-raft 1 test rm2", "heddle-raft 1 test", "GET / HTTP/1.1", "",
		`heddle-raft 2 {"cluster":"` + strings.Repeat("x", maxHello) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	me := greeting{Cluster: "test", Group: "g", From: "rm1"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		line, err := readLine(bytes.NewReader(append(raw, '\n')), maxHello)
		if err != nil {
			if len(raw) <= maxHello {
				t.Fatalf("%q is no line: %v", raw, err)
			}
			return
		}
		g, err := parseGreeting(line)
		if err != nil {
			return
		}
		if err := g.check(me); err == nil && (g.Cluster != "test" || g.From == "rm1" || g.Group != "" && g.Group != "g") {
			t.Errorf("%+v passes", g)
		}
		if g.old {
			return
		}
		again, err := g.line()
		if err != nil {
			return // longer than it came, as JSON escapes some characters
		}
		if back, err := parseGreeting(bytes.TrimSuffix(again, []byte("\n"))); err != nil || back != g {
			t.Errorf("%+v comes back as %+v, %v", g, back, err)
		}
	})
}

func FuzzWelcome(f *testing.F) {
	f.Add([]byte(`{"from":"rm1","status":{"group":"g","empty":true,"last":7,"leader":"rm1","ids":["rm1"]}}`))
	f.Add([]byte(`{"from":"rm1","refused":"no"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := parseWelcome(raw)
		if err == nil && w.Refused != "" {
			t.Errorf("%q is a refusal, and taken for a welcome", raw)
		}
	})
}

// pipes is a stream of connections within this process.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return addr("pipe") }
func (p pipes) Dial(hraft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, net.ErrClosed
}

// Whatever a member sends, decoding it neither panics nor hangs: each message is answered, or the connection ends.
func FuzzTransport(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{0, 0x80, 1, 0x80, 2, 0x80, 3, 0x80, 4, 0x80, 5, 0x80})
	f.Add([]byte("\x01\x83\xa4Term\x07\xa9Candidate\xc4\x03rm2\xacLastLogIndex\x01"))
	f.Add([]byte("\x00\x81\xa7Entries\x91\x82\xa5Index\x01\xa4Data\xc4\x02hi"))
	f.Add([]byte("\x02\x82\xa4Size\x05\xa4Term\x01abcde"))
	f.Add([]byte("\x00\xdf\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x81\xa7Entries\xdd\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x81\xa6Leader\xc6\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := pipes{make(chan net.Conn), make(chan struct{})}
		transport := hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{Stream: p, MaxPool: 1, Timeout: time.Second, Logger: newLogger(quiet())})
		answering := make(chan struct{})
		go func() {
			defer close(answering)
			for {
				select {
				case rpc := <-transport.Consumer():
					if rpc.Reader != nil {
						_, _ = io.Copy(io.Discard, rpc.Reader)
					}
					rpc.Respond(&hraft.AppendEntriesResponse{}, nil)
				case <-p.done:
					return
				}
			}
		}()
		here, there := net.Pipe()
		p.conns <- there
		go func() {
			_, _ = here.Write(raw)
			_ = here.Close()
		}()
		_, _ = io.Copy(io.Discard, here)
		_ = transport.Close()
		<-answering
	})
}

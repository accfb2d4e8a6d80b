package ipc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// costs checks how much the process allocates while f runs. What the fuzzer and earlier inputs' goroutines allocate in
// the meantime counts, too, so it is tried again before it is taken for f's.
func costs(t *testing.T, most uint64, f func()) {
	t.Helper()
	var grown uint64
	for range 5 {
		before := allocated()
		f()
		if grown = allocated() - before; grown <= most {
			return
		}
	}
	t.Errorf("%d bytes allocated, want at most %d", grown, most)
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watched tells when it has been closed.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func watch(c net.Conn) *watched { return &watched{Conn: c, closed: make(chan struct{})} }

func (w *watched) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// frame cuts b into packets, of the length that a byte in front gives, and gives them their right lengths, so that not
// every change of the input breaks the framing.
func frame(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		n := min(int(b[0]), len(b)-1)
		out = binary.BigEndian.AppendUint32(out, uint32(n))
		out = append(out, b[1:1+n]...)
		b = b[1+n:]
	}
	return out
}

// unframe is the inverse of frame for packets that are short enough.
func unframe(packets [][]byte) []byte {
	var out []byte
	for _, p := range packets {
		if len(p) >= 4 && len(p)-4 < 256 {
			out = append(append(out, byte(len(p)-4)), p[4:]...)
		}
	}
	return out
}

// Whatever a client sends, the server must not panic, hang, or allocate much more than it was sent.
func FuzzServerConnection(f *testing.F) {
	seeds := append(loadRecordings(f, "errors"), loadRecordings(f, "captures")...)
	for _, r := range seeds {
		var b bytes.Buffer
		var packets [][]byte
		for i, p := range r.packets {
			if p.client && b.Len() < 4<<10 {
				b.Write(p.raw)
				if i > 0 {
					packets = append(packets, p.raw)
				}
			}
		}
		f.Add(b.Bytes(), byte(0xff))
		if raw := r.packets[0].raw; len(raw) == 7 {
			f.Add(unframe(packets), raw[6])
		}
	}
	s, err := ipc.NewServer(ipc.ServerConfig{
		Auth: ipc.AuthSimpleOrToken, Secrets: nmSecrets{key: newKey(f)}, MaxDataLength: 1 << 20,
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range protocol.All() {
		if d.Protocol != protocol.MetaInfo && d.Name != protocol.GetQueueInfo.Name {
			s.Handle(d.Method, d.NewRequest, func(context.Context, proto.Message) (proto.Message, error) { return d.NewResponse(), nil })
		}
	}
	echo(s)
	l := make(pipeListener)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	f.Cleanup(func() {
		s.Close()
		close(l)
		<-done
	})
	// With an authentication byte that is none, the input is what is sent; otherwise it is packets behind a preamble.
	f.Fuzz(func(t *testing.T, b []byte, auth byte) {
		if auth != 0xff {
			b = append(preamble(auth), frame(b)...)
		}
		costs(t, uint64(4<<20+100*len(b)), func() {
			client, pipe := net.Pipe()
			server := watch(pipe)
			l <- server
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, client)
			}()
			if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Write(b); err != nil && err != io.ErrClosedPipe {
				t.Errorf("after %d bytes: %v", len(b), err)
			}
			_ = client.Close()
			<-read
			select {
			case <-server.closed:
			case <-time.After(time.Minute):
				t.Error("the server did not end the connection")
			}
		})
	})
}

// Whatever a server sends, a call through the client must end.
func FuzzClientConnection(f *testing.F) {
	seen := map[string]bool{} // many recordings begin with the same answers
	for _, r := range append(loadRecordings(f, "errors"), loadRecordings(f, "captures")...) {
		var b bytes.Buffer
		var packets [][]byte
		for _, p := range r.packets {
			if !p.client && b.Len() < 4<<10 {
				b.Write(p.raw)
				packets = append(packets, p.raw)
			}
		}
		if seen[b.String()] {
			continue
		}
		seen[b.String()] = true
		for _, withToken := range []bool{false, true} {
			f.Add(b.Bytes(), withToken, false)
			f.Add(unframe(packets), withToken, true)
		}
	}
	tok := nmToken(newKey(f))
	f.Fuzz(func(t *testing.T, b []byte, withToken, framed bool) {
		if framed {
			b = frame(b)
		}
		costs(t, uint64(4<<20+200*len(b)), func() {
			c := ipc.NewClient(ipc.ClientConfig{
				Dial: func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, server) }()
					go func() {
						_, _ = server.Write(b)
						_ = server.Close()
					}()
					return client, nil
				},
			})
			defer c.Close()
			who := ipc.Identity{User: "u"}
			if withToken {
				who.Token = tok
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			e := c.Endpoint("fuzz:1", protocol.ApplicationClient, who)
			for range 2 {
				_, _ = protocol.GetApplicationReport.Call(ctx, e, &pb.GetApplicationReportRequest{})
			}
			if ctx.Err() != nil {
				t.Error("calls did not end")
			}
		})
	})
}

package ipc_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// pipeListener accepts what is put into it.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// Whatever a client sends, the server must not panic, hang, or allocate much more than it was sent.
func FuzzServerConnection(f *testing.F) {
	seeds := append(loadRecordings(f, "errors"), loadRecordings(f, "captures")...)
	for _, r := range seeds {
		var b bytes.Buffer
		for _, p := range r.packets {
			if p.client && b.Len() < 4<<10 {
				b.Write(p.raw)
			}
		}
		f.Add(b.Bytes())
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
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocated()
		client, server := net.Pipe()
		l <- server
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, client)
		}()
		if err := client.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(b); err != nil && err != io.ErrClosedPipe {
			t.Errorf("after %d bytes: %v", len(b), err)
		}
		_ = client.Close()
		<-read
		eventually(t, "the connection ends", func() bool { return s.Connections() == 0 })
		if grown := allocated() - before; grown > uint64(4<<20+100*len(b)) {
			t.Errorf("%d bytes allocated for %d that were sent", grown, len(b))
		}
	})
}

// Whatever a server sends, a call through the client must end.
func FuzzClientConnection(f *testing.F) {
	for _, r := range append(loadRecordings(f, "errors"), loadRecordings(f, "captures")...) {
		var b bytes.Buffer
		for _, p := range r.packets {
			if !p.client && b.Len() < 4<<10 {
				b.Write(p.raw)
			}
		}
		f.Add(b.Bytes(), false)
		f.Add(b.Bytes(), true)
	}
	tok := nmToken(newKey(f))
	f.Fuzz(func(t *testing.T, b []byte, withToken bool) {
		before := allocated()
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
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		e := c.Endpoint("fuzz:1", protocol.ApplicationClient, who)
		for range 2 {
			_, _ = protocol.GetApplicationReport.Call(ctx, e, &pb.GetApplicationReportRequest{})
		}
		if ctx.Err() != nil {
			t.Error("calls did not end")
		}
		if grown := allocated() - before; grown > uint64(4<<20+200*len(b)) {
			t.Errorf("%d bytes allocated for %d that were sent", grown, len(b))
		}
	})
}

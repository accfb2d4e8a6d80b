package ipc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// ended waits for the server to close the connection, with or without an answer.
func (c *rawConn) ended() {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c); isTimeout(err) {
		c.t.Error("the connection stays open")
	}
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// begun sends the begin of a packet of some length, as far as the server takes it.
func (c *rawConn) begun(length, sent int) {
	_, _ = c.Write(binary.BigEndian.AppendUint32(nil, uint32(length)))
	_, _ = c.Write(make([]byte, sent))
}

// Whoever has not said who he is sends small packets, and few.
func TestBigPacketsBeforeAuthentication(t *testing.T) {
	for name, play := range map[string]func(c *rawConn){
		"one of 127 MB": func(c *rawConn) { c.begun(127<<20, 1<<20) },
		"many small ones": func(c *rawConn) {
			ping := join(mustMarshal(t, header(-4)), make([]byte, 2<<10))
			for range 1000 {
				if _, err := c.Write(ping); err != nil {
					return
				}
			}
		},
		"SASL without an end": func(c *rawConn) {
			m := saslMessage(pb.RpcSasl_NEGOTIATE, bytes.Repeat([]byte("x"), 100<<10))
			_, _ = c.Write(saslPacket(t, m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, addr := serve(t, ipc.ServerConfig{}, echo)
			c := dialRaw(t, addr)
			auth := byte(0)
			if strings.HasPrefix(name, "SASL") {
				auth = 0xdf
			}
			c.send(preamble(auth))
			go play(c)
			c.ended()
			await.Until(t, "no connection", func() bool { return s.Connections() == 0 })
			if a := s.Activity(); a.Requests != 0 {
				t.Errorf("%d bytes are still held", a.Requests)
			}
		})
	}
}

// Requests that are never finished don't take more than the server's budget, and keep nobody from being served.
func TestUnfinishedRequestsTakeBoundedMemory(t *testing.T) {
	const size = 1 << 20
	s, addr := serve(t, ipc.ServerConfig{MaxDataLength: size, MaxRequests: 4 * size}, echo)
	for range 25 {
		c := established(t, addr)
		go c.begun(size, size-100)
	}
	await.Until(t, "connections end for want of memory", func() bool {
		a := s.Activity()
		if a.Requests > 4*size {
			t.Errorf("%d bytes are held", a.Requests)
		}
		return a.Requests > 2*size && a.Connections < 25
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "bob"})
	for _, n := range []int{1, size / 2} {
		if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask(strings.Repeat("x", n))); err != nil {
			t.Errorf("an honest request of %d bytes: %v", n, err)
		}
	}
}

// A request that has begun goes on coming, or its connection ends.
func TestSlowSenderOfABigRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dial := servePipes(t, ipc.ServerConfig{}, echo)
		slow, steady := dial(), dial()
		for _, c := range []*rawConn{slow, steady} {
			c.send(preamble(0), contextPacket(t, "alice"))
		}
		start := time.Now()
		slow.begun(2<<20, 100<<10)
		request := callPacket(t, 1, protocol.GetQueueInfo.Method, ask(strings.Repeat("x", 2<<20)))
		done := make(chan struct{})
		go func() { // takes longer than the timeout, but never stands still
			defer close(done)
			for piece := range slices.Chunk(request, 256<<10) {
				steady.send(piece)
				time.Sleep(30 * time.Second)
			}
		}()
		if p := slow.packet(); p != nil {
			t.Errorf("the slow one got %x", p)
		}
		within(t, start, time.Minute)
		if h, _ := steady.response(); h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
			t.Errorf("the steady one got %v", h)
		}
		<-done
		synctest.Wait()
		if a := s.Activity(); a.Requests != 0 || a.Replies != 0 {
			t.Errorf("bytes are still held: %+v", a)
		}
	})
}

// Many clients that don't read are disconnected when what waits for them is too much, and others are served.
func TestUnreadRepliesTakeBoundedMemory(t *testing.T) {
	const size = 8 << 20 // more than sockets take
	g := newGated(size)
	close(g.open)
	s, addr := serve(t, ipc.ServerConfig{MaxReplies: 4 * size, MaxQueuedReplies: 2 * size, WriteTimeout: time.Hour}, g.register)
	for range 10 {
		c := established(t, addr)
		for i := range 3 {
			c.send(callPacket(t, int32(i), protocol.GetQueueInfo.Method, ask("q")))
		}
	}
	await.Until(t, "clients that don't read are disconnected", func() bool {
		a := s.Activity()
		if a.Replies > 4*size {
			t.Errorf("%d bytes wait", a.Replies)
		}
		return g.begun.Load() >= 20 && a.Connections <= 4
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "bob"})
	if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask(shortReply)); err != nil {
		t.Errorf("a client that reads, and needs less than the others: %v", err)
	}
}

// Two bytes of a request may be a message that takes a hundred: what a request is in memory counts.
func TestRequestThatGrowsWhenItIsDecoded(t *testing.T) {
	_, addr := serve(t, ipc.ServerConfig{MaxDataLength: 8 << 20}, func(s *ipc.Server) {
		echo(s)
		s.Handle(protocol.Allocate.Method, func() proto.Message { return &pb.AllocateRequest{} }, nil)
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationMaster, ipc.Identity{User: "u"})
	asks := make([]*pb.ResourceRequest, 3<<20)
	for i := range asks {
		asks[i] = &pb.ResourceRequest{}
	}
	req := &pb.AllocateRequest{}
	req.SetAsk(asks)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := protocol.Allocate.Call(testContext(t), e, req)
	runtime.ReadMemStats(&after)
	if remote := (*ipc.RemoteError)(nil); !errors.As(err, &remote) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 100<<20 {
		t.Errorf("%d MB allocated", grown>>20)
	}
}

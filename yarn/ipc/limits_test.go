package ipc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// gated answers getQueueInfo once the test lets it, and counts the calls.
type gated struct {
	begun, running, most atomic.Int32
	open                 chan struct{}
	size                 int // of responses
}

// shortReply is the queue that gated says little of.
const shortReply = "short"

func newGated(size int) *gated { return &gated{open: make(chan struct{}), size: size} }

func (g *gated) register(s *ipc.Server) {
	protocol.GetQueueInfo.Serve(s, func(ctx context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
		g.begun.Add(1)
		n := g.running.Add(1)
		defer g.running.Add(-1)
		for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
		}
		select {
		case <-g.open:
			if req.GetQueueName() == shortReply {
				return queue("x"), nil
			}
			return queue(strings.Repeat("x", g.size)), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

func established(t testing.TB, addr string) *rawConn {
	t.Helper()
	c := dialRaw(t, addr)
	c.send(preamble(0), contextPacket(t, "alice"))
	return c
}

// A connection with too many calls under way isn't read any more until some are answered.
func TestCallsPerConnectionAreBounded(t *testing.T) {
	g := newGated(10)
	_, addr := serve(t, ipc.ServerConfig{MaxCallsPerConnection: 4}, g.register)
	c := established(t, addr)
	const calls = 50
	for i := range calls {
		c.send(callPacket(t, int32(i), protocol.GetQueueInfo.Method, ask("q")))
	}
	await.Until(t, "4 calls begin", func() bool { return g.begun.Load() == 4 })
	close(g.open)
	seen := map[uint32]bool{}
	for range calls {
		h, _ := c.response()
		if h.GetStatus() != pb.RpcResponseHeader_SUCCESS || seen[h.GetCallId()] {
			t.Errorf("got %v", h)
		}
		seen[h.GetCallId()] = true
	}
	if n := g.most.Load(); n > 4 {
		t.Errorf("%d calls ran at once", n)
	}
}

// A client that doesn't read its responses costs a bounded amount of memory, disturbs nobody, and is disconnected in
// the end.
func TestClientThatDoesNotRead(t *testing.T) {
	const size = 1 << 20
	g := newGated(size)
	close(g.open)
	_, addr := serve(t, ipc.ServerConfig{
		MaxQueuedReplies: 8 * size, MaxCallsPerConnection: 16, WriteTimeout: 3 * time.Second,
	}, g.register)
	slow := established(t, addr)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for i := int32(0); ; i++ {
			if _, err := slow.Write(callPacket(t, i, protocol.GetQueueInfo.Method, ask("q"))); err != nil {
				if isTimeout(err) {
					t.Error("the slow client stays connected")
				}
				return
			}
		}
	}()
	await.Until(t, "calls of the slow client", func() bool { return g.begun.Load() > 0 })
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "bob"})
	if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q")); err != nil {
		t.Errorf("another client: %v", err)
	}
	<-gone
	// What the sockets' buffers took, some 6 MB, and what was under way when they were full.
	if n := g.begun.Load(); n > 40 {
		t.Errorf("%d calls were carried out for a client that reads nothing", n)
	}
}

func TestClaimedLengthsAreNotAllocated(t *testing.T) {
	s, addr := serve(t, ipc.ServerConfig{}, echo)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const conns = 30
	for range conns {
		c := established(t, addr)
		c.send(binary.BigEndian.AppendUint32(nil, ipc.DefaultMaxDataLength), []byte("a few bytes"))
	}
	await.Until(t, "connections", func() bool { return s.Connections() == conns })
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 30<<20 {
		t.Errorf("%d MB allocated for %d connections that claim 128 MB each", grown>>20, conns)
	}
}

func TestLengthLimits(t *testing.T) {
	g := newGated(3 << 20)
	close(g.open)
	_, addr := serve(t, ipc.ServerConfig{MaxDataLength: 1 << 20}, func(s *ipc.Server) {
		g.register(s)
		protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
			return nil, nil
		})
	})
	ctx := testContext(t)
	e := newClient(t, ipc.ClientConfig{MaxResponseLength: 2 << 20}).
		Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	for name, n := range map[string]int{"request": 2 << 20, "response": 1} {
		_, err := protocol.GetQueueInfo.Call(ctx, e, ask(strings.Repeat("x", n)))
		c := (*ipc.ConnError)(nil)
		if !errors.As(err, &c) || !c.Sent {
			t.Errorf("too long a %s: got %v", name, err)
		}
		if _, err := protocol.GetClusterMetrics.Call(ctx, e, &pb.GetClusterMetricsRequest{}); err != nil {
			t.Errorf("after too long a %s: %v", name, err)
		}
	}
	roomy := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	resp, err := protocol.GetQueueInfo.Call(ctx, roomy, ask(strings.Repeat("x", 1<<20-500)))
	if err != nil || len(resp.GetQueueInfo().GetQueueName()) != 3<<20 {
		t.Errorf("within the limits: %v", err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	s, addr := serve(t, ipc.ServerConfig{MaxConnections: 2}, echo)
	a, b := established(t, addr), established(t, addr)
	await.Until(t, "2 connections", func() bool { return s.Connections() == 2 })
	if p := dialRaw(t, addr).packet(); p != nil {
		t.Errorf("a third client got %x", p)
	}
	_ = a.Close()
	await.Until(t, "1 connection", func() bool { return s.Connections() == 1 })
	c := established(t, addr)
	for _, c := range []*rawConn{b, c} {
		c.send(callPacket(t, 1, protocol.GetQueueInfo.Method, ask("q")))
		if h, _ := c.response(); h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
			t.Errorf("got %v", h)
		}
	}
}

// Shutdown lets calls finish that are under way, and their clients read the responses.
func TestShutdownFinishesCalls(t *testing.T) {
	g := newGated(100 << 10)
	s, addr := serve(t, ipc.ServerConfig{}, g.register)
	c := newClient(t, ipc.ClientConfig{})
	var wg sync.WaitGroup
	for i := range 20 {
		e := c.Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: fmt.Sprint(i % 3)})
		wg.Go(func() {
			resp, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
			if err != nil || len(resp.GetQueueInfo().GetQueueName()) != 100<<10 {
				t.Errorf("got %v", err)
			}
		})
	}
	await.Until(t, "20 calls begin", func() bool { return g.begun.Load() == 20 })
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(testContext(t)) }()
	await.Until(t, "no more connections", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	select {
	case err := <-down:
		t.Fatalf("Shutdown returned %v with calls under way", err)
	default:
	}
	close(g.open)
	wg.Wait()
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	g := newGated(1)
	s, addr := serve(t, ipc.ServerConfig{}, g.register)
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	failed := make(chan error, 1)
	go func() {
		_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
		failed <- err
	}()
	await.Until(t, "the call begins", func() bool { return g.begun.Load() == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
	if g.running.Load() != 0 {
		t.Error("the handler still runs")
	}
}

// The context of a call ends with its connection.
func TestHandlerLearnsThatTheClientIsGone(t *testing.T) {
	gone := make(chan struct{})
	cleaned := make(chan uint64, 1)
	_, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		protocol.GetQueueInfo.Serve(s, func(ctx context.Context, _ *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
			conn := ipc.CallFrom(ctx).Conn
			context.AfterFunc(conn.Context(), func() { cleaned <- conn.ID() })
			<-ctx.Done()
			close(gone)
			return nil, ctx.Err()
		})
	})
	c := established(t, addr)
	c.send(callPacket(t, 1, protocol.GetQueueInfo.Method, ask("q")))
	_ = c.Close()
	<-gone
	if id := <-cleaned; id == 0 {
		t.Error("connection without an id")
	}
}

func TestRegistrationMistakes(t *testing.T) {
	mistakes := map[string]func(s *ipc.Server){
		"method twice": func(s *ipc.Server) { echo(s); echo(s) },
		"two versions": func(s *ipc.Server) {
			echo(s)
			m := protocol.GetClusterMetrics.Method
			m.Protocol.Version = 2
			s.Handle(m, opaque, nil)
		},
	}
	for name, mistake := range mistakes {
		s, err := ipc.NewServer(ipc.ServerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			mistake(s)
		}()
	}
	if _, err := ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthToken}); err == nil {
		t.Error("a server without Secrets wants tokens")
	}
}

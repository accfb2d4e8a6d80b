package ipc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

func clusterMetrics(ctx context.Context, to ipc.Invoker) error {
	_, err := protocol.GetClusterMetrics.Call(ctx, to, &pb.GetClusterMetricsRequest{})
	return err
}

func TestCancelledCallLeavesTheConnectionUsable(t *testing.T) {
	g := newGated(1)
	s, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		g.register(s)
		protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
			return nil, nil
		})
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	ctx, cancel := context.WithCancel(testContext(t))
	failed := make(chan error, 1)
	go func() {
		_, err := protocol.GetQueueInfo.Call(ctx, e, ask("q"))
		failed <- err
	}()
	await.Until(t, "the call begins", func() bool { return g.begun.Load() == 1 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := clusterMetrics(testContext(t), e); err != nil {
		t.Error(err)
	}
	close(g.open) // now the response comes that nobody waits for
	for range 3 {
		if err := clusterMetrics(testContext(t), e); err != nil {
			t.Error(err)
		}
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if err := clusterMetrics(ctx, e); !errors.Is(err, context.Canceled) {
		t.Errorf("call with a context that is done: %v", err)
	}
}

func TestCallTimeout(t *testing.T) {
	g := newGated(1)
	s, addr := serve(t, ipc.ServerConfig{}, g.register)
	e := newClient(t, ipc.ClientConfig{CallTimeout: 50 * time.Millisecond}).
		Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
	c := (*ipc.ConnError)(nil)
	if !errors.Is(err, ipc.ErrCallTimeout) || !errors.As(err, &c) || !c.Sent {
		t.Errorf("got %v", err)
	}
	// Since the server said nothing at all, the connection is given up.
	await.Until(t, "no connection", func() bool { return s.Connections() == 0 })
}

func TestNobodyListens(t *testing.T) {
	addr := deadAddr(t)
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	err := clusterMetrics(testContext(t), e)
	c := (*ipc.ConnError)(nil)
	if !errors.As(err, &c) || c.Sent || c.Addr != addr || c.Method != "getClusterMetrics" {
		t.Errorf("got %v", err)
	}
}

func TestConnectTimeout(t *testing.T) {
	addr := fakeServer(t, func(c *rawConn) {
		_, _ = io.Copy(io.Discard, c) // takes the token and says nothing
	})
	c := newClient(t, ipc.ClientConfig{ConnectTimeout: 50 * time.Millisecond})
	err := statuses(t, c, addr, ipc.Identity{Token: nmToken(newKey(t))})
	e := (*ipc.ConnError)(nil)
	if !errors.As(err, &e) || e.Sent || !errors.Is(err, ipc.ErrConnectTimeout) {
		t.Errorf("got %v", err)
	}
	dialer := ipc.ClientConfig{
		ConnectTimeout: 50 * time.Millisecond,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	if err := statuses(t, newClient(t, dialer), addr, ipc.Identity{User: "u"}); err == nil {
		t.Error("connected")
	}
	// A caller that has less patience leaves first.
	dialer.ConnectTimeout = time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	endpoint := newClient(t, dialer).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	if err := clusterMetrics(ctx, endpoint); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestServerThatGoesAway(t *testing.T) {
	var conns atomic.Int32
	addr := fakeServer(t, func(c *rawConn) {
		first := conns.Add(1) == 1
		for {
			h, _ := c.request()
			if h == nil || first {
				return
			}
			c.send(replyPacket(t, h, &pb.GetClusterMetricsResponse{}))
		}
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	err := clusterMetrics(testContext(t), e)
	c := (*ipc.ConnError)(nil)
	if !errors.As(err, &c) || !c.Sent || !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := clusterMetrics(testContext(t), e); err != nil {
			t.Errorf("on another connection: %v", err)
		}
	}
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestConnectionsByIdentity(t *testing.T) {
	key := newKey(t)
	s, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthSimpleOrToken, Secrets: nmSecrets{key: key}}, whoAmI(make(chan ipc.Call, 20)))
	c := newClient(t, ipc.ClientConfig{})
	for _, who := range []ipc.Identity{
		{User: "alice"}, {User: "bob"}, {User: "alice"}, {Token: nmToken(key)}, {Token: nmToken(key)},
	} {
		if err := statuses(t, c, addr, who); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	e := c.Endpoint(addr, protocol.ContainerManagement, ipc.Identity{User: "alice"})
	e.SetIdentity(ipc.Identity{User: "carol"})
	if _, err := protocol.GetContainerStatuses.Call(testContext(t), e, &pb.GetContainerStatusesRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := s.Connections(); n != 4 {
		t.Errorf("%d connections with another identity, want 4", n)
	}
}

func TestClosedClient(t *testing.T) {
	g := newGated(1)
	_, addr := serve(t, ipc.ServerConfig{}, g.register)
	c := ipc.NewClient(ipc.ClientConfig{})
	e := c.Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	failed := make(chan error, 1)
	go func() {
		_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
		failed <- err
	}()
	await.Until(t, "the call begins", func() bool { return g.begun.Load() == 1 })
	c.Close()
	if err := <-failed; !errors.Is(err, ipc.ErrClientClosed) {
		t.Errorf("call under way: %v", err)
	}
	if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q")); !errors.Is(err, ipc.ErrClientClosed) {
		t.Errorf("call after that: %v", err)
	}
	c.Close()
}

// Responses that make no sense end the connection, or the call if they concern just that, and nobody waits for ever.
func TestWrongResponses(t *testing.T) {
	other := func(h *pb.RpcRequestHeader) *pb.RpcRequestHeader {
		h = proto.CloneOf(h)
		h.SetClientId([]byte("somebody else's."))
		return h
	}
	fatal := func(h *pb.RpcRequestHeader, id int32) []byte {
		r := &pb.RpcResponseHeader{}
		r.SetCallId(uint32(id))
		r.SetStatus(pb.RpcResponseHeader_FATAL)
		r.SetExceptionClassName(ipc.RpcServerException)
		r.SetErrorMsg("enough\n\tat org.example")
		return join(mustMarshal(t, r))
	}
	standby := &pb.GetServiceStatusResponse{}
	standby.SetState(pb.HAServiceState_STANDBY)
	for name, c := range map[string]struct {
		answer func(h *pb.RpcRequestHeader) []byte
		class  string // of the RemoteError, or empty for a ConnError
	}{
		"other client":     {func(h *pb.RpcRequestHeader) []byte { return replyPacket(t, other(h), standby) }, ""},
		"length 0":         {func(*pb.RpcRequestHeader) []byte { return []byte{0, 0, 0, 0} }, ""},
		"negative length":  {func(*pb.RpcRequestHeader) []byte { return []byte{255, 255, 255, 255} }, ""},
		"garbage":          {func(*pb.RpcRequestHeader) []byte { return []byte{0, 0, 0, 3, 5, 255, 255} }, ""},
		"half a packet":    {func(*pb.RpcRequestHeader) []byte { return []byte{0, 0, 0, 3, 5} }, ""},
		"required field":   {func(h *pb.RpcRequestHeader) []byte { return join(mustMarshal(t, answerTo(h)), nil) }, ""},
		"no response":      {func(h *pb.RpcRequestHeader) []byte { return join(mustMarshal(t, answerTo(h))) }, ""},
		"fatal":            {func(h *pb.RpcRequestHeader) []byte { return fatal(h, h.GetCallId()) }, ipc.RpcServerException},
		"fatal for others": {func(h *pb.RpcRequestHeader) []byte { return fatal(h, -1) }, ipc.RpcServerException},
	} {
		t.Run(name, func(t *testing.T) {
			addr := fakeServer(t, func(conn *rawConn) {
				if h, _ := conn.request(); h != nil {
					conn.send(c.answer(h))
				}
			})
			e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.HAService, ipc.Identity{User: "u"})
			_, err := protocol.GetServiceStatus.Call(testContext(t), e, &pb.GetServiceStatusRequest{})
			r, ce := (*ipc.RemoteError)(nil), (*ipc.ConnError)(nil)
			switch {
			case c.class != "" && (!errors.As(err, &r) || r.Class != c.class || r.Message() != "enough" || !r.Fatal):
				t.Errorf("got %v, want %s", err, c.class)
			case c.class == "" && (!errors.As(err, &ce) || !ce.Sent):
				t.Errorf("got %v", err)
			}
		})
	}
}

func answerTo(h *pb.RpcRequestHeader) *pb.RpcResponseHeader {
	r := &pb.RpcResponseHeader{}
	r.SetCallId(uint32(h.GetCallId()))
	r.SetStatus(pb.RpcResponseHeader_SUCCESS)
	return r
}

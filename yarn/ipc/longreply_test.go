package ipc_test

import (
	"context"
	"sync"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// registerLong registers gated as a method with long replies, and a method with short ones.
func (g *gated) registerLong(s *ipc.Server) {
	g.register(s)
	s.MarkLong(protocol.GetQueueInfo.Method)
	protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
		m := &pb.YarnClusterMetrics{}
		m.SetNumNodeManagers(3)
		resp := &pb.GetClusterMetricsResponse{}
		resp.SetClusterMetrics(m)
		return resp, nil
	})
}

// Each of any number of clients had its list of all applications built at the same time: the memory for that had no bound.
func TestFewLongRepliesAreBuiltAtATime(t *testing.T) {
	const clients, calls = 20, 3
	g := newGated(10)
	_, addr := serve(t, ipc.ServerConfig{}, g.registerLong)
	conns := make([]*rawConn, clients)
	for i := range conns {
		conns[i] = established(t, addr)
		for id := range calls {
			conns[i].send(callPacket(t, int32(id), protocol.GetQueueInfo.Method, ask("q")))
		}
	}
	await.Until(t, "some calls run", func() bool { return g.running.Load() >= ipc.MaxLong })
	for _, c := range conns { // a short reply passes the long ones of its own connection and those of others
		c.send(callPacket(t, calls, protocol.GetClusterMetrics.Method, &pb.GetClusterMetricsRequest{}))
		if h, _ := c.response(); h.GetCallId() != calls {
			t.Errorf("reply to call %d", h.GetCallId())
		}
	}
	close(g.open)
	for _, c := range conns {
		for range calls {
			if h, _ := c.response(); h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
				t.Errorf("%v", h)
			}
		}
	}
	if n := g.most.Load(); n > ipc.MaxLong {
		t.Errorf("%d long replies were built at once, at most %d may be", n, ipc.MaxLong)
	}
}

// One client's calls for long replies take one turn, and leave the others to other clients.
func TestAConnectionHasOneLongReplyAtATime(t *testing.T) {
	g := newGated(10)
	_, addr := serve(t, ipc.ServerConfig{}, g.registerLong)
	greedy, modest := established(t, addr), established(t, addr)
	for id := range 2 * ipc.MaxLong {
		greedy.send(callPacket(t, int32(id), protocol.GetQueueInfo.Method, ask("q")))
	}
	await.Until(t, "a call of the first client", func() bool { return g.begun.Load() > 0 })
	modest.send(callPacket(t, 0, protocol.GetQueueInfo.Method, ask("q")))
	await.Until(t, "a call of the second client", func() bool { return g.begun.Load() > 1 })
	if n := g.begun.Load(); n != 2 {
		t.Errorf("%d calls run", n)
	}
	close(g.open)
	for range 2 * ipc.MaxLong {
		greedy.response()
	}
	modest.response()
}

// Clients that don't read their long replies keep no turn: others get theirs. And no further reply is built for them.
func TestReadersThatDoNotReadKeepNoTurn(t *testing.T) {
	const size, slow = 16 << 20, 2 * ipc.MaxLong // more than the buffers of sockets take
	g := newGated(size)
	close(g.open)
	_, addr := serve(t, ipc.ServerConfig{}, g.registerLong)
	for range slow {
		c := established(t, addr)
		for id := range 3 {
			c.send(callPacket(t, int32(id), protocol.GetQueueInfo.Method, ask("q")))
		}
	}
	await.Until(t, "a reply to each", func() bool { return g.begun.Load() >= slow })
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "bob"})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q")); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	if n := g.begun.Load(); n != slow+3 {
		t.Errorf("%d replies were built for %d clients that don't read and 3 that do", n, slow)
	}
}

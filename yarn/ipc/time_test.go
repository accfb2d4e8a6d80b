package ipc_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

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

// servePipes is serve without sockets, which would keep the time of a bubble from passing.
func servePipes(t *testing.T, cfg ipc.ServerConfig, register func(*ipc.Server)) (*ipc.Server, func() *rawConn) {
	t.Helper()
	s, err := ipc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	register(s)
	l := make(pipeListener)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		close(l)
		<-done
	})
	return s, func() *rawConn {
		client, server := net.Pipe()
		l <- server
		t.Cleanup(func() { _ = client.Close() })
		return &rawConn{client, t}
	}
}

// dialPipe is for clients in a bubble.
func dialPipe(dial func() *rawConn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return dial().Conn, nil }
}

// within checks how much time has passed, give or take a tick of the sweeper.
func within(t *testing.T, since time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(since); d < want || d > want+want/3 {
		t.Errorf("after %v, want %v", d, want)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(1)
		s, dial := servePipes(t, ipc.ServerConfig{}, g.register)
		idle, busy := dial(), dial()
		for _, c := range []*rawConn{idle, busy} {
			c.send(preamble(0), contextPacket(t, "alice"))
		}
		busy.send(callPacket(t, 1, protocol.GetQueueInfo.Method, ask("q")))
		start := time.Now()
		if p := idle.packet(); p != nil {
			t.Errorf("the idle client got %x", p)
		}
		within(t, start, 10*time.Minute)
		time.Sleep(time.Hour) // a connection with a call under way is not idle
		close(g.open)
		if h, _ := busy.response(); h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
			t.Errorf("got %v", h)
		}
		for range 30 { // nor is one with pings
			time.Sleep(time.Minute)
			busy.send(join(mustMarshal(t, header(-4))))
		}
		synctest.Wait()
		if n := s.Connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		start = time.Now()
		if p := busy.packet(); p != nil {
			t.Errorf("then came %x", p)
		}
		within(t, start, 10*time.Minute)
	})
}

func TestSilentClientsAreClosed(t *testing.T) {
	for name, sent := range map[string][]byte{"nothing": nil, "preamble": preamble(0), "half a preamble": []byte("hr")} {
		synctest.Test(t, func(t *testing.T) {
			_, dial := servePipes(t, ipc.ServerConfig{}, echo)
			c := dial()
			c.send(sent)
			start := time.Now()
			if p := c.packet(); p != nil {
				t.Errorf("%s: got %x", name, p)
			}
			within(t, start, 2*time.Minute)
		})
	}
}

// While it waits for a response a client sends pings, so that both sides notice if the other is gone.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newClient(t, ipc.ClientConfig{
			CallTimeout: -1, Dial: func(context.Context, string, string) (net.Conn, error) { return client, nil },
		})
		failed := make(chan error, 1)
		go func() {
			failed <- clusterMetrics(context.Background(), c.Endpoint("rm:1", protocol.ApplicationClient, ipc.Identity{User: "u"}))
		}()
		conn := &rawConn{server, t}
		call, _ := conn.request()
		for range 3 {
			start := time.Now()
			if h, _ := conn.request(); h.GetCallId() != -4 {
				t.Fatalf("instead of a ping came %v", h)
			}
			within(t, start, time.Minute)
		}
		conn.send(replyPacket(t, call, &pb.GetClusterMetricsResponse{}))
		if err := <-failed; err != nil {
			t.Error(err)
		}
		// Unused, the connection is not pinged but closed.
		start := time.Now()
		if h, _ := conn.request(); h != nil {
			t.Errorf("then came %v", h)
		}
		within(t, start, 10*time.Second)
	})
}

func TestUnusedConnectionIsClosedAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dial := servePipes(t, ipc.ServerConfig{}, echo)
		c := newClient(t, ipc.ClientConfig{Dial: dialPipe(dial)})
		e := c.Endpoint("rm:1", protocol.ApplicationClient, ipc.Identity{User: "u"})
		for range 3 {
			for range 20 { // used now and then it stays
				if _, err := protocol.GetQueueInfo.Call(context.Background(), e, ask("q")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
			if n := s.Connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			time.Sleep(15 * time.Second)
			if n := s.Connections(); n != 0 {
				t.Errorf("%d connections, want 0", n)
			}
		}
	})
}

func TestCallTimeoutIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, dial := servePipes(t, ipc.ServerConfig{}, newGated(1).register)
		c := newClient(t, ipc.ClientConfig{Dial: dialPipe(dial)})
		start := time.Now()
		_, err := protocol.GetQueueInfo.Call(context.Background(),
			c.Endpoint("rm:1", protocol.ApplicationClient, ipc.Identity{User: "u"}), ask("q"))
		if err == nil || time.Since(start) != 2*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

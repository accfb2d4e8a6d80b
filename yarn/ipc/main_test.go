package ipc_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// serve runs a server on a port of its own until the test ends, and returns its address. register adds the methods.
func serve(t testing.TB, cfg ipc.ServerConfig, register func(*ipc.Server)) (*ipc.Server, string) {
	t.Helper()
	s, err := ipc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if register != nil {
		register(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != ipc.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
	})
	return s, l.Addr().String()
}

// newClient returns a client that is closed when the test ends.
func newClient(t testing.TB, cfg ipc.ClientConfig) *ipc.Client {
	t.Helper()
	c := ipc.NewClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// testContext is done long before the test is given up.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

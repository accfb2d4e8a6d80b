package executor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// serve has an engine serve a peer until the context ends.
func serve(t *testing.T, ctx context.Context) (peer *wire.Conn) {
	t.Helper()
	here, there := net.Pipe()
	served := make(chan struct{})
	peer = wire.NewConn(here)
	e, c := engine(t), wire.NewConn(there)
	go func() {
		defer close(served)
		_ = Serve(ctx, c, wire.Hello{Slots: 1}, e)
		c.Close()
	}()
	t.Cleanup(func() {
		peer.Close()
		<-served
	})
	if m, err := peer.Receive(); err != nil {
		t.Fatal(m, err)
	}
	return peer
}

// end is what the executor says of its task's end, or why it says nothing.
func end(peer *wire.Conn) (*wire.Ended, error) {
	for {
		m, err := peer.Receive()
		if err != nil {
			return nil, err
		}
		if e, ok := m.(*wire.Ended); ok {
			return e, nil
		}
	}
}

func TestASignalIsReported(t *testing.T) {
	peer := serve(t, t.Context())
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGSEGV} {
		if err := peer.Send(&wire.Task{ID: 7, Args: []string{"sh", "-c", fmt.Sprintf("kill -%d $$", signal)}}); err != nil {
			t.Fatal(err)
		}
		if e, err := end(peer); err != nil || e.ID != 7 || e.Signal != uint64(signal) {
			t.Errorf("%v: %+v, %v", signal, e, err)
		}
	}
}

// A command that ends by the signal that ends its executor, and a moment earlier, hasn't ended: it runs again elsewhere.
func TestTheSignalThatEndsTheExecutor(t *testing.T) {
	old := farewell
	farewell = time.Hour
	t.Cleanup(func() { farewell = old })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	peer := serve(t, ctx)
	file := filepath.Join(t.TempDir(), "pid")
	if err := peer.Send(&wire.Task{ID: 7, Args: []string{"sh", "-c", "echo $$ > " + file + "; kill -TERM $$"}}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the command has ended", func() bool {
		b, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(b), "\n") {
			return false
		}
		var pid int
		if _, err := fmt.Sscan(string(b), &pid); err != nil {
			t.Fatal(err)
		}
		return syscall.Kill(pid, 0) == syscall.ESRCH // also reaped
	})
	cancel()
	if e, err := end(peer); err == nil {
		t.Errorf("it said %+v", e)
	}
}

package light

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// lightPair returns two ends of a TCP connection whose kernel takes little at a time.
func lightPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		t.Cleanup(func() { c.Close() })
		if err := c.(*net.TCPConn).SetWriteBuffer(4096); err != nil {
			t.Fatal(err)
		}
	}
	a, b = Conn(a), Conn(b)
	if _, ok := a.(*conn); !ok {
		t.Fatalf("%T", a)
	}
	return a, b
}

// Write waits until all is taken, Read until something comes, and an end is an end.
func TestALightConnectionCarriesEverything(t *testing.T) {
	a, b := lightPair(t)
	sent := bytes.Repeat([]byte("0123456789abcde"), 20_000)
	written := make(chan error, 1)
	go func() {
		n, err := a.Write(sent)
		if n != len(sent) {
			err = errors.Join(err, io.ErrShortWrite)
		}
		written <- errors.Join(err, a.Close())
	}()
	if n, err := b.Read(nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	got, err := io.ReadAll(struct{ io.Reader }{b})
	if err := errors.Join(err, <-written); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
	}
	if _, err := a.Write(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Deadlines end calls that wait.
func TestALightConnectionHasDeadlines(t *testing.T) {
	a, _ := lightPair(t)
	soon := time.Now().Add(20 * time.Millisecond)
	if err := a.SetDeadline(soon); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := a.Write(make([]byte, 64<<20)); n >= 64<<20 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
}

// The kernel's errors are passed on.
func TestALightConnectionThatIsReset(t *testing.T) {
	a, b := lightPair(t)
	if err := errors.Join(b.(*conn).SetLinger(0), b.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := a.Write([]byte{1}); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%d, %v", n, err)
	}
}

// What somebody did before a write is done for whoever has read it, for the race detector as well.
func TestALightConnectionOrders(t *testing.T) {
	a, b := lightPair(t)
	said := 0
	go func() {
		said = 1
		_, _ = a.Write([]byte{1})
	}()
	if _, err := b.Read(make([]byte, 1)); err != nil || said != 1 {
		t.Errorf("%v, %d", err, said)
	}
}

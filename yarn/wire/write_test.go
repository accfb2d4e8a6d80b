package wire

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Write and Send of several goroutines send each message once, those of one goroutine in their order. One that is too large doesn't keep others from being sent.
func TestWriteAndSend(t *testing.T) {
	secret := NewSecret()
	c, far, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 500
	big := make([]byte, 5000)
	var sending sync.WaitGroup
	for w := range uint64(writers) {
		sending.Go(func() {
			for i := uint64(0); i < each; i += 2 {
				a, b := &Output{ID: i, Stream: w, Data: big}, &Output{ID: i + 1, Stream: w}
				var err error
				if i%4 == 0 {
					_, err = c.Write(a, b)
				} else {
					err = errors.Join(c.Send(a), c.Send(b))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [writers]uint64
	for range writers * each {
		m, err := far.Receive()
		if err != nil {
			t.Fatal(err)
		}
		x := m.(*Output)
		if x.ID != next[x.Stream] {
			t.Fatalf("%d comes from %d, not %d", x.ID, x.Stream, next[x.Stream])
		}
		next[x.Stream]++
	}
	sending.Wait()
	if n, err := c.Write(&Cancel{ID: 1}, &Ended{Result: make([]byte, MaxFrame)}, &Cancel{ID: 2}); n != 1 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d were taken, %v", n, err)
	}
	if n, err := c.Write(&Cancel{ID: 3}); n != 1 || err != nil {
		t.Errorf("%d were taken, %v", n, err)
	}
	for _, id := range []uint64{1, 3} {
		if m, err := far.Receive(); err != nil || *m.(*Cancel) != (Cancel{ID: id}) {
			t.Errorf("%+v, %v", m, err)
		}
	}
	c.Close()
	if n, err := c.Write(&Cancel{}); n != 0 || err == nil {
		t.Errorf("%d were taken after the end", n)
	}
}

// addressed is a connection with addresses of its own.
type addressed struct {
	net.Conn
	ours, theirs net.Addr
}

func (a addressed) LocalAddr() net.Addr  { return a.ours }
func (a addressed) RemoteAddr() net.Addr { return a.theirs }

// A peer on this machine gets a ping each second, and any other one twenty. Both are noticed when they hang.
func TestPingsOfPeersOnThisMachine(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	for _, x := range []struct {
		theirs string
		pings  int64
	}{{"10.0.0.1", 9}, {"::ffff:10.0.0.1", 9}, {"10.0.0.2", 199}} {
		synctest.Test(t, func(t *testing.T) {
			ours, far := net.Pipe()
			var heard atomic.Int64
			go func() {
				for b := make([]byte, 1<<10); ; heard.Add(1) {
					if _, err := far.Read(b); err != nil {
						return
					}
				}
			}()
			c := NewConn(addressed{ours, at("10.0.0.1"), at(x.theirs)})
			time.Sleep(10*time.Second - time.Millisecond)
			if n := heard.Load(); n != x.pings {
				t.Errorf("%s: %d pings in 10 s", x.theirs, n)
			}
			began := time.Now()
			if _, err := c.Receive(); !errors.Is(err, ErrSilent) || time.Since(began) > Silence+time.Second {
				t.Errorf("%s: %v after %v", x.theirs, err, time.Since(began))
			}
			c.Close()
			far.Close()
		})
	}
}

package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"heddle/internal/cable"
)

// A cable that is pulled tells nobody. A hasty connection notices it, and another one later. Neither takes its peer for lost before.
func TestHastyConnectionsNoticeACutNetwork(t *testing.T) {
	const there = "10.231.78.2"
	address := net.JoinHostPort(there, "47117")
	secret := NewSecret()
	accepted, listens, end := make(chan *Conn, 2), make(chan error, 1), make(chan struct{})
	defer close(end)
	link, _ := cable.Lay(t, "heddle-wire", "10.231.78.1", there, func() error {
		l, err := net.Listen("tcp", address)
		if listens <- err; err != nil {
			return err
		}
		defer l.Close()
		a, err := NewAccepter(secret)
		if err != nil {
			return err
		}
		for range 2 {
			raw, err := l.Accept()
			if err != nil {
				return err
			}
			if c, _, err := a.Accept(context.Background(), raw); err == nil {
				accepted <- c
			}
		}
		if raw, err := l.Accept(); err == nil { // of one that hangs: its kernel acknowledges
			defer raw.Close()
		}
		<-end
		return nil
	})
	if err := <-listens; err != nil {
		t.Fatal(err)
	}
	type loss struct {
		err  error
		took time.Time
	}
	var lost [3]chan loss
	watch := func(i int, c *Conn) {
		lost[i] = make(chan loss, 1)
		go func() {
			_, err := c.Receive()
			lost[i] <- loss{err, time.Now()}
		}()
	}
	for i := range 2 {
		c, err := Dial(t.Context(), address, nil, secret)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		far := <-accepted
		defer far.Close()
		go func() {
			for _, err := far.Receive(); err == nil; _, err = far.Receive() {
			}
		}()
		if i == 0 {
			c.Hasty()
		}
		watch(i, c)
	}
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	hung := NewConn(raw)
	defer hung.Close()
	hung.Hasty()
	watch(2, hung)
	select { // the ends talk meanwhile
	case x := <-lost[0]:
		t.Fatalf("before the cut: %v", x.err)
	case x := <-lost[2]:
		t.Fatalf("one that hangs, before the cut: %v", x.err)
	case <-time.After(500 * time.Millisecond):
	}
	began := time.Now()
	link.Cut(t)
	for i, x := range lost {
		l := <-x
		if t.Logf("noticed %v after the cut", l.took.Sub(began)); !errors.Is(l.err, ErrLost) {
			t.Errorf("connection %d: %v", i, l.err)
		}
	}
}

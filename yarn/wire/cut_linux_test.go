package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/needs"
)

const (
	wireCable = "heddle-wire"
	wireHere  = "10.231.78.1"
	wireThere = "10.231.78.2"
	wirePort  = "47117"
)

// A cable that is pulled tells nobody. A hasty connection notices it, and another one later. Neither takes its peer for lost before.
func TestHastyConnectionsNoticeACutNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make networks")
	}
	ip := needs.Program(t, "ip")
	_ = exec.Command(ip, "link", "del", wireCable).Run()                       // a test that was killed may have left it
	t.Cleanup(func() { _ = exec.Command(ip, "link", "del", wireCable).Run() }) // sockets may keep it for a while
	runtime.LockOSThread()                                                     // whose network the cable leads to
	defer runtime.UnlockOSThread()
	home := fmt.Sprint(unix.Gettid())
	secret := NewSecret()
	accepted, made, end := make(chan *Conn, 2), make(chan error, 1), make(chan struct{})
	defer close(end)
	go func() {
		runtime.LockOSThread() // it isn't given back: the thread ends, and its network with it
		err := unix.Unshare(unix.CLONE_NEWNET)
		for _, args := range [][]string{
			{"link", "add", "there", "type", "veth", "peer", "name", wireCable, "netns", home},
			{"addr", "add", wireThere + "/30", "dev", "there"},
			{"link", "set", "there", "up"},
		} {
			if err == nil {
				var out []byte
				if out, err = exec.Command(ip, args...).CombinedOutput(); err != nil {
					err = fmt.Errorf("ip %q: %w: %s", args, err, out)
				}
			}
		}
		var l net.Listener
		if err == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(wireThere, wirePort))
		}
		if made <- err; err != nil {
			return
		}
		defer l.Close()
		a, err := NewAccepter(secret)
		if err != nil {
			return
		}
		for range 2 {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			if c, _, err := a.Accept(context.Background(), raw); err == nil {
				accepted <- c
			}
		}
		if raw, err := l.Accept(); err == nil { // of one that hangs: its kernel acknowledges
			defer raw.Close()
		}
		<-end
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"addr", "add", wireHere + "/30", "dev", wireCable}, {"link", "set", wireCable, "up"}} {
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %q: %v: %s", args, err, out)
		}
	}
	type loss struct {
		err  error
		took time.Time
	}
	var lost [3]chan loss
	address := net.JoinHostPort(wireThere, wirePort)
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
	if out, err := exec.Command(ip, "link", "set", wireCable, "down").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, x := range lost {
		l := <-x
		if t.Logf("noticed %v after the cut", l.took.Sub(began)); !errors.Is(l.err, ErrLost) {
			t.Errorf("connection %d: %v", i, l.err)
		}
	}
}

package connections

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
)

func quiet() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// dialer connects to a listener from addresses of its choice.
type dialer struct {
	t       *testing.T
	to      net.Listener
	waiting chan net.Conn
}

func listenOn(t *testing.T, c *Counter) *dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dialer{t, c.Listen(l, "a port"), make(chan net.Conn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := d.to.Accept()
			if err != nil {
				return
			}
			d.waiting <- c
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return d
}

// connect returns the listener's end of a new connection, nil if it was refused.
func (d *dialer) connect() net.Conn {
	d.t.Helper()
	c, err := net.Dial("tcp", d.to.Addr().String())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	closed := make(chan struct{})
	go func() {
		_, _ = c.Read(make([]byte, 1))
		close(closed)
	}()
	select {
	case accepted := <-d.waiting:
		return accepted
	case <-closed:
		return nil
	}
}

func TestConnectionsBeyondALimitAreClosed(t *testing.T) {
	for name, limits := range map[string]Limits{
		"all":      {All: 3, PerPort: 9, PerAddress: 9, Loopback: 9},
		"port":     {All: 9, PerPort: 3, PerAddress: 9, Loopback: 9},
		"loopback": {All: 9, PerPort: 9, PerAddress: 1, Loopback: 3},
	} {
		c := With(limits, quiet())
		d := listenOn(t, c)
		var open []net.Conn
		for range 3 {
			got := d.connect()
			if got == nil {
				t.Fatalf("%s: refused below the limit", name)
			}
			open = append(open, got)
		}
		if d.connect() != nil {
			t.Errorf("%s: one more is taken", name)
		}
		if err := open[0].Close(); err != nil {
			t.Error(err)
		}
		_ = open[0].Close() // which counts once
		got := d.connect()
		if got == nil {
			t.Fatalf("%s: refused although one is closed", name)
		}
		if d.connect() != nil {
			t.Errorf("%s: one more is taken", name)
		}
		for _, o := range append(open[1:], got) {
			_ = o.Close()
		}
		await.Until(t, "nothing is counted any more", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.all == 0 && len(c.from) == 0
		})
	}
}

func TestWhomConnectionsAreCountedFor(t *testing.T) {
	for from, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "2001:db8::1": "2001:db8::", "2001:db8::2": "2001:db8::", "::1": "::1",
	} {
		if got := origin(&net.TCPAddr{IP: net.ParseIP(from), Port: 7}); got.String() != want {
			t.Errorf("%s is counted for %s, not for %s", from, got, want)
		}
	}
	c := With(Limits{All: 9, PerPort: 9, PerAddress: 1, Loopback: 9}, quiet())
	l := &listener{}
	one, other := origin(&net.TCPAddr{IP: net.ParseIP("10.0.0.1")}), origin(&net.TCPAddr{IP: net.ParseIP("10.0.0.2")})
	if !c.enter(l, one) || c.enter(l, one) || !c.enter(l, other) {
		t.Error("an address keeps another out, or is not kept out")
	}
}

func TestLimitsLeaveDescriptors(t *testing.T) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := LimitsOf(c, 20000)
	if want := (Limits{All: 15000, PerPort: 11250, PerAddress: 4096, Loopback: 11250}); err != nil || got != want {
		t.Errorf("got %+v, want %+v (%v)", got, want, err)
	}
	// ten thousand nodes at one port, where there are as many descriptors as systemd gives
	if got, err = LimitsOf(c, 524288); err != nil || got.PerPort < 100000 {
		t.Errorf("%+v, %v", got, err)
	}
	c.Set(ReservedKey, "1024")
	if _, err = LimitsOf(c, 1024); err == nil || !strings.Contains(err.Error(), ReservedKey) {
		t.Errorf("unclear: %v", err)
	}
	if n, err := Descriptors(); err != nil || n < 1 {
		t.Errorf("%d descriptors, %v", n, err)
	}
}

// What net/http and shuffling do with a connection works on.
func TestConnectionsKeepTheirMethods(t *testing.T) {
	d := listenOn(t, With(Limits{All: 9, PerPort: 9, PerAddress: 9, Loopback: 9}, quiet()))
	c := d.connect()
	defer c.Close()
	if _, ok := c.(io.ReaderFrom); !ok {
		t.Error("files can't be sent without copying")
	}
	if w, ok := c.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil {
		t.Error("it can't be closed for writing")
	}
	if err := errors.Join(c.Close(), nil); err != nil {
		t.Error(err)
	}
}

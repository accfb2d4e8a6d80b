package kerberostest

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Slow is a way to a KDC that a test can block.
type Slow struct {
	// Conf is a krb5.conf that leads there.
	Conf string

	to    string
	ended chan struct{} // with the test

	mu      sync.Mutex
	silent  bool
	release chan struct{} // closed when requests that came in silence are passed on
	held    int
	delay   time.Duration
}

// Slow returns a way to the KDC, which ends with the test. It is open at first.
func (k *KDC) Slow(t testing.TB) *Slow {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Slow{
		Conf: filepath.Join(k.Dir, "slow.conf"), to: k.addr, release: make(chan struct{}),
		ended: make(chan struct{}),
	}
	text, err := os.ReadFile(k.Conf)
	if err == nil {
		err = os.WriteFile(s.Conf, []byte(strings.Replace(string(text), "kdc = "+k.addr, "kdc = "+l.Addr().String(), 1)),
			0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(s.ended)
		s.Silent(false)
		all.Wait()
	})
	return s
}

// Silent has the KDC take requests and answer none, or answer again, also those that came meanwhile.
func (s *Slow) Silent(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent && !is {
		close(s.release)
		s.release, s.held = make(chan struct{}), 0
	}
	s.silent = is
}

// Delay has the KDC take each request so much later.
func (s *Slow) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Held returns how many requests have got no answer since it is silent.
func (s *Slow) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// pass passes a connection on.
func (s *Slow) pass(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	silent, release, delay := s.silent, s.release, s.delay
	if silent {
		s.held++
	}
	s.mu.Unlock()
	if silent {
		<-release
	}
	late := time.NewTimer(delay)
	defer late.Stop()
	select {
	case <-late.C:
	case <-s.ended:
		return
	}
	kdc, err := net.Dial("tcp", s.to)
	if err != nil {
		return
	}
	defer kdc.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(kdc, c)
		_ = kdc.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, kdc)
	_ = c.Close()
	<-done
}

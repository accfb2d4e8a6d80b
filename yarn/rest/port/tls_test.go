package port_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/rest/port"
)

// certificate makes one that is valid for the time of a bubble.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), DNSNames: []string{"rm"}}
	raw, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// serveTLS serves by TLS, over pipes.
func serveTLS(t *testing.T, h http.HandlerFunc) (dial func() net.Conn) {
	s, l := port.New(h, port.MaxHeader, nil), make(pipes)
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{"http/1.1"}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		close(l)
		_ = s.Close()
		<-done
	})
	return func() net.Conn {
		client, server := net.Pipe()
		l <- server
		return client
	}
}

// Who connects and doesn't finish the handshake is sent away, as who sends no headers is.
func TestHandshakeThatDoesNotEndIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serveTLS(t, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
		for name, first := range map[string]string{"silent": "", "a part of a greeting": "\x16\x03\x01\x02\x00\x01"} {
			c, start := dial(), time.Now()
			send(t, c, first)
			_, _ = io.Copy(io.Discard, c)
			if d := time.Since(start); d < 20*time.Second || d > time.Minute {
				t.Errorf("%s: the connection ended after %v", name, d)
			}
		}
	})
}

// TLS changes nothing for a client that doesn't read its answer.
func TestClientThatDoesNotReadItsAnswerByTLSIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		dial := serveTLS(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 10<<20))
			failed <- err
		})
		c := tls.Client(dial(), &tls.Config{InsecureSkipVerify: true})
		start := time.Now()
		send(t, c, "GET / HTTP/1.1\r\nHost: rm\r\n\r\n")
		if err := <-failed; err == nil || time.Since(start) != time.Minute+5*time.Second { // which TLS has for its farewell
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		_ = c.NetConn().Close()
	})
}

// BenchmarkHandshake measures the cost of a new connection for server and client together, on one processor each.
func BenchmarkHandshake(b *testing.B) {
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate(b)}})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	for b.Loop() {
		c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

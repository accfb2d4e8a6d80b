package sharedsecret

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
)

// meet connects two processes, and returns what the server reads of what the client writes.
func meet(t *testing.T, server, client *tls.Config) (string, error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := Dial(client)(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			_, _ = c.Write([]byte("words"))
			_ = c.Close()
		}
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	return string(b), err
}

// Who has the same secret, for the same use, is understood; others aren't heard, and hear nothing.
func TestStrangers(t *testing.T) {
	of := func(secret, use string) *tls.Config {
		t.Helper()
		c, err := TLS([]byte(secret), use)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine := of("secret", "use")
	if got, err := meet(t, mine, of("secret", "use")); got != "words" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, other := range []*tls.Config{of("other", "use"), of("secret", "other use"), {InsecureSkipVerify: true}} {
		if got, err := meet(t, mine, other); got != "" || err == nil {
			t.Errorf("a stranger says %q, %v", got, err)
		}
	}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := tls.NewListener(raw, of("other", "use"))
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	if _, err := Dial(mine)(t.Context(), "tcp", raw.Addr().String()); !errors.Is(err, ErrStranger) {
		t.Errorf("a server that is a stranger: %v", err)
	}
}

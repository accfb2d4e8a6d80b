package negotiate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/spnego"
)

var entry = kerberostest.Entry{Principal: "HTTP/127.0.0.1@LAB.TEST", Version: 1, Cipher: 18, Key: bytes.Repeat([]byte{3}, 32)}

// tickets is a KDC of the tests.
type tickets struct {
	t     *testing.T
	given []string
}

func (k *tickets) Ticket(_ context.Context, service, host string) (kerberos.Ticket, error) {
	k.given = append(k.given, service+"/"+host)
	ticket, key := kerberostest.Ticket(k.t, entry, "alice@LAB.TEST", time.Now().Add(30*time.Minute))
	return kerberos.Ticket{Ticket: ticket, Key: key, Client: kerberostest.Name("alice"), Realm: "LAB.TEST"}, nil
}

// server asks for tickets, and counts the ones that come. proof changes its proof.
func server(t *testing.T, proof func([]byte) []byte) (url string, seen *int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	kerberostest.Write(t, path, []kerberostest.Entry{entry})
	keys, err := kerberos.OpenKeytab(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &kerberos.Acceptor{Keytab: keys, Replays: kerberos.NewReplays()}
	seen = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if c, err := r.Cookie("hadoop.auth"); err == nil && c.Value == "good" {
			_, _ = w.Write(append([]byte("cookie "), body...))
			return
		}
		b, ok, err := spnego.FromHeader(r.Header.Get("Authorization"))
		if !ok || err != nil {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			w.Header().Set("Set-Cookie", "hadoop.auth=; Path=/")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		*seen++
		request, err := spnego.Parse(b)
		if err != nil {
			t.Error(err)
		}
		c, reply, err := a.Accept(request.Token)
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := request.Answer(proof(reply))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("WWW-Authenticate", spnego.Header(answer))
		w.Header().Set("Set-Cookie", `hadoop.auth="good"; Path=/; HttpOnly`)
		_, _ = w.Write(append([]byte(c.Client+" "), body...))
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

func same(b []byte) []byte { return b }

// A server asks once; afterwards its cookie counts. Bodies are sent again.
func TestAServerThatAsksForTickets(t *testing.T) {
	url, seen := server(t, same)
	k := &tickets{t: t}
	c := http.Client{Transport: &Transport{Tickets: func() (Tickets, error) { return k, nil }}}
	for _, want := range []string{"alice@LAB.TEST body", "cookie body", "cookie body"} {
		resp, err := c.Post(url, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(b) != want {
			t.Errorf("%s, want %s", b, want)
		}
	}
	if *seen != 1 || strings.Join(k.given, " ") != "HTTP/127.0.0.1" {
		t.Errorf("%d tickets were sent, for %v", *seen, k.given)
	}
}

func TestServersThatArentProven(t *testing.T) {
	for name, proof := range map[string]func([]byte) []byte{
		"changed": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:20] },
	} {
		url, _ := server(t, proof)
		k := &tickets{t: t}
		c := http.Client{Transport: &Transport{Tickets: func() (Tickets, error) { return k, nil }}}
		if resp, err := c.Get(url); err == nil || !strings.Contains(err.Error(), "doesn't prove") {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	url, _ := server(t, same)
	c := http.Client{Transport: &Transport{Tickets: func() (Tickets, error) { return nil, errors.New("run kinit") }}}
	if _, err := c.Get(url); err == nil || !strings.Contains(err.Error(), "asks for a Kerberos ticket: run kinit") {
		t.Errorf("without a ticket: %v", err)
	}
}

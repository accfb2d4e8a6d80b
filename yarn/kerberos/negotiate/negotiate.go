// Package negotiate is HTTP for clients of servers that ask for Kerberos tickets (SPNEGO).
package negotiate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/spnego"
)

// Tickets gives tickets for services.
type Tickets interface {
	Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error)
}

// Transport sends requests, and answers servers that ask who sends them. It keeps their cookies, so that each is asked once. It is safe for concurrent use.
type Transport struct {
	// Next sends the requests; nil stands for http.DefaultTransport.
	Next http.RoundTripper
	// Tickets returns whose tickets prove it. It is called once a server asks.
	Tickets func() (Tickets, error)

	mu      sync.Mutex
	tickets Tickets
	cookies map[string]string // by host:port
}

const cookieName = "hadoop.auth"

// RoundTrip implements http.RoundTripper. Its errors say why there is no ticket.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.send(r, "")
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !asks(resp.Header) || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	_ = resp.Body.Close()
	tickets, err := t.who()
	if err != nil {
		return nil, fmt.Errorf("%s asks for a Kerberos ticket: %w", r.URL.Host, err)
	}
	ticket, err := tickets.Ticket(r.Context(), "HTTP", strings.ToLower(r.URL.Hostname()))
	if err != nil {
		return nil, fmt.Errorf("%s asks for a Kerberos ticket: %w", r.URL.Host, err)
	}
	token, exchange, err := kerberos.Request(ticket)
	if err == nil {
		token, err = spnego.New(token)
	}
	if err != nil {
		return nil, fmt.Errorf("the request of a ticket to %s: %w", r.URL.Host, err)
	}
	if r.GetBody != nil {
		again := r.Clone(r.Context())
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		r = again
	}
	t.keep(r.URL.Host, "") // the server didn't take it
	if resp, err = t.send(r, spnego.Header(token)); err != nil {
		return nil, err
	}
	if err := check(resp, exchange); err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s doesn't prove that it is the server: %w", r.URL.Host, err)
	}
	return resp, nil
}

// asks reports whether a server takes tickets.
func asks(h http.Header) bool {
	for _, v := range h.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(v, " "); strings.EqualFold(scheme, spnego.Scheme) {
			return true
		}
	}
	return false
}

// check checks the proof of a server that sends one. Some don't.
func check(resp *http.Response, exchange *kerberos.Exchange) error {
	b, ok, err := spnego.FromHeader(resp.Header.Get("WWW-Authenticate"))
	if err != nil || !ok || len(b) == 0 {
		return err
	}
	reply, err := spnego.ParseAnswer(b)
	if err != nil || len(reply) == 0 {
		return err
	}
	_, err = exchange.Establish(reply)
	return err
}

// who returns the owner of the tickets.
func (t *Transport) who() (Tickets, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tickets == nil {
		tickets, err := t.Tickets()
		if err != nil {
			return nil, err
		}
		t.tickets = tickets
	}
	return t.tickets, nil
}

// send sends a request with what is known of its server.
func (t *Transport) send(r *http.Request, authorization string) (*http.Response, error) {
	t.mu.Lock()
	cookie := t.cookies[r.URL.Host]
	t.mu.Unlock()
	if cookie != "" || authorization != "" {
		r = r.Clone(r.Context()) // a RoundTripper must not change its request
		if cookie != "" {
			r.Header.Add("Cookie", cookie)
		}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
	}
	next := t.Next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, v := range resp.Header.Values("Set-Cookie") {
		cookie, _, _ := strings.Cut(v, ";")
		if name, value, _ := strings.Cut(cookie, "="); name == cookieName && strings.Trim(value, `"`) != "" {
			t.keep(r.URL.Host, cookie)
		}
	}
	return resp, nil
}

func (t *Transport) keep(host, cookie string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cookies == nil {
		t.cookies = map[string]string{}
	}
	t.cookies[host] = cookie
}

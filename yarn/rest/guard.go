package rest

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Guard keeps a browser that shows other people's pages from acting for its user: pages whose host is made to mean this machine
// (DNS rebinding), and pages of other origins that have requests sent which change something.
type Guard struct {
	// Hosts are the names under which this server may be asked for, in lower case. Addresses, names of the loopback, and
	// names without a dot need not be listed: no stranger can make them mean another machine than they do.
	Hosts map[string]bool
	// AnyHost admits all names.
	AnyHost bool
	// Origins are other origins whose pages may change something, as the configuration of cross-origin requests has them.
	Origins func(origin string) bool
}

// Wrap refuses requests that come from other people's pages.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.knows(r.Host):
			ErrorPage(w, r, http.StatusMisdirectedRequest, "This server is not known by that name. heddle.http.allowed-hosts lists names that it has.")
		case g.foreign(r):
			ErrorPage(w, r, http.StatusForbidden, "A page of another origin may not change anything here")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a Host header names this server. Clients before HTTP/1.1 send none.
func (g *Guard) knows(host string) bool {
	if g.AnyHost || host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true // a page at an address is this server's own
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || !strings.Contains(name, ".") || g.Hosts[name]
}

// foreign reports whether a request that changes something comes from a page of another origin. Programs send neither of
// the headers, and browsers always one of them.
func (g *Guard) foreign(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return false
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
			return false
		}
		return g.Origins == nil || origin == "null" || !g.Origins(origin)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

// CSRF asks requests that change something for a header that only programs, and pages of this origin, can send (Hadoop:
// RestCsrfPreventionFilter).
type CSRF struct {
	Header  string
	Ignored map[string]bool // methods
	Browser func(userAgent string) bool
}

// Wrap refuses requests of browsers without the header.
func (c *CSRF) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Browser(r.UserAgent()) || c.Ignored[r.Method] || len(r.Header.Values(c.Header)) > 0 {
			next.ServeHTTP(w, r)
			return
		}
		ErrorPage(w, r, http.StatusBadRequest, "Missing Required Header for CSRF Vulnerability Protection")
	})
}

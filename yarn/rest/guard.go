package rest

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Guard protects users whose browsers show hostile pages. It stops pages whose host name was made to point to this
// machine (DNS rebinding), and pages of other origins that send requests which change something.
type Guard struct {
	// Hosts are the names of this server, in lower case. Addresses, names of the loopback, and names without a dot need
	// not be listed: a stranger can't make them point elsewhere.
	Hosts map[string]bool
	// AnyHost accepts all names.
	AnyHost bool
	// Origins accepts other origins whose pages may change something, by the configuration of cross-origin requests.
	Origins func(origin string) bool
}

// Wrap refuses requests from other people's pages.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.knows(r.Host):
			ErrorPage(w, r, http.StatusMisdirectedRequest, "This server does not have that name. Add it to heddle.http.allowed-hosts if it should.")
		case g.foreign(r):
			ErrorPage(w, r, http.StatusForbidden, "A page of another origin may not change anything here")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a Host header names this server. Clients before HTTP/1.1 send no such header.
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
		return true // only this server's pages have its address as host
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || !strings.Contains(name, ".") || g.Hosts[name]
}

// foreign reports whether a page of another origin sent a request that changes something. Programs send neither of the
// headers, browsers at least one of them.
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

// CSRF requires a header in requests that change something. Only programs and pages of this origin can send it (Hadoop:
// RestCsrfPreventionFilter).
type CSRF struct {
	Header  string
	Ignored map[string]bool // methods
	Browser func(userAgent string) bool
}

// Wrap refuses browsers' requests without the header.
func (c *CSRF) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Browser(r.UserAgent()) || c.Ignored[r.Method] || len(r.Header.Values(c.Header)) > 0 {
			next.ServeHTTP(w, r)
			return
		}
		ErrorPage(w, r, http.StatusBadRequest, "Missing Required Header for CSRF Vulnerability Protection")
	})
}

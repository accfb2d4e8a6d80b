package rest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
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
	// Unknown, if set, is called once for each name that is refused, for the first mostUnknown of them.
	Unknown func(host string)

	mu      sync.Mutex
	unknown map[string]bool // names that Unknown was called for
}

// mostUnknown bounds how many refused names are told: clients choose them.
const mostUnknown = 100

// tell calls Unknown for a name that wasn't refused before.
func (g *Guard) tell(host string) {
	if g.Unknown == nil {
		return
	}
	name := strings.ToLower(hostOf(host))
	g.mu.Lock()
	known := g.unknown[name] || len(g.unknown) >= mostUnknown
	if !known {
		if g.unknown == nil {
			g.unknown = map[string]bool{}
		}
		g.unknown[name] = true
	}
	g.mu.Unlock()
	if !known {
		g.Unknown(name)
	}
}

// hostOf returns the name or address in a Host header.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// Wrap refuses requests from other people's pages.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.knows(r.Host):
			g.tell(r.Host)
			ErrorPage(w, r, http.StatusMisdirectedRequest, "This server does not have that name. Add it to heddle.http.allowed-hosts if it should.")
		case g.foreign(r):
			ErrorPage(w, r, http.StatusForbidden, "A page of another origin may not change anything here")
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), guardKey{}, g)))
		}
	})
}

// guardKey is the key of a request's Guard in its context.
type guardKey struct{}

// proofs are headers that a page of another origin can't add to a request: the browser would ask this server first. The value doesn't matter.
var proofs = []string{"X-Requested-By", "X-XSRF-Header"}

// MayChange reports whether a request that changes something although it is a GET or a HEAD may do so. A handler asks this before it
// changes anything. Other people's pages can make their readers' browsers send such a request in many ways, and keep the browser from
// saying where it comes from. So a browser must say that it comes from this server: by Sec-Fetch-Site, which browsers send to servers
// with TLS and on their own machine; by Origin; or by Referer, which must be the same path, because pages of applications share the
// host with ours. Any program, and a page of this server, may send one of the headers in proofs instead.
func MayChange(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true // Wrap has judged it
	}
	for _, name := range proofs {
		if len(r.Header.Values(name)) > 0 {
			return true
		}
	}
	g, _ := r.Context().Value(guardKey{}).(*Guard)
	if g == nil {
		g = &Guard{}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		return g.friend(origin, r)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
	default:
		return false
	}
	if from := r.Referer(); from != "" {
		u, err := url.Parse(from)
		return err == nil && own(u, r) && u.Path == r.URL.Path
	}
	agent := r.UserAgent()
	return !strings.HasPrefix(agent, "Mozilla") && !strings.HasPrefix(agent, "Opera")
}

// UnaskedChange answers a request that MayChange refuses.
func UnaskedChange(w http.ResponseWriter, r *http.Request) {
	ErrorPage(w, r, http.StatusForbidden, "This request changes something, and the browser does not say that it comes from this server's own page. "+
		"Use a program such as curl, or add the header X-Requested-By")
}

// OfThisServer reports whether an address is on this server, as its clients address it.
func OfThisServer(u *url.URL, r *http.Request) bool { return own(u, r) }

// own reports whether an address is on this server, as its clients address it. The header of a proxy in front counts: a page
// can't have it sent.
func own(u *url.URL, r *http.Request) bool {
	return u.Host != "" && (strings.EqualFold(u.Host, r.Host) || strings.EqualFold(u.Host, r.Header.Get("X-Forwarded-Host")))
}

// friend reports whether pages of an origin may change something: this server's own pages, and those that the configuration lets.
func (g *Guard) friend(origin string, r *http.Request) bool {
	if u, err := url.Parse(origin); err == nil && own(u, r) {
		return true
	}
	return g.Origins != nil && origin != "null" && g.Origins(origin)
}

// knows reports whether a Host header names this server. Clients before HTTP/1.1 send no such header.
func (g *Guard) knows(host string) bool {
	if g.AnyHost || host == "" {
		return true
	}
	name := strings.ToLower(hostOf(host))
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
		return !g.friend(origin, r)
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

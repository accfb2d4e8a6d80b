package proxy

import (
	"context"
	"crypto/tls"
	"html"
	"net"
	"net/http"
	"net/url"
	"time"

	"heddle/yarn/proxyca"
	"heddle/yarn/rest"
)

// transport connects to ApplicationMasters.
func (p *Proxy) transport() *http.Transport {
	t := &http.Transport{
		DialContext:           p.dial,
		ResponseHeaderTimeout: 60 * time.Second,
		IdleConnTimeout:       30 * time.Second,
		DisableCompression:    true, // compressed answers pass unchanged
		// Go's limit of 10 MB for each request would be a lot of memory for many.
		MaxResponseHeaderBytes: 256 << 10,
	}
	if p.Authority != nil {
		t.DialTLSContext = p.dialTLS
	}
	return t
}

// handshakePatience bounds the time in which both ends show their certificates.
const handshakePatience = 10 * time.Second

// dialTLS connects to the pages of a request's application, and to no other's that listens there.
func (p *Proxy) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	to, _ := ctx.Value(reachKey{}).(reachable)
	authority, err := p.Authority()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	plain, err := p.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakePatience)
	defer cancel()
	c := tls.Client(plain, authority.Client(to.app, host))
	if err := c.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, err
	}
	return c, nil
}

// alone keeps a request from sharing its connection: it was made for one application, and the pool tells hosts and ports apart alone.
func (p *Proxy) alone(req *http.Request) {
	req.Close = p.Authority != nil && req.URL.Scheme == "https"
}

// insecure answers for pages that come by HTTP where the policy is STRICT (Hadoop: WebAppProxyServlet.checkHttpsStrictAndNotProvided).
func insecure(w http.ResponseWriter, to *url.URL) {
	rest.Page(w, http.StatusOK, "HTTPS must be used",
		`<p>`+proxyca.Key+` is set to STRICT, which means that the tracking URL must be an HTTPS URL, but it is not. The tracking URL is: `+html.EscapeString(to.String())+`</p>`)
}

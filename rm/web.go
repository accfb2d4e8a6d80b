package rm

import (
	"context"
	"errors"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/internal/listen"
	"heddle/yarn/rest/port"
)

func (r *ResourceManager) openWeb(o Options, p *prepared) error {
	if o.Web == nil {
		return nil
	}
	h, err := o.Web(r)
	if err != nil {
		return err
	}
	if b, ok := h.(interface{ Run(context.Context) }); ok {
		r.beside = b.Run
	}
	complaints := func(key string) *stdlog.Logger { return stdlog.New(debugLog{r.log.WithField("port", key)}, "", 0) }
	secured, err := ssl.Web(r.conf, r.log)
	if err != nil {
		return err
	}
	if r.ProxyApart() {
		r.proxyWeb = port.New(onlyProxy(h), p.maxHeader, complaints(ProxyAddress))
		r.proxyWeb.TLSConfig = secured
		h = r.sendToProxy(h)
	}
	r.web = port.New(h, p.maxHeader, complaints(WebAddress))
	r.web.TLSConfig = secured
	r.web.RegisterOnShutdown(r.Feed.Close) // its followers never end by themselves
	return nil
}

// ProxyApart reports whether the proxy to applications' pages has a port of its own. Those pages then have another origin than the
// cluster's.
func (r *ResourceManager) ProxyApart() bool {
	if r.conf.Text(ProxyAddress) == "" {
		return false
	}
	web, err := r.conf.RMAddress(webKey(r.conf), r.id)
	return err != nil || web.String() != r.conf.Address(ProxyAddress).String()
}

// onlyProxy serves only the proxy's part of a web port: applications' pages, and the path by which Hadoop's filters find the
// leading ResourceManager.
func onlyProxy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/isActive" && !strings.HasPrefix(req.URL.Path, "/proxy/") {
			http.NotFound(w, req)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// sendToProxy redirects requests for applications' pages from the web port to the proxy.
func (r *ResourceManager) sendToProxy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/proxy/") {
			h.ServeHTTP(w, req)
			return
		}
		http.Redirect(w, req, r.view.URL(r.proxyAddress())+req.URL.RequestURI(), http.StatusFound)
	})
}

// proxyAddress returns the address of the proxy to applications' pages.
func (r *ResourceManager) proxyAddress() string {
	if r.conf.Text(ProxyAddress) == "" {
		return r.webAddress()
	}
	a := r.conf.Connectable(r.conf.Address(ProxyAddress))
	if l := r.listeners[ProxyAddress]; l != nil {
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			a.Port = tcp.Port
		}
	}
	return a.String()
}

// listenForProxy opens the proxy's own port, if it has one on this machine; elsewhere another
// process serves it. Of several ResourceManagers on one machine the first one gets it.
func (r *ResourceManager) listenForProxy() error {
	if r.conf.Text(ProxyAddress) == "" {
		return nil
	}
	a := r.conf.Address(ProxyAddress)
	if web, err := r.conf.RMAddress(webKey(r.conf), r.id); err == nil && web.String() == a.String() {
		return nil
	}
	l, err := listen.TCP(a.String(), ProxyAddress)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		r.log.WithField("address", a.String()).Info("another process has the port of the proxy to applications' pages (yarn.web-proxy.address)")
		return nil
	case err != nil:
		return err
	}
	r.listeners[ProxyAddress] = r.counter.Listen(l, ProxyAddress)
	return nil
}

// debugLog logs net/http's messages about broken connections at level debug.
type debugLog struct{ *logrus.Entry }

func (l debugLog) Write(b []byte) (int, error) {
	l.Debug(strings.TrimSpace(string(b)))
	return len(b), nil
}

// webKey returns the key of the web port's address.
func webKey(c *conf.Config) string { return conf.WebKey(c, "yarn.resourcemanager.") }

// webAddress returns the address for links: the configured host, and the port that is really listened on.
func (r *ResourceManager) webAddress() string {
	a, err := r.conf.RMAddress(webKey(r.conf), r.id)
	if err != nil {
		return r.Addr(WebAddress).String()
	}
	a = r.conf.Connectable(a)
	if tcp, ok := r.Addr(WebAddress).(*net.TCPAddr); ok {
		a.Port = tcp.Port
	}
	return a.String()
}

// WebHost returns the host of the web port as Kerberos knows it: that of the configured address, or this machine's.
func (r *ResourceManager) WebHost() string { return webHost(r.conf, r.id) }

func webHost(c *conf.Config, id string) string {
	a, err := c.RMAddress(webKey(c), id)
	if err != nil {
		return ""
	}
	return c.Connectable(a).Host
}

// WebAddressOf returns the address of a member's web port, host:port.
func (r *ResourceManager) WebAddressOf(id string) (string, error) {
	if id == r.id {
		return r.webAddress(), nil
	}
	a, err := r.conf.RMAddress(webKey(r.conf), id)
	if err != nil {
		return "", err
	}
	return r.conf.Connectable(a).String(), nil
}

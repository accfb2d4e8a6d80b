package ssl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"heddle/conf"
)

// Trust is whom web clients trust.
type Trust struct {
	base    *tls.Config
	roots   *x509.CertPool // nil: the machine's
	named   []*x509.Certificate
	compare func(host string) bool
}

// Client returns whom web clients trust: the truststore of ssl-client.xml, or the machine's authorities if there is none. Names are compared as
// hadoop.ssl.hostname.verifier says; a certificate without alternative names is taken by its common name, as by Java.
func Client(c *conf.Config) (*Trust, error) {
	t, err := trusting(c)
	if err != nil {
		return nil, err
	}
	name := c.Text(clientFile)
	with, err := c.With(name)
	switch {
	case c.Dir() == "", errors.Is(err, fs.ErrNotExist):
		with = c
	case err != nil:
		return nil, conf.ErrorAt(c, clientFile, fmt.Errorf("%s: %w", clientFile, readable(err)))
	}
	f := &file{c: with, name: name, prefix: client}
	if t.named, err = f.authorities(); err != nil {
		return nil, err
	}
	t.roots = pool(t.named)
	if f.c.Text(client+"keystore.location") == "" {
		return t, nil
	}
	t.base.Certificates, err = f.certificates()
	if err != nil && c.Bool(showAndAsk) {
		return nil, err
	}
	return t, nil // a certificate that this user can't read is not shown
}

// trusting returns a trust in the machine's authorities.
func trusting(c *conf.Config) (t *Trust, err error) {
	t = &Trust{base: &tls.Config{}}
	if t.base.MinVersion, t.base.MaxVersion, err = versions(c); err != nil {
		return nil, err
	}
	t.compare, err = comparison(c)
	return t, err
}

// Authorities returns the certificates of the truststore in PEM, for a process elsewhere that has no ssl-client.xml; nil if the machine's authorities count.
func (t *Trust) Authorities() (all []byte) {
	for _, c := range t.named {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return all
}

// Trusting returns the trust of a process without ssl-client.xml: in what Authorities has returned.
func Trusting(c *conf.Config, authorities []byte) (*Trust, error) {
	t, err := trusting(c)
	if err != nil || len(authorities) == 0 {
		return t, err
	}
	t.roots = x509.NewCertPool()
	if !t.roots.AppendCertsFromPEM(authorities) {
		return nil, errors.New("the authorities of web servers are no certificates in PEM")
	}
	return t, nil
}

// config returns the TLS of a connection to a host. Go's own comparison knows no common names.
func (t *Trust) config(host string) *tls.Config {
	c := t.base.Clone()
	c.ServerName, c.InsecureSkipVerify = host, true
	c.VerifyConnection = func(s tls.ConnectionState) error { return t.verify(s, host) }
	return c
}

// Transport returns Go's default transport with this trust.
func (t *Trust) Transport() *http.Transport {
	next := http.DefaultTransport.(*http.Transport).Clone()
	t.Use(next)
	return next
}

// Use has a transport trust so. It must not have dialled yet.
func (t *Trust) Use(next *http.Transport) {
	dial := next.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	next.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		c := tls.Client(raw, t.config(host))
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		return c, nil
	}
	next.TLSClientConfig = t.base.Clone() // through a proxy
	next.TLSClientConfig.InsecureSkipVerify = true
	next.TLSClientConfig.VerifyConnection = func(s tls.ConnectionState) error {
		if s.ServerName == "" {
			return errors.New("through a proxy servers are known by names alone, and not by addresses")
		}
		return t.verify(s, s.ServerName)
	}
}

const handshakeTimeout = 20 * time.Second

// comparison returns whether the name of a server must be compared with its certificate.
func comparison(c *conf.Config) (func(host string) bool, error) {
	switch v := strings.ToUpper(strings.TrimSpace(c.Text(verifier))); v {
	case "DEFAULT", "STRICT", "STRICT_IE6", "":
		return func(string) bool { return true }, nil
	case "DEFAULT_AND_LOCALHOST":
		here := []string{"localhost", "localhost4", "localhost6", "localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6", "127.0.0.1", "::1"}
		return func(host string) bool { return !slices.Contains(here, strings.ToLower(host)) }, nil
	case "ALLOW_ALL":
		return func(string) bool { return false }, nil
	default:
		return nil, conf.ErrorAt(c, verifier, fmt.Errorf("%s is %q: want DEFAULT, DEFAULT_AND_LOCALHOST, STRICT, STRICT_IE6 or ALLOW_ALL", verifier, v))
	}
}

// verify checks the certificates of a server.
func (t *Trust) verify(s tls.ConnectionState, host string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server shows no certificate")
	}
	leaf := s.PeerCertificates[0]
	o := x509.VerifyOptions{Roots: t.roots, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(o); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
	}
	if !t.compare(host) {
		return nil
	}
	return isFor(leaf, host)
}

// isFor returns an error unless a certificate is for a host.
func isFor(leaf *x509.Certificate, host string) error {
	if len(leaf.DNSNames)+len(leaf.IPAddresses)+len(leaf.EmailAddresses)+len(leaf.URIs) > 0 {
		return leaf.VerifyHostname(host)
	}
	if commonName(leaf.Subject.CommonName, host) {
		return nil
	}
	return fmt.Errorf("the certificate is for %q, and not for %s", leaf.Subject.CommonName, host)
}

// commonName compares a name of a certificate, whose first label may be *, with a host.
func commonName(name, host string) bool {
	if rest, ok := strings.CutPrefix(name, "*."); ok && net.ParseIP(host) == nil {
		_, of, _ := strings.Cut(host, ".")
		return strings.Contains(rest, ".") && strings.EqualFold(rest, of)
	}
	return name != "" && strings.EqualFold(name, host)
}

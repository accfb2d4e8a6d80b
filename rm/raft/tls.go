package raft

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// ErrUnsafe says that raft would be open to strangers.
var ErrUnsafe = errors.New("raft reaches only with TLS: set heddle.cluster.secret-file on all ResourceManagers, and the witness, to a file with a common secret " +
	"(e.g. of: head -c 32 /dev/urandom | base64), or heddle.raft.tls.cert, .key and .ca to certificates that name the members' ids")

// CheckListener returns an error if other machines can connect to a listener without TLS.
func CheckListener(l net.Listener, conf *tls.Config) error { return CheckAddress(l.Addr(), conf) }

// CheckAddress does so for an address that isn't open yet.
func CheckAddress(a net.Addr, conf *tls.Config) error {
	if conf != nil || isLoopback(a) {
		return nil
	}
	return fmt.Errorf("%s is open to other machines, which %w; or set it to a loopback address if all ResourceManagers are on this machine", a, ErrUnsafe)
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// CertificateTLS makes members prove to each other that an authority has signed them. certificate returns this member's own, whose names must
// include its id.
func CertificateTLS(certificate func() (*tls.Certificate, error), authority *x509.CertPool) *tls.Config {
	return &tls.Config{
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate() },
		ClientCAs:              authority,
		RootCAs:                authority,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
	}
}

// clientTLS checks that the peer has a certificate of the authority for the id, or for any id if that is "". Members are identified by
// ids, not by the names of their machines.
func clientTLS(conf *tls.Config, id string) *tls.Config {
	c := conf.Clone()
	c.InsecureSkipVerify = true // VerifyConnection verifies instead
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the peer has no certificate")
		}
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: conf.RootCAs, Intermediates: between}); err != nil {
			return err
		}
		if id == "" {
			return nil
		}
		return names(s.PeerCertificates, id)
	}
	return c
}

// names checks that a certificate is a member's: the id must be among the DNS names or be the common name.
func names(chain []*x509.Certificate, id string) error {
	if len(chain) == 0 {
		return errors.New("the peer has no certificate")
	}
	cert := chain[0]
	if id != "" && (cert.Subject.CommonName == id || cert.VerifyHostname(id) == nil) {
		return nil
	}
	return fmt.Errorf("the certificate is that of %q (names %q), not of member %q: put the member's id into the certificate's names", cert.Subject.CommonName, cert.DNSNames, id)
}

// CheckCertificate returns an error if a certificate is not that of a member.
func CheckCertificate(cert *x509.Certificate, id string) error {
	return names([]*x509.Certificate{cert}, id)
}

// SeedBytes is the length of SecretTLS's seed.
const SeedBytes = ed25519.SeedSize

const (
	// certLife is how long a certificate derived from the secret is valid, before and after it was made. Clocks of members may
	// differ by as much.
	certLife = 30 * 24 * time.Hour
	// certAge is the age at which it is made again.
	certAge = 24 * time.Hour
)

// SecretTLS makes members prove to each other that they know a secret, and who they are. A seed of SeedBytes, derived from the
// secret, is the key of an authority. Each member signs a certificate for its own id with it.
func SecretTLS(seed []byte, id string) (*tls.Config, error) {
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "heddle raft"},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("the authority of the cluster's secret: %w", err)
	}
	authority, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("the authority of the cluster's secret: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	own := &ownCertificate{authority: authority, key: key, id: id}
	return CertificateTLS(own.get, pool), nil
}

// ownCertificate is a member's certificate, which it renews from time to time.
type ownCertificate struct {
	authority *x509.Certificate
	key       ed25519.PrivateKey
	id        string

	mu   sync.Mutex
	made time.Time
	cert *tls.Certificate
}

func (o *ownCertificate) get() (*tls.Certificate, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now().Round(0) // the wall clock, by which others judge it
	if age := now.Sub(o.made); o.cert != nil && age < certAge && age > -certAge {
		return o.cert, nil
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: o.id},
		NotBefore: now.Add(-certLife), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, o.authority, public, o.key)
	if err != nil {
		return nil, fmt.Errorf("a certificate for member %s: %w", o.id, err)
	}
	o.made, o.cert = now, &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}
	return o.cert, nil
}

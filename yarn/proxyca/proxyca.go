// Package proxyca is the authority by which a ResourceManager's proxy knows ApplicationMasters (Hadoop: ProxyCA). It makes a
// certificate for each ApplicationMaster that starts, and demands that of the application whose pages a user asks for. Its own key
// proves the proxy to ApplicationMasters that ask clients for a certificate.
package proxyca

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"heddle/yarn/records"
)

// Key is the setting by which clusters ask for certificates of ApplicationMasters.
const Key = "yarn.resourcemanager.application-https.policy"

// Values of Key.
const (
	None    = "NONE"    // no ApplicationMaster gets a certificate
	Off     = "OFF"     // the same
	Lenient = "LENIENT" // all get one, and needn't use it
	Strict  = "STRICT"  // the proxy fetches no page without
)

// Authority signs certificates of ApplicationMasters, and checks them. It is safe for concurrent use.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	own  tls.Certificate
}

// New makes an authority that is valid until 2037, as Hadoop's, or for ten years if that is longer. The secret is for Open.
func New(now time.Time) (secret []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	name := make([]byte, 16)
	if _, err := rand.Read(name); err != nil {
		return nil, err
	}
	end := time.Date(2037, 12, 31, 0, 0, 0, 0, time.UTC)
	if later := now.AddDate(10, 0, 0); later.After(end) {
		end = later
	}
	subject := pkix.Name{OrganizationalUnit: []string{"YARN-" + hex.EncodeToString(name)}}
	wanted := &x509.Certificate{
		Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, // its certificates can't vouch for further ones
	}
	cert, err := sign(wanted, wanted, key.Public(), key)
	if err != nil {
		return nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	secret = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	return append(secret, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...), nil
}

// Open returns the authority of a secret that New has made.
func Open(secret []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(secret, secret)
	if err != nil {
		return nil, fmt.Errorf("the authority for ApplicationMasters' certificates can't be read: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || pair.Leaf == nil || !pair.Leaf.IsCA {
		return nil, errors.New("the authority for ApplicationMasters' certificates has no certificate of an authority")
	}
	return &Authority{cert: pair.Leaf, key: key, own: pair}, nil
}

// Certificate returns the authority's own certificate in DER.
func (a *Authority) Certificate() []byte { return a.cert.Raw }

// sign makes a certificate with a random number of 64 bits.
func sign(wanted, issuer *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, err
	}
	wanted.SerialNumber = number.Add(number, big.NewInt(1)) // 0 is no number
	der, err := x509.CreateCertificate(rand.Reader, wanted, issuer, public, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// issue makes the key and the certificate of an application. As Hadoop's it ends as it begins: the proxy doesn't look at its time, and
// all others have one more reason not to take it.
func (a *Authority) issue(app records.ApplicationID, now time.Time) (crypto.Signer, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: app.String()}, NotBefore: now, NotAfter: now, BasicConstraintsValid: true,
	}, a.cert, key.Public(), a.key)
	return key, cert, err
}

// Client returns how the proxy connects to pages of an application at a host. The server shows the application's certificate of this
// authority, or one that the machine's authorities know and that is for the host.
func (a *Authority) Client(app records.ApplicationID, host string) *tls.Config {
	return &tls.Config{
		ServerName: host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify:   true, // VerifyConnection does it
		VerifyConnection:     func(s tls.ConnectionState) error { return a.verify(s.PeerCertificates, app, host) },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &a.own, nil },
	}
}

// verify checks a server's certificates.
func (a *Authority) verify(chain []*x509.Certificate, app records.ApplicationID, host string) error {
	if len(chain) == 0 {
		return errors.New("the server shows no certificate")
	}
	leaf := chain[0]
	if leaf.CheckSignatureFrom(a.cert) == nil {
		if name := leaf.Subject.String(); name != "CN="+app.String() {
			return fmt.Errorf("the certificate is that of %q", name)
		}
		return nil
	}
	others := x509.NewCertPool()
	for _, c := range chain[1:] {
		others.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Intermediates: others})
	return err
}

// Opened keeps the authority that was opened last. It is safe for concurrent use.
type Opened struct {
	mu     sync.Mutex
	secret []byte
	last   *Authority
}

// Open is Open, once for each secret.
func (o *Opened) Open(secret []byte) (*Authority, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != nil && bytes.Equal(secret, o.secret) {
		return o.last, nil
	}
	a, err := Open(secret)
	if err != nil {
		return nil, err
	}
	o.secret, o.last = bytes.Clone(secret), a
	return a, nil
}

// Package sharedsecret makes connections among processes that have a secret in common: TLS 1.3, on which both ends prove that they have it.
package sharedsecret

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"time"
)

// ErrStranger is wrapped by the error of a peer that doesn't have the secret.
var ErrStranger = errors.New("the other side doesn't have this application's secret")

// Name stands for the server in clients' greetings (SNI): its port may have TLS of other kinds as well.
const Name = "secret.heddle.invalid"

// TLS returns the settings of both ends. Their key is derived from the secret and from what it is used for. No other certificates count, nor do clocks.
func TLS(secret []byte, use string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, use, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
		ServerName:             Name,
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection does it: the holder of the key is the right peer
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 && public.Equal(s.PeerCertificates[0].PublicKey) {
				return nil
			}
			return ErrStranger
		},
	}, nil
}

// Dial returns a function that connects with these settings, for transports of HTTP.
func Dial(c *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&tls.Dialer{Config: c}).DialContext
}

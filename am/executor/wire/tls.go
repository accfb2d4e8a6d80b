package wire

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// SecretBytes is the length of an application's secret.
const SecretBytes = 32

// NewSecret returns a secret.
func NewSecret() []byte {
	b := make([]byte, SecretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}

// ErrStranger is wrapped by the error of a peer that doesn't have the application's secret.
var ErrStranger = errors.New("the other side doesn't have this application's secret")

// config makes both sides prove that they have the secret: their key is derived from it.
func config(secret []byte) (*tls.Config, error) {
	if len(secret) != SecretBytes {
		return nil, fmt.Errorf("the application's secret has %d bytes instead of %d", len(secret), SecretBytes)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "heddle executors", ed25519.SeedSize)
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
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection does it: who has the key is the right one
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 && public.Equal(s.PeerCertificates[0].PublicKey) {
				return nil
			}
			return ErrStranger
		},
	}, nil
}

// handshakes may take this long.
const handshakes = 10 * time.Second

// Dial connects to a pool.
func Dial(ctx context.Context, address string, secret []byte) (*Conn, error) {
	c, err := config(secret)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakes)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return greet(ctx, raw, tls.Client(raw, c))
}

// Accepter makes connections of those that a listener accepts.
type Accepter struct{ config *tls.Config }

// NewAccepter takes the application's secret.
func NewAccepter(secret []byte) (*Accepter, error) {
	c, err := config(secret)
	return &Accepter{c}, err
}

// Accept proves who is at the other end. It closes raw if that fails.
func (a *Accepter) Accept(ctx context.Context, raw net.Conn) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakes)
	defer cancel()
	return greet(ctx, raw, tls.Server(raw, a.config))
}

func greet(ctx context.Context, raw net.Conn, c *tls.Conn) (*Conn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		var alert tls.AlertError
		if errors.As(err, &alert) {
			err = fmt.Errorf("%w: %w", ErrStranger, err)
		}
		return nil, fmt.Errorf("%v: %w", raw.RemoteAddr(), err)
	}
	return NewConn(c), nil
}

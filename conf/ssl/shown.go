package ssl

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"heddle/conf"
)

// Shows reports whether clients of the shuffle show their certificates, and services ask for them (Hadoop: FileBasedKeyStoresFactory).
func Shows(c *conf.Config) bool { return c.Bool(showAndAsk) }

const (
	keyBlock         = "PRIVATE KEY"
	certificateBlock = "CERTIFICATE"
)

// Shown returns the certificates that t shows, in PEM, each after its private key, for a process elsewhere that has no ssl-client.xml; nil if it shows none.
func (t *Trust) Shown() ([]byte, error) {
	var all []byte
	for _, c := range t.base.Certificates {
		key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
		if err != nil {
			return nil, err
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key})...)
		for _, x := range c.Certificate {
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: x})...)
		}
	}
	return all, nil
}

// Show has t show what Shown has returned. It must not be in use yet. Errors don't quote the keys.
func (t *Trust) Show(shown []byte) error {
	for len(bytes.TrimSpace(shown)) > 0 {
		key, rest := pem.Decode(shown)
		if key == nil || key.Type != keyBlock {
			return errors.New("the certificates that web clients show don't begin with a private key in PEM")
		}
		chain := rest
		for block, after := pem.Decode(rest); block != nil && block.Type == certificateBlock; block, after = pem.Decode(rest) {
			rest = after
		}
		c, err := tls.X509KeyPair(chain[:len(chain)-len(rest)], pem.EncodeToMemory(key))
		if err != nil {
			return fmt.Errorf("the certificates that web clients show: %w", err)
		}
		t.base.Certificates = append(t.base.Certificates, c)
		shown = rest
	}
	return nil
}

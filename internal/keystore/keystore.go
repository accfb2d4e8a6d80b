// Package keystore reads the files in which Java keeps keys and certificates, JKS, JCEKS and PKCS#12, and writes JKS. As in Java, a file is known by its
// content and not by the configured type.
//
// JKS and JCEKS are read here: no kept library for Go has the second, in which Hadoop stores passwords, and both share a format (Java:
// sun.security.provider.JavaKeyStore, com.sun.crypto.provider.JceKeyStore). PKCS#12 is software.sslmate.com/src/go-pkcs12's.
package keystore

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// MaxSize is the largest file that callers should read, bytes. Java's own list of authorities has a tenth of it.
const MaxSize = 8 << 20

// Key is a private key with the certificates that say whose it is, its own one first.
type Key struct {
	Alias   string
	Private crypto.Signer
	Chain   []*x509.Certificate
}

// Certificate returns the key with its certificates, for TLS.
func (k *Key) Certificate() tls.Certificate {
	c := tls.Certificate{PrivateKey: k.Private}
	for _, x := range k.Chain {
		c.Certificate = append(c.Certificate, x.Raw)
	}
	if len(k.Chain) > 0 {
		c.Leaf = k.Chain[0]
	}
	return c
}

// Store holds the content of a file.
type Store struct {
	Keys    []Key
	Trusted []*x509.Certificate

	sealed      map[string]*object // secret keys of JCEKS by alias
	keyPassword string
}

// Secret returns the bytes of a secret key; ok is false if there is none with the alias, whose case doesn't matter, as in Java. It takes a
// twentieth of a second, since the format makes guessing passwords slow.
func (s *Store) Secret(alias string) (secret []byte, ok bool, err error) {
	o := s.sealed[strings.ToLower(alias)]
	if o == nil {
		return nil, false, nil
	}
	if secret, err = openSecret(o, s.keyPassword); err != nil {
		return nil, false, fmt.Errorf("the entry %q: %w", alias, err)
	}
	return secret, true, nil
}

// ErrPassword says that a password isn't that of a file or key, or that the file is damaged: nothing tells these apart.
var ErrPassword = errors.New("the password is wrong, or the file is damaged")

// Parse reads a file's bytes. Without a password JKS and JCEKS aren't checked, and only what is public is read, as in Java. Keys have
// keyPassword; "" is the file's own. Its errors are ErrPassword, or say what the file isn't.
func Parse(data []byte, password, keyPassword string) (*Store, error) {
	if keyPassword == "" {
		keyPassword = password
	}
	if len(data) < 4 {
		return nil, errors.New("this is no keystore: it is empty")
	}
	switch magic := binary.BigEndian.Uint32(data); {
	case magic == jksMagic || magic == jceksMagic:
		return parseJava(data, password, keyPassword)
	case data[0] == 0x30: // an ASN.1 sequence
		return parsePKCS12(data, password)
	case string(data[:4]) == "----":
		return nil, errors.New("this is PEM, and no keystore of Java's: put key and certificates into one (openssl pkcs12 -export)")
	}
	return nil, errors.New("this is no keystore of Java's: want JKS, JCEKS or PKCS12")
}

// parsePKCS12 reads a file with one key and its chain, or with certificates alone.
func parsePKCS12(data []byte, password string) (*Store, error) {
	if trusted, err := pkcs12.DecodeTrustStore(data, password); err == nil {
		return &Store{Trusted: trusted}, nil
	}
	private, own, others, err := pkcs12.DecodeChain(data, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, ErrPassword
	case err == nil:
		signer, ok := private.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("its key of type %T can't sign", private)
		}
		return &Store{Keys: []Key{{Private: signer, Chain: chain(own, others)}}}, nil
	}
	return nil, fmt.Errorf("this PKCS12 can't be read: %w; it must have one key with its certificates, or authorities that keytool has imported", err)
}

// chain orders certificates from the own one to the authority. A PKCS#12 file has them in any order.
func chain(own *x509.Certificate, others []*x509.Certificate) []*x509.Certificate {
	all := []*x509.Certificate{own}
	for range others {
		last := all[len(all)-1]
		for _, c := range others {
			if string(c.RawSubject) == string(last.RawIssuer) && string(c.Raw) != string(last.Raw) && last.CheckSignatureFrom(c) == nil {
				all = append(all, c)
				break
			}
		}
		if all[len(all)-1] == last {
			break
		}
	}
	return all
}

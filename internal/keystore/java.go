package keystore

import (
	"crypto"
	"crypto/sha1" //nolint:gosec // the format has no other
	"crypto/subtle"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

const (
	jksMagic   = 0xfeedfeed
	jceksMagic = 0xcececece
	whitener   = "Mighty Aphrodite" // both formats put this between a password and what it signs
	digestSize = sha1.Size
)

// Kinds of entries.
const (
	privateEntry = 1
	trustedEntry = 2
	secretEntry  = 3
)

// javaReader reads JKS and JCEKS.
type javaReader struct {
	stream
	password, keyPassword string
	version               uint32
	open                  bool // there is a password, so that keys are read
}

func parseJava(data []byte, password, keyPassword string) (*Store, error) {
	if len(data) < 12+digestSize {
		return nil, errShort
	}
	body, digest := data[:len(data)-digestSize], data[len(data)-digestSize:]
	if password != "" {
		if subtle.ConstantTimeCompare(fileDigest(password, body), digest) != 1 {
			return nil, ErrPassword
		}
	}
	r := &javaReader{stream: stream{rest: body[4:]}, password: password, keyPassword: keyPassword, open: password != ""}
	r.version = r.u32()
	if r.version != 1 && r.version != 2 {
		return nil, fmt.Errorf("this keystore has version %d; versions 1 and 2 are known", r.version)
	}
	s := &Store{sealed: map[string]*object{}, keyPassword: keyPassword}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.entry(s)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = errors.New("this keystore has bytes behind its entries")
	}
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}

// entry reads one entry into the store.
func (r *javaReader) entry(s *Store) {
	tag, alias := r.u32(), r.utf()
	r.take(8) // when it was made
	switch tag {
	case privateEntry:
		sealed := r.take(int(r.u32()))
		list := r.chain()
		if r.err != nil || !r.open {
			return
		}
		key, err := openKey(sealed, r.keyPassword)
		if err != nil {
			r.fail(fmt.Errorf("the key %q: %w", alias, err))
			return
		}
		s.Keys = append(s.Keys, Key{Alias: alias, Private: key, Chain: list})
	case trustedEntry:
		if c := r.certificate(); c != nil {
			s.Trusted = append(s.Trusted, c)
		}
	case secretEntry:
		sealed := r.object()
		if r.err != nil || !r.open {
			return
		}
		s.sealed[strings.ToLower(alias)] = sealed
	default:
		r.fail(fmt.Errorf("the entry %q is of the unknown kind %d", alias, tag))
	}
}

func (r *javaReader) chain() (list []*x509.Certificate) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if c := r.certificate(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// certificate returns nil for one that Go doesn't take, such as one with a negative serial number: it is of no use, and no reason to refuse the others.
func (r *javaReader) certificate() *x509.Certificate {
	if r.version == 2 {
		if kind := r.utf(); kind != "X.509" && r.err == nil {
			r.fail(fmt.Errorf("a certificate is of the unknown type %q", kind))
		}
	}
	der := r.take(int(r.u32()))
	if r.err != nil {
		return nil
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil
	}
	return c
}

// openKey decrypts a private key.
func openKey(sealed []byte, password string) (crypto.Signer, error) {
	plain, err := decryptKey(sealed, password)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T can't sign", key)
	}
	return signer, nil
}

// utf16Bytes are a password's characters, two bytes each.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, c := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, c)
	}
	return b
}

var errShort = errors.New("this keystore ends too early")

// stream reads what Java's DataOutputStream has written. After an error it returns zeros.
type stream struct {
	rest []byte
	err  error
}

func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *stream) take(n int) []byte {
	if s.err != nil || n < 0 || n > len(s.rest) {
		s.fail(errShort)
		return nil
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *stream) u8() byte {
	if b := s.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (s *stream) u16() uint16 {
	if b := s.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (s *stream) u32() uint32 {
	if b := s.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (s *stream) utf() string { return string(s.take(int(s.u16()))) }

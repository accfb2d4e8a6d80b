package sasl

import (
	"crypto/md5" // the mechanism's name says it
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strings"
	"unicode/utf8"
)

// Realm is the only realm, and also the name of the server in the digest-uri.
const Realm = "default"

const (
	digestURI = "/" + Realm
	firstUse  = "00000001" // nonces are never used twice
	qopAuth   = "auth"
	// maxMessage is the largest challenge or response that the JDK takes, in bytes. Ours have the same limit.
	maxChallenge = 2048
	maxResponse  = 4096
)

// Username returns the user name that stands for a token identifier.
func Username(identifier []byte) string { return base64.StdEncoding.EncodeToString(identifier) }

// Password returns the SASL password that stands for a token's password.
func Password(password []byte) string { return base64.StdEncoding.EncodeToString(password) }

// Identifier returns the inverse of Username. Like Java's decoder it accepts the URL-safe alphabet as well, ignores
// characters of neither alphabet, and stops at the padding.
func Identifier(username string) []byte {
	username, _, _ = strings.Cut(username, "=")
	clean := make([]byte, 0, len(username))
	for i := range len(username) {
		switch c := username[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
			clean = append(clean, c)
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		}
	}
	if len(clean)%4 == 1 { // six bits are no byte
		clean = clean[:len(clean)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(out, clean)
	if err != nil {
		return nil
	}
	return out[:n]
}

// newNonce returns 40 characters of Base64 from 30 random bytes.
func newNonce(random io.Reader) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [30]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b[:]), nil
}

// digest has everything that goes into a response's digest.
type digest struct {
	username, password   string
	realm, nonce, cnonce string
	nc, uri, qop         string
	authzid              []byte // nil if there is none

	cipher    string // of Privacy
	maxBuffer int    // the peer's, in bytes
}

// h1 is H(A1), from which the keys of protections come too.
func (d *digest) h1() [md5.Size]byte {
	var inner, a1 []byte
	inner = append(inner, latin1(d.username)...)
	inner = append(append(inner, ':'), latin1(d.realm)...)
	inner = append(append(inner, ':'), latin1(d.password)...)
	secret := md5.Sum(inner)
	a1 = append(a1, secret[:]...)
	a1 = append(append(a1, ':'), d.nonce...)
	a1 = append(append(a1, ':'), d.cnonce...)
	if d.authzid != nil {
		a1 = append(append(a1, ':'), d.authzid...)
	}
	return md5.Sum(a1)
}

// protection returns the protection of the connection, nil for Authentication.
func (d *digest) protection(client bool) Protection {
	q, _ := byQOP(d.qop)
	if q == Authentication {
		return nil
	}
	return newProtection(d.h1(), q, d.cipher, client, d.maxBuffer)
}

// sum returns the 32 hexadecimal digits of RFC 2831 §2.1.2.1. method is "AUTHENTICATE" from client to server, and empty
// from server to client.
func (d *digest) sum(method string) string {
	var kd []byte
	h1 := d.h1()
	a2 := method + ":" + d.uri
	if d.qop != qopAuth {
		a2 += ":00000000000000000000000000000000"
	}
	h2 := md5.Sum([]byte(a2))
	kd = hex.AppendEncode(kd, h1[:])
	kd = append(kd, ":"+strings.Join([]string{d.nonce, d.nc, d.cnonce, d.qop}, ":")+":"...)
	kd = hex.AppendEncode(kd, h2[:])
	sum := md5.Sum(kd)
	return hex.EncodeToString(sum[:])
}

// latin1 encodes s in ISO 8859-1 if all its characters exist there, and in UTF-8 otherwise, as RFC 2831 wants it.
func latin1(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff || c == utf8.RuneError {
			return []byte(s)
		}
		out = append(out, byte(c))
	}
	return out
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

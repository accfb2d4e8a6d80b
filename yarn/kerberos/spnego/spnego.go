// Package spnego packs and unpacks the tokens of SPNEGO (RFC 4178), by which web clients and servers agree on Kerberos. HTTP carries them in base64
// after the word Negotiate (RFC 4559).
package spnego

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Scheme is the name of the authentication in HTTP's headers.
const Scheme = "Negotiate"

// maxHeader bounds a token in a header, in bytes of base64: net/http takes headers of a mebibyte.
const maxHeader = 96 << 10

var (
	negotiation = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 2}
	kerberos5   = asn1.ObjectIdentifier{1, 2, 840, 113554, 1, 2, 2}
	// microsoft5 is Kerberos 5 by the number that Windows gave it first. Its tokens are the same.
	microsoft5 = asn1.ObjectIdentifier{1, 2, 840, 48018, 1, 2, 2}
)

// ErrToken says that a token isn't one of SPNEGO or Kerberos.
var ErrToken = errors.New("not a token of SPNEGO or Kerberos")

// Request is a client's first token.
type Request struct {
	Token []byte // Kerberos's own
	mech  asn1.ObjectIdentifier
	bare  bool // it came without SPNEGO
}

type tokenInit struct {
	Mechanisms []asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
	Flags      asn1.BitString          `asn1:"explicit,optional,tag:1"`
	Token      []byte                  `asn1:"explicit,optional,tag:2"`
	MIC        asn1.RawValue           `asn1:"explicit,optional,tag:3"`
}

const (
	accepted = 0 // negState accept-completed
	rejected = 2
)

type tokenResp struct {
	State     asn1.Enumerated       `asn1:"explicit,optional,tag:0,default:-1"`
	Mechanism asn1.ObjectIdentifier `asn1:"explicit,optional,tag:1"`
	Token     []byte                `asn1:"explicit,optional,tag:2"`
	MIC       asn1.RawValue         `asn1:"explicit,optional,tag:3"`
}

// FromHeader returns the token in a header's value. ok is false if the value is of another scheme.
func FromHeader(value string) (token []byte, ok bool, err error) {
	scheme, text, _ := strings.Cut(strings.TrimSpace(value), " ")
	if !strings.EqualFold(scheme, Scheme) {
		return nil, false, nil
	}
	if len(text) > maxHeader {
		return nil, true, fmt.Errorf("a token of %d characters; the limit is %d: %w", len(text), maxHeader, ErrToken)
	}
	token, err = base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, true, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return token, true, nil
}

// Header returns the inverse of FromHeader.
func Header(token []byte) string { return Scheme + " " + base64.StdEncoding.EncodeToString(token) }

// Parse reads a client's first token, which may be Kerberos's alone.
func Parse(b []byte) (Request, error) {
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(b, &outer)
	if err != nil || len(rest) > 0 || outer.Class != asn1.ClassApplication || outer.Tag != 0 || !outer.IsCompound {
		return Request{}, ErrToken
	}
	var mech asn1.ObjectIdentifier
	inner, err := asn1.Unmarshal(outer.Bytes, &mech)
	if err != nil {
		return Request{}, ErrToken
	}
	if mech.Equal(kerberos5) {
		return Request{Token: b, mech: mech, bare: true}, nil
	}
	if !mech.Equal(negotiation) {
		return Request{}, fmt.Errorf("%w: mechanism %s", ErrToken, mech)
	}
	var init tokenInit
	if rest, err := asn1.UnmarshalWithParams(inner, &init, "explicit,tag:0"); err != nil || len(rest) > 0 {
		return Request{}, fmt.Errorf("%w: no NegTokenInit", ErrToken)
	}
	// The token is the first mechanism's. Another round would let a client take its second choice; all clients put Kerberos first if they have a ticket.
	if len(init.Mechanisms) == 0 || !init.Mechanisms[0].Equal(kerberos5) && !init.Mechanisms[0].Equal(microsoft5) {
		return Request{}, fmt.Errorf("%w: it isn't Kerberos that the client prefers, but %v", ErrToken, init.Mechanisms)
	}
	if len(init.Token) == 0 {
		return Request{}, fmt.Errorf("%w: it has no ticket", ErrToken)
	}
	return Request{Token: init.Token, mech: init.Mechanisms[0]}, nil
}

// Answer returns the server's answer to a request that it takes. reply is Kerberos's token, empty if the client didn't ask for one.
func (r Request) Answer(reply []byte) ([]byte, error) {
	if r.bare {
		return reply, nil
	}
	return asn1.MarshalWithParams(tokenResp{State: accepted, Mechanism: r.mech, Token: reply}, "explicit,tag:1")
}

// New returns a client's first token.
func New(token []byte) ([]byte, error) {
	init, err := asn1.MarshalWithParams(struct {
		Mechanisms []asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
		Token      []byte                  `asn1:"explicit,tag:2"`
	}{[]asn1.ObjectIdentifier{kerberos5}, token}, "explicit,tag:0")
	if err != nil {
		return nil, err
	}
	mech, err := asn1.Marshal(negotiation)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(asn1.RawValue{Class: asn1.ClassApplication, Tag: 0, IsCompound: true, Bytes: append(mech, init...)})
}

// ParseAnswer returns Kerberos's token in a server's answer, empty if it has none.
func ParseAnswer(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte{0x60}) {
		return b, nil // Kerberos's alone
	}
	resp := tokenResp{State: -1}
	if rest, err := asn1.UnmarshalWithParams(b, &resp, "explicit,tag:1"); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: no NegTokenResp", ErrToken)
	}
	if resp.State == rejected {
		return nil, errors.New("the server refuses Kerberos")
	}
	return resp.Token, nil
}

package token

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/writable"
)

// Kinds of tokens (Token.kind on the wire).
const (
	KindAMRM       = "YARN_AM_RM_TOKEN"    // ApplicationMaster to ResourceManager
	KindNM         = "NMToken"             // ApplicationMaster or ResourceManager to NodeManager
	KindContainer  = "ContainerToken"      // permission to start one container
	KindClientToAM = "YARN_CLIENT_TOKEN"   // client to ApplicationMaster
	KindDelegation = "RM_DELEGATION_TOKEN" // client to ResourceManager
	KindLocalizer  = "Localizer"           // localizer to its NodeManager
	KindJob        = "mapreduce.job"       // MapReduce task to its ApplicationMaster, and to the shuffle
	KindTimeline   = "TIMELINE_DELEGATION_TOKEN"
	KindHDFS       = "HDFS_DELEGATION_TOKEN"
	KindKMS        = "kms-dt" // client to Hadoop's Key Management Server
)

// Token is one token. Copies share the slices: treat them as read-only.
type Token struct {
	Identifier []byte
	Password   []byte
	Kind       string
	Service    string // "ip:port" or empty; depends on the kind
}

// String shows everything except the password.
func (t Token) String() string {
	return fmt.Sprintf("Kind: %s, Service: %s, Ident: %x", t.Kind, t.Service, t.Identifier)
}

// Equal reports whether all four parts are equal.
func (t Token) Equal(o Token) bool {
	return t.Kind == o.Kind && t.Service == o.Service && bytes.Equal(t.Identifier, o.Identifier) &&
		bytes.Equal(t.Password, o.Password)
}

// PB returns the form that YARN's messages carry.
func (t Token) PB() *pb.Token {
	names := &struct{ kind, service string }{t.Kind, t.Service}
	return pb.Token_builder{
		Identifier: notNil(t.Identifier), Password: notNil(t.Password), Kind: &names.kind, Service: &names.service,
	}.Build()
}

// FromPB reads the form that YARN's messages carry; nil gives the zero Token.
func FromPB(m *pb.Token) Token {
	return Token{Identifier: m.GetIdentifier(), Password: m.GetPassword(), Kind: m.GetKind(), Service: m.GetService()}
}

// notNil keeps a required bytes field set when it is empty.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// AppendWritable appends the form that credentials files and service data carry.
func (t Token) AppendWritable(b []byte) []byte {
	b = writable.AppendBytes(b, t.Identifier)
	b = writable.AppendBytes(b, t.Password)
	b = writable.AppendText(b, t.Kind)
	return writable.AppendText(b, t.Service)
}

// Read reads what AppendWritable wrote.
func Read(r *writable.Reader) (t Token, err error) {
	if t.Identifier, err = r.Bytes(); err != nil {
		return Token{}, fmt.Errorf("identifier of a token: %w", err)
	}
	if t.Password, err = r.Bytes(); err != nil {
		return Token{}, fmt.Errorf("password of a token: %w", err)
	}
	if t.Kind, err = r.Text(); err != nil {
		return Token{}, fmt.Errorf("kind of a token: %w", err)
	}
	if t.Service, err = r.Text(); err != nil {
		return Token{}, fmt.Errorf("service of a token of kind %s: %w", t.Kind, err)
	}
	return t, nil
}

// URLString returns the form for URLs and REST: URL-safe Base64 of the Writable form, without padding (Hadoop:
// Token.encodeToUrlString).
func (t Token) URLString() string {
	return base64.RawURLEncoding.EncodeToString(t.AppendWritable(nil))
}

// ParseURLString reads what URLString wrote. Like Hadoop's decoder it also accepts standard Base64, padding and white
// space, and ignores bytes after the token.
func ParseURLString(s string) (Token, error) {
	s = strings.Map(func(c rune) rune {
		switch c {
		case '+':
			return '-'
		case '/':
			return '_'
		case '=', '\r', '\n', ' ', '\t':
			return -1
		}
		return c
	}, s)
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Token{}, fmt.Errorf("token in a URL: %w", err)
	}
	t, err := Read(writable.NewReader(b))
	if err != nil {
		return Token{}, fmt.Errorf("token in a URL: %w", err)
	}
	return t, nil
}

package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // YARN signs tokens with it
	"crypto/subtle"
	"fmt"
	"hash"
	"io"
	"sync"

	"heddle/yarn/pb"
)

const (
	// PasswordLength is the length of a token's password, in bytes.
	PasswordLength = sha1.Size
	// GeneratedKeyLength is the length of a key that Hadoop generates, in bytes. Keys of other lengths work as well.
	GeneratedKeyLength = 8
)

// MasterKey signs and checks tokens. It is safe for concurrent use.
type MasterKey struct {
	id     int32
	secret []byte
	// macs are hashes that have read the padded key, with which every HMAC begins. So that is computed once.
	macs sync.Pool
}

// NewMasterKey returns the key with an id and its secret bytes.
func NewMasterKey(id int32, secret []byte) *MasterKey {
	k := &MasterKey{id: id, secret: append([]byte{}, secret...)}
	k.macs.New = func() any { return &mac{hash: hmac.New(sha1.New, k.secret)} }
	return k
}

type mac struct {
	hash hash.Hash
	sum  [PasswordLength]byte
}

// GenerateMasterKey returns a new key. Its secret comes from random, or from crypto/rand if that is nil.
func GenerateMasterKey(id int32, random io.Reader) (*MasterKey, error) {
	if random == nil {
		random = rand.Reader
	}
	secret := make([]byte, GeneratedKeyLength)
	if _, err := io.ReadFull(random, secret); err != nil {
		return nil, fmt.Errorf("generating master key %d: %w", id, err)
	}
	return NewMasterKey(id, secret), nil
}

// MasterKeyFromPB reads the form that the ResourceManager gives to NodeManagers.
func MasterKeyFromPB(m *pb.MasterKey) *MasterKey { return NewMasterKey(m.GetKeyId(), m.GetBytes()) }

// PB returns the form that the ResourceManager gives to NodeManagers.
func (k *MasterKey) PB() *pb.MasterKey {
	m := &pb.MasterKey{}
	m.SetKeyId(k.id)
	m.SetBytes(k.Secret())
	return m
}

// ID names the key in the identifiers that it signs.
func (k *MasterKey) ID() int32 { return k.id }

// Secret returns a copy of the key's bytes.
func (k *MasterKey) Secret() []byte { return append([]byte{}, k.secret...) }

// Sign returns the password of the token with this identifier.
func (k *MasterKey) Sign(identifier []byte) []byte { return k.AppendSign(nil, identifier) }

// AppendSign appends the password of the token with this identifier.
func (k *MasterKey) AppendSign(b, identifier []byte) []byte {
	m := k.macs.Get().(*mac)
	m.hash.Reset()
	m.hash.Write(identifier) // never fails
	b = m.hash.Sum(b)
	k.macs.Put(m)
	return b
}

// Verify reports whether password belongs to the token with this identifier. Its time doesn't depend on which bytes
// differ.
func (k *MasterKey) Verify(identifier, password []byte) bool {
	m := k.macs.Get().(*mac)
	m.hash.Reset()
	m.hash.Write(identifier)
	right := m.hash.Sum(m.sum[:0])
	ok := subtle.ConstantTimeCompare(right, password) == 1
	k.macs.Put(m)
	return ok
}

// Mint returns a token of the kind for a service, signed with the key.
func (k *MasterKey) Mint(kind, service string, identifier []byte) Token {
	return Token{Identifier: identifier, Password: k.Sign(identifier), Kind: kind, Service: service}
}

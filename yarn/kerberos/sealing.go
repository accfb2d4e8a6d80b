package kerberos

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"errors"
	"hash"

	"github.com/jcmturner/gokrb5/v8/crypto/common"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// sealing encrypts and signs the messages of one direction. It isn't safe for concurrent use.
type sealing interface {
	// seal appends the cipher text of plain followed by its trailer, which together have a byte at least.
	seal(to, plain, trailer []byte) ([]byte, error)
	// open returns the plain text, which may overwrite the cipher text.
	open(sealed []byte) ([]byte, error)
	// sum returns the checksum of a message followed by its trailer.
	sum(message, trailer []byte) ([]byte, error)
	// size returns the length of a checksum, in bytes.
	size() int
}

// newSealing returns the sealing of a key for a usage.
func newSealing(key types.EncryptionKey, usage uint32) (sealing, error) {
	et, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	switch key.KeyType {
	case etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96:
		return newStealing(et, key, usage)
	default:
		return &library{et, key, usage}, nil
	}
}

// stealing has the ciphers of RFC 3962, which all of Java's peers agree on. It derives its keys once, where gokrb5 does so for each message.
type stealing struct {
	block     cipher.Block
	mac, sign hash.Hash // of encrypted messages, and of others
}

const stealingSum = 12 // bytes

func newStealing(et etype.EType, key types.EncryptionKey, usage uint32) (*stealing, error) {
	var keys [3][]byte
	for i, of := range [][]byte{common.GetUsageKe(usage), common.GetUsageKi(usage), common.GetUsageKc(usage)} {
		k, err := et.DeriveKey(key.KeyValue, of)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	block, err := aes.NewCipher(keys[0])
	if err != nil {
		return nil, err
	}
	return &stealing{block: block, mac: hmac.New(sha1.New, keys[1]), sign: hmac.New(sha1.New, keys[2])}, nil
}

func (s *stealing) size() int { return stealingSum }

func (s *stealing) sum(message, trailer []byte) ([]byte, error) {
	return hashed(s.sign, message, trailer), nil
}

func hashed(h hash.Hash, parts ...[]byte) []byte {
	h.Reset()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)[:stealingSum]
}

func (s *stealing) seal(to, plain, trailer []byte) ([]byte, error) {
	start := len(to)
	var confounder [aes.BlockSize]byte
	if _, err := rand.Read(confounder[:]); err != nil {
		return nil, err
	}
	to = append(append(append(to, confounder[:]...), plain...), trailer...)
	text := to[start:]
	mac := hashed(s.mac, text)
	s.encrypt(text)
	return append(to, mac...), nil
}

func (s *stealing) open(sealed []byte) ([]byte, error) {
	if len(sealed) <= aes.BlockSize+stealingSum {
		return nil, errors.New("an encrypted text is too short")
	}
	text, mac := sealed[:len(sealed)-stealingSum], sealed[len(sealed)-stealingSum:]
	s.decrypt(text)
	if subtle.ConstantTimeCompare(mac, hashed(s.mac, text)) != 1 {
		return nil, errSum
	}
	return text[aes.BlockSize:], nil
}

// noIV begins each message: the first block is random.
var noIV [aes.BlockSize]byte

// encrypt is AES-CBC with ciphertext stealing of more than a block, in place (RFC 3962 §5): the last two blocks change places, and the one that is then the last
// is cut.
func (s *stealing) encrypt(text []byte) {
	full := (len(text) - 1) / aes.BlockSize * aes.BlockSize
	cipher.NewCBCEncrypter(s.block, noIV[:]).CryptBlocks(text[:full], text[:full])
	var before, last [aes.BlockSize]byte
	copy(before[:], text[full-aes.BlockSize:])
	copy(last[:], text[full:])
	subtle.XORBytes(last[:], last[:], before[:])
	s.block.Encrypt(last[:], last[:])
	copy(text[full-aes.BlockSize:], last[:])
	copy(text[full:], before[:])
}

// decrypt is the inverse of encrypt.
func (s *stealing) decrypt(text []byte) {
	full := (len(text) - 1) / aes.BlockSize * aes.BlockSize
	var before, last [aes.BlockSize]byte
	s.block.Decrypt(last[:], text[full-aes.BlockSize:full])
	before = last
	rest := copy(before[:], text[full:])
	subtle.XORBytes(last[:], last[:], before[:])
	copy(text[full-aes.BlockSize:], before[:])
	cipher.NewCBCDecrypter(s.block, noIV[:]).CryptBlocks(text[:full], text[:full])
	copy(text[full:], last[:rest])
}

// library has gokrb5's ciphers.
type library struct {
	et    etype.EType
	key   types.EncryptionKey
	usage uint32
}

func (l *library) size() int { return l.et.GetHMACBitLength() / 8 }

func (l *library) seal(to, plain, trailer []byte) ([]byte, error) {
	_, sealed, err := l.et.EncryptMessage(l.key.KeyValue, joined(plain, trailer), l.usage)
	return append(to, sealed...), err
}

func (l *library) open(sealed []byte) ([]byte, error) { return open(l.et, l.key, l.usage, sealed) }

func (l *library) sum(message, trailer []byte) ([]byte, error) {
	return l.et.GetChecksumHash(l.key.KeyValue, joined(message, trailer), l.usage)
}

func joined(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)), a...), b...) }

package kerberos

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Key usages (RFC 4120 §7.5.1, RFC 4121 §2).
const (
	usageTicket        = 2
	usageAuthenticator = 11
	usageReply         = 12
	usageAcceptorSeal  = 22
	usageInitiatorSeal = 24
)

// keySizes are the ciphers that we take, with the bytes of their keys; gokrb5's own size is wrong for the last one. The other ciphers (DES, RC4) are
// broken, and JDK 17 doesn't take them either.
var keySizes = map[int32]int{
	etypeID.AES128_CTS_HMAC_SHA1_96: 16, etypeID.AES256_CTS_HMAC_SHA1_96: 32, etypeID.AES128_CTS_HMAC_SHA256_128: 16,
	etypeID.AES256_CTS_HMAC_SHA384_192: 32,
}

var errWeak = errors.New("the cipher isn't one of aes128-sha1, aes256-sha1, aes128-sha2 and aes256-sha2")

// cipherOf returns the cipher of a key.
func cipherOf(key types.EncryptionKey) (etype.EType, error) {
	size, ok := keySizes[key.KeyType]
	if !ok {
		return nil, fmt.Errorf("key of cipher %d: %w", key.KeyType, errWeak)
	}
	et, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		return nil, err
	}
	if len(key.KeyValue) != size {
		return nil, fmt.Errorf("a key of %d bytes; cipher %d has %d", len(key.KeyValue), key.KeyType, size)
	}
	return et, nil
}

// overhead returns how many bytes more than its plain text an encrypted text has.
func overhead(et etype.EType) int { return et.GetConfounderByteSize() + et.GetHMACBitLength()/8 }

func encrypt(key types.EncryptionKey, usage uint32, plain []byte) ([]byte, error) {
	et, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	_, sealed, err := et.EncryptMessage(key.KeyValue, plain, usage)
	return sealed, err
}

func decrypt(key types.EncryptionKey, usage uint32, data types.EncryptedData) ([]byte, error) {
	et, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	if data.EType != key.KeyType {
		return nil, fmt.Errorf("encrypted by cipher %d, and the key is of %d", data.EType, key.KeyType)
	}
	return open(et, key, usage, data.Cipher)
}

func open(et etype.EType, key types.EncryptionKey, usage uint32, sealed []byte) (plain []byte, err error) {
	defer noPanic(&err)
	if len(sealed) <= overhead(et) {
		return nil, errors.New("an encrypted text is too short")
	}
	return et.DecryptMessage(key.KeyValue, sealed, usage)
}

// noPanic makes an error of a panic: some of gokrb5's decoders index what may not be there.
func noPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("malformed message: %v", p)
	}
}

package keystore

import (
	"crypto/cipher"
	"crypto/des" //nolint:gosec // the format has no other
	"crypto/md5" //nolint:gosec // likewise
	"crypto/sha1"
	"crypto/subtle"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

var (
	jksProtector   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1} // Java: sun.security.provider.KeyProtector
	jceksProtector = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 19, 1}    // Java: PBEWithMD5AndTripleDES
)

// maxIterations is the most that Java takes.
const maxIterations = 5_000_000

// sealedKey is PKCS#8's EncryptedPrivateKeyInfo.
type sealedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// pbeParameters are PKCS#5's PBEParameter.
type pbeParameters struct {
	Salt       []byte
	Iterations int
}

func decryptKey(der []byte, password string) ([]byte, error) {
	var k sealedKey
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 {
		return nil, errors.New("it is no encrypted key")
	}
	switch {
	case k.Algorithm.Algorithm.Equal(jksProtector):
		return decryptJKS(k.Data, password)
	case k.Algorithm.Algorithm.Equal(jceksProtector):
		return decryptTripleDES(k.Data, k.Algorithm.Parameters.FullBytes, password)
	}
	return nil, fmt.Errorf("it is encrypted by the unknown method %v", k.Algorithm.Algorithm)
}

// decryptJKS undoes JKS's own encryption: a stream of SHA-1 digests of the password and the digest before.
func decryptJKS(data []byte, password string) ([]byte, error) {
	if len(data) < 2*sha1.Size {
		return nil, errShort
	}
	secret := utf16Bytes(password)
	salt, sealed, check := data[:sha1.Size], data[sha1.Size:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	plain := mask(secret, salt, sealed)
	sum := sha1.Sum(append(append([]byte(nil), secret...), plain...))
	if subtle.ConstantTimeCompare(sum[:], check) != 1 {
		return nil, ErrPassword
	}
	return plain, nil
}

// mask encrypts, or decrypts: both are the same.
func mask(secret, salt, data []byte) []byte {
	out, last := make([]byte, 0, len(data)+sha1.Size), salt
	for len(out) < len(data) {
		sum := sha1.Sum(append(append([]byte(nil), secret...), last...))
		last = sum[:]
		out = append(out, last...)
	}
	out = out[:len(data)]
	subtle.XORBytes(out, out, data)
	return out
}

// decryptTripleDES undoes PBEWithMD5AndTripleDES, which is Sun's own and no PKCS#5 (Java: com.sun.crypto.provider.PBES1Core).
func decryptTripleDES(data, parameters []byte, password string) ([]byte, error) {
	var p pbeParameters
	if rest, err := asn1.Unmarshal(parameters, &p); err != nil || len(rest) > 0 || len(p.Salt) != 8 || p.Iterations < 1 {
		return nil, errors.New("the parameters of its encryption are damaged")
	}
	if p.Iterations > maxIterations {
		return nil, fmt.Errorf("its encryption asks for %d iterations; Java takes %d", p.Iterations, maxIterations)
	}
	if len(data) == 0 || len(data)%des.BlockSize != 0 {
		return nil, errShort
	}
	derived := deriveTripleDES(p, password)
	block, err := des.NewTripleDESCipher(derived[:24])
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, derived[24:]).CryptBlocks(plain, data)
	return unpad(plain)
}

// deriveTripleDES returns a key of 24 bytes and a vector of 8: the digests of both halves of the salt, each taken many times with the password.
func deriveTripleDES(p pbeParameters, password string) (out []byte) {
	salt := append([]byte(nil), p.Salt...)
	if string(salt[:4]) == string(salt[4:]) { // Java means to turn the first half round, and does this
		salt[0], salt[1], salt[2] = salt[3], salt[2], salt[1]
	}
	secret := make([]byte, 0, len(password))
	for _, c := range password {
		secret = append(secret, byte(c&0x7f))
	}
	for _, half := range [][]byte{salt[:4], salt[4:]} {
		sum := half
		for range p.Iterations {
			next := md5.Sum(append(append([]byte(nil), sum...), secret...))
			sum = next[:]
		}
		out = append(out, sum...)
	}
	return out
}

// unpad removes PKCS#5's padding. A wrong password almost always leaves none.
func unpad(b []byte) ([]byte, error) {
	n := int(b[len(b)-1])
	if n < 1 || n > des.BlockSize || n > len(b) {
		return nil, ErrPassword
	}
	for _, c := range b[len(b)-n:] {
		if int(c) != n {
			return nil, ErrPassword
		}
	}
	return b[:len(b)-n], nil
}

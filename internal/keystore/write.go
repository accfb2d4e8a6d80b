package keystore

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the format has no other
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"time"
)

// JKS writes a keystore with a password, which its keys have as well (Java: sun.security.provider.JavaKeyStore). An entry without a private
// key is an authority that is trusted. Aliases are ASCII.
func JKS(password string, made time.Time, entries ...Key) ([]byte, error) {
	b := binary.BigEndian.AppendUint32(nil, jksMagic)
	b = binary.BigEndian.AppendUint32(b, 2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	for _, e := range entries {
		kind := uint32(privateEntry)
		if e.Private == nil {
			kind = trustedEntry
		}
		b = appendUTF(binary.BigEndian.AppendUint32(b, kind), e.Alias)
		b = binary.BigEndian.AppendUint64(b, uint64(made.UnixMilli()))
		if e.Private == nil {
			b = appendCertificate(b, e.Chain[0])
			continue
		}
		sealed, err := sealKey(e, password)
		if err != nil {
			return nil, fmt.Errorf("the key %q: %w", e.Alias, err)
		}
		b = appendSized(b, sealed)
		b = binary.BigEndian.AppendUint32(b, uint32(len(e.Chain)))
		for _, c := range e.Chain {
			b = appendCertificate(b, c)
		}
	}
	return append(b, fileDigest(password, b)...), nil
}

// fileDigest returns the end of a file. Making it takes the password.
func fileDigest(password string, body []byte) []byte {
	h := sha1.New()
	h.Write(utf16Bytes(password))
	h.Write([]byte(whitener))
	h.Write(body)
	return h.Sum(nil)
}

func sealKey(e Key, password string) ([]byte, error) {
	plain, err := x509.MarshalPKCS8PrivateKey(e.Private)
	if err != nil {
		return nil, err
	}
	data := make([]byte, sha1.Size, 2*sha1.Size+len(plain))
	if _, err := rand.Read(data); err != nil {
		return nil, err
	}
	secret := utf16Bytes(password)
	data = append(data, mask(secret, data, plain)...)
	sum := sha1.Sum(append(append([]byte(nil), secret...), plain...))
	return asn1.Marshal(sealedKey{
		Algorithm: pkix.AlgorithmIdentifier{Algorithm: jksProtector, Parameters: asn1.NullRawValue},
		Data:      append(data, sum[:]...),
	})
}

func appendCertificate(b []byte, c *x509.Certificate) []byte {
	return appendSized(appendUTF(b, "X.509"), c.Raw)
}

func appendSized(b, piece []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(piece))), piece...)
}

func appendUTF(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

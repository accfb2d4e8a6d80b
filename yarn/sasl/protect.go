package sasl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" // RFC 2831 names the ciphers
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash"
	"math/bits"
)

// Ciphers of Privacy, the preferred one first. We neither offer nor accept RFC 2831's others (des, rc4-56, rc4-40): their keys of 40 to 56 bits
// can be searched. AES is that of draft-ietf-sasl-rfc2831bis by name, with a counter that continues over all tokens; Heddle's peers agree on it among themselves, and the JDK's pass
// over it. It takes a fiftieth of the time of 3DES.
const (
	cipherAES  = "aes-ctr"
	cipher3DES = "3des"
	cipherRC4  = "rc4"
)

var ciphers = []string{cipherAES, cipher3DES, cipherRC4}

// offered are those of a challenge: Hadoop's first, in its order, for clients that take the first one.
var offered = []string{cipher3DES, cipherRC4, cipherAES}

const (
	defaultBuffer = 65536 // maxbuf of a peer that names none, in bytes; ours
	smallBuffer   = 256   // less room for a token is refused
	tokenOverhead = 26    // bytes that a token may have more than its message, as the JDK counts
	macLength     = 10
	trailerLength = 2 + 4 // type and sequence number
	tokenType     = 1
)

// directional is one direction of a protected connection (RFC 2831 §2.3 and §2.4).
type directional struct {
	mac      hash.Hash // keyed with Ki
	number   uint32    // of the next token
	block    cipher.BlockMode
	stream   cipher.Stream
	outgoing bool
}

// protection is the Protection of DIGEST-MD5.
type protection struct {
	out, in directional
	max     int
}

// newProtection derives the keys from H(A1). maxBuffer is the peer's maxbuf.
func newProtection(h1 [md5.Size]byte, q Quality, cipherName string, client bool, maxBuffer int) Protection {
	const signing, sealing = " signing key magic constant", " sealing key magic constant"
	const toServer, toClient = "client-to-server", "server-to-client"
	one := func(way string, outgoing bool) directional {
		key := func(text string) []byte {
			sum := md5.Sum(append(h1[:len(h1):len(h1)], text...))
			return sum[:]
		}
		d := directional{mac: hmac.New(md5.New, key("Digest session key to "+way+signing)), outgoing: outgoing}
		if q == Privacy {
			d.encrypt(cipherName, key("Digest H(A1) to "+way+sealing))
		}
		return d
	}
	p := &protection{max: min(maxBuffer, defaultBuffer) - tokenOverhead}
	if client {
		p.out, p.in = one(toServer, true), one(toClient, false)
	} else {
		p.out, p.in = one(toClient, true), one(toServer, false)
	}
	return p
}

func (d *directional) encrypt(name string, key []byte) {
	switch name {
	case cipherAES:
		block, _ := aes.NewCipher(key)                               // 16 bytes always fit
		d.stream = cipher.NewCTR(block, make([]byte, aes.BlockSize)) // the key is this direction's of this connection alone
		return
	case cipherRC4:
		d.stream, _ = rc4.NewCipher(key) // 16 bytes always fit
		return
	}
	k1, k2 := desKey(key[:7]), desKey(key[7:14])
	block, _ := des.NewTripleDESCipher(append(append(append([]byte(nil), k1...), k2...), k1...)) // 24 bytes always fit
	if d.outgoing {
		d.block = cipher.NewCBCEncrypter(block, key[8:16])
	} else {
		d.block = cipher.NewCBCDecrypter(block, key[8:16])
	}
}

// desKey spreads 7 bytes over the upper bits of 8, and gives each odd parity.
func desKey(b []byte) []byte {
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	out := make([]byte, 8)
	for i := range out {
		x := byte(v>>(49-7*i)) << 1
		out[i] = x | byte(1&^bits.OnesCount8(x))
	}
	return out
}

// sum returns the signature of a message with the number.
func (d *directional) sum(number uint32, message []byte) []byte {
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], number)
	d.mac.Reset()
	d.mac.Write(n[:])
	d.mac.Write(message)
	var sum [md5.Size]byte
	return d.mac.Sum(sum[:0])[:macLength]
}

func (p *protection) MaxMessage() int { return p.max }

func (p *protection) Wrap(to, message []byte) ([]byte, error) {
	d := &p.out
	start := len(to)
	to = append(to, message...)
	mac := d.sum(d.number, message)
	if d.block != nil {
		size := d.block.BlockSize()
		pad := size - (len(message)+macLength)%size
		for range pad {
			to = append(to, byte(pad))
		}
	}
	to = append(to, mac...)
	switch sealed := to[start:]; {
	case d.block != nil:
		d.block.CryptBlocks(sealed, sealed)
	case d.stream != nil:
		d.stream.XORKeyStream(sealed, sealed)
	}
	to = binary.BigEndian.AppendUint16(to, tokenType)
	to = binary.BigEndian.AppendUint32(to, d.number)
	d.number++
	return to, nil
}

var (
	errShortToken = errors.New("DIGEST-MD5: a protected message is too short")
	errTokenType  = errors.New("DIGEST-MD5: a protected message has an unknown type")
	errSequence   = errors.New("DIGEST-MD5: protected messages are out of order")
	errSignature  = errors.New("DIGEST-MD5: a protected message has a wrong signature")
)

func (p *protection) Unwrap(token []byte) ([]byte, error) {
	d := &p.in
	if len(token) < macLength+trailerLength {
		return nil, errShortToken
	}
	body, trailer := token[:len(token)-trailerLength], token[len(token)-trailerLength:]
	if binary.BigEndian.Uint16(trailer) != tokenType {
		return nil, errTokenType
	}
	if binary.BigEndian.Uint32(trailer[2:]) != d.number {
		return nil, errSequence
	}
	pad := 0
	switch {
	case d.block != nil:
		if len(body)%d.block.BlockSize() != 0 {
			return nil, errShortToken
		}
		d.block.CryptBlocks(body, body)
		pad = padding(body[:len(body)-macLength], d.block.BlockSize())
	case d.stream != nil:
		d.stream.XORKeyStream(body, body)
	}
	message, mac := body[:len(body)-macLength-max(pad, 0)], body[len(body)-macLength:]
	right := subtle.ConstantTimeCompare(mac, d.sum(d.number, message)) == 1
	if !right || pad < 0 { // one error for both, which tells nothing of the plain text
		return nil, errSignature
	}
	d.number++
	return message, nil
}

// padding returns the number of bytes of padding at the end of b, or −1 if they are wrong.
func padding(b []byte, size int) int {
	if len(b) == 0 {
		return -1
	}
	n := int(b[len(b)-1])
	if n < 1 || n > size || n > len(b) {
		return -1
	}
	for _, x := range b[len(b)-n:] {
		if int(x) != n {
			return -1
		}
	}
	return n
}

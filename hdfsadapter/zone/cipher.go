// Package zone reads and writes files of HDFS's encryption zones: it asks Hadoop's Key Management Server (KMS) for the keys of files, and encrypts with them.
//
// The NameNode keeps each file's key, encrypted with the key of the zone, and doesn't know it. The KMS decrypts it for those who may use the zone's key.
package zone

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"heddle/yarn/pb"
)

// Cipher encrypts and decrypts one file. It is safe for concurrent use.
type Cipher struct {
	block cipher.Block
	iv    [aes.BlockSize]byte
}

// known refuses files that are encrypted in another way than AES-CTR, and descriptions that can't be.
func known(info *pb.FileEncryptionInfo) error {
	switch {
	case info.GetSuite() != pb.CipherSuite_CIPHER_SUITE_AES_CTR_NOPADDING:
		return fmt.Errorf("it is encrypted by cipher suite %d, and Heddle knows AES/CTR/NoPadding alone", info.GetSuite())
	case info.GetCryptoProtocolVersion() != pb.CryptoProtocolVersion_ENCRYPTION_ZONES:
		return fmt.Errorf("it is encrypted by version %d of encryption zones, and Heddle knows version %d alone", info.GetCryptoProtocolVersion(), pb.CryptoProtocolVersion_ENCRYPTION_ZONES)
	case len(info.GetIv()) != aes.BlockSize:
		return fmt.Errorf("its initialization vector has %d bytes, not %d", len(info.GetIv()), aes.BlockSize)
	}
	return nil
}

// NewCipher returns the cipher of a file with its decrypted key.
func NewCipher(info *pb.FileEncryptionInfo, key []byte) (*Cipher, error) {
	if err := known(info); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("the Key Management Server gives a key that is none of AES")
	}
	return &Cipher{block: block, iv: [aes.BlockSize]byte(info.GetIv())}, nil
}

// XOR encrypts or decrypts bytes in place, which begin at a position of the file. Without a cipher it leaves them as they are.
func (c *Cipher) XOR(p []byte, at int64) {
	if c == nil || len(p) == 0 {
		return
	}
	stream := cipher.NewCTR(c.block, c.counter(uint64(at)/aes.BlockSize))
	var skip [aes.BlockSize]byte
	stream.XORKeyStream(skip[:at%aes.BlockSize], skip[:at%aes.BlockSize])
	stream.XORKeyStream(p, p)
}

// counter returns the initialization vector plus a number of blocks, of 128 bits (Hadoop: CryptoCodec.calculateIV).
func (c *Cipher) counter(blocks uint64) []byte {
	low, carry := bits.Add64(binary.BigEndian.Uint64(c.iv[8:]), blocks, 0)
	high := binary.BigEndian.Uint64(c.iv[:8]) + carry
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low)
}

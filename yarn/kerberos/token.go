package kerberos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// maxToken is the longest token of an exchange, in bytes. Tickets with many groups of a Windows domain have up to 48 KiB.
const maxToken = 64 << 10

// Kinds of tokens (RFC 4121 §4.1).
const (
	kindRequest = 0x0100
	kindReply   = 0x0200
)

// mechanism is the encoded object identifier of Kerberos 5, 1.2.840.113554.1.2.2.
var mechanism = []byte{6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2}

var errToken = errors.New("not a Kerberos token")

// parseToken returns the kind and the message of a token (RFC 2743 §3.1).
func parseToken(b []byte) (kind uint16, message []byte, err error) {
	if len(b) > maxToken {
		return 0, nil, fmt.Errorf("a token of %d bytes; the limit is %d", len(b), maxToken)
	}
	if len(b) < 2 || b[0] != 0x60 {
		return 0, nil, errToken
	}
	length, at := int(b[1]), 2
	if n := int(b[1] & 0x7f); b[1] >= 0x80 {
		if n < 1 || n > 4 || len(b) < 2+n {
			return 0, nil, errToken
		}
		length, at = 0, 2+n
		for _, x := range b[2:at] {
			length = length<<8 | int(x)
		}
	}
	body := b[at:]
	if length != len(body) || len(body) < len(mechanism)+2 || !bytes.HasPrefix(body, mechanism) {
		return 0, nil, errToken
	}
	body = body[len(mechanism):]
	return binary.BigEndian.Uint16(body), body[2:], nil
}

// newToken returns the inverse of parseToken.
func newToken(kind uint16, message []byte) []byte {
	body := binary.BigEndian.AppendUint16(bytes.Clone(mechanism), kind)
	return asn1tools.AddASNAppTag(append(body, message...), 0)
}

// Bits of the checksum of an authenticator (RFC 4121 §4.1.1.1).
const (
	flagMutual   = 2
	flagReplay   = 4
	flagSequence = 8
	flagSeal     = 16
	flagSign     = 32
)

// checksumType is that of a checksum that holds flags (RFC 4121 §4.1.1).
const checksumType = 0x8003

// flagsOf returns the flags of an authenticator's checksum.
func flagsOf(c types.Checksum) (uint32, error) {
	if c.CksumType != checksumType || len(c.Checksum) < 24 || binary.LittleEndian.Uint32(c.Checksum) != 16 {
		return 0, errors.New("the authenticator has no GSS-API checksum")
	}
	return binary.LittleEndian.Uint32(c.Checksum[20:]), nil
}

// checksumOf returns the inverse, without channel bindings.
func checksumOf(flags uint32) types.Checksum {
	b := make([]byte, 24)
	b[0] = 16
	binary.LittleEndian.PutUint32(b[20:], flags)
	return types.Checksum{CksumType: checksumType, Checksum: b}
}

const (
	tagReply     = 15 // AP-REP
	tagReplyPart = 27 // EncAPRepPart
)

// replyPart is an EncAPRepPart without a subkey: gokrb5's would have an empty one.
type replyPart struct {
	CTime  time.Time `asn1:"generalized,explicit,tag:0"`
	Cusec  int       `asn1:"explicit,tag:1"`
	Number int64     `asn1:"explicit,tag:3"`
}

// replyPartWithKey is one with a subkey.
type replyPartWithKey struct {
	CTime  time.Time           `asn1:"generalized,explicit,tag:0"`
	Cusec  int                 `asn1:"explicit,tag:1"`
	Key    types.EncryptionKey `asn1:"explicit,tag:2"`
	Number int64               `asn1:"explicit,tag:3"`
}

// newReply returns an AP-REP. key is the ticket's session key, own that which the acceptor has chosen; nil, as Java's servers, leaves it to the initiator.
func newReply(a *types.Authenticator, key types.EncryptionKey, number uint32, own *types.EncryptionKey) ([]byte, error) {
	var chosen any = replyPart{a.CTime.UTC(), a.Cusec, int64(number)}
	if own != nil {
		chosen = replyPartWithKey{a.CTime.UTC(), a.Cusec, *own, int64(number)}
	}
	part, err := asn1.Marshal(chosen)
	if err != nil {
		return nil, err
	}
	sealed, err := encrypt(key, usageReply, asn1tools.AddASNAppTag(part, tagReplyPart))
	if err != nil {
		return nil, err
	}
	reply, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: tagReply, EncPart: types.EncryptedData{EType: key.KeyType, Cipher: sealed}})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(reply, tagReply), nil
}

// openReply checks an AP-REP to an authenticator. The subkey is empty if the acceptor chose none.
func openReply(message []byte, a *types.Authenticator, key types.EncryptionKey) (subkey types.EncryptionKey, number uint32, err error) {
	defer noPanic(&err)
	var reply messages.APRep
	if err := reply.Unmarshal(message); err != nil {
		return subkey, 0, fmt.Errorf("the server's answer: %w", err)
	}
	b, err := decrypt(key, usageReply, reply.EncPart)
	if err != nil {
		return subkey, 0, fmt.Errorf("the server's answer: %w", err)
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(b); err != nil {
		return subkey, 0, fmt.Errorf("the server's answer: %w", err)
	}
	if !part.CTime.Equal(a.CTime.Truncate(time.Second)) || part.Cusec != a.Cusec {
		return subkey, 0, errors.New("the server's answer belongs to another request")
	}
	return part.Subkey, uint32(part.SequenceNumber), nil
}

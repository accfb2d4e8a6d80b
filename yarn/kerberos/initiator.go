package kerberos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Ticket is a client's ticket for a service.
type Ticket struct {
	Ticket messages.Ticket
	Key    types.EncryptionKey // the session key
	Client types.PrincipalName
	Realm  string // of the client
}

// initiator is the initiator's side of an exchange: request once, then establish once.
type initiator struct {
	ticket  Ticket
	auth    types.Authenticator
	context *Context
}

// request returns the first token. It asks for mutual authentication, as Java's clients do, and chooses a key for the context.
func (i *initiator) request(now time.Time, random io.Reader) ([]byte, error) {
	client, err := fullName(i.ticket.Client, i.ticket.Realm)
	if err != nil {
		return nil, err
	}
	if _, err := cipherOf(i.ticket.Key); err != nil {
		return nil, err
	}
	number, err := randomNumber(random)
	if err != nil {
		return nil, err
	}
	subkey := make([]byte, keySizes[i.ticket.Key.KeyType])
	if _, err := io.ReadFull(random, subkey); err != nil {
		return nil, err
	}
	now = now.UTC()
	i.auth = types.Authenticator{
		AVNO: 5, CRealm: i.ticket.Realm, CName: i.ticket.Client, Cksum: checksumOf(flagMutual | flagReplay | flagSequence | flagSeal | flagSign),
		Cusec: now.Nanosecond() / 1000, CTime: now.Truncate(time.Second),
		SubKey: types.EncryptionKey{KeyType: i.ticket.Key.KeyType, KeyValue: subkey}, SeqNumber: int64(number),
	}
	plain, err := i.auth.Marshal()
	if err != nil {
		return nil, err
	}
	sealed, err := encrypt(i.ticket.Key, usageAuthenticator, plain)
	if err != nil {
		return nil, err
	}
	req := messages.APReq{
		PVNO: 5, MsgType: 14, APOptions: asn1.BitString{Bytes: []byte{0x20, 0, 0, 0}, BitLength: 32}, Ticket: i.ticket.Ticket,
		EncryptedAuthenticator: types.EncryptedData{EType: i.ticket.Key.KeyType, Cipher: sealed},
	}
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	i.context = &Context{Client: client, initiator: true, key: i.auth.SubKey, send: uint64(number)}
	return newToken(kindRequest, b), nil
}

// establish checks the acceptor's token, which proves that it has the service's key.
func (i *initiator) establish(token []byte) (*Context, error) {
	if i.context == nil {
		return nil, errors.New("there was no request")
	}
	kind, message, err := parseToken(token)
	if err != nil {
		return nil, err
	}
	if kind != kindReply {
		return nil, fmt.Errorf("token of kind %04x: %w", kind, errToken)
	}
	subkey, number, err := openReply(message, &i.auth, i.ticket.Key)
	if err != nil {
		return nil, err
	}
	c := i.context
	c.want = uint64(number)
	if len(subkey.KeyValue) > 0 {
		if _, err := cipherOf(subkey); err != nil {
			return nil, err
		}
		c.key, c.subkey = subkey, true
	}
	return c, nil
}

// Exchange is a client's side of an exchange whose tokens something other than SASL carries, such as HTTP.
type Exchange struct{ initiator initiator }

// Request returns the first token of an exchange with a ticket's service, and the exchange, which checks the service's answer.
func Request(t Ticket) (token []byte, e *Exchange, err error) {
	e = &Exchange{initiator{ticket: t}}
	token, err = e.initiator.request(time.Now(), rand.Reader)
	return token, e, err
}

// Establish checks the service's token, which proves that it has the service's key.
func (e *Exchange) Establish(token []byte) (*Context, error) { return e.initiator.establish(token) }

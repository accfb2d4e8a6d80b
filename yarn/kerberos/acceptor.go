package kerberos

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// DefaultSkew is how far the clocks of two machines may differ (clockskew in krb5.conf).
const DefaultSkew = 5 * time.Minute

// Acceptor lets initiators in who have a ticket for its service. It is safe for concurrent use.
type Acceptor struct {
	// Principal is the service's full name, such as rm/host@EXAMPLE.COM. Tickets for others are refused, although the keytab may have their keys. ""
	// takes tickets for all services of the keytab.
	Principal string
	// Takes, if set, decides beside Principal on the services whose tickets are taken, by their full names.
	Takes   func(service string) bool
	Keytab  *Keytab
	Replays *Replays
	// OwnKey has the acceptor choose the key of an exchange with mutual authentication. So a recorded exchange is worth nothing to another member with the
	// same account, which has not seen it. Java's servers leave the key to the initiator.
	OwnKey bool
	Skew   time.Duration    // 0: DefaultSkew
	Now    func() time.Time // nil: time.Now
	Random io.Reader        // nil: crypto/rand
}

// Reasons for which Accept refuses a request, for services that tell their clients more than that they aren't let in.
var (
	ErrReplay   = errReplay
	ErrSkew     = errors.New("the clocks of client and server differ")
	ErrEnded    = errors.New("the ticket ended")
	ErrChecksum = errors.New("wrong checksum")
)

// ServiceError says that a ticket is for another service.
type ServiceError struct{ Service, want string }

func (e *ServiceError) Error() string {
	return fmt.Sprintf("the ticket is for %s, and this is %s", e.Service, e.want)
}

// Accept checks an initiator's token. reply, if it isn't nil, goes back to the initiator, who wants proof of the service's identity as well.
// The error's text is for the log of the service alone.
func (a *Acceptor) Accept(token []byte) (c *Context, reply []byte, err error) {
	defer noPanic(&err)
	kind, message, err := parseToken(token)
	if err != nil {
		return nil, nil, err
	}
	if kind != kindRequest {
		return nil, nil, fmt.Errorf("token of kind %04x: %w", kind, errToken)
	}
	var req messages.APReq
	if err := req.Unmarshal(message); err != nil {
		return nil, nil, fmt.Errorf("AP-REQ: %w", err)
	}
	if err := a.check(&req); err != nil {
		return nil, nil, err
	}
	auth, session := &req.Authenticator, req.Ticket.DecryptedEncPart.Key
	flags, err := flagsOf(auth.Cksum)
	if err != nil {
		return nil, nil, err
	}
	c = &Context{key: session, want: uint64(uint32(auth.SeqNumber)), send: uint64(uint32(auth.SeqNumber))}
	if len(auth.SubKey.KeyValue) > 0 {
		c.key = auth.SubKey
	}
	if _, err := cipherOf(c.key); err != nil {
		return nil, nil, err
	}
	if c.Client, err = fullName(auth.CName, auth.CRealm); err != nil {
		return nil, nil, err
	}
	if flags&flagMutual == 0 {
		return c, nil, nil
	}
	number, err := a.number()
	if err != nil {
		return nil, nil, err
	}
	c.send = uint64(number)
	var own *types.EncryptionKey
	if a.OwnKey {
		if own, err = a.newKey(session.KeyType); err != nil {
			return nil, nil, err
		}
		c.key, c.subkey = *own, true
	}
	if reply, err = newReply(auth, session, number, own); err != nil {
		return nil, nil, err
	}
	return c, newToken(kindReply, reply), nil
}

// newKey returns a key of a cipher, by chance.
func (a *Acceptor) newKey(cipher int32) (*types.EncryptionKey, error) {
	value := make([]byte, keySizes[cipher])
	random := a.Random
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, value); err != nil {
		return nil, err
	}
	return &types.EncryptionKey{KeyType: cipher, KeyValue: value}, nil
}

// Bits of a ticket's flags and of the options of an AP-REQ, the highest first.
const (
	ticketInvalid    = 7
	optionSessionKey = 1
)

// check verifies ticket and authenticator (RFC 4120 §3.2.3).
func (a *Acceptor) check(req *messages.APReq) error {
	t := &req.Ticket
	service, err := fullName(t.SName, t.Realm)
	if err != nil {
		return err
	}
	if a.Principal != "" && service != a.Principal {
		return &ServiceError{service, a.Principal}
	}
	if a.Takes != nil && !a.Takes(service) {
		return &ServiceError{service, "another"}
	}
	if bit(req.APOptions, optionSessionKey) {
		return errors.New("the ticket is encrypted by a session key")
	}
	if err := a.Keytab.open(t); err != nil {
		return fmt.Errorf("ticket for %s: %w", service, err)
	}
	part := &t.DecryptedEncPart
	b, err := decrypt(part.Key, usageAuthenticator, req.EncryptedAuthenticator)
	if err != nil {
		return fmt.Errorf("authenticator: %w: %w", ErrChecksum, err)
	}
	if err := req.Authenticator.Unmarshal(b); err != nil {
		return fmt.Errorf("authenticator: %w", err)
	}
	auth := &req.Authenticator
	if !auth.CName.Equal(part.CName) || auth.CRealm != part.CRealm {
		return errors.New("ticket and authenticator are of different clients")
	}
	now, skew := time.Now(), a.Skew
	if a.Now != nil {
		now = a.Now()
	}
	if skew == 0 {
		skew = DefaultSkew
	}
	begin := part.StartTime
	if begin.IsZero() {
		begin = part.AuthTime
	}
	made := auth.CTime.Add(time.Duration(auth.Cusec) * time.Microsecond)
	switch {
	case bit(part.Flags, ticketInvalid):
		return errors.New("the ticket isn't valid yet")
	case now.Add(skew).Before(begin):
		return fmt.Errorf("the ticket is valid from %v on", begin)
	case now.Add(-skew).After(part.EndTime):
		return fmt.Errorf("%w at %v", ErrEnded, part.EndTime)
	case now.Sub(made).Abs() > skew:
		return fmt.Errorf("%w by %v, and may by %v", ErrSkew, now.Sub(made).Abs().Round(time.Second), skew)
	}
	return a.Replays.add(req.EncryptedAuthenticator, now, skew)
}

func bit(b asn1.BitString, i int) bool { return b.At(i) == 1 }

// fullName returns the name of a principal. A part with a character that separates parts is refused: it could pass for another name.
func fullName(n types.PrincipalName, realm string) (string, error) {
	for _, part := range append([]string{realm}, n.NameString...) {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return c == '/' || c == '@' || c == '\\' || c < ' ' || c == 127 }) {
			return "", fmt.Errorf("the name %q of realm %q isn't one that we take", n.NameString, realm)
		}
	}
	if len(n.NameString) == 0 {
		return "", errors.New("a name without parts")
	}
	return strings.Join(n.NameString, "/") + "@" + realm, nil
}

// number returns the first number of our wrap tokens: 30 bits, as Java's and gokrb5's.
func (a *Acceptor) number() (uint32, error) { return randomNumber(a.Random) }

func randomNumber(random io.Reader) (uint32, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b[:]) & (1<<30 - 1), nil
}

package wire

import (
	"container/list"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"heddle/internal/light"
	"heddle/internal/sharedsecret"
)

// SecretBytes is the length of an application's secret.
const SecretBytes = 32

// SecretAlias is the name of the secret among an executor's credentials.
const SecretAlias = "heddle.executor"

// NewSecret returns a secret.
func NewSecret() []byte {
	b := make([]byte, SecretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}

// SecretOf derives a secret from the password of a token.
func SecretOf(password []byte) []byte {
	b, err := hkdf.Key(sha256.New, password, nil, "heddle probes", SecretBytes)
	if err != nil {
		panic(err) // only a length that is too large is an error
	}
	return b
}

// ErrStranger is wrapped by the error of a peer that doesn't have the application's secret.
var ErrStranger = sharedsecret.ErrStranger

// config makes both sides prove that they have the secret.
func config(secret []byte) (*tls.Config, error) {
	if len(secret) != SecretBytes {
		return nil, fmt.Errorf("the application's secret has %d bytes instead of %d", len(secret), SecretBytes)
	}
	return sharedsecret.TLS(secret, "heddle executors")
}

// handshakes may take this long.
const handshakes = 10 * time.Second

// The name comes before everything else: magic, a length of two bytes, and so many bytes.
const (
	magic   = "HTSK"
	maxName = 4 << 10
)

// Dial connects to a pool or a node. The name, of at most 4 KiB, tells the other side whose secret this is. It isn't secret itself.
func Dial(ctx context.Context, address string, name, secret []byte) (*Conn, error) {
	c, err := config(secret)
	if err != nil {
		return nil, err
	}
	if len(name) > maxName {
		return nil, fmt.Errorf("a name of %d bytes: at most %d are possible", len(name), maxName)
	}
	ctx, cancel := context.WithTimeout(ctx, handshakes)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	head := append(binary.BigEndian.AppendUint16([]byte(magic), uint16(len(name))), name...)
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	_, err = raw.Write(head)
	if stop(); err != nil {
		raw.Close()
		return nil, err
	}
	return greet(ctx, raw, tls.Client(light.Conn(raw), c))
}

// maxStrangers is how many may be about to prove who they are. That takes milliseconds; silent peers would keep all others out.
const maxStrangers = 512

var errCrowd = errors.New("it hasn't proved who it is, while many others wait to do so")

// Accepter makes connections of those that a listener accepts.
type Accepter struct {
	config *tls.Config // nil: it depends on the name
	secret func([]byte) ([]byte, error)

	mu        sync.Mutex
	strangers list.List // of context.CancelCauseFunc: the oldest first
}

// NewAccepter takes the secret of all who may come, whatever their names are.
func NewAccepter(secret []byte) (*Accepter, error) {
	c, err := config(secret)
	return &Accepter{config: c}, err
}

// NewNamedAccepter takes a function that returns the secret of the peer with a name. It is called from several goroutines.
func NewNamedAccepter(secret func(name []byte) ([]byte, error)) *Accepter {
	return &Accepter{secret: secret}
}

// Accept proves who is at the other end, and returns the name. It closes raw if that fails.
func (a *Accepter) Accept(ctx context.Context, raw net.Conn) (*Conn, []byte, error) {
	ctx, leave := a.meet(ctx)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, handshakes)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	name, err := readName(raw)
	c := a.config
	if err == nil && c == nil {
		var secret []byte
		if secret, err = a.secret(name); err == nil {
			c, err = config(secret)
		}
	}
	if stop(); err != nil {
		raw.Close()
		return nil, nil, fmt.Errorf("%v: %w", raw.RemoteAddr(), because(ctx, err))
	}
	conn, err := greet(ctx, raw, tls.Server(light.Conn(raw), c))
	return conn, name, because(ctx, err)
}

// because returns an error with the reason for which its context has ended.
func because(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errCrowd) {
		return errCrowd
	}
	return err
}

// meet enters a stranger, until leave. If there are too many, the context of the oldest ends.
func (a *Accepter) meet(ctx context.Context) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	me := a.strangers.PushBack(cancel)
	if a.strangers.Len() > maxStrangers {
		a.strangers.Remove(a.strangers.Front()).(context.CancelCauseFunc)(errCrowd)
	}
	return ctx, func() {
		a.mu.Lock()
		a.strangers.Remove(me) // or it was the oldest
		a.mu.Unlock()
		cancel(nil)
	}
}

// readName reads who has dialed.
func readName(in io.Reader) ([]byte, error) {
	var head [len(magic) + 2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head[len(magic):]))
	if string(head[:len(magic)]) != magic || n > maxName {
		return nil, fmt.Errorf("%w: it doesn't begin with a name of at most %d bytes", ErrMalformed, maxName)
	}
	return ReadBytes(in, n)
}

func greet(ctx context.Context, raw net.Conn, c *tls.Conn) (*Conn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		if e := (*net.OpError)(nil); errors.As(err, &e) && e.Op == "remote error" { // the other side has refused us
			err = fmt.Errorf("%w: %w", ErrStranger, err)
		}
		return nil, fmt.Errorf("%v: %w", raw.RemoteAddr(), err)
	}
	return NewConn(c), nil
}

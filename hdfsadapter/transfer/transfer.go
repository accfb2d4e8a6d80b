// Package transfer proves to HDFS's DataNodes who reads and writes blocks, and protects the bytes (Hadoop: SaslDataTransferClient): DIGEST-MD5 with the
// token of a block, or with the encryption key that the NameNode gives. After that either AES, if the DataNode has it, or DIGEST-MD5's own protection.
package transfer

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/protobuf/encoding/protodelim"

	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

const (
	magic      = 0xdeadbeef
	uriOfNodes = "hdfs/0" // the digest-uri of DataNodes
	maxMessage = 1 << 20  // bytes of a message of the handshake
	maxToken   = 1 << 20  // and of a protected one: Java's have 64 KiB
)

// ErrUnknownKey says that a DataNode doesn't know the encryption key, which the NameNode replaces from time to time.
var ErrUnknownKey = errors.New("the DataNode doesn't know the encryption key")

// Secret is what proves who asks for a block: its token, or an encryption key, which takes precedence.
type Secret struct {
	Token *pb.Token
	Key   *pb.DataEncryptionKey
}

func (s Secret) names() (username, password string) {
	if k := s.Key; k != nil {
		return fmt.Sprintf("%d %s %s", int32(k.GetKeyId()), k.GetBlockPoolId(), base64.StdEncoding.EncodeToString(k.GetNonce())), sasl.Password(k.GetEncryptionKey())
	}
	return sasl.Username(s.Token.GetIdentifier()), sasl.Password(s.Token.GetPassword())
}

// Protect proves to a DataNode who uses a connection, before anything else is sent. The returned connection protects the bytes by one of the
// qualities. The caller limits the time.
func Protect(conn net.Conn, s Secret, qualities sasl.Qualities) (net.Conn, error) {
	return protect(conn, uriOfNodes, s, qualities)
}

func protect(conn net.Conn, uri string, s Secret, qualities sasl.Qualities) (net.Conn, error) {
	if s.Key != nil {
		qualities = sasl.Qualities{sasl.Privacy}
	}
	username, password := s.names()
	c := sasl.NewClientOf(uri, username, password, qualities, nil)
	in := bufio.NewReader(conn)
	if err := send(conn, binary.BigEndian.AppendUint32(nil, magic), []byte{}); err != nil {
		return nil, err
	}
	challenge, err := receive(in)
	if err != nil {
		return nil, err
	}
	response, err := c.Respond(challenge.GetPayload())
	if err != nil {
		return nil, err
	}
	var offered []*pb.CipherOption
	if c.Quality() == sasl.Privacy {
		o := &pb.CipherOption{}
		o.SetSuite(pb.CipherSuite_CIPHER_SUITE_AES_CTR_NOPADDING)
		offered = append(offered, o)
	}
	if err := send(conn, nil, response, offered...); err != nil {
		return nil, err
	}
	answer, err := receive(in)
	if err != nil {
		return nil, err
	}
	if err := c.Verify(answer.GetPayload()); err != nil {
		return nil, err
	}
	p := c.Protection()
	switch {
	case p == nil:
		return &plain{conn, in}, nil
	case len(answer.GetCipherOption()) > 0:
		if len(offered) == 0 {
			return nil, errors.New("the DataNode chooses a cipher that wasn't offered")
		}
		return newAES(conn, in, answer.GetCipherOption()[0], p)
	}
	return &protected{Conn: conn, in: in, p: p}, nil
}

func send(w io.Writer, before, payload []byte, options ...*pb.CipherOption) error {
	m := &pb.DataTransferEncryptorMessage{}
	m.SetStatus(pb.DataTransferEncryptorMessage_SUCCESS)
	m.SetPayload(payload)
	m.SetCipherOption(options)
	w2 := &appender{before}
	if _, err := protodelim.MarshalTo(w2, m); err != nil {
		return err
	}
	_, err := w.Write(w2.b)
	return err
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// receive reads a message of the handshake.
func receive(in *bufio.Reader) (*pb.DataTransferEncryptorMessage, error) {
	m := &pb.DataTransferEncryptorMessage{}
	if err := (protodelim.UnmarshalOptions{MaxSize: maxMessage}).UnmarshalFrom(in, m); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("the DataNode's part of the handshake: %w", err)
	}
	switch {
	case m.GetStatus() == pb.DataTransferEncryptorMessage_SUCCESS:
		return m, nil
	case m.GetStatus() == pb.DataTransferEncryptorMessage_ERROR_UNKNOWN_KEY:
		return nil, fmt.Errorf("%w: %s", ErrUnknownKey, m.GetMessage())
	}
	return nil, fmt.Errorf("the DataNode refuses the token of the block: %s", m.GetMessage())
}

// plain is a connection without protection, of which bytes were read ahead.
type plain struct {
	net.Conn
	in *bufio.Reader
}

func (c *plain) Read(b []byte) (int, error) { return c.in.Read(b) }

// protected sends and receives DIGEST-MD5's messages, each after its length.
type protected struct {
	net.Conn
	in    *bufio.Reader
	p     sasl.Protection
	token []byte // buffer
	ready []byte // unread bytes of the last message
	out   []byte // buffer
}

func (c *protected) Read(b []byte) (int, error) {
	for len(c.ready) == 0 {
		var head [4]byte
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > maxToken {
			return 0, fmt.Errorf("a protected message of %d bytes; the limit is %d", n, maxToken)
		}
		if cap(c.token) < int(n) {
			c.token = make([]byte, n)
		}
		c.token = c.token[:n]
		if _, err := io.ReadFull(c.in, c.token); err != nil {
			return 0, fmt.Errorf("a protected message: %w", io.ErrUnexpectedEOF)
		}
		var err error
		if c.ready, err = c.p.Unwrap(c.token); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

func (c *protected) Write(b []byte) (int, error) {
	for at := 0; at < len(b); {
		n := min(len(b)-at, c.p.MaxMessage())
		token, err := c.p.Wrap(append(c.out[:0], 0, 0, 0, 0), b[at:at+n])
		if err != nil {
			return at, err
		}
		binary.BigEndian.PutUint32(token, uint32(len(token)-4))
		c.out = token
		if _, err := c.Conn.Write(token); err != nil {
			return at, err
		}
		at += n
	}
	return len(b), nil
}

// encrypted is a connection with AES in counter mode. It hides what is sent; each byte's checksum is HDFS's own.
type encrypted struct {
	net.Conn
	in           *bufio.Reader
	read, write  cipher.Stream
	out          []byte // buffer
	failedToSend error  // the peer's counter isn't ours any more
}

// newAES has the keys that the DataNode chose, which the handshake's protection encrypts.
func newAES(conn net.Conn, in *bufio.Reader, o *pb.CipherOption, p sasl.Protection) (net.Conn, error) {
	if o.GetSuite() != pb.CipherSuite_CIPHER_SUITE_AES_CTR_NOPADDING {
		return nil, fmt.Errorf("the DataNode chooses the cipher %v, which wasn't offered", o.GetSuite())
	}
	stream := func(what string, sealed, iv []byte) (cipher.Stream, error) {
		key, err := p.Unwrap(append([]byte(nil), sealed...))
		if err != nil {
			return nil, fmt.Errorf("the key %s: %w", what, err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("the key %s: %w", what, err)
		}
		if len(iv) != aes.BlockSize {
			return nil, fmt.Errorf("the key %s: an initialization vector of %d bytes", what, len(iv))
		}
		return cipher.NewCTR(block, iv), nil
	}
	c := &encrypted{Conn: conn, in: in}
	var err error
	if c.write, err = stream("to the DataNode", o.GetInKey(), o.GetInIv()); err != nil {
		return nil, err
	}
	if c.read, err = stream("from the DataNode", o.GetOutKey(), o.GetOutIv()); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *encrypted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.read.XORKeyStream(b[:n], b[:n])
	return n, err
}

func (c *encrypted) Write(b []byte) (int, error) {
	if c.failedToSend != nil {
		return 0, c.failedToSend
	}
	if cap(c.out) < len(b) {
		c.out = make([]byte, len(b))
	}
	c.write.XORKeyStream(c.out[:len(b)], b)
	n, err := c.Conn.Write(c.out[:len(b)])
	c.failedToSend = err
	return n, err
}

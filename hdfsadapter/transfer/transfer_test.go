package transfer

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// uri is that of this project's own servers, as which the tests' DataNodes check passwords.
const uri = "/default"

func secret() Secret {
	t := &pb.Token{}
	t.SetIdentifier([]byte("block 7"))
	t.SetPassword([]byte("password"))
	t.SetKind("HDFS_BLOCK_TOKEN")
	t.SetService("")
	return Secret{Token: t}
}

// dataNode is the other side of a handshake. It then sends back what it gets.
func dataNode(conn net.Conn, quality sasl.Quality, withAES bool) error {
	defer conn.Close()
	in := bufio.NewReader(conn)
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || binary.BigEndian.Uint32(head[:]) != magic {
		return errors.Join(err, errors.New("no handshake"))
	}
	server, err := sasl.NewServer(sasl.Qualities{quality}, nil)
	if err != nil {
		return err
	}
	if _, err := receive(in); err != nil {
		return err
	}
	if err := send(conn, nil, server.Challenge()); err != nil {
		return err
	}
	m, err := receive(in)
	if err != nil {
		return err
	}
	proof, err := server.Evaluate(m.GetPayload(), func(user string) (string, error) {
		if string(sasl.Identifier(user)) != "block 7" {
			return "", errors.New("another block")
		}
		return sasl.Password([]byte("password")), nil
	})
	if err != nil {
		m := &pb.DataTransferEncryptorMessage{}
		m.SetStatus(pb.DataTransferEncryptorMessage_ERROR)
		m.SetMessage(err.Error())
		_, err := protodelim.MarshalTo(conn, m)
		return err
	}
	var options []*pb.CipherOption
	p := server.Protection()
	var back net.Conn = &plain{conn, in}
	switch {
	case withAES:
		if len(m.GetCipherOption()) != 1 {
			return errors.New("AES isn't offered")
		}
		keys := [2][]byte{bytes.Repeat([]byte{1}, 16), bytes.Repeat([]byte{2}, 16)}
		o := &pb.CipherOption{}
		o.SetSuite(pb.CipherSuite_CIPHER_SUITE_AES_CTR_NOPADDING)
		o.SetInIv(bytes.Repeat([]byte{3}, 16))
		o.SetOutIv(bytes.Repeat([]byte{4}, 16))
		for i, set := range []func([]byte){o.SetInKey, o.SetOutKey} {
			sealed, err := p.Wrap(nil, keys[i])
			if err != nil {
				return err
			}
			set(sealed)
		}
		options = append(options, o)
		stream := func(key, iv []byte) cipher.Stream {
			block, _ := aes.NewCipher(key)
			return cipher.NewCTR(block, iv)
		}
		back = &encrypted{Conn: conn, in: in, read: stream(keys[0], o.GetInIv()), write: stream(keys[1], o.GetOutIv())}
	case p != nil:
		back = &protected{Conn: conn, in: in, p: p}
	}
	if err := send(conn, nil, proof, options...); err != nil {
		return err
	}
	_, err = io.Copy(back, back)
	return err
}

func TestHandshakesWithDataNodes(t *testing.T) {
	all := sasl.Qualities{sasl.Privacy, sasl.Integrity, sasl.Authentication}
	for name, x := range map[string]struct {
		quality sasl.Quality
		aes     bool
	}{"authentication": {sasl.Authentication, false}, "integrity": {sasl.Integrity, false}, "privacy": {sasl.Privacy, false}, "AES": {sasl.Privacy, true}} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			done := make(chan error, 1)
			go func() { done <- dataNode(theirs, x.quality, x.aes) }()
			c, err := protect(ours, uri, secret(), all)
			if err != nil {
				t.Fatal(err)
			}
			data := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
			go func() {
				if _, err := c.Write(data); err != nil {
					t.Error(err)
				}
			}()
			got := make([]byte, len(data))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
		})
	}
}

func TestDataNodesThatRefuse(t *testing.T) {
	try := func(s Secret, wanted sasl.Qualities, quality sasl.Quality) error {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go func() { _ = dataNode(theirs, quality, false) }()
		_, err := protect(ours, uri, s, wanted)
		return err
	}
	wrong := secret()
	wrong.Token.SetPassword([]byte("guess"))
	if err := try(wrong, nil, sasl.Authentication); err == nil || !strings.Contains(err.Error(), "refuses the token") {
		t.Errorf("a wrong password: %v", err)
	}
	if err := try(secret(), sasl.Qualities{sasl.Privacy}, sasl.Authentication); err == nil {
		t.Error("privacy was wanted, and a connection without it is taken")
	}
	ours, theirs := net.Pipe()
	go func() {
		in := bufio.NewReader(theirs)
		_, _ = in.Discard(4)
		_, _ = receive(in)
		m := &pb.DataTransferEncryptorMessage{}
		m.SetStatus(pb.DataTransferEncryptorMessage_ERROR_UNKNOWN_KEY)
		_, _ = protodelim.MarshalTo(theirs, m)
		_ = theirs.Close()
	}()
	key := &pb.DataEncryptionKey{}
	key.SetKeyId(7)
	if _, err := Protect(ours, Secret{Key: key}, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an old key: %v", err)
	}
}

// scripted is a DataNode that sends whatever bytes.
type scripted struct {
	net.Conn
	in io.Reader
}

func (c *scripted) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *scripted) Write(b []byte) (int, error) { return len(b), nil }

// FuzzProtect answers a handshake, and what follows, with whatever bytes: it fails, and doesn't end in a panic.
func FuzzProtect(f *testing.F) {
	var seed bytes.Buffer
	for _, text := range []string{`realm="0",nonce="x",qop="auth-conf",charset=utf-8,cipher="3des",algorithm=md5-sess`, "rspauth=0"} {
		_ = send(&seed, nil, []byte(text))
	}
	f.Add(seed.Bytes())
	f.Add([]byte{2, 8, 0, 0, 0, 0, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		all := sasl.Qualities{sasl.Privacy, sasl.Integrity, sasl.Authentication}
		if _, err := Protect(&scripted{in: bytes.NewReader(b)}, secret(), all); err == nil {
			t.Error("a DataNode proved itself that doesn't know the password")
		}
		_, _ = io.ReadAll(&protected{in: bufio.NewReader(bytes.NewReader(b)), p: echo{}})
	})
}

// echo is a Protection without one.
type echo struct{}

func (echo) Wrap(to, message []byte) ([]byte, error) { return append(to, message...), nil }
func (echo) Unwrap(token []byte) ([]byte, error)     { return token, nil }
func (echo) MaxMessage() int                         { return 1000 }

package proxyca

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"

	"heddle/internal/bounded"
	"heddle/internal/keystore"
	"heddle/internal/sharedsecret"
)

// Served returns a listener of an ApplicationMaster's that takes TLS with the certificate that the ApplicationMaster was given, besides connections without, and
// true; false if it was given none. getenv reads the container's environment. own, if it isn't nil, is the TLS of clients that name sharedsecret.Name.
func Served(l net.Listener, getenv func(string) string, own *tls.Config) (net.Listener, bool, error) {
	path, c := getenv("KEYSTORE_FILE_LOCATION"), &tls.Config{MinVersion: tls.VersionTLS12}
	if path == "" && own == nil {
		return l, false, nil
	}
	if path != "" {
		pair, err := certificateIn(path, getenv("KEYSTORE_PASSWORD"))
		if err != nil {
			return nil, false, fmt.Errorf("the ApplicationMaster's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if own != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName == sharedsecret.Name {
				return own, nil
			}
			return nil, nil
		}
	}
	return &either{l, c}, path != "", nil
}

func certificateIn(path, password string) (pair tls.Certificate, err error) {
	raw, err := bounded.ReadFile(path, keystore.MaxSize)
	if err != nil {
		return pair, err
	}
	s, err := keystore.Parse(raw, password, "")
	if err != nil {
		return pair, fmt.Errorf("%s: %w", path, err)
	}
	if len(s.Keys) != 1 {
		return pair, fmt.Errorf("%s has %d keys instead of one", path, len(s.Keys))
	}
	return s.Keys[0].Certificate(), nil
}

// either is a listener of connections with and without TLS.
type either struct {
	net.Listener
	config *tls.Config
}

func (e *either) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: c, config: e.config}, nil
}

// eitherConn knows by the first byte from the client whether it speaks TLS. Servers read before they write.
type eitherConn struct {
	net.Conn
	config *tls.Config
	once   sync.Once
	in     net.Conn
	err    error
}

// handshakeRecord begins TLS, and no request of HTTP.
const handshakeRecord = 22

func (c *eitherConn) known() (net.Conn, error) {
	c.once.Do(func() {
		first := make([]byte, 1)
		if _, c.err = c.Conn.Read(first); c.err != nil {
			return
		}
		c.in = &begun{c.Conn, first}
		if first[0] == handshakeRecord {
			c.in = tls.Server(c.in, c.config)
		}
	})
	return c.in, c.err
}

func (c *eitherConn) Read(b []byte) (int, error) {
	in, err := c.known()
	if err != nil {
		return 0, err
	}
	return in.Read(b)
}

func (c *eitherConn) Write(b []byte) (int, error) {
	in, err := c.known()
	if err != nil {
		return 0, err
	}
	return in.Write(b)
}

// begun is a connection of which some bytes were read.
type begun struct {
	net.Conn
	read []byte
}

func (c *begun) Read(b []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(b, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

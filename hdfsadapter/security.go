package hdfsadapter

import (
	"context"
	"net"
	"time"

	"heddle/hdfsadapter/access"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// Login holds a user's Kerberos tickets.
type Login = access.Login

// Secure reports whether HDFS wants proof of the caller's identity: Kerberos, or a token.
func (a *Adapter) Secure() bool { return a.access.Kerberos }

// User returns the short name of the user that calls without a token are made for: the owner of kinit's tickets, or this process's user.
func (a *Adapter) User() string { return a.self }

// Bearing is As with the tokens in a container's credentials. Without readable credentials the user has no token.
func (a *Adapter) Bearing(user string, credentials []byte) *FS {
	var tokens []token.Token
	if c, err := token.DecodeCredentials(credentials); err == nil {
		for _, t := range c.Tokens {
			tokens = append(tokens, t.Token)
		}
	}
	f := a.As(user, tokens...)
	f.credentials = credentials
	return f
}

// secured reports whether the library's own connections won't do.
func (s *hdfsStore) secured() bool { return s.a.access.Kerberos || s.a.access.Encrypts }

// protect proves to a DataNode who asks for a block, if that is needed.
func (s *hdfsStore) protect(ctx context.Context, conn net.Conn, addr string, tok *pb.Token) (net.Conn, error) {
	if !s.secured() {
		return conn, nil
	}
	if err := conn.SetDeadline(time.Now().Add(s.a.data.timeout)); err != nil {
		return nil, err
	}
	conn, err := s.data.Protect(ctx, conn, addr, tok)
	return conn, fromHDFS(err)
}

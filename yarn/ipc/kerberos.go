package ipc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"heddle/yarn/kerberos"
	"heddle/yarn/pb"
)

// Tickets gives a client the tickets by which it proves who it is. It must be a pointer, and safe for concurrent use.
type Tickets interface {
	// Ticket returns a ticket for the service that a server claims to be, such as rm on host. It fails if the caller's configuration expects another
	// one there: then another may be answering.
	Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error)
}

// addressed are Tickets that know the expected peer at an address, host:port.
type addressed interface {
	TicketAt(ctx context.Context, addr, service, host string) (kerberos.Ticket, error)
}

// checkAcceptor says what a server's acceptor lacks.
func checkAcceptor(a *kerberos.Acceptor) error {
	if a == nil {
		return errors.New("a server that takes Kerberos tickets needs an Acceptor")
	}
	if service, host, realm := splitPrincipal(a.Principal); service == "" || host == "" || realm == "" {
		return fmt.Errorf("the principal %q must have the form SERVICE/HOST@REALM", a.Principal)
	}
	return nil
}

// splitPrincipal splits service/host@REALM.
func splitPrincipal(p string) (service, host, realm string) {
	p, realm, _ = strings.Cut(p, "@")
	service, host, _ = strings.Cut(p, "/")
	return service, host, realm
}

func kerberosAuth(a *kerberos.Acceptor) *pb.RpcSasl_SaslAuth {
	service, host, _ := splitPrincipal(a.Principal)
	auth := &pb.RpcSasl_SaslAuth{}
	auth.SetMethod("KERBEROS")
	auth.SetMechanism("GSSAPI")
	auth.SetProtocol(service)
	auth.SetServerId(host)
	return auth
}

// proved reports whether the client has proved who it is.
func (c *serverConn) proved() bool { return c.bearer != nil || c.principal != "" }

// evaluateKerberos answers a message of a client that has chosen Kerberos.
func (c *serverConn) evaluateKerberos(m *pb.RpcSasl) error {
	if !m.HasToken() {
		return fatalAuth(SaslException, "Client did not send a token")
	}
	end, err := c.beginProof()
	if err != nil {
		return err
	}
	answer, complete, err := c.gss.Evaluate(m.GetToken())
	end()
	if err != nil {
		c.log = c.log.WithField("cause", err) // the client learns less
		return saslFailure(err)
	}
	if !complete {
		c.saslAnswer(pb.RpcSasl_CHALLENGE, answer)
		return nil
	}
	c.principal = c.gss.Client()
	protection := c.gss.Protection()
	c.gss = nil
	c.saslAnswer(pb.RpcSasl_SUCCESS, nil)
	c.protect(protection)
	return nil
}

// beginProof waits for the turn to check a message of the client. A server spends at most half of the processors on that: when thousands of nodes come
// at once, as after a change of leaders, what members send each other and the calls of those who are in must not wait for all of them. end ends the turn.
// It fails when the connection ends.
func (c *serverConn) beginProof() (end func(), err error) {
	select {
	case c.srv.proofs <- struct{}{}:
		return func() { <-c.srv.proofs }, nil
	case <-c.id.ctx.Done():
		return nil, c.id.ctx.Err()
	}
}

// kerberosPeer returns the peer that a ticket has authenticated. A client that claims another name, even its own short one, acts for another.
func (c *serverConn) kerberosPeer(claims bool, claimed string, addr netip.AddrPort) (*Peer, error) {
	p := &Peer{FullUser: c.principal, Auth: AuthMethodKerberos, Addr: addr, Principal: c.principal}
	if claims && claimed != c.principal {
		p.FullUser, p.FullRealUser = claimed, c.principal
	}
	p.User, p.RealUser = p.FullUser, p.FullRealUser
	if err := c.shorten(&p.User, &p.RealUser); err != nil {
		return nil, err
	}
	if p.RealUser != "" {
		if err := c.impersonate(p.RealUser, p.User, c.principal, claimed, addr.Addr()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// ticket returns a ticket for the service that the server claims to be.
func (c *clientConn) ticket(ctx context.Context, service, host string) (kerberos.Ticket, error) {
	if t, ok := c.who.Kerberos.(addressed); ok {
		return t.TicketAt(ctx, c.key.addr, service, host)
	}
	return c.who.Kerberos.Ticket(ctx, service, host)
}

// proveKerberos goes through GSSAPI.
func (c *clientConn) proveKerberos(ctx context.Context, auth *pb.RpcSasl_SaslAuth) error {
	ticket, err := c.ticket(ctx, auth.GetProtocol(), auth.GetServerId())
	if err != nil {
		return &AuthError{c.key.addr, err}
	}
	k := kerberos.NewClient(ticket, c.client.cfg.Protection, nil, nil)
	message, err := k.Start()
	if err != nil {
		return &AuthError{c.key.addr, err}
	}
	m, err := c.saslRoundTrip(pb.RpcSasl_INITIATE, message, auth)
	for err == nil && m.GetState() == pb.RpcSasl_CHALLENGE {
		if message, err = k.Respond(m.GetToken()); err == nil {
			m, err = c.saslRoundTrip(pb.RpcSasl_RESPONSE, message, nil)
		}
	}
	if err != nil {
		return err
	}
	if m.GetState() != pb.RpcSasl_SUCCESS || !k.Complete() {
		return c.unexpected(m)
	}
	c.protect(k.Protection())
	return nil
}

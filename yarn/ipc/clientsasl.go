package ipc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"heddle/yarn/ipc/packet"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// authenticate sends the preamble. If there is a token or a ticket, it then goes through SASL. names says that the connection
// context has to name the user.
func (c *clientConn) authenticate(ctx context.Context) (names bool, err error) {
	preamble := packet.NewBuffer(preambleLength)
	auth := byte(authNone)
	withSASL := c.who.Token != nil || c.who.Kerberos != nil
	if withSASL {
		auth = authSASL
	}
	preamble.B = append(append(preamble.B, magic...), Version, 0, auth)
	if !withSASL {
		return true, c.out.Send(preamble, 0)
	}
	if err := c.out.Send(preamble, 0); err != nil {
		return false, err
	}
	names, err = c.negotiate(ctx)
	if err != nil {
		if e := (*sasl.Error)(nil); errors.As(err, &e) {
			err = &AuthError{c.key.addr, err}
		}
		return false, err
	}
	return names, nil
}

func (c *clientConn) negotiate(ctx context.Context) (names bool, err error) {
	offer, err := c.saslRoundTrip(pb.RpcSasl_NEGOTIATE, nil, nil)
	if err != nil {
		return false, err
	}
	switch offer.GetState() {
	case pb.RpcSasl_SUCCESS: // the server takes no tokens
		if c.who.RequireToken || c.who.Kerberos != nil {
			return false, c.unproven()
		}
		return true, nil
	case pb.RpcSasl_NEGOTIATE:
	default:
		return false, c.unexpected(offer)
	}
	for _, auth := range offer.GetAuths() {
		challenge := auth.GetChallenge()
		auth.ClearChallenge()
		switch {
		case c.who.Token != nil && sameAuth(auth, tokenAuth()):
			return false, c.proveToken(auth, challenge)
		case c.who.Kerberos != nil && auth.GetMethod() == "KERBEROS" && auth.GetMechanism() == "GSSAPI":
			return true, c.proveKerberos(ctx, auth)
		case sameAuth(auth, simpleAuth()) && (c.who.RequireToken || c.who.Kerberos != nil):
			return false, c.unproven()
		case sameAuth(auth, simpleAuth()):
			return true, c.sendSASL(pb.RpcSasl_INITIATE, nil, auth) // the server doesn't answer this
		}
	}
	var methods []string
	for _, auth := range offer.GetAuths() {
		methods = append(methods, auth.GetMethod())
	}
	return false, &AuthError{c.key.addr, fmt.Errorf("the server wants one of [%s], and this client has none of them", strings.Join(methods, ", "))}
}

// unproven returns the error for a server that asks for no proof, and so gives none either.
func (c *clientConn) unproven() error {
	return &AuthError{c.key.addr, errors.New("the server asks for no proof, so it can't prove its own identity")}
}

// proveToken goes through DIGEST-MD5.
func (c *clientConn) proveToken(auth *pb.RpcSasl_SaslAuth, challenge []byte) error {
	t := c.who.Token
	digest := sasl.NewClient(sasl.Username(t.Identifier), sasl.Password(t.Password), c.client.cfg.Protection, nil)
	if c.client.cfg.AsJava {
		digest.AsJava()
	}
	state := pb.RpcSasl_INITIATE
	if len(challenge) == 0 {
		m, err := c.saslRoundTrip(state, []byte{}, auth)
		if err != nil {
			return err
		}
		if m.GetState() != pb.RpcSasl_CHALLENGE {
			return c.unexpected(m)
		}
		challenge, state, auth = m.GetToken(), pb.RpcSasl_RESPONSE, nil
	}
	response, err := digest.Respond(challenge)
	if err != nil {
		return err
	}
	m, err := c.saslRoundTrip(state, response, auth)
	if err != nil {
		return err
	}
	if m.GetState() != pb.RpcSasl_SUCCESS {
		return c.unexpected(m)
	}
	if err := digest.Verify(m.GetToken()); err != nil {
		return err
	}
	c.protect(digest.Protection())
	return nil
}

func (c *clientConn) unexpected(m *pb.RpcSasl) error {
	return &AuthError{c.key.addr, fmt.Errorf("unexpected SASL state %v", m.GetState())}
}

func (c *clientConn) saslRoundTrip(state pb.RpcSasl_SaslState, tok []byte, auth *pb.RpcSasl_SaslAuth) (*pb.RpcSasl, error) {
	if err := c.sendSASL(state, tok, auth); err != nil {
		return nil, err
	}
	raw, owner, err := c.in.Next()
	if err != nil {
		return nil, fmt.Errorf("connection ended during authentication: %w", err)
	}
	if owner != nil {
		defer owner.Free()
	}
	h, body, err := c.parseHeader(raw)
	if err != nil {
		return nil, err
	}
	if h.status != pb.RpcResponseHeader_SUCCESS {
		return nil, c.remoteError(h)
	}
	if h.callID != callSASL {
		return nil, &AuthError{c.key.addr, fmt.Errorf("response to call %d during authentication", h.callID)}
	}
	m := &pb.RpcSasl{}
	b, _, err := delimited(body)
	if err == nil {
		err = unmarshal(b, m)
	}
	if err != nil {
		return nil, &AuthError{c.key.addr, err}
	}
	return m, nil
}

func (c *clientConn) sendSASL(state pb.RpcSasl_SaslState, tok []byte, auth *pb.RpcSasl_SaslAuth) error {
	m := &pb.RpcSasl{}
	m.SetState(state)
	if tok != nil {
		m.SetToken(tok)
	}
	if auth != nil {
		m.SetAuths([]*pb.RpcSasl_SaslAuth{auth})
	}
	return c.sendMessage(callSASL, "", m)
}

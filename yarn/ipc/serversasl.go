package ipc

import (
	"errors"

	"heddle/yarn/kerberos"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// notEnabled returns the failure for an authentication method that the server doesn't offer.
func (c *serverConn) notEnabled(method string) *failure {
	return fatalAuth(AccessControlException, "%s authentication is not enabled.  Available:%s", method,
		c.srv.cfg.Auth.available())
}

// saslMessage handles an RpcSasl message of the client. There are five exchanges:
//
//	NEGOTIATE → SUCCESS without methods                     a server without tokens: the client continues without SASL
//	NEGOTIATE → NEGOTIATE with methods, INITIATE of SIMPLE  no reply: the client continues without SASL
//	NEGOTIATE → NEGOTIATE with methods, INITIATE of TOKEN with the response to the challenge → SUCCESS with rspauth
//	INITIATE of TOKEN, empty → CHALLENGE, RESPONSE → SUCCESS with rspauth
//	NEGOTIATE → NEGOTIATE, INITIATE of KERBEROS with a ticket → CHALLENGE, RESPONSE → CHALLENGE, RESPONSE → SUCCESS
func (c *serverConn) saslMessage(body []byte) error {
	var m pb.RpcSasl
	b, _, err := delimited(body)
	if err == nil {
		err = unmarshal(b, &m)
	}
	if err != nil {
		return fatalDecode("RpcSaslProto", err)
	}
	if m.GetState() == pb.RpcSasl_WRAP {
		return fatalHeader(SaslException, "Server is not wrapping data")
	}
	if c.proved() {
		return fatalHeader(SaslException, "Negotiation is already complete")
	}
	switch m.GetState() {
	case pb.RpcSasl_NEGOTIATE:
		if c.negotiated {
			return fatalAuth(AccessControlException, "Client already attempted negotiation")
		}
		return c.negotiate()
	case pb.RpcSasl_INITIATE:
		return c.initiate(&m)
	case pb.RpcSasl_RESPONSE:
		switch {
		case c.gss != nil:
			return c.evaluateKerberos(&m)
		case c.digest != nil:
			return c.evaluate(&m)
		default:
			return errSilent // Hadoop's server fails on a null pointer here
		}
	default:
		return fatalAuth(SaslException, "Client sent unsupported state %v", m.GetState())
	}
}

// negotiate sends the methods that the server offers. TOKEN is first and has a challenge, which saves a round trip.
func (c *serverConn) negotiate() error {
	c.negotiated = true
	if c.srv.cfg.Auth == AuthSimple {
		c.useSASL = false
		c.saslAnswer(pb.RpcSasl_SUCCESS, nil)
		return nil
	}
	var auths []*pb.RpcSasl_SaslAuth
	if c.srv.cfg.Auth.takes(AuthMethodToken) {
		if err := c.newDigest(); err != nil {
			return err
		}
		token := tokenAuth()
		token.SetChallenge(c.digest.Challenge())
		auths = append(auths, token)
	}
	if c.srv.cfg.Auth.takes(AuthMethodKerberos) {
		auths = append(auths, kerberosAuth(c.srv.cfg.Kerberos))
	}
	if c.srv.cfg.Auth.takes(AuthMethodSimple) {
		auths = append(auths, simpleAuth())
	}
	m := &pb.RpcSasl{}
	m.SetState(pb.RpcSasl_NEGOTIATE)
	m.SetAuths(auths)
	c.saslReply(m)
	return nil
}

func (c *serverConn) newDigest() error {
	d, err := sasl.NewServer(c.srv.cfg.Protection, nil)
	if err != nil {
		return fatalAuth(SaslException, "%v", err)
	}
	c.digest = d
	return nil
}

func tokenAuth() *pb.RpcSasl_SaslAuth {
	a := &pb.RpcSasl_SaslAuth{}
	a.SetMethod("TOKEN")
	a.SetMechanism("DIGEST-MD5")
	a.SetProtocol("")
	a.SetServerId(sasl.Realm)
	return a
}

func simpleAuth() *pb.RpcSasl_SaslAuth {
	a := &pb.RpcSasl_SaslAuth{}
	a.SetMethod("SIMPLE")
	a.SetMechanism("")
	return a
}

func sameAuth(a, b *pb.RpcSasl_SaslAuth) bool {
	return a.GetMethod() == b.GetMethod() && a.GetMechanism() == b.GetMechanism() &&
		a.HasProtocol() == b.HasProtocol() && a.GetProtocol() == b.GetProtocol() &&
		a.HasServerId() == b.HasServerId() && a.GetServerId() == b.GetServerId() && !a.HasChallenge() && !b.HasChallenge()
}

// initiate begins the method that the client has chosen. It must be one that was offered.
func (c *serverConn) initiate(m *pb.RpcSasl) error {
	if len(m.GetAuths()) != 1 {
		return fatalAuth(SaslException, "Client mechanism is malformed")
	}
	chosen, mode := m.GetAuths()[0], c.srv.cfg.Auth
	switch {
	case mode.takes(AuthMethodKerberos) && sameAuth(chosen, kerberosAuth(c.srv.cfg.Kerberos)):
		c.digest, c.gss = nil, kerberos.NewServer(c.srv.cfg.Kerberos, c.srv.cfg.Protection)
		return c.evaluateKerberos(m)
	case mode == AuthSimpleOrToken && sameAuth(chosen, simpleAuth()):
		c.useSASL, c.digest = false, nil
		return nil
	case mode.takes(AuthMethodToken) && sameAuth(chosen, tokenAuth()):
		return c.evaluate(m)
	case c.negotiated:
		return c.notEnabled(chosen.GetMethod())
	default: // a client that guessed wrong gets the list of methods
		return c.negotiate()
	}
}

// evaluate checks the client's response to the challenge. If no challenge was sent yet, it sends one.
func (c *serverConn) evaluate(m *pb.RpcSasl) error {
	if !m.HasToken() {
		return fatalAuth(SaslException, "Client did not send a token")
	}
	if c.digest == nil {
		if len(m.GetToken()) > 0 {
			return fatalAuth(SaslException, "DIGEST-MD5 must not have an initial response")
		}
		if err := c.newDigest(); err != nil {
			return err
		}
		c.saslAnswer(pb.RpcSasl_CHALLENGE, c.digest.Challenge())
		return nil
	}
	var (
		bearer     Bearer
		identifier []byte
	)
	rspauth, err := c.digest.Evaluate(m.GetToken(), func(username string) (string, error) {
		if c.srv.cfg.Gate != nil {
			if err := c.srv.cfg.Gate(""); err != nil {
				return "", err
			}
		}
		identifier = sasl.Identifier(username)
		var err error
		bearer, err = c.srv.cfg.Secrets.Bearer(identifier)
		return sasl.Password(bearer.Password), err
	})
	if err != nil {
		return saslFailure(err)
	}
	if bearer.User == "" {
		return fatalAuth(AccessControlException, "Can't retrieve username from tokenIdentifier.")
	}
	protection := c.digest.Protection()
	c.bearer, c.identifier, c.digest = &bearer, identifier, nil
	c.saslAnswer(pb.RpcSasl_SUCCESS, rspauth)
	c.protect(protection)
	return nil
}

// saslFailure chooses what the client learns of an error. Exceptions of Secrets and Gate reach it unchanged; a
// StandbyException makes it try another server. Other errors stay on the server.
func saslFailure(err error) error {
	if errors.Is(err, ErrMalformedIdentifier) {
		return errors.Join(errSilent, err)
	}
	if e := (*Exception)(nil); errors.As(err, &e) {
		return fatalAuth(e.Class, "%s", e.Text)
	}
	text := err.Error()
	if e := (*sasl.Error)(nil); errors.As(err, &e) {
		text = e.Text
	}
	return fatalAuth(SaslException, "%s", text)
}

// saslAnswer sends a state with a token; nil: with none.
func (c *serverConn) saslAnswer(state pb.RpcSasl_SaslState, token []byte) {
	m := &pb.RpcSasl{}
	m.SetState(state)
	if token != nil {
		m.SetToken(token)
	}
	c.saslReply(m)
}

func (c *serverConn) saslReply(m *pb.RpcSasl) {
	c.reply(&responseHeader{callID: callSASL, retryCount: noRetryCount}, m, 0, false)
}

package ipc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/sasl"
	"heddle/yarn/token"
)

var attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1795253712789, ID: 7}, Attempt: 1}

// nmSecrets checks tokens of NodeManagers as a NodeManager does.
type nmSecrets struct {
	key *token.MasterKey
	err error
}

func (s nmSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseNM(identifier)
	if err != nil {
		return ipc.Bearer{}, fmt.Errorf("%w: %w", ipc.ErrMalformedIdentifier, err)
	}
	if s.err != nil {
		return ipc.Bearer{}, s.err
	}
	return ipc.Bearer{Password: s.key.Sign(identifier), User: id.User(), Kind: token.KindNM, Identifier: id}, nil
}

func newKey(t testing.TB) *token.MasterKey {
	t.Helper()
	k, err := token.GenerateMasterKey(3, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func nmToken(k *token.MasterKey) *token.Token {
	t := k.Mint(token.KindNM, "127.0.0.1:1", token.NM{Attempt: attempt, Submitter: "alice", KeyID: k.ID()}.Encode())
	return &t
}

// whoAmI answers getContainerStatuses with an empty response, and tells the test who asked.
func whoAmI(calls chan<- ipc.Call) func(*ipc.Server) {
	return func(s *ipc.Server) {
		protocol.GetContainerStatuses.Serve(s, func(ctx context.Context, _ *pb.GetContainerStatusesRequest) (*pb.GetContainerStatusesResponse, error) {
			calls <- *ipc.CallFrom(ctx)
			return &pb.GetContainerStatusesResponse{}, nil
		})
	}
}

func statuses(t testing.TB, c *ipc.Client, addr string, who ipc.Identity) error {
	t.Helper()
	e := c.Endpoint(addr, protocol.ContainerManagement, who)
	_, err := protocol.GetContainerStatuses.Call(testContext(t), e, &pb.GetContainerStatusesRequest{})
	return err
}

func TestTokenAndSimpleAuthentication(t *testing.T) {
	key := newKey(t)
	good := nmToken(key)
	bad := *good
	bad.Password = []byte("wrong")
	garbled := *good
	garbled.Identifier = []byte{0xff}
	for _, c := range []struct {
		name  string
		auth  ipc.AuthMode
		token *token.Token
		user  string // that the handler sees
		class string // of the refusal
	}{
		{"no token for a server that wants none", ipc.AuthSimple, nil, "bob", ""},
		{"a token for a server that wants none", ipc.AuthSimple, good, "bob", ""},
		{"a wrong token for a server that wants none", ipc.AuthSimple, &bad, "bob", ""},
		{"no token for a server that takes some", ipc.AuthSimpleOrToken, nil, "bob", ""},
		{"a token for a server that takes some", ipc.AuthSimpleOrToken, good, attempt.String(), ""},
		{"a wrong token for a server that takes some", ipc.AuthSimpleOrToken, &bad, "", ipc.SaslException},
		{"no token for a server that wants one", ipc.AuthToken, nil, "", ipc.AccessControlException},
		{"a token for a server that wants one", ipc.AuthToken, good, attempt.String(), ""},
		{"a wrong token for a server that wants one", ipc.AuthToken, &bad, "", ipc.SaslException},
		{"a garbled token for a server that wants one", ipc.AuthToken, &garbled, "", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := make(chan ipc.Call, 1)
			_, addr := serve(t, ipc.ServerConfig{Auth: c.auth, Secrets: nmSecrets{key: key}}, whoAmI(calls))
			err := statuses(t, newClient(t, ipc.ClientConfig{}), addr, ipc.Identity{User: "bob", Token: c.token})
			if c.class != "" {
				if err == nil || c.class != "none" && !ipc.IsClass(err, c.class) {
					t.Fatalf("got %v, want %s", err, c.class)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := <-calls
			if got.User != c.user {
				t.Errorf("user %s, want %s", got.User, c.user)
			}
			if c.user == "bob" {
				if got.Auth != ipc.AuthMethodSimple || got.TokenIdentifier != nil {
					t.Errorf("peer %+v", got.Peer)
				}
				return
			}
			id, _ := got.Identifier.(token.NM)
			if got.Auth != ipc.AuthMethodToken || got.TokenKind != token.KindNM || id.Submitter != "alice" ||
				string(got.TokenIdentifier) != string(good.Identifier) {
				t.Errorf("peer %+v", got.Peer)
			}
		})
	}
}

func TestRefusedTokens(t *testing.T) {
	key := newKey(t)
	for _, c := range []struct {
		err         error
		class, text string
	}{
		{ipc.NewException(ipc.InvalidToken, "%s not found", attempt), ipc.InvalidToken, attempt.String() + " not found"},
		{ipc.NewException(ipc.RetriableException, "soon"), ipc.RetriableException, "soon"},
		{errors.New("disk on fire"), ipc.SaslException, "DIGEST-MD5: IO error acquiring password"},
	} {
		_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key, c.err}}, whoAmI(nil))
		err := statuses(t, newClient(t, ipc.ClientConfig{}), addr, ipc.Identity{Token: nmToken(key)})
		r := (*ipc.RemoteError)(nil)
		if !errors.As(err, &r) || r.Class != c.class || r.Text != c.text || !r.Fatal ||
			r.Detail != pb.RpcResponseHeader_FATAL_UNAUTHORIZED {
			t.Errorf("got %v, want %s: %s", err, c.class, c.text)
		}
	}
}

// A standby says so while a token is checked, ending the connection, and to every call on connections without tokens.
func TestGate(t *testing.T) {
	key := newKey(t)
	var active atomic.Bool
	asked := make(chan string, 10)
	_, addr := serve(t, ipc.ServerConfig{
		Auth: ipc.AuthSimpleOrToken, Secrets: nmSecrets{key: key},
		Gate: func(protocol string) error {
			asked <- protocol
			if active.Load() {
				return nil
			}
			return ipc.NewException(ipc.StandbyException, "rm2 is not active")
		},
	}, whoAmI(make(chan ipc.Call, 2)))
	c := newClient(t, ipc.ClientConfig{})
	r := (*ipc.RemoteError)(nil)
	if err := statuses(t, c, addr, ipc.Identity{Token: nmToken(key)}); !errors.As(err, &r) ||
		r.Class != ipc.StandbyException || !r.Fatal || r.Text != "rm2 is not active" {
		t.Errorf("with a token: %v", err)
	}
	if p := <-asked; p != "" {
		t.Errorf("asked for %q", p)
	}
	if err := statuses(t, c, addr, ipc.Identity{User: "bob"}); !errors.As(err, &r) || r.Class != ipc.StandbyException ||
		r.Fatal || r.Detail != pb.RpcResponseHeader_ERROR_APPLICATION {
		t.Errorf("without a token: %v", err)
	}
	if p := <-asked; p != protocol.ContainerManagement.Name {
		t.Errorf("asked for %q", p)
	}
	active.Store(true)
	for _, who := range []ipc.Identity{{Token: nmToken(key)}, {User: "bob"}} {
		if err := statuses(t, c, addr, who); err != nil {
			t.Error(err)
		}
	}
}

// A client may begin without asking what there is, and be sent the challenge then.
func TestTokenWithoutNegotiation(t *testing.T) {
	key := newKey(t)
	calls := make(chan ipc.Call, 1)
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}}, whoAmI(calls))
	c := dialRaw(t, addr)
	tok := nmToken(key)
	c.send(preamble(0xdf), saslPacket(t, saslMessage(pb.RpcSasl_INITIATE, []byte{}, saslAuth("TOKEN", "DIGEST-MD5"))))
	var m pb.RpcSasl
	_, body := c.response()
	mustUnmarshal(t, body, &m)
	if m.GetState() != pb.RpcSasl_CHALLENGE {
		t.Fatalf("got %v", &m)
	}
	digest := sasl.NewClient(sasl.Username(tok.Identifier), sasl.Password(tok.Password), nil, nil)
	response, err := digest.Respond(m.GetToken())
	if err != nil {
		t.Fatal(err)
	}
	c.send(saslPacket(t, saslMessage(pb.RpcSasl_RESPONSE, response)))
	_, body = c.response()
	mustUnmarshal(t, body, &m)
	if m.GetState() != pb.RpcSasl_SUCCESS {
		t.Fatalf("got %v", &m)
	}
	if err := digest.Verify(m.GetToken()); err != nil {
		t.Error(err)
	}
	c.send(contextPacket(t, attempt.String()), callPacket(t, 1, protocol.GetContainerStatuses.Method, &pb.GetContainerStatusesRequest{}))
	if h, _ := c.response(); h.GetStatus() != pb.RpcResponseHeader_SUCCESS {
		t.Errorf("got %v", h)
	}
	if got := <-calls; got.User != attempt.String() {
		t.Errorf("user %s", got.User)
	}
}

// What breaks the rules of the exchange, beyond the recordings.
func TestSASLOutOfOrder(t *testing.T) {
	key := newKey(t)
	tokenAuth := saslAuth("TOKEN", "DIGEST-MD5")
	withChallenge := saslAuth("TOKEN", "DIGEST-MD5")
	withChallenge.SetChallenge([]byte("x"))
	simple := &pb.RpcSasl_SaslAuth{}
	simple.SetMethod("SIMPLE")
	simple.SetMechanism("")
	negotiate := saslMessage(pb.RpcSasl_NEGOTIATE, nil)
	for _, c := range []struct {
		name        string
		send        []*pb.RpcSasl
		skip        int // replies to ignore
		class, text string
		detail      pb.RpcResponseHeader_RpcErrorCode
	}{
		{
			"negotiate twice",
			[]*pb.RpcSasl{negotiate, negotiate},
			1,
			ipc.AccessControlException, "Client already attempted negotiation", pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"no method",
			[]*pb.RpcSasl{negotiate, saslMessage(pb.RpcSasl_INITIATE, nil)},
			1,
			ipc.SaslException, "Client mechanism is malformed", pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"two methods",
			[]*pb.RpcSasl{negotiate, saslMessage(pb.RpcSasl_INITIATE, nil, tokenAuth, simple)},
			1,
			ipc.SaslException, "Client mechanism is malformed", pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"method with challenge",
			[]*pb.RpcSasl{negotiate, saslMessage(pb.RpcSasl_INITIATE, nil, withChallenge)},
			1,
			ipc.AccessControlException, "TOKEN authentication is not enabled.  Available:[TOKEN, SIMPLE]",
			pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"wrap",
			[]*pb.RpcSasl{saslMessage(pb.RpcSasl_WRAP, []byte("x"))},
			0,
			ipc.SaslException, "Server is not wrapping data", pb.RpcResponseHeader_FATAL_INVALID_RPC_HEADER,
		},
		{
			"challenge",
			[]*pb.RpcSasl{saslMessage(pb.RpcSasl_CHALLENGE, []byte("x"))},
			0,
			ipc.SaslException, "Client sent unsupported state CHALLENGE", pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"initial response",
			[]*pb.RpcSasl{saslMessage(pb.RpcSasl_INITIATE, []byte("x"), tokenAuth)},
			0,
			ipc.SaslException, "DIGEST-MD5 must not have an initial response", pb.RpcResponseHeader_FATAL_UNAUTHORIZED,
		},
		{
			"sasl after simple",
			[]*pb.RpcSasl{negotiate, saslMessage(pb.RpcSasl_INITIATE, nil, simple), negotiate},
			1,
			ipc.RpcServerException, "SASL protocol not requested by client", pb.RpcResponseHeader_FATAL_INVALID_RPC_HEADER,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthSimpleOrToken, Secrets: nmSecrets{key: key}}, whoAmI(nil))
			conn := dialRaw(t, addr)
			conn.send(preamble(0xdf))
			for _, m := range c.send {
				conn.send(saslPacket(t, m))
			}
			for range c.skip {
				conn.response()
			}
			h, _ := conn.response()
			if h.GetStatus() != pb.RpcResponseHeader_FATAL || h.GetExceptionClassName() != c.class ||
				h.GetErrorMsg() != c.text || h.GetErrorDetail() != c.detail {
				t.Errorf("got %v", h)
			}
			if p := conn.packet(); p != nil {
				t.Errorf("then came %x", p)
			}
		})
	}
	t.Run("context during negotiation", func(t *testing.T) {
		_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthSimpleOrToken, Secrets: nmSecrets{key: key}}, whoAmI(nil))
		conn := dialRaw(t, addr)
		conn.send(preamble(0xdf), contextPacket(t, "bob"))
		if h, _ := conn.response(); h.GetErrorMsg() != "Connection header sent during SASL negotiation" ||
			int32(h.GetCallId()) != -3 {
			t.Errorf("got %v", h)
		}
	})
}

// Servers of other making: one that sends its challenge late, one that doesn't know the password, one that has other
// methods only, one that says nothing sensible.
func TestClientWithOtherServers(t *testing.T) {
	key := newKey(t)
	tok := nmToken(key)
	// play answers SASL messages; what it is given the token, if any, of the client's message.
	play := func(answers ...func(digest *sasl.Server, token []byte) *pb.RpcSasl) string {
		return fakeServer(t, func(c *rawConn) {
			digest, err := sasl.NewServer(nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for _, answer := range answers {
				h, body := c.request()
				if h == nil {
					return
				}
				var m pb.RpcSasl
				mustUnmarshal(t, body, &m)
				c.send(replyPacket(t, h, answer(digest, m.GetToken())))
			}
			for h, _ := c.request(); h != nil; h, _ = c.request() {
				c.send(replyPacket(t, h, &pb.GetContainerStatusesResponse{}))
			}
		})
	}
	offer := func(method, mechanism string) func(*sasl.Server, []byte) *pb.RpcSasl {
		return func(*sasl.Server, []byte) *pb.RpcSasl {
			return saslMessage(pb.RpcSasl_NEGOTIATE, nil, saslAuth(method, mechanism))
		}
	}
	challenge := func(d *sasl.Server, _ []byte) *pb.RpcSasl {
		return saslMessage(pb.RpcSasl_CHALLENGE, d.Challenge())
	}
	prove := func(password []byte) func(*sasl.Server, []byte) *pb.RpcSasl {
		return func(d *sasl.Server, response []byte) *pb.RpcSasl {
			rspauth, err := d.Evaluate(response, func(string) (string, error) { return sasl.Password(tok.Password), nil })
			if err != nil {
				t.Error(err)
			}
			if string(password) != string(tok.Password) {
				rspauth = []byte("rspauth=00000000000000000000000000000000")
			}
			return saslMessage(pb.RpcSasl_SUCCESS, rspauth)
		}
	}
	state := func(s pb.RpcSasl_SaslState) func(*sasl.Server, []byte) *pb.RpcSasl {
		return func(*sasl.Server, []byte) *pb.RpcSasl { return saslMessage(s, []byte("x")) }
	}
	for _, c := range []struct {
		name, addr, want string
	}{
		{"late challenge", play(offer("TOKEN", "DIGEST-MD5"), challenge, prove(tok.Password)), ""},
		{"wrong proof", play(offer("TOKEN", "DIGEST-MD5"), challenge, prove(nil)), "rspauth"},
		{"other methods", play(offer("KERBEROS", "GSSAPI")), "KERBEROS"},
		{"other state", play(state(pb.RpcSasl_WRAP)), "unexpected SASL state WRAP"},
		{"no challenge", play(offer("TOKEN", "DIGEST-MD5"), state(pb.RpcSasl_SUCCESS)), "unexpected SASL state SUCCESS"},
		{"success too late", play(offer("TOKEN", "DIGEST-MD5"), challenge, challenge), "unexpected SASL state CHALLENGE"},
		{"garbage for a challenge", play(offer("TOKEN", "DIGEST-MD5"), state(pb.RpcSasl_CHALLENGE)), "algorithm directive missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := statuses(t, newClient(t, ipc.ClientConfig{}), c.addr, ipc.Identity{Token: tok})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			a := (*ipc.AuthError)(nil)
			if !errors.As(err, &a) || !strings.Contains(err.Error(), c.want) || a.Addr != c.addr {
				t.Errorf("got %v", err)
			}
		})
	}
}

package ipc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

// authModes are the ways of authentication of the stock servers.
var authModes = map[string]ipc.AuthMode{
	"client": ipc.AuthSimpleOrToken, "history": ipc.AuthSimpleOrToken, "namenode": ipc.AuthSimpleOrToken,
	"am": ipc.AuthSimpleOrToken, "scheduler": ipc.AuthToken, "nm": ipc.AuthToken,
	"tracker": ipc.AuthSimple, "admin": ipc.AuthSimple, "localizer": ipc.AuthSimple,
}

// actor plays the servers of a recording with our Server: its handlers and Secrets give the recorded answers.
type actor struct {
	recording
	auth      ipc.AuthMode
	replies   map[int32][]reply // by call id, in order
	tokenFail *ipc.Exception    // how the token was refused
	malformed bool              // an identifier that doesn't parse ended the connection
	onlyPort  bool              // serve nothing that the recorded port didn't
	challenge []byte            // of the recorded server, which the recorded response fits

	mu   sync.Mutex
	used map[int32]int
}

type reply struct {
	header *pb.RpcResponseHeader
	body   []byte
	raw    []byte
}

func newActor(t *testing.T, r recording) *actor {
	t.Helper()
	a := &actor{recording: r, replies: map[int32][]reply{}, used: map[int32]int{}}
	name, _, _ := strings.Cut(r.server, " ")
	a.auth = authModes[name]
	for _, p := range r.packets {
		parts, ok := split(p.raw)
		if p.client || !ok {
			continue
		}
		rep := reply{header: &pb.RpcResponseHeader{}, raw: p.raw}
		mustUnmarshal(t, parts[0], rep.header)
		if len(parts) > 1 {
			rep.body = parts[1]
		}
		id := int32(rep.header.GetCallId())
		a.replies[id] = append(a.replies[id], rep)
		if id == -33 && rep.header.GetStatus() == pb.RpcResponseHeader_SUCCESS {
			a.learnAuth(t, rep.body)
		}
		if id == -33 && rep.header.GetExceptionClassName() == ipc.InvalidToken {
			a.tokenFail = ipc.NewException(ipc.InvalidToken, "%s", rep.header.GetErrorMsg())
		}
	}
	a.malformed = r.name == "amrm-identifier-not-protobuf"
	return a
}

// learnAuth looks at the recorded server's first SASL message.
func (a *actor) learnAuth(t *testing.T, body []byte) {
	t.Helper()
	var m pb.RpcSasl
	mustUnmarshal(t, body, &m)
	switch {
	case m.GetState() == pb.RpcSasl_NEGOTIATE && len(m.GetAuths()) == 2:
		a.auth = ipc.AuthSimpleOrToken
	case m.GetState() == pb.RpcSasl_NEGOTIATE:
		a.auth = ipc.AuthToken
	case m.GetState() == pb.RpcSasl_SUCCESS && !m.HasToken():
		a.auth = ipc.AuthSimple
	}
}

// password is the one of all tokens here: responses are made anew for the challenges of our server.
var password = []byte("correct horse battery staple")

// Bearer implements ipc.Secrets.
func (a *actor) Bearer(identifier []byte) (ipc.Bearer, error) {
	if a.malformed {
		return ipc.Bearer{}, fmt.Errorf("%w: % x", ipc.ErrMalformedIdentifier, identifier)
	}
	if a.tokenFail != nil {
		return ipc.Bearer{}, a.tokenFail
	}
	user := "appattempt_1795253712789_0001_000001" // whose token the recordings of errors use
	return ipc.Bearer{Password: password, User: user, Kind: "kind", Identifier: identifier}, nil
}

// register gives the server handlers for all protocols that the recorded one had on its port, and for every method that
// was called and that we don't know.
func (a *actor) register(t *testing.T, s *ipc.Server) {
	t.Helper()
	served := map[string][]ipc.Protocol{
		"client": {protocol.ApplicationClient}, "scheduler": {protocol.ApplicationMaster},
		"tracker": {protocol.ResourceTracker}, "nm": {protocol.ContainerManagement},
		"admin": {protocol.Administration}, "localizer": {protocol.Localization},
	}
	done := map[string]bool{}
	// The first one through its type, which also brings MetaInfo.
	protocol.GetClusterMetrics.Serve(s, func(ctx context.Context, req *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
		m := &pb.GetClusterMetricsResponse{}
		return m, a.answer(ctx, m)
	})
	done[protocol.GetClusterMetrics.String()] = true
	name, _, _ := strings.Cut(a.server, " ")
	for _, d := range protocol.All() {
		for _, p := range served[name] {
			if d.Protocol == p && !done[d.String()] {
				done[d.String()] = true
				a.handle(s, d.Method, d.NewRequest, d.NewResponse)
			}
		}
	}
	if a.onlyPort {
		return
	}
	for _, p := range a.packets {
		var h pb.RpcRequestHeader
		parts, ok := split(p.raw)
		if !p.client || !ok || proto.Unmarshal(parts[0], &h) != nil || h.GetCallId() < 0 {
			continue
		}
		var call pb.RequestHeader
		mustUnmarshal(t, parts[1], &call)
		m := ipc.Method{
			Protocol: ipc.Protocol{Name: call.GetDeclaringClassProtocolName(), Version: call.GetClientProtocolVersion()},
			Name:     call.GetMethodName(),
		}
		if !done[m.String()] && m.Protocol != protocol.MetaInfo {
			done[m.String()] = true
			req, resp := types(m.Protocol.Name, m.Name)
			a.handle(s, m, req, resp)
		}
	}
}

func (a *actor) handle(s *ipc.Server, m ipc.Method, req, resp func() proto.Message) {
	s.Handle(m, req, func(ctx context.Context, _ proto.Message) (proto.Message, error) {
		m := resp()
		return m, a.answer(ctx, m)
	})
}

// answer fills m with the recorded response to the call, or returns the recorded exception.
func (a *actor) answer(ctx context.Context, m proto.Message) error {
	id := ipc.CallFrom(ctx).ID
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[id] >= len(a.replies[id]) {
		return fmt.Errorf("no reply to call %d was recorded", id)
	}
	r := a.replies[id][a.used[id]]
	a.used[id]++
	if r.header.GetStatus() != pb.RpcResponseHeader_SUCCESS {
		return ipc.NewException(r.header.GetExceptionClassName(), "%s", r.header.GetErrorMsg())
	}
	return proto.Unmarshal(r.body, m)
}

// play sends what the recorded client sent and returns what comes back, by call id, and how the connection ended. At
// every recorded packet of the server it waits for one of ours.
func (a *actor) play(t *testing.T, addr string) (got map[int32][]reply, other [][]byte, closed bool) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got = map[int32][]reply{}
	read := func(wait time.Duration) error {
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > 1<<24 { // not a packet
			rest, err := io.ReadAll(c)
			other = append(other, append(head[:], rest...))
			return err
		}
		raw := append(head[:], make([]byte, n)...)
		if _, err := io.ReadFull(c, raw[4:]); err != nil {
			return err
		}
		parts, ok := split(raw)
		if !ok {
			t.Fatalf("undecodable packet %x", raw)
		}
		r := reply{header: &pb.RpcResponseHeader{}, raw: raw}
		mustUnmarshal(t, parts[0], r.header)
		if len(parts) > 1 {
			r.body = parts[1]
		}
		id := int32(r.header.GetCallId())
		got[id] = append(got[id], r)
		if id == -33 && r.body != nil {
			var m pb.RpcSasl
			mustUnmarshal(t, r.body, &m)
			if auths := m.GetAuths(); len(auths) > 0 && auths[0].HasChallenge() {
				a.challenge = auths[0].GetChallenge()
			}
		}
		return nil
	}
	for _, p := range a.packets {
		if !p.client {
			if err := read(time.Minute); err != nil && err != io.EOF {
				t.Fatalf("reply expected: %v", err)
			}
			continue
		}
		if _, err := c.Write(a.freshResponse(t, p.raw)); err != nil {
			break // a server that has refused us need not listen on
		}
	}
	wait := time.Minute
	if strings.Contains(a.closed, "open") {
		wait = 50 * time.Millisecond
	}
	for {
		err := read(wait)
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			return got, other, false
		} else if err == io.EOF {
			return got, other, true
		} else if err != nil {
			t.Fatalf("connection ended with %v", err)
		}
	}
}

// freshResponse replaces the response to the recorded challenge by one to our server's.
func (a *actor) freshResponse(t *testing.T, raw []byte) []byte {
	t.Helper()
	parts, ok := split(raw)
	var h pb.RpcRequestHeader
	var m pb.RpcSasl
	if !ok || len(parts) != 2 || proto.Unmarshal(parts[0], &h) != nil || h.GetCallId() != -33 {
		return raw
	}
	mustUnmarshal(t, parts[1], &m)
	_, rest, ok := bytes.Cut(m.GetToken(), []byte(`username="`))
	if !ok {
		return raw
	}
	user, _, _ := strings.Cut(string(rest), `"`)
	secret := sasl.Password(password)
	if a.name == "nm-token-wrong-password" {
		secret = "wrong"
	}
	response, err := sasl.NewClient(user, secret, nil, nil).Respond(a.challenge)
	if err != nil {
		t.Fatal(err)
	}
	m.SetToken(response)
	return join(parts[0], mustMarshal(t, &m))
}

func (a *actor) start(t *testing.T) string {
	_, addr := serve(t, ipc.ServerConfig{Auth: a.auth, Secrets: a}, func(s *ipc.Server) { a.register(t, s) })
	return addr
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// compare checks replies against the recorded ones. The texts of errors need only begin with the same line, and what
// depends on nonces need only be there.
func (a *actor) compare(t *testing.T, got map[int32][]reply) {
	t.Helper()
	for id := range got {
		if len(a.replies[id]) == 0 {
			t.Errorf("%d replies to call %d, none was recorded", len(got[id]), id)
		}
	}
	for id, want := range a.replies {
		if len(got[id]) != len(want) {
			t.Errorf("%d replies to call %d, want %d", len(got[id]), id, len(want))
			continue
		}
		for i, w := range want {
			g := got[id][i]
			if w.header.GetStatus() == pb.RpcResponseHeader_SUCCESS {
				if id == -33 {
					sameSASL(t, g.body, w.body)
				} else if !bytes.Equal(g.raw, w.raw) {
					t.Errorf("call %d: got\n%.60x, want\n%.60x", id, g.raw, w.raw)
				}
				continue
			}
			gh, wh := proto.CloneOf(g.header), proto.CloneOf(w.header)
			gh.SetErrorMsg(firstLine(gh.GetErrorMsg()))
			wh.SetErrorMsg(firstLine(wh.GetErrorMsg()))
			if !proto.Equal(gh, wh) {
				t.Errorf("call %d: got\n%v, want\n%v", id, gh, wh)
			}
			if g.body != nil {
				t.Errorf("call %d: %d bytes behind an error", id, len(g.body))
			}
		}
	}
}

func sameSASL(t *testing.T, got, want []byte) {
	t.Helper()
	var g, w pb.RpcSasl
	mustUnmarshal(t, got, &g)
	mustUnmarshal(t, want, &w)
	for _, m := range []*pb.RpcSasl{&g, &w} {
		if bytes.HasPrefix(m.GetToken(), []byte("rspauth=")) {
			m.SetToken(fmt.Appendf(nil, "rspauth of %d bytes", len(m.GetToken())))
		}
		for _, auth := range m.GetAuths() {
			if before, after, ok := bytes.Cut(auth.GetChallenge(), []byte(`nonce="`)); ok {
				auth.SetChallenge(fmt.Appendf(nil, "%snonce of %d bytes", before, len(after)))
			}
		}
	}
	if !proto.Equal(&g, &w) {
		t.Errorf("got %v, want %v", &g, &w)
	}
}

// Writable calls of MapReduce tasks to their ApplicationMaster are of another kind of RPC, which we don't serve.
func isUmbilical(r recording) bool { return strings.HasPrefix(r.name, "task-am-umbilical") }

// A stock client that talks to our server gets, to every request, the bytes that the stock server sent, as far as they
// don't come from the application.
func TestRecordedClientsAgainstOurServer(t *testing.T) {
	for _, r := range loadRecordings(t, "captures") {
		if isUmbilical(r) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a := newActor(t, r)
			a.closed = "open" // by whom and when depends on the client's process
			got, _, _ := a.play(t, a.start(t))
			a.compare(t, got)
		})
	}
}

// Wrong and odd input gets the stock server's answer, and the connection ends the same way. In these recordings the
// reply comes from the application, so that a handler here gives it and only what is around it is ours:
//
//	heartbeat-of-unknown-node, register-*: ResourceTracker's answers
//	localizer-heartbeat-of-unknown-localizer: the NodeManager's
//	nm-token-of-finished-app: the NodeManager's to a connection that is in order
//	amrm-token-of-finished-attempt, amrm-identifier-not-protobuf: what Secrets says of a token
//
// and shuffle-* are HTTP.
func TestRecordedErrors(t *testing.T) {
	for _, r := range loadRecordings(t, "errors") {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a := newActor(t, r)
			a.onlyPort = true
			got, other, closed := a.play(t, a.start(t))
			var wantOther [][]byte
			for _, p := range r.packets {
				if _, ok := split(p.raw); !p.client && !ok {
					wantOther = append(wantOther, p.raw)
				}
			}
			if fmt.Sprintf("%q", other) != fmt.Sprintf("%q", wantOther) {
				t.Errorf("got %q, want %q", other, wantOther)
			}
			a.compare(t, got)
			if want := !strings.Contains(r.closed, "open"); closed != want {
				t.Errorf("connection closed: %v, want %v (%s)", closed, want, r.closed)
			}
		})
	}
}

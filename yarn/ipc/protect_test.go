package ipc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

// wire records what goes over a client's connections, and may change what the client sends.
type wire struct {
	mu         sync.Mutex
	sent, read bytes.Buffer
	change     func(sent int, b []byte) // nil: nothing
}

type wiredConn struct {
	net.Conn
	w *wire
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	return &wiredConn{c, w}, err
}

func (c *wiredConn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	b = bytes.Clone(b)
	if c.w.change != nil {
		c.w.change(c.w.sent.Len(), b)
	}
	c.w.sent.Write(b)
	c.w.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *wiredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.w.mu.Lock()
	c.w.read.Write(b[:n])
	c.w.mu.Unlock()
	return n, err
}

// shown reports whether a text went over the wire as it is, in each direction.
func (w *wire) shown(text string) (sent, read bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.sent.Bytes(), []byte(text)), bytes.Contains(w.read.Bytes(), []byte(text))
}

// Calls of any size get through with each quality of protection, many at once. Nobody on the way reads what is private.
func TestProtectedCalls(t *testing.T) {
	key := newKey(t)
	for _, quality := range []sasl.Quality{sasl.Authentication, sasl.Integrity, sasl.Privacy} {
		t.Run(quality.String(), func(t *testing.T) {
			s, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}, Protection: sasl.Qualities{quality}}, echo)
			var w wire
			e := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{quality}, Dial: w.dial}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{Token: nmToken(key)})
			ctx := testContext(t)
			var wg sync.WaitGroup
			for i := range 60 {
				wg.Go(func() {
					want := fmt.Sprintf("root.%d.legible%s", i, strings.Repeat("x", i*i*i)) // up to 205 kB: several tokens
					resp, err := protocol.GetQueueInfo.Call(ctx, e, ask(want))
					if err != nil {
						t.Error(err)
					} else if got := resp.GetQueueInfo().GetQueueName(); got != want {
						t.Errorf("got %d bytes, want %d", len(got), len(want))
					}
				})
			}
			wg.Wait()
			if n := s.Connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			sent, read := w.shown("legible")
			if want := quality != sasl.Privacy; sent != want || read != want {
				t.Errorf("what was sent is legible: %v, read: %v; want %v", sent, read, want)
			}
		})
	}
}

// A server with a list takes clients of each of its qualities, and refuses the others.
func TestQualitiesOfServers(t *testing.T) {
	key := newKey(t)
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}, Protection: sasl.Qualities{sasl.Privacy, sasl.Authentication}}, echo)
	for _, c := range []struct {
		quality sasl.Quality
		ok      bool
	}{{sasl.Authentication, true}, {sasl.Integrity, false}, {sasl.Privacy, true}} {
		e := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{c.quality}}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{Token: nmToken(key)})
		_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("root"))
		refused := (*ipc.AuthError)(nil)
		if c.ok != (err == nil) || !c.ok && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "No common protection layer")) {
			t.Errorf("%v: %v", c.quality, err)
		}
	}
}

// One changed bit of a request ends the connection, and the call isn't run.
func TestChangedRequestIsNotRun(t *testing.T) {
	key := newKey(t)
	for _, quality := range []sasl.Quality{sasl.Integrity, sasl.Privacy} {
		ran := false
		_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}, Protection: sasl.Qualities{quality}}, func(s *ipc.Server) {
			protocol.GetQueueInfo.Serve(s, func(_ context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
				ran = ran || strings.HasPrefix(req.GetQueueName(), "root.changed")
				return queue(req.GetQueueName()), nil
			})
		})
		w := &wire{}
		e := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{quality}, Dial: w.dial}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{Token: nmToken(key)})
		if _, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("root.first")); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.change = func(_ int, b []byte) { b[len(b)-50] ^= 1 }
		w.mu.Unlock()
		_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("root.changed"+strings.Repeat("x", 100)))
		if err == nil || ran {
			t.Errorf("%v: error %v, ran %v", quality, err, ran)
		}
	}
}

// protected is a raw connection whose peer has agreed on integrity.
func protected(t *testing.T, addr string, tok sasl.Qualities, username, password string) (*rawConn, sasl.Protection) {
	t.Helper()
	c := dialRaw(t, addr)
	c.send(preamble(0xdf), saslPacket(t, saslMessage(pb.RpcSasl_NEGOTIATE, nil)))
	_, body := c.response()
	var m pb.RpcSasl
	mustUnmarshal(t, body, &m)
	client := sasl.NewClient(username, password, tok, nil)
	response, err := client.Respond(m.GetAuths()[0].GetChallenge())
	if err != nil {
		t.Fatal(err)
	}
	c.send(saslPacket(t, saslMessage(pb.RpcSasl_INITIATE, response, saslAuth("TOKEN", "DIGEST-MD5"))))
	if _, body = c.response(); len(body) == 0 {
		t.Fatal("no success")
	}
	return c, client.Protection()
}

// A client that agreed on a protection can't do without it later: somebody else may be speaking. Tokens may cut packets anywhere.
func TestPacketsOutsideOfTokensAreRefused(t *testing.T) {
	key := newKey(t)
	tok := nmToken(key)
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}, Protection: sasl.Qualities{sasl.Integrity}}, echo)
	user, password := sasl.Username(tok.Identifier), sasl.Password(tok.Password)
	call := callPacket(t, 7, protocol.GetQueueInfo.Method, ask("root"))
	for name, packet := range map[string][]byte{
		"context": contextPacket(t, attempt.String()), "call": call, "negotiation": saslPacket(t, saslMessage(pb.RpcSasl_NEGOTIATE, nil)),
		"unsigned token": saslPacket(t, saslMessage(pb.RpcSasl_WRAP, call)), "token without data": saslPacket(t, saslMessage(pb.RpcSasl_WRAP, nil)),
	} {
		c, p := protected(t, addr, sasl.Qualities{sasl.Integrity}, user, password)
		c.send(packet)
		h, body := c.response()
		var m pb.RpcSasl
		mustUnmarshal(t, body, &m)
		if h.GetCallId() != 0xffffffdf || m.GetState() != pb.RpcSasl_WRAP {
			t.Fatalf("%s: answer %v %v", name, h, &m)
		}
		answer, err := p.Unwrap(m.GetToken())
		if err != nil {
			t.Fatal(err)
		}
		parts, _ := split(answer)
		var refusal pb.RpcResponseHeader
		mustUnmarshal(t, parts[0], &refusal)
		if refusal.GetStatus() != pb.RpcResponseHeader_FATAL || refusal.GetExceptionClassName() != ipc.SaslException || c.packet() != nil {
			t.Errorf("%s: %v", name, &refusal)
		}
	}

	c, p := protected(t, addr, sasl.Qualities{sasl.Integrity}, user, password)
	stream := append(contextPacket(t, attempt.String()), call...)
	for len(stream) > 0 {
		n := min(13, len(stream))
		sealed, err := p.Wrap(nil, stream[:n])
		if err != nil {
			t.Fatal(err)
		}
		c.send(saslPacket(t, saslMessage(pb.RpcSasl_WRAP, sealed)))
		stream = stream[n:]
	}
	_, body := c.response()
	var m pb.RpcSasl
	mustUnmarshal(t, body, &m)
	answer, err := p.Unwrap(m.GetToken())
	if err != nil || !bytes.Contains(answer, []byte("root")) {
		t.Errorf("answer %q, %v", answer, err)
	}
}

// A server that doesn't keep to the protection isn't believed.
func TestClientWantsTokensOnly(t *testing.T) {
	key := newKey(t)
	tok := nmToken(key)
	addr := fakeServer(t, func(c *rawConn) {
		server, err := sasl.NewServer(sasl.Qualities{sasl.Privacy}, nil)
		if err != nil {
			t.Error(err)
			return
		}
		var start [7]byte
		_, _ = io.ReadFull(c, start[:])
		h, _ := c.request()
		token := saslAuth("TOKEN", "DIGEST-MD5")
		token.SetChallenge(server.Challenge())
		c.send(replyPacket(t, h, saslMessage(pb.RpcSasl_NEGOTIATE, nil, token)))
		h, body := c.request()
		var m pb.RpcSasl
		mustUnmarshal(t, body, &m)
		rspauth, err := server.Evaluate(m.GetToken(), func(string) (string, error) { return sasl.Password(tok.Password), nil })
		if err != nil {
			t.Error(err)
			return
		}
		c.send(replyPacket(t, h, saslMessage(pb.RpcSasl_SUCCESS, rspauth)))
		c.packet() // the context and the call
		h.SetCallId(0)
		c.send(replyPacket(t, h, queue("forged")))
	})
	e := newClient(t, ipc.ClientConfig{Protection: sasl.Qualities{sasl.Privacy}}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{Token: tok})
	if resp, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("root")); err == nil || !strings.Contains(err.Error(), "without the protection") {
		t.Errorf("got %v, %v", resp, err)
	}
}

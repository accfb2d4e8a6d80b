package ipc_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
)

// rawConn is one end of a connection, without any of our code in it.
type rawConn struct {
	net.Conn
	t testing.TB
}

func dialRaw(t testing.TB, addr string) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &rawConn{c, t}
}

func (c *rawConn) send(b ...[]byte) {
	c.t.Helper()
	for _, p := range b {
		if _, err := c.Write(p); err != nil {
			c.t.Fatal(err)
		}
	}
}

// packet reads a packet; at the end of the connection it returns nil.
func (c *rawConn) packet() []byte {
	c.t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		c.t.Fatal(err)
	}
	raw := append(head[:], make([]byte, binary.BigEndian.Uint32(head[:]))...)
	if _, err := io.ReadFull(c, raw[4:]); err != nil {
		c.t.Fatal(err)
	}
	return raw
}

// response reads a response and its body.
func (c *rawConn) response() (*pb.RpcResponseHeader, []byte) {
	c.t.Helper()
	raw := c.packet()
	parts, ok := split(raw)
	if !ok || len(parts) == 0 {
		c.t.Fatalf("undecodable response %x", raw)
	}
	var h pb.RpcResponseHeader
	mustUnmarshal(c.t, parts[0], &h)
	if len(parts) > 1 {
		return &h, parts[1]
	}
	return &h, nil
}

func preamble(auth byte) []byte { return []byte{'h', 'r', 'p', 'c', 9, 0, auth} }

func header(id int32) *pb.RpcRequestHeader {
	h := &pb.RpcRequestHeader{}
	h.SetRpcKind(pb.RpcKind_RPC_PROTOCOL_BUFFER)
	h.SetRpcOp(pb.RpcRequestHeader_RPC_FINAL_PACKET)
	h.SetCallId(id)
	h.SetClientId([]byte("0123456789abcdef"))
	h.SetRetryCount(0)
	return h
}

func contextPacket(t testing.TB, user string) []byte {
	t.Helper()
	u := &pb.UserInformation{}
	u.SetEffectiveUser(user)
	m := &pb.IpcConnectionContext{}
	m.SetUserInfo(u)
	m.SetProtocol("org.example.Protocol")
	return join(mustMarshal(t, header(-3)), mustMarshal(t, m))
}

func callPacket(t testing.TB, id int32, m ipc.Method, req proto.Message) []byte {
	t.Helper()
	h := &pb.RequestHeader{}
	h.SetMethodName(m.Name)
	h.SetDeclaringClassProtocolName(m.Protocol.Name)
	h.SetClientProtocolVersion(m.Protocol.Version)
	return join(mustMarshal(t, header(id)), mustMarshal(t, h), mustMarshal(t, req))
}

func saslPacket(t testing.TB, m *pb.RpcSasl) []byte {
	t.Helper()
	h := header(-33)
	h.SetClientId([]byte{})
	h.SetRetryCount(-1)
	return join(mustMarshal(t, h), mustMarshal(t, m))
}

func saslMessage(state pb.RpcSasl_SaslState, token []byte, auths ...*pb.RpcSasl_SaslAuth) *pb.RpcSasl {
	m := &pb.RpcSasl{}
	m.SetState(state)
	if token != nil {
		m.SetToken(token)
	}
	m.SetAuths(auths)
	return m
}

func saslAuth(method, mechanism string) *pb.RpcSasl_SaslAuth {
	a := &pb.RpcSasl_SaslAuth{}
	a.SetMethod(method)
	a.SetMechanism(mechanism)
	a.SetProtocol("")
	a.SetServerId("default")
	return a
}

// fakeServer accepts connections and gives each to play; the listener is closed when the test ends.
func fakeServer(t testing.TB, play func(c *rawConn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			play(&rawConn{c, t})
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// request reads what comes from a client up to a packet that is not the connection context, and returns its header and
// what follows that; nil at the end of the connection.
func (c *rawConn) request() (*pb.RpcRequestHeader, []byte) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return nil, nil
		}
		if string(head[:]) == "hrpc" {
			if _, err := io.CopyN(io.Discard, c, 3); err != nil {
				return nil, nil
			}
			continue
		}
		raw := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c, raw); err != nil {
			return nil, nil
		}
		parts, ok := split(append(head[:], raw...))
		h := &pb.RpcRequestHeader{}
		if !ok || proto.Unmarshal(parts[0], h) != nil {
			return nil, nil
		}
		if h.GetCallId() != -3 {
			return h, append(parts, nil)[1]
		}
	}
}

// reply makes a packet that answers a request.
func replyPacket(t testing.TB, to *pb.RpcRequestHeader, body proto.Message) []byte {
	t.Helper()
	h := &pb.RpcResponseHeader{}
	h.SetCallId(uint32(to.GetCallId()))
	h.SetStatus(pb.RpcResponseHeader_SUCCESS)
	h.SetClientId(to.GetClientId())
	return join(mustMarshal(t, h), mustMarshal(t, body))
}

// Package relay lets github.com/colinmarc/hdfs call NameNodes by other means than its own connections: it takes the library's bytes of Hadoop RPC without
// security, and makes the calls by an ipc.Invoker, which knows tokens, tickets, protection and failover. Patient repeats what the library gives up too early.
package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

const (
	preamble  = 7       // bytes that begin a connection
	maxCall   = 1 << 20 // bytes of a call; usual ones have a few hundred
	contextID = -3      // the call id of the connection's context

	cryptoProtocolVersion = 8 // the field of create's request with the versions of encryption zones that a client knows
)

// Conn is a connection to a NameNode as the library sees it. It relies on the library's behaviour: a call waits for its answer before the next is sent.
type Conn struct {
	ctx    context.Context
	cancel context.CancelFunc
	nn     ipc.Invoker
	seen   func(method string, answer []byte) []byte

	mu     sync.Mutex
	begun  bool   // the preamble came
	in     []byte // the part of a packet that has come
	answer []byte // the unread rest of the answer
	call   *call
}

type call struct {
	id      int32
	method  string
	request *emptypb.Empty // its fields are unknown ones, which are kept
}

// New returns a connection. It ends with ctx. seen, if it isn't nil, sees each answer, and returns what the library gets instead.
func New(ctx context.Context, nn ipc.Invoker, seen func(method string, answer []byte) []byte) *Conn {
	c := &Conn{nn: nn, seen: seen}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Write takes what the library sends.
func (c *Conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = append(c.in, b...)
	if !c.begun {
		if len(c.in) < preamble {
			return len(b), nil
		}
		c.begun, c.in = true, c.in[preamble:]
	}
	for len(c.in) >= 4 {
		n := int(binary.BigEndian.Uint32(c.in))
		if n > maxCall {
			return 0, fmt.Errorf("a call of %d bytes; the limit is %d", n, maxCall)
		}
		if len(c.in)-4 < n {
			break
		}
		next, err := parse(c.in[4 : 4+n])
		if err != nil {
			return 0, err
		}
		if next != nil {
			c.call, c.answer = next, nil
		}
		c.in = append(c.in[:0], c.in[4+n:]...)
	}
	return len(b), nil
}

var errPacket = errors.New("not a call of RPC")

// parse reads a packet. The connection's context is no call: nil.
func parse(b []byte) (*call, error) {
	part := func() ([]byte, error) {
		p, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, errPacket
		}
		b = b[n:]
		return p, nil
	}
	head, err := part()
	if err != nil {
		return nil, err
	}
	h := &pb.RpcRequestHeader{}
	if err := proto.Unmarshal(head, h); err != nil {
		return nil, fmt.Errorf("%w: %w", errPacket, err)
	}
	if h.GetCallId() == contextID {
		return nil, nil
	}
	named, err := part()
	if err != nil {
		return nil, err
	}
	m := &pb.RequestHeader{}
	if err := proto.Unmarshal(named, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errPacket, err)
	}
	request, err := part()
	if err != nil {
		return nil, err
	}
	c := &call{id: h.GetCallId(), method: m.GetMethodName(), request: &emptypb.Empty{}}
	if c.method == "create" { // the library doesn't know encryption zones; who uses it encrypts
		request = protowire.AppendVarint(protowire.AppendTag(request, cryptoProtocolVersion, protowire.VarintType), uint64(pb.CryptoProtocolVersion_ENCRYPTION_ZONES))
	}
	return c, proto.Unmarshal(request, c.request)
}

// Read makes the call, and returns its answer.
func (c *Conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answer) == 0 {
		if c.call == nil {
			return 0, errors.New("there was no call")
		}
		next := c.call
		c.call = nil
		var err error
		if c.answer, err = c.invoke(next); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// repeatable are the library's calls that may be sent again, as ClientProtocol's annotations say.
var repeatable = map[string]bool{
	"create": true, "append": true, "addBlock": true, "complete": true, "renewLease": true, "getFileInfo": true, "getServerDefaults": true, "abandonBlock": true,
	"updateBlockForPipeline": true, "updatePipeline": true, "getDataEncryptionKey": true, "fsync": true,
}

func (c *Conn) invoke(x *call) ([]byte, error) {
	head := &pb.RpcResponseHeader{}
	head.SetCallId(uint32(x.id))
	head.SetStatus(pb.RpcResponseHeader_SUCCESS)
	head.SetServerIpcVersionNum(ipc.Version)
	resp := &emptypb.Empty{}
	err := c.nn.Invoke(c.ctx, ipc.Method{Protocol: protocol.HDFSClient, Name: x.method, Repeatable: repeatable[x.method]}, x.request, resp)
	var remote *ipc.RemoteError
	switch {
	case errors.As(err, &remote):
		head.SetStatus(pb.RpcResponseHeader_ERROR)
		head.SetExceptionClassName(remote.Class)
		head.SetErrorMsg(remote.Text)
		head.SetErrorDetail(remote.Detail)
		return packet(head, nil)
	case err != nil:
		return nil, err
	}
	body, err := proto.Marshal(resp)
	if err != nil {
		return nil, err
	}
	if c.seen != nil {
		body = c.seen(x.method, body)
	}
	return packet(head, body)
}

// packet writes an answer. body is nil for a refusal.
func packet(head *pb.RpcResponseHeader, body []byte) ([]byte, error) {
	h, err := proto.Marshal(head)
	if err != nil {
		return nil, err
	}
	out := protowire.AppendBytes(make([]byte, 4), h)
	if head.GetStatus() == pb.RpcResponseHeader_SUCCESS {
		out = protowire.AppendBytes(out, body)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// Close ends the call that is under way.
func (c *Conn) Close() error {
	c.cancel()
	return nil
}

type addr struct{}

func (addr) Network() string { return "relay" }
func (addr) String() string  { return "relay" }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline does nothing: the Invoker has limits of its own.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

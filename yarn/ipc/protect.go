package ipc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarn/ipc/packet"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// openWrap returns the token of an RpcSasl message of state WRAP.
func openWrap(body []byte) ([]byte, error) {
	var m pb.RpcSasl
	b, _, err := delimited(body)
	if err == nil {
		err = unmarshal(b, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("a protected message: %w", err)
	}
	if m.GetState() != pb.RpcSasl_WRAP {
		return nil, packet.ErrNotSealed
	}
	return m.GetToken(), nil
}

// appendWrapHeader returns the header of a server's token, which has only what must be there.
func appendWrapHeader(b []byte) []byte {
	id := int32(callSASL)
	number := uint64(uint32(id))
	b = append(b, byte(1+protowire.SizeVarint(number)+2), 1<<3)
	return append(protowire.AppendVarint(b, number), 2<<3, byte(pb.RpcResponseHeader_SUCCESS))
}

// protect has the connection's data travel in tokens from here on. It returns once everything before is written.
func (c *serverConn) protect(p sasl.Protection) {
	if p == nil {
		return
	}
	c.out.Flushed()
	c.out.Protect(&packet.Sealer{Protection: p, Header: appendWrapHeader})
	c.tokens = c.in.Open(p, c.srv.cfg.MaxDataLength, func(b []byte) ([]byte, error) {
		var h requestHeader
		head, rest, err := delimited(b)
		if err == nil {
			err = h.parse(head)
		}
		if err != nil {
			return nil, fmt.Errorf("the header of a protected message: %w", err)
		}
		if h.callID != callSASL {
			return nil, packet.ErrNotSealed
		}
		return openWrap(rest)
	})
}

// protect does the same on the client's side.
func (c *clientConn) protect(p sasl.Protection) {
	if p == nil {
		return
	}
	c.out.Protect(&packet.Sealer{Protection: p, Header: func(b []byte) []byte { return appendRequestHeader(b, callSASL, noRetryCount, "", "") }})
	c.in.Open(p, c.client.cfg.MaxResponseLength, func(b []byte) ([]byte, error) {
		h, rest, err := c.parseHeader(b)
		if err != nil {
			return nil, err
		}
		if h.callID != callSASL || h.status != pb.RpcResponseHeader_SUCCESS {
			return nil, packet.ErrNotSealed
		}
		return openWrap(rest)
	})
}

package ipc_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
)

// Every packet that stock peers sent decodes into the messages that the table says, without unknown fields where we know
// the protocol, and comes out of the encoder as the same bytes.
func TestRecordedPacketsReencode(t *testing.T) {
	bodies := 0
	for _, r := range loadRecordings(t, "captures") {
		t.Run(r.name, func(t *testing.T) {
			responses := map[int32]func() proto.Message{}
			for i, p := range r.packets {
				if i == 0 {
					if len(p.raw) != 7 || string(p.raw[:4]) != "hrpc" {
						t.Errorf("preamble %x", p.raw)
					}
					continue
				}
				var again []byte
				if p.client {
					again = reencodeRequest(t, p.raw, responses, &bodies)
				} else {
					again = reencodeResponse(t, p.raw, responses, &bodies)
				}
				if !bytes.Equal(again, p.raw) {
					t.Errorf("packet %d: got\n%.200x, want\n%.200x", i, again, p.raw)
				}
			}
		})
	}
	if bodies < 1200 {
		t.Errorf("only %d requests and responses were compared", bodies)
	}
}

// recode parses b into m and encodes it again.
func recode(t *testing.T, b []byte, m proto.Message, known bool) []byte {
	t.Helper()
	mustUnmarshal(t, b, m)
	if known && len(m.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("%s has unknown fields: %x", m.ProtoReflect().Descriptor().FullName(), m.ProtoReflect().GetUnknown())
	}
	return mustMarshal(t, m)
}

func reencodeRequest(t *testing.T, raw []byte, responses map[int32]func() proto.Message, bodies *int) []byte {
	t.Helper()
	parts, ok := split(raw)
	var h pb.RpcRequestHeader
	if !ok { // a Writable call of a MapReduce task
		return reencodeWritable(t, raw, &pb.RpcRequestHeader{})
	}
	out := [][]byte{recode(t, parts[0], &h, true)}
	switch {
	case h.GetCallId() == -33:
		out = append(out, recode(t, parts[1], &pb.RpcSasl{}, true))
	case h.GetCallId() == -3:
		out = append(out, recode(t, parts[1], &pb.IpcConnectionContext{}, true))
	case h.GetCallId() == -4:
	case h.GetRpcKind() != pb.RpcKind_RPC_PROTOCOL_BUFFER:
		return reencodeWritable(t, raw, &pb.RpcRequestHeader{})
	default:
		var call pb.RequestHeader
		out = append(out, recode(t, parts[1], &call, true))
		req, resp := types(call.GetDeclaringClassProtocolName(), call.GetMethodName())
		m := req()
		_, unknown := m.(*pb.MonitorHealthRequest)
		out = append(out, recode(t, parts[2], m, !unknown))
		responses[h.GetCallId()] = resp
		*bodies++
	}
	return join(out...)
}

func reencodeResponse(t *testing.T, raw []byte, responses map[int32]func() proto.Message, bodies *int) []byte {
	t.Helper()
	parts, ok := split(raw)
	if !ok {
		return reencodeWritable(t, raw, &pb.RpcResponseHeader{})
	}
	var h pb.RpcResponseHeader
	out := [][]byte{recode(t, parts[0], &h, true)}
	id := int32(h.GetCallId())
	resp := responses[id]
	switch {
	case h.GetStatus() != pb.RpcResponseHeader_SUCCESS:
		if len(parts) != 1 {
			t.Errorf("call %d: %d messages in an error", id, len(parts))
		}
	case id == -33:
		out = append(out, recode(t, parts[1], &pb.RpcSasl{}, true))
	case resp != nil:
		m := resp()
		_, unknown := m.(*pb.MonitorHealthRequest)
		out = append(out, recode(t, parts[1], m, !unknown))
		*bodies++
	default:
		return reencodeWritable(t, raw, &pb.RpcResponseHeader{})
	}
	return join(out...)
}

// reencodeWritable encodes only the header of a packet anew.
func reencodeWritable(t *testing.T, raw []byte, h proto.Message) []byte {
	t.Helper()
	if !strings.Contains(t.Name(), "umbilical") {
		t.Errorf("undecodable packet %x", raw)
	}
	n := int(raw[4]) // headers are shorter than 128 bytes
	return append(append(append([]byte{}, raw[:5]...), recode(t, raw[5:5+n], h, true)...), raw[5+n:]...)
}

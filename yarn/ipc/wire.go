package ipc

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarn/pb"
)

const (
	// Version is the version of the IPC layer, not of a protocol on top of it.
	Version = 9

	// DefaultMaxDataLength is the largest packet that Hadoop's servers and clients accept, in bytes, without the four
	// length bytes (ipc.maximum.data.length, ipc.maximum.response.length).
	DefaultMaxDataLength = 128 << 20

	preambleLength = 7
	magic          = "hrpc"

	authNone = 0x00
	authSASL = 0xDF // −33
)

// Ids of out-of-band calls.
const (
	callUnknown = -1 // in replies to a call whose id is unknown
	callContext = -3
	callPing    = -4
	callSASL    = -33
)

// noRetryCount is the retry count of calls that don't count retries.
const noRetryCount = -1

// requestHeader is a decoded RpcRequestHeader. Every call has one, so parse is written by hand. Slices alias the
// packet.
type requestHeader struct {
	kind          int32 // −1 if it is missing or unknown
	op            int32 // −1 if it is missing or unknown
	callID        int32
	retryCount    int32
	clientID      []byte
	callerContext []byte
}

const (
	headerHasCallID = 1 << iota
	headerHasClientID
	headerLacksContextText
)

// parse decodes b, which holds the header without its length. It fails where protobuf-java's parser would.
func (h *requestHeader) parse(b []byte) error {
	*h = requestHeader{kind: -1, op: -1, retryCount: noRetryCount}
	seen := 0
	for rest := b; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return diagnose(b, (*pb.RpcRequestHeader)(nil))
		}
		rest = rest[n:]
		switch {
		case num <= 5 && num != 4 && typ == protowire.VarintType:
			v, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				return diagnose(b, (*pb.RpcRequestHeader)(nil))
			}
			rest = rest[n:]
			switch num {
			case 1:
				if x := int32(v); x >= 0 && x <= int32(pb.RpcKind_RPC_PROTOCOL_BUFFER) {
					h.kind = x
				}
			case 2:
				if x := int32(v); x >= 0 && x <= int32(pb.RpcRequestHeader_RPC_CLOSE_CONNECTION) {
					h.op = x
				}
			case 3:
				h.callID = zigzag(v)
				seen |= headerHasCallID
			case 5:
				h.retryCount = zigzag(v)
			}
		case (num == 4 || num == 7) && typ == protowire.BytesType:
			v, n := protowire.ConsumeBytes(rest)
			if n < 0 {
				return diagnose(b, (*pb.RpcRequestHeader)(nil))
			}
			rest = rest[n:]
			if num == 4 {
				h.clientID = v
				seen |= headerHasClientID
				continue
			}
			var ok bool
			if h.callerContext, ok = callerContext(v); !ok {
				return diagnose(b, (*pb.RpcRequestHeader)(nil))
			}
			if h.callerContext == nil {
				seen |= headerLacksContextText
			}
		default:
			n := protowire.ConsumeFieldValue(num, typ, rest)
			if n < 0 {
				return diagnose(b, (*pb.RpcRequestHeader)(nil))
			}
			rest = rest[n:]
		}
	}
	return missing(seen)
}

// missing returns the error that a header lacks required fields, or nil if it has all.
func missing(seen int) error {
	if seen == headerHasCallID|headerHasClientID {
		return nil
	}
	var names []string
	if seen&headerHasCallID == 0 {
		names = append(names, "callId")
	}
	if seen&headerHasClientID == 0 {
		names = append(names, "clientId")
	}
	if seen&headerLacksContextText != 0 {
		names = append(names, "callerContext.context")
	}
	return parseError("Message missing required fields: " + strings.Join(names, ", "))
}

// callerContext returns the text of an RPCCallerContext, or nil if it has none, and whether it parses.
func callerContext(b []byte) (text []byte, ok bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return nil, false
		}
		if num == 1 && typ == protowire.BytesType {
			text, _ = protowire.ConsumeBytes(b)
		}
		b = b[n:]
	}
	return text, true
}

func zigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }

// callHeader is a decoded RequestHeader, which names the method and its protocol. Slices alias the packet.
type callHeader struct {
	method, protocol []byte
	version          uint64
}

func (h *callHeader) parse(b []byte) error {
	*h = callHeader{}
	seen := 0
	for rest := b; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return diagnose(b, (*pb.RequestHeader)(nil))
		}
		rest = rest[n:]
		switch {
		case num <= 2 && typ == protowire.BytesType:
			v, n := protowire.ConsumeBytes(rest)
			if n < 0 {
				return diagnose(b, (*pb.RequestHeader)(nil))
			}
			rest = rest[n:]
			if num == 1 {
				h.method = v
			} else {
				h.protocol = v
			}
			seen |= int(num)
		case num == 3 && typ == protowire.VarintType:
			v, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				return diagnose(b, (*pb.RequestHeader)(nil))
			}
			rest = rest[n:]
			h.version = v
			seen |= 4
		default:
			n := protowire.ConsumeFieldValue(num, typ, rest)
			if n < 0 {
				return diagnose(b, (*pb.RequestHeader)(nil))
			}
			rest = rest[n:]
		}
	}
	if seen == 7 {
		return nil
	}
	var missing []string
	for i, name := range []string{"methodName", "declaringClassProtocolName", "clientProtocolVersion"} {
		if seen&(1<<i) == 0 {
			missing = append(missing, name)
		}
	}
	return parseError("Message missing required fields: " + strings.Join(missing, ", "))
}

// responseHeader is an RpcResponseHeader.
type responseHeader struct {
	callID     int32
	status     pb.RpcResponseHeader_RpcStatus
	retryCount int32
	clientID   string

	// These are set for failures only.
	class, text string
	detail      pb.RpcResponseHeader_RpcErrorCode
}

// append appends the header with its length in front, as Java writes it: fields in ascending order, the call id as the
// unsigned number of its 32 bits.
func (h *responseHeader) append(b []byte) []byte {
	n := 1 + protowire.SizeVarint(uint64(uint32(h.callID))) + 2 + 2
	failed := h.status != pb.RpcResponseHeader_SUCCESS
	if failed {
		n += 1 + protowire.SizeBytes(len(h.class)) + 1 + protowire.SizeBytes(len(h.text)) + 2
	}
	retry := protowire.EncodeZigZag(int64(h.retryCount))
	n += 1 + protowire.SizeBytes(len(h.clientID)) + 1 + protowire.SizeVarint(retry)

	b = protowire.AppendVarint(b, uint64(n))
	b = protowire.AppendVarint(append(b, 1<<3), uint64(uint32(h.callID)))
	b = append(b, 2<<3, byte(h.status), 3<<3, Version)
	if failed {
		b = protowire.AppendString(append(b, 4<<3|2), h.class)
		b = protowire.AppendString(append(b, 5<<3|2), h.text)
		b = append(b, 6<<3, byte(h.detail))
	}
	b = protowire.AppendString(append(b, 7<<3|2), h.clientID)
	return protowire.AppendVarint(append(b, 8<<3), retry)
}

// delimited splits b into a message with a length in front, and the rest. If the message claims to be longer than b, it
// is taken to end with b, as by protobuf-java's CodedInputStream over a whole packet.
func delimited(b []byte) (message, rest []byte, err error) {
	var v uint64
	for i := 0; ; i++ {
		if i == len(b) {
			return nil, nil, errTruncated
		}
		if i == 10 {
			return nil, nil, errMalformedVarint
		}
		if i < 5 {
			v |= uint64(b[i]&0x7f) << (7 * i)
		}
		if b[i] < 0x80 {
			b = b[i+1:]
			break
		}
	}
	n := int(int32(uint32(v)))
	if n < 0 {
		return nil, nil, errNegativeSize
	}
	if n > len(b) {
		n = len(b)
	}
	return b[:n:n], b[n:], nil
}

// parse decodes b, which holds the header without its length.
func (h *responseHeader) parse(b []byte) (clientID []byte, err error) {
	*h = responseHeader{retryCount: noRetryCount, detail: pb.RpcResponseHeader_ERROR_APPLICATION}
	seen := 0
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			b = b[n:]
			switch num {
			case 1:
				h.callID = int32(uint32(v))
				seen |= 1
			case 2:
				h.status = pb.RpcResponseHeader_RpcStatus(int32(v))
				seen |= 2
			case 6:
				h.detail = pb.RpcResponseHeader_RpcErrorCode(int32(v))
			case 8:
				h.retryCount = zigzag(v)
			}
			continue
		}
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b)
			switch num {
			case 4:
				h.class = string(v)
			case 5:
				h.text = string(v)
			case 7:
				clientID = v
			}
		}
		b = b[n:]
	}
	if seen != 3 {
		return nil, errors.New("response header without call id or status")
	}
	return clientID, nil
}

// appendRequestHeader appends an RpcRequestHeader with its length in front, as Java writes it.
func appendRequestHeader(b []byte, callID, retryCount int32, clientID, callerContext string) []byte {
	id, retry := protowire.EncodeZigZag(int64(callID)), protowire.EncodeZigZag(int64(retryCount))
	n := 4 + 1 + protowire.SizeVarint(id) + 1 + protowire.SizeBytes(len(clientID)) + 1 + protowire.SizeVarint(retry)
	inner := 0
	if callerContext != "" {
		inner = 1 + protowire.SizeBytes(len(callerContext))
		n += 1 + protowire.SizeBytes(inner)
	}
	b = protowire.AppendVarint(b, uint64(n))
	b = append(b, 1<<3, byte(pb.RpcKind_RPC_PROTOCOL_BUFFER), 2<<3, byte(pb.RpcRequestHeader_RPC_FINAL_PACKET))
	b = protowire.AppendVarint(append(b, 3<<3), id)
	b = protowire.AppendString(append(b, 4<<3|2), clientID)
	b = protowire.AppendVarint(append(b, 5<<3), retry)
	if callerContext != "" {
		b = protowire.AppendVarint(append(b, 7<<3|2), uint64(inner))
		b = protowire.AppendString(append(b, 1<<3|2), callerContext)
	}
	return b
}

// appendCallHeader appends a RequestHeader with its length in front.
func appendCallHeader(b []byte, m Method) []byte {
	n := 1 + protowire.SizeBytes(len(m.Name)) + 1 + protowire.SizeBytes(len(m.Protocol.Name)) +
		1 + protowire.SizeVarint(m.Protocol.Version)
	b = protowire.AppendVarint(b, uint64(n))
	b = protowire.AppendString(append(b, 1<<3|2), m.Name)
	b = protowire.AppendString(append(b, 2<<3|2), m.Protocol.Name)
	return protowire.AppendVarint(append(b, 3<<3), m.Protocol.Version)
}

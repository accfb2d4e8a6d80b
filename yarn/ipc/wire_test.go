package ipc

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/yarn/pb"
)

func marshal(t interface{ Fatal(...any) }, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is decoded and encoded by hand must be what protobuf makes of it.
func TestHeadersEqualProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, retry := rapid.Int32().Draw(t, "id"), rapid.Int32().Draw(t, "retry")
		client := string(rapid.SliceOf(rapid.Byte()).Draw(t, "client"))
		caller := rapid.String().Draw(t, "context")

		req := &pb.RpcRequestHeader{}
		req.SetRpcKind(pb.RpcKind_RPC_PROTOCOL_BUFFER)
		req.SetRpcOp(pb.RpcRequestHeader_RPC_FINAL_PACKET)
		req.SetCallId(id)
		req.SetClientId([]byte(client))
		req.SetRetryCount(retry)
		if caller != "" {
			c := &pb.RPCCallerContext{}
			c.SetContext(caller)
			req.SetCallerContext(c)
		}
		want := protowire.AppendBytes(nil, marshal(t, req))
		if got := appendRequestHeader(nil, id, retry, client, caller); !bytes.Equal(got, want) {
			t.Fatalf("request header %x, want %x", got, want)
		}
		req.SetStateId(rapid.Int64().Draw(t, "state")) // of HDFS; skipped
		b, rest, err := delimited(append(protowire.AppendBytes(nil, marshal(t, req)), 9))
		if err != nil || !bytes.Equal(rest, []byte{9}) {
			t.Fatalf("rest %x, %v", rest, err)
		}
		var h requestHeader
		if err := h.parse(b); err != nil {
			t.Fatal(err)
		}
		if h.callID != id || h.retryCount != retry || string(h.clientID) != client || string(h.callerContext) != caller ||
			h.kind != 2 || h.op != 0 {
			t.Fatalf("read as %+v", h)
		}

		m := Method{Protocol{rapid.String().Draw(t, "protocol"), rapid.Uint64().Draw(t, "version")}, rapid.String().Draw(t, "method"), true}
		call := &pb.RequestHeader{}
		call.SetMethodName(m.Name)
		call.SetDeclaringClassProtocolName(m.Protocol.Name)
		call.SetClientProtocolVersion(m.Protocol.Version)
		want = protowire.AppendBytes(nil, marshal(t, call))
		if got := appendCallHeader(nil, m); !bytes.Equal(got, want) {
			t.Fatalf("call header %x, want %x", got, want)
		}
		var ch callHeader
		if err := ch.parse(marshal(t, call)); err != nil || string(ch.method) != m.Name ||
			string(ch.protocol) != m.Protocol.Name || ch.version != m.Protocol.Version {
			t.Fatalf("read as %+v, %v", ch, err)
		}

		out := responseHeader{callID: id, retryCount: retry, clientID: client}
		resp := &pb.RpcResponseHeader{}
		if rapid.Bool().Draw(t, "failed") {
			out.status, out.detail = pb.RpcResponseHeader_FATAL, pb.RpcResponseHeader_FATAL_UNAUTHORIZED
			out.class, out.text = rapid.String().Draw(t, "class"), rapid.String().Draw(t, "text")
			resp.SetExceptionClassName(out.class)
			resp.SetErrorMsg(out.text)
			resp.SetErrorDetail(out.detail)
		}
		resp.SetCallId(uint32(id))
		resp.SetStatus(out.status)
		resp.SetServerIpcVersionNum(9)
		resp.SetClientId([]byte(client))
		resp.SetRetryCount(retry)
		want = protowire.AppendBytes(nil, marshal(t, resp))
		if got := out.append(nil); !bytes.Equal(got, want) {
			t.Fatalf("response header %x, want %x", got, want)
		}
		var in responseHeader
		clientID, err := in.parse(marshal(t, resp))
		if out.status == pb.RpcResponseHeader_SUCCESS {
			out.detail = pb.RpcResponseHeader_ERROR_APPLICATION // the default
		}
		in.clientID = string(clientID)
		if err != nil || in != out {
			t.Fatalf("read as %+v, %v, want %+v", in, err, out)
		}
	})
}

func TestIncompleteHeaders(t *testing.T) {
	noContext := &pb.RpcRequestHeader{}
	noContext.SetCallId(1)
	noContext.SetCallerContext(&pb.RPCCallerContext{})
	partial := func(m proto.Message) []byte {
		b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		b    []byte
		call bool
		want string
	}{
		{nil, false, "Message missing required fields: callId, clientId"},
		{partial(noContext), false, "Message missing required fields: clientId, callerContext.context"},
		{[]byte{0}, false, string(errInvalidTag)},
		{[]byte{3 << 3, 0xff}, false, string(errTruncated)},
		{[]byte{4<<3 | 2, 5, 1}, false, string(errTruncated)},
		{[]byte{3 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, false, string(errMalformedVarint)},
		{[]byte{4<<3 | 2, 255, 255, 255, 255, 15}, false, string(errNegativeSize)},
		{[]byte{7}, false, string(errInvalidTag)},
		{[]byte{15}, false, string(errInvalidWireType)},
		{[]byte{12}, false, string(errInvalidEndTag)},
		{[]byte{11}, false, string(errInvalidEndTag)},
		{nil, true, "Message missing required fields: methodName, declaringClassProtocolName, clientProtocolVersion"},
		{[]byte{1<<3 | 2, 1, 'm', 3 << 3, 1}, true, "Message missing required fields: declaringClassProtocolName"},
		{[]byte{1<<3 | 2, 9}, true, string(errTruncated)},
	} {
		var err error
		if c.call {
			err = (&callHeader{}).parse(c.b)
		} else {
			err = (&requestHeader{}).parse(c.b)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%x: got %v, want %s", c.b, err, c.want)
		}
	}
}

func TestDelimited(t *testing.T) {
	for _, c := range []struct {
		in, message, rest string
		err               error
	}{
		{"\x00", "", "", nil},
		{"\x02ab", "ab", "", nil},
		{"\x02abc", "ab", "c", nil},
		{"\x05ab", "ab", "", nil}, // as Java has it
		{"\x82\x00ab", "ab", "", nil},
		{"", "", "", errTruncated},
		{"\x80", "", "", errTruncated},
		{"\xff\xff\xff\xff\x0f", "", "", errNegativeSize},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "", "", errMalformedVarint},
		{"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01ab", "a", "b", nil},
	} {
		message, rest, err := delimited([]byte(c.in))
		if string(message) != c.message || string(rest) != c.rest || err != c.err {
			t.Errorf("%q: got %q, %q, %v", c.in, message, rest, err)
		}
	}
}

func TestMissingFields(t *testing.T) {
	kv := &pb.CredentialsKV{}
	kv.SetToken(&pb.Token{})
	full := &pb.CredentialsKV{}
	full.SetAlias("a")
	c := &pb.Credentials{}
	c.SetTokens([]*pb.CredentialsKV{full, kv})
	const want = "Message missing required fields: tokens[1].alias, tokens[1].token.identifier, " +
		"tokens[1].token.password, tokens[1].token.kind, tokens[1].token.service"
	if err := checkRequired(c); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := checkRequired(full); err != nil {
		t.Errorf("got %v", err)
	}
}

// A message that is nested too deeply, or broken inside of a field, is diagnosed there.
func TestDiagnosisOfNestedMessages(t *testing.T) {
	inner := []byte{1<<3 | 2, 5, 'x'}
	outer := protowire.AppendBytes([]byte{2<<3 | 2}, inner)
	if err := unmarshal(outer, &pb.CredentialsKV{}); err != errTruncated {
		t.Errorf("got %v", err)
	}
	if err := unmarshal(protowire.AppendBytes([]byte{2<<3 | 2}, []byte{15}), &pb.CredentialsKV{}); err != errInvalidWireType {
		t.Errorf("got %v", err)
	}
}

func TestPauses(t *testing.T) {
	half := RetryPolicy{Base: 100 * time.Millisecond, Max: time.Second, Random: func() float64 { return 0.5 }}
	var got []string
	for i := range 6 {
		got = append(got, half.pause(i).String())
	}
	if s := strings.Join(got, " "); s != "100ms 200ms 400ms 800ms 1s 1s" {
		t.Errorf("got %s", s)
	}
	for _, n := range []int{31, 32, 63, 64, math.MaxInt} {
		if d := half.pause(n); d != time.Second {
			t.Errorf("pause %d is %v", n, d)
		}
	}
	var p RetryPolicy
	p.setDefaults()
	for i := range 100 {
		d := p.pause(0)
		if d < p.Base/2 || d >= p.Base*3/2 {
			t.Fatalf("pause %d is %v", i, d)
		}
	}
}

func TestDecisions(t *testing.T) {
	conn := func(sent bool, err error) error { return &ConnError{"a:1", "m", sent, err} }
	for _, c := range []struct {
		err        error
		repeatable bool
		want       decision
	}{
		{conn(false, fmt.Errorf("refused")), false, tryNext},
		{conn(true, fmt.Errorf("reset")), false, giveUp},
		{conn(true, fmt.Errorf("reset")), true, tryNext},
		{conn(true, ErrCallTimeout), false, giveUp},
		{conn(true, ErrCallTimeout), true, tryNext},
		{conn(false, ErrConnectTimeout), false, tryNext},
		{conn(false, ErrClientClosed), true, giveUp},
		{&RemoteError{Class: StandbyException}, false, tryNext},
		{&RemoteError{Class: StandbyException, Fatal: true}, false, tryNext},
		{&RemoteError{Class: RetriableException}, false, trySame},
		{&RemoteError{Class: InvalidToken, Fatal: true}, true, giveUp},
		{&RemoteError{Class: SaslException, Fatal: true}, true, giveUp},
		{&RemoteError{Class: AccessControlException}, true, giveUp},
		{&RemoteError{Class: YarnException}, true, giveUp},
		{&AuthError{"a:1", fmt.Errorf("no")}, true, giveUp},
		{fmt.Errorf("request: %w", errTruncated), true, giveUp},
	} {
		if got := decide(c.err, c.repeatable); got != c.want {
			t.Errorf("%v, repeatable %v: got %d, want %d", c.err, c.repeatable, got, c.want)
		}
	}
}

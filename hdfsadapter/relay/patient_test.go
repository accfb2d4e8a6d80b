package relay

import (
	"bytes"
	"encoding/binary"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
)

// frame is a call or an answer as it is sent.
func frame(t testing.TB, parts ...proto.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	for _, p := range parts {
		if _, err := protodelim.MarshalTo(&b, p); err != nil {
			t.Fatal(err)
		}
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(b.Len()-4))
	return b.Bytes()
}

func callOf(t testing.TB, method string) []byte {
	t.Helper()
	head := pb.RpcRequestHeader_builder{CallId: proto.Int32(7), ClientId: []byte("0123456789abcdef")}.Build()
	return frame(t, head, pb.RequestHeader_builder{
		MethodName: &method, DeclaringClassProtocolName: proto.String("org.apache.hadoop.hdfs.protocol.ClientProtocol"), ClientProtocolVersion: proto.Uint64(1),
	}.Build(), pb.DeleteRequest_builder{Src: proto.String("/f"), Recursive: proto.Bool(false)}.Build())
}

func answerOf(t testing.TB, done bool) []byte {
	t.Helper()
	head := pb.RpcResponseHeader_builder{CallId: proto.Uint32(7), Status: pb.RpcResponseHeader_SUCCESS.Enum()}.Build()
	return frame(t, head, pb.CompleteResponse_builder{Result: &done}.Build())
}

func refusal(t testing.TB, class string) []byte {
	t.Helper()
	return frame(t, pb.RpcResponseHeader_builder{
		CallId: proto.Uint32(7), Status: pb.RpcResponseHeader_ERROR.Enum(), ExceptionClassName: &class,
	}.Build())
}

func TestWhatIsRepeated(t *testing.T) {
	for _, c := range []struct {
		name         string
		call, answer []byte
		want         bool
	}{
		{"a file that is complete", callOf(t, "complete"), answerOf(t, true), false},
		{"one that isn't yet", callOf(t, "complete"), answerOf(t, false), true},
		{"another call that says no", callOf(t, "delete"), answerOf(t, false), false},
		{"a block before the last ones are confirmed", callOf(t, "addBlock"), refusal(t, notReplicatedYet), true},
		{"a refusal", callOf(t, "addBlock"), refusal(t, "java.io.IOException"), false},
		{"a call that is cut off", callOf(t, "complete")[:20], answerOf(t, false), false},
		{"an answer that is cut off", callOf(t, "complete"), answerOf(t, false)[:7], false},
		{"nothing", nil, nil, false},
	} {
		if got := notYet(c.call, c.answer); got != c.want {
			t.Errorf("%s: repeated is %v", c.name, got)
		}
	}
}

// FuzzAnswer has a NameNode answer anything.
func FuzzAnswer(f *testing.F) {
	f.Add(callOf(f, "complete"), answerOf(f, false))
	f.Add(callOf(f, "addBlock"), refusal(f, notReplicatedYet))
	f.Fuzz(func(t *testing.T, call, answer []byte) {
		read, err := readAnswer(bytes.NewReader(answer))
		if err == nil && !bytes.HasPrefix(answer, read) {
			t.Errorf("read %x of %x", read, answer)
		}
		notYet(call, answer)
	})
}

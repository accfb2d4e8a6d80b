package ipc_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// recording is what went over one TCP connection of a stock Hadoop 3.4.2, packet by packet.
type recording struct {
	name    string
	server  string // client, scheduler, tracker, admin, nm, localizer, namenode, …
	closed  string // how the connection ended
	packets []packet
}

type packet struct {
	client bool // from the client
	raw    []byte
}

// maxLine is longer than any line of a recording.
const maxLine = 1 << 20

func loadRecordings(t testing.TB, dir string) []recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.frames"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	var out []recording
	for _, f := range files {
		out = append(out, loadRecording(t, f))
	}
	return out
}

func loadRecording(t testing.TB, file string) recording {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := recording{name: strings.TrimSuffix(filepath.Base(file), ".frames")}
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		line := in.Text()
		if s, ok := strings.CutPrefix(line, "# server: "); ok {
			r.server = s
		}
		if s, ok := strings.CutPrefix(line, "# close: "); ok {
			r.closed = s
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 5 {
			t.Fatalf("%s: line of %d columns", file, len(c))
		}
		raw, err := hex.DecodeString(c[4])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r.packets = append(r.packets, packet{c[1] == "C", raw})
	}
	if err := in.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// split takes a packet apart into its messages, each of which begins with its length.
func split(raw []byte) (parts [][]byte, ok bool) {
	if len(raw) < 4 || int(binary.BigEndian.Uint32(raw)) != len(raw)-4 {
		return nil, false
	}
	for b := raw[4:]; len(b) > 0; {
		p, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, false
		}
		parts = append(parts, p)
		b = b[n:]
	}
	return parts, true
}

// join is the inverse of split.
func join(parts ...[]byte) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = protowire.AppendBytes(b, p)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func mustMarshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustUnmarshal(t testing.TB, b []byte, m proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("%s: %v", m.ProtoReflect().Descriptor().FullName(), err)
	}
}

// opaque is a message that keeps whatever it is parsed from: it has no fields, so all are unknown. It stands for
// messages of protocols that we don't have.
func opaque() proto.Message { return &pb.MonitorHealthRequest{} }

// types returns empty messages for a call.
func types(protocolName, method string) (req, resp func() proto.Message) {
	if d, ok := protocol.Find(protocolName, method); ok {
		return d.NewRequest, d.NewResponse
	}
	return opaque, opaque
}

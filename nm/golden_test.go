package nm

import (
	"bufio"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// recorded is one call of a recording of a stock NodeManager, and its answer.
type recorded struct {
	method          string
	request         []byte
	answer          []byte
	class, errorMsg string
}

// readCalls reads the calls of a recording: packets of four bytes length, then messages after their own length.
func readCalls(t *testing.T, file string) []*recorded {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := func(b []byte) (message, rest []byte) {
		n, used := protowire.ConsumeVarint(b)
		if used < 0 || uint64(len(b)-used) < n {
			t.Fatalf("malformed packet %x", b)
		}
		return b[used : used+int(n)], b[used+int(n):]
	}
	byID := make(map[int32]*recorded)
	var out []*recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c := strings.Split(lines.Text(), "\t")
		if len(c) != 5 {
			continue
		}
		raw, err := hex.DecodeString(c[4])
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) < 8 || string(raw[:4]) == "hrpc" {
			continue
		}
		header, rest := next(raw[4:])
		if c[1] == "C" {
			var h pb.RpcRequestHeader
			if err := proto.Unmarshal(header, &h); err != nil {
				t.Fatal(err)
			}
			if h.GetCallId() < 0 {
				continue
			}
			method, rest := next(rest)
			var m pb.RequestHeader
			if err := proto.Unmarshal(method, &m); err != nil {
				t.Fatal(err)
			}
			body, _ := next(rest)
			call := &recorded{method: m.GetMethodName(), request: body}
			byID[h.GetCallId()] = call
			out = append(out, call)
			continue
		}
		var h pb.RpcResponseHeader
		if err := proto.Unmarshal(header, &h); err != nil {
			t.Fatal(err)
		}
		if call := byID[int32(h.GetCallId())]; call != nil {
			if h.GetStatus() == pb.RpcResponseHeader_SUCCESS {
				call.answer, _ = next(rest)
			}
			call.class, call.errorMsg = h.GetExceptionClassName(), h.GetErrorMsg()
		}
	}
	return out
}

// mint makes the recorded tokens ones for this node: only its address, the time and the signature differ.
func (l *lab) mint(t *pb.Token, spoiled bool) {
	l.t.Helper()
	var id pb.ContainerTokenIdentifier
	if err := proto.Unmarshal(t.GetIdentifier(), &id); err != nil {
		l.t.Fatal(err)
	}
	fresh := l.grant(records.ContainerIDFrom(id.GetContainerId()), func(m *pb.ContainerTokenIdentifier) {
		expires := m.GetExpiryTimeStamp()
		proto.Reset(m)
		proto.Merge(m, &id)
		m.SetNmHostAddr(l.node.Node().String())
		m.SetExpiryTimeStamp(expires)
	})
	t.SetIdentifier(fresh.GetIdentifier())
	t.SetPassword(fresh.GetPassword())
	if spoiled {
		t.SetPassword(make([]byte, 20))
	}
}

// masked takes out what differs by nature: dates, pids, Java's stack traces, and the file system's words.
func masked(m proto.Message) proto.Message {
	m = proto.CloneOf(m)
	date := regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]`)
	pid := regexp.MustCompile(`to pid \d+`)
	text := func(s string) string { return pid.ReplaceAllString(date.ReplaceAllString(s, "[]"), "to pid N") }
	failures := func(list []*pb.ContainerExceptionMap) {
		for _, f := range list {
			e := f.GetException()
			trace, _, _ := strings.Cut(e.GetTrace(), "\n\tat ")
			e.SetTrace(trace)
		}
	}
	switch m := m.(type) {
	case *pb.StartContainersResponse:
		for _, s := range m.GetServicesMetaData() {
			s.SetValue(s.GetValue()[:0])
		}
		failures(m.GetFailedRequests())
	case *pb.StopContainersResponse:
		failures(m.GetFailedRequests())
	case *pb.ContainerUpdateResponse:
		failures(m.GetFailedRequests())
	case *pb.GetContainerStatusesResponse:
		failures(m.GetFailedRequests())
		for _, s := range m.GetStatus() {
			first, _, _ := strings.Cut(text(s.GetDiagnostics()), "\njava.io.")
			s.SetDiagnostics(strings.TrimSuffix(first, "\n"))
			if s.GetContainerId().GetId() == 2 {
				s.SetContainerAttributes(nil) // stock sets them when it first samples a container; this one was too short
			}
		}
	}
	return m
}

// A conversation that an AM had with a stock NodeManager, held with ours: the same answers, but for what differs by
// nature. The resources come from an HDFS that isn't there, so its words are exchanged.
func TestRecordedConversation(t *testing.T) {
	l := newLab(t).up()
	am := l.as(attempt(8))
	calls := readCalls(t, "testdata/am-nm-calls-and-errors.frames")
	if len(calls) != 10 {
		t.Fatalf("%d calls", len(calls))
	}
	state := func(id int64, want pb.ContainerState) {
		t.Helper()
		await.Until(t, "the state of a container", func() bool {
			c, err := l.node.Containers().Container(containerID(8, id))
			return err == nil && c.State().PB() == want && (want == pb.ContainerState_C_COMPLETE || c.Status().PID != 0)
		})
	}
	for i, call := range calls {
		d := descriptor(t, call.method)
		req, want, got := d.NewRequest(), d.NewResponse(), d.NewResponse()
		if err := proto.Unmarshal(call.request, req); err != nil {
			t.Fatal(err)
		}
		switch req := req.(type) {
		case *pb.StartContainersRequest:
			for _, r := range req.GetStartContainerRequest() {
				l.mint(r.GetContainerToken(), call.class != "")
				for _, res := range r.GetContainerLaunchContext().GetLocalResources() {
					res.GetValue().GetResource().SetScheme("file")
				}
			}
		case *pb.ContainerUpdateRequest:
			state(3, pb.ContainerState_C_RUNNING)
			for _, tok := range req.GetUpdateContainerToken() {
				l.mint(tok, false)
			}
		case *pb.GetContainerStatusesRequest:
			switch len(req.GetContainerId()) {
			case 4:
				state(1, pb.ContainerState_C_RUNNING)
				state(2, pb.ContainerState_C_COMPLETE)
				state(5, pb.ContainerState_C_COMPLETE)
			case 2:
				if i > 6 {
					state(1, pb.ContainerState_C_COMPLETE)
				}
			}
		case *pb.StopContainersRequest:
			// meanwhile the ResourceManager asked for a signal, and container 3 was killed and forgotten
			c, err := l.node.Containers().Container(containerID(8, 1))
			if err != nil {
				t.Fatal(err)
			}
			await.Until(t, "the command", func() bool { _, err := os.Stat(c.Status().LogDirs[0] + "/env.txt"); return err == nil })
			c.Diagnose("Sent signal OUTPUT_THREAD_DUMP (SIGQUIT) to pid 1 as user root for container " + c.ID().String() + ", result=success\n")
			three, err := l.node.Containers().Container(containerID(8, 3))
			if err != nil {
				t.Fatal(err)
			}
			three.Kill(records.ExitKilledByResourceManager, "")
			if err := three.WaitDone(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.node.Containers().Forget(three.ID())
		}
		err := am.Invoke(t.Context(), d.Method, req, got)
		if call.class != "" {
			first, _, _ := strings.Cut(call.errorMsg, "\n\tat ")
			first = strings.ReplaceAll(first, "localhost:20041", l.node.Node().String())
			if !ipc.IsClass(err, call.class) || !strings.Contains(err.Error(), first) {
				t.Errorf("call %d, %s: %v, want %s %s", i, call.method, err, call.class, first)
			}
			continue
		}
		if err != nil {
			t.Errorf("call %d, %s: %v", i, call.method, err)
			continue
		}
		if err := proto.Unmarshal(call.answer, want); err != nil {
			t.Fatal(err)
		}
		if s, ok := want.(*pb.GetContainerStatusesResponse); ok {
			for _, st := range s.GetStatus() {
				st.SetDiagnostics(strings.ReplaceAll(st.GetDiagnostics(), "hdfs://localhost:20020/nosuch", "file://localhost:20020/nosuch"))
				if i == 5 {
					// ours may have begun already
					st.SetContainerSubState(pb.ContainerSubState_CSS_SCHEDULED)
				}
			}
			if i == 5 {
				for _, st := range got.(*pb.GetContainerStatusesResponse).GetStatus() {
					st.SetContainerSubState(pb.ContainerSubState_CSS_SCHEDULED)
					st.SetContainerAttributes(nil)
					if st.GetContainerId().GetId() == 2 { // and may have ended
						st.SetState(pb.ContainerState_C_RUNNING)
						st.SetExitStatus(-1000)
						st.SetDiagnostics("")
					}
				}
			}
		}
		if diff := cmp.Diff(masked(want), masked(got), protocmp.Transform()); diff != "" {
			t.Errorf("call %d, %s: %s", i, call.method, diff)
		}
	}
}

func descriptor(t *testing.T, method string) protocol.Descriptor {
	t.Helper()
	for _, d := range []protocol.Descriptor{
		protocol.StartContainers.Descriptor(), protocol.StopContainers.Descriptor(),
		protocol.GetContainerStatuses.Descriptor(), protocol.UpdateContainer.Descriptor(),
	} {
		if d.Name == method {
			return d
		}
	}
	t.Fatalf("unknown method %s", method)
	return protocol.Descriptor{}
}

package nm

import (
	"os"
	"strings"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// An application that names classes, paths or nothing as services is refused, and starts no class; one with bytes without sense for services runs. The JVM and its
// service go on.
func TestHostileDataForServices(t *testing.T) {
	calls, set := recorder(t)
	l := newLab(t, set...).up()
	jvm := l.node.aux.Java().Status().PID
	start := func(n int64, names ...string) *pb.StartContainersResponse {
		t.Helper()
		id := containerID(1, n)
		req := l.request(id, "exec sleep 1000")
		var all []*pb.StringBytesMap
		for _, name := range names {
			data := &pb.StringBytesMap{}
			data.SetKey(name)
			data.SetValue([]byte("\xff\xfe\x00\x1b[31m"))
			all = append(all, data)
		}
		req.GetContainerLaunchContext().SetServiceData(all)
		resp, err := protocol.StartContainers.Call(t.Context(), l.as(id.Attempt), startRequest(req))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for i, name := range []string{"heddle.test.Recorder", "java.lang.Runtime", "../recorder", "", strings.Repeat("x", 1<<16), "recorder\x00"} {
		resp := start(int64(10+i), "recorder", name)
		if f := resp.GetFailedRequests(); len(f) != 1 || !strings.Contains(f[0].GetException().GetMessage(), "The auxService:") {
			t.Errorf("%.40q: %.500v", name, resp)
		}
	}
	if resp := start(1, "mapreduce_shuffle", "recorder"); len(resp.GetSucceededRequests()) != 1 {
		t.Fatal(resp)
	}
	c, err := l.node.Containers().Container(containerID(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	l.running(c)
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), "initializeApplication") != 1 || strings.Count(string(b), "init ") != 1 {
		t.Errorf("the service was called:\n%q", b)
	}
	if is := l.node.aux.Java().Status(); !is.Up || is.PID != jvm || !l.node.healthStatus().Healthy {
		t.Errorf("%+v", is)
	}
}

package nm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/conf"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

const (
	auxKey  = "yarn.nodemanager.aux-services"
	pathKey = "heddle.nodemanager.java.class-path"
)

// recorder compiles the service that records its calls, and returns settings for it.
func recorder(t *testing.T) (calls string, set []string) {
	t.Helper()
	dir, lib := jvmtest.Compile(t, "javahost/testdata/Recorder.java"), jvmtest.Hadoop(t)
	calls = filepath.Join(dir, "calls")
	return calls, []string{
		auxKey + "=mapreduce_shuffle,recorder", auxKey + ".recorder.class=heddle.test.Recorder", auxKey + ".recorder.classpath=" + dir,
		pathKey + "=" + lib + "/*", "recorder.file=" + calls, "heddle.nodemanager.java.heap-mb=64", "heddle.nodemanager.java.options=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
	}
}

// beginWithSecret starts a container of an application that has data for the service.
func (l *lab) beginWithSecret(id records.ContainerID, command string) *pb.StartContainersResponse {
	l.t.Helper()
	req := l.request(id, command)
	data := &pb.StringBytesMap{}
	data.SetKey("recorder")
	data.SetValue([]byte("secret"))
	req.GetContainerLaunchContext().SetServiceData([]*pb.StringBytesMap{data})
	resp, err := protocol.StartContainers.Call(l.t.Context(), l.as(id.Attempt), startRequest(req))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		l.t.Fatalf("%v, %v", resp, err)
	}
	return resp
}

// The node goes on when the JVM of its services dies: containers don't notice, the health report says it, and the next JVM is told of them.
func TestServicesThatAreJava(t *testing.T) {
	calls, set := recorder(t)
	l := newLab(t, set...).up()
	id := containerID(1, 1)
	resp := l.beginWithSecret(id, "exec sleep 1000")
	meta := map[string]string{}
	for _, m := range resp.GetServicesMetaData() {
		meta[m.GetKey()] = string(m.GetValue())
	}
	if meta["recorder"] != "recorded" || len(meta["mapreduce_shuffle"]) != 4 {
		t.Errorf("the ApplicationMaster is told %q", meta)
	}
	c, err := l.node.Containers().Container(id)
	if err != nil {
		t.Fatal(err)
	}
	l.running(c)
	pid := c.Status().PID
	lives := 1 // of the JVM
	recorded := func(want string) bool {
		b, err := os.ReadFile(calls)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.HasSuffix(string(b), want) && strings.Count(string(b), "getMetaData") == lives
	}
	const first = "getMetaData\ninitializeContainer ann 0001/1 <memory:256, vCores:1> TASK\ninitializeApplication ann 0001 secret\n"
	if !recorded(first) {
		t.Error("the container runs, and the service wasn't told before")
	}

	jvm := l.node.aux.Java().Status().PID
	if cgroup, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", jvm)); l.node.groups.Kind() != "none" && (err != nil || !strings.Contains(string(cgroup), javaGroups+"/"+javaGroup)) {
		t.Errorf("its groups: %s, %v", cgroup, err)
	}
	if err := syscall.Kill(jvm, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the report", func() bool {
		return strings.Contains(l.node.healthStatus().Report, "The JVM of the auxiliary services is down")
	})
	if s := l.node.healthStatus(); !s.Healthy {
		t.Errorf("the node is unhealthy: %s", s.Report)
	}
	lives++
	await.Until(t, "the next JVM is told", func() bool { return recorded("start\n" + first) })
	if l.running(c); c.Status().PID != pid || l.node.healthStatus().Report != "" {
		t.Errorf("%+v, %q", c.Status(), l.node.healthStatus().Report)
	}

	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		m.SetApplicationsToCleanup([]*pb.ApplicationId{id.Attempt.App.PB()})
	})
	l.node.kick()
	await.Until(t, "the end", func() bool {
		return recorded("stopContainer ann 0001/1 <memory:256, vCores:1> TASK\nstopApplication 0001\n")
	})
	l.stop()
	if !recorded("stopApplication 0001\nstop\n") {
		t.Error("the service wasn't stopped")
	}
}

// A service that can't be loaded keeps the node from starting, as in Hadoop, and the check says so before.
func TestServicesThatCannotBeLoaded(t *testing.T) {
	_, set := recorder(t)
	for name, test := range map[string]struct{ set, want, key string }{
		"no such class": {auxKey + ".recorder.class=heddle.test.Nosuch", "auxiliary service recorder: the class heddle.test.Nosuch isn't in " + auxKey + ".recorder.classpath", auxKey + ".recorder.class"},
		"no Hadoop":     {pathKey + "=/nosuch", "set HADOOP_HOME for heddle nm", auxKey},
	} {
		l := newLab(t, append(set, test.set)...)
		if _, err := New(Options{Conf: l.conf(), Log: quiet()}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		found := false
		for _, p := range Check(l.conf()) {
			found = found || p.Severity == conf.Error && p.Key == test.key && strings.Contains(p.Message, test.want)
		}
		if !found {
			t.Errorf("%s: the check says %v", name, Check(l.conf()))
		}
	}
	l := newLab(t, append(set, "recorder.init=throw")...)
	if _, err := New(Options{Conf: l.conf(), Log: quiet()}); err == nil || !strings.Contains(err.Error(), "auxiliary service recorder (heddle.test.Recorder) can't be initialised") {
		t.Errorf("it throws: %v", err)
	}
}

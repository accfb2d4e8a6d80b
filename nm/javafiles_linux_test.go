package nm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// A container gets a file of a file system that only Java knows, and one whose class isn't there says what to set. No JVM runs before.
func TestFilesThatJavaReads(t *testing.T) {
	dir, lib := jvmtest.Compile(t, "../hdfsadapter/javafs/testdata/Odd.java"), jvmtest.Hadoop(t)
	l := newLab(t, pathKey+"="+dir+":"+lib+"/*", "fs.odd.impl=heddle.test.Odd", "heddle.nodemanager.java.options=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC").up()
	if _, err := os.Stat(l.node.s.state + "-java"); err == nil {
		t.Error("a node that doesn't need Java has its folder")
	}
	file := filepath.Join(dir, "data")
	if err := os.WriteFile(file, []byte("read by Java"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	start := func(app int32, scheme string) *container.Container {
		t.Helper()
		id := containerID(app, 1)
		req := l.request(id, "cat x > ${LOG_DIRS}/stdout; exec sleep 1000")
		r := fileResource(file, localizer.Application, info)
		r.GetResource().SetScheme(scheme)
		m := &pb.StringLocalResourceMap{}
		m.SetKey("x")
		m.SetValue(r)
		req.GetContainerLaunchContext().SetLocalResources([]*pb.StringLocalResourceMap{m})
		resp, err := protocol.StartContainers.Call(t.Context(), l.as(id.Attempt), startRequest(req))
		if err != nil || len(resp.GetSucceededRequests()) != 1 {
			t.Fatalf("%v, %v", resp, err)
		}
		c, err := l.node.Containers().Container(id)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	l.running(start(1, "odd"))
	page := "/node/containerlogs/" + containerID(1, 1).String() + "/ann/stdout/?start=0"
	await.Until(t, "its output", func() bool { return strings.Contains(l.web("GET", page).body, "read by Java") })
	bad := start(2, "nosuch")
	await.Until(t, "it fails", func() bool { return strings.Contains(bad.Status().Diagnostics, "set fs.nosuch.impl to a class") })
}

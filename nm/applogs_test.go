package nm

import (
	"bytes"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/hdfsadapter"
	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/logs"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// finish has the ResourceManager say that applications are over.
func (l *lab) finish(apps ...records.ApplicationID) {
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		var list []*pb.ApplicationId
		for _, a := range apps {
			list = append(list, a.PB())
		}
		m.SetApplicationsToCleanup(list)
	})
	l.node.kick()
}

func TestLogsAreAggregated(t *testing.T) {
	remote := t.TempDir()
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.nodemanager.remote-app-log-dir=file://"+remote).up()
	c := l.run(containerID(1, 1), "echo spoken; exit 3")
	app := c.ID().Attempt.App
	await.Until(t, "the end", func() bool { return c.Status().ExitCode == 3 })
	l.finish(app)
	var reports []pb.LogAggregationStatus
	l.rm.seen("the report of success", func(beats []*pb.NodeHeartbeatRequest) bool {
		reports = nil
		for _, b := range beats {
			for _, r := range b.GetLogAggregationReportsForApps() {
				reports = append(reports, r.GetLogAggregationStatus())
			}
		}
		return slices.Contains(reports, pb.LogAggregationStatus_LOG_SUCCEEDED)
	})
	await.Until(t, "the application to be gone", func() bool { _, here := l.node.Containers().Application(app); return !here })
	if left, err := os.ReadDir(l.dir + "/logs/userlogs"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}

	files, err := hdfsadapter.New(l.conf(), hdfsadapter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	archive := logs.Archive{FS: logs.OnHDFS(files).As("ann"), Place: logs.Place{Root: "file://" + remote, Suffix: "logs-tfile"}}
	found, err := archive.Files(t.Context(), app, "ann")
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	texts := make(map[string]string)
	err = archive.Each(t.Context(), found[0], func(log logs.AggregatedLog, content io.Reader) error {
		b, err := io.ReadAll(content)
		texts[log.Container+" "+log.Name] = string(b)
		return err
	})
	if got := texts[c.ID().String()+" prelaunch.out"]; err != nil || got == "" {
		t.Errorf("aggregated are %q, %v", texts, err)
	}
}

// A history server reads aggregated logs by the group of their root, which is the configured one.
func TestTheConfiguredGroupGetsTheRootOfLogs(t *testing.T) {
	gid := os.Getgid()
	if gid == 0 {
		gid = 1 // not that which it would have anyway
	}
	g, err := user.LookupGroupId(strconv.Itoa(gid))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "logs")
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.nodemanager.remote-app-log-dir=file://"+root, "yarn.nodemanager.remote-app-log-dir.groupname="+g.Name).up()
	c := l.run(containerID(1, 1), "exit 0")
	await.Until(t, "the end", func() bool { return c.Status().State == container.Done })
	l.finish(c.ID().Attempt.App)
	await.Until(t, "the root's group", func() bool {
		info, err := os.Stat(root)
		return err == nil && info.Sys().(*syscall.Stat_t).Gid == uint32(gid)
	})
}

func TestLogsThatCanNotBeAggregatedStay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.nodemanager.remote-app-log-dir=file://"+file).up()
	c := l.run(containerID(1, 1), "exit 0")
	await.Until(t, "the end", func() bool { return c.Status().ExitCode == 0 })
	l.finish(c.ID().Attempt.App)
	l.rm.seen("the report of a failure", func(beats []*pb.NodeHeartbeatRequest) bool {
		for _, b := range beats {
			for _, r := range b.GetLogAggregationReportsForApps() {
				if r.GetLogAggregationStatus() == pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE {
					return r.GetDiagnostics() != ""
				}
			}
		}
		return false
	})
	l.node.s.supervised = true // leave things as they are
	l.stop()
	// The next life has not forgotten.
	l.up()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the logs", func() bool {
		found, err := filepath.Glob(file + "/ann/bucket-logs-tfile/0001/*/localhost_*")
		return err == nil && len(found) == 1
	})
	await.Until(t, "the application to be gone", func() bool { return len(l.node.Containers().Applications()) == 0 })
}

func TestLogsAreRemovedInTime(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.log.retain-seconds=0")
	// An earlier life without recovery has left this.
	old := l.dir + "/logs/userlogs/application_1_0001"
	if err := os.MkdirAll(old+"/container_1_0001_01_000001", 0o700); err != nil {
		t.Fatal(err)
	}
	l.up()
	c := l.run(containerID(1, 1), "exit 0")
	await.Until(t, "the end", func() bool { return c.Status().ExitCode == 0 })
	l.finish(c.ID().Attempt.App)
	await.Until(t, "the logs to be gone", func() bool {
		left, err := os.ReadDir(l.dir + "/logs/userlogs")
		return err == nil && len(left) == 0
	})
}

// The list of a container's logs has those that are here, and those that were uploaded while its application runs.
func TestListOfLogsWithThoseUploaded(t *testing.T) {
	remote := t.TempDir()
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.nodemanager.remote-app-log-dir=file://"+remote).up()
	id := containerID(1, 2)
	c := l.run(id, "echo here > ${LOG_DIRS}/stdout; sleep 1000")
	l.running(c)
	node := l.node.Node().String()
	list := "/ws/v1/node/containers/" + id.String() + "/logs"
	await.Until(t, "the log", func() bool { return strings.Contains(l.web("GET", list).body, `"stdout"`) })

	place := logs.Place{Root: remote, Suffix: "logs-tfile"}
	dir := place.AppDir(id.Attempt.App, "ann")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name string, containers ...records.ContainerID) {
		t.Helper()
		var b bytes.Buffer
		w, err := logs.NewFileWriter(&b, "none", "ann", nil)
		for _, id := range containers {
			if err == nil {
				err = w.Begin(id.String())
			}
			if err == nil {
				err = w.Log("stderr", 3, strings.NewReader("old"))
			}
			if err == nil {
				err = w.End()
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := strings.ReplaceAll(node, ":", "_")
	write(mine+"_1700000000000", containerID(1, 1), id)
	write(mine+"_1700000001000", containerID(1, 1)) // of another container
	write("elsewhere_1", id)                        // of another node
	write(mine+".tmp", id)                          // not complete
	aggregated := `"logAggregationType":"AGGREGATED","containerId":"` + id.String() + `","nodeId":"` + mine + `_1700000000000"}`
	l.expect(l.web("GET", list), 200, jsonType, `{"containerLogsInfo":[{"containerLogInfo":[…"logAggregationType":"LOCAL","containerId":"`+id.String()+`","nodeId":"`+node+`"},`+
		`{"containerLogInfo":[{"fileName":"stderr","fileSize":"3","lastModifiedTime":"…"}],`+aggregated+`]}`)
	l.expect(l.web("GET", list, "Accept", asXML), 200, xmlType, `…<logAggregationType>LOCAL</logAggregationType>…<logAggregationType>AGGREGATED</logAggregationType>…`+
		`</containerLogsInfo></containerLogsInfoes>`)

	write(mine+"_1700000002000", id)
	if err := os.Truncate(filepath.Join(dir, mine+"_1700000002000"), 50); err != nil {
		t.Fatal(err)
	}
	l.expect(l.web("GET", list), 200, jsonType, `{"containerLogsInfo":{"containerLogInfo":[…"logAggregationType":"LOCAL",…}}`)
}

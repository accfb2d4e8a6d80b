package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// TestHDFSAway: the files of applications change, and the file system goes and comes while they are needed.
func TestHDFSAway(t *testing.T) {
	c := start(t, hadooplab.Options{DataNodes: 1, NodeManagers: 1, Site: map[string]string{
		"dfs.permissions.enabled":                                "false",
		"ipc.client.connect.max.retries":                         "3", // Hadoop's clients, in a stock NodeManager
		"yarn.nodemanager.log-aggregation.num-log-files-per-app": "30",
	}})
	settings, err := conf.Load(conf.Options{Dir: c.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	hdfs, err := hdfsadapter.New(settings, hdfsadapter.Options{Retry: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hdfs.Close() })
	files := hdfs.As("")
	put := func(name, text string) hdfsadapter.Info {
		t.Helper()
		w, err := files.Create(t.Context(), name, hdfsadapter.CreateOptions{Overwrite: true})
		if err == nil {
			if _, err = w.Write([]byte(text)); err == nil {
				err = w.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Chmod(t.Context(), name, 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := files.Stat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	with := func(info hdfsadapter.Info, name string, command string) *pb.ApplicationSubmissionContext {
		ctx := c.submission("alice", command)
		u := &pb.URL{}
		u.SetScheme("hdfs")
		u.SetHost("localhost")
		u.SetPort(int32(c.Port("namenode")))
		u.SetFile(name)
		r := &pb.LocalResource{}
		r.SetResource(u)
		r.SetSize(info.Size)
		r.SetTimestamp(info.ModTime)
		r.SetType(pb.LocalResourceType_FILE)
		r.SetVisibility(pb.LocalResourceVisibility_APPLICATION)
		m := &pb.StringLocalResourceMap{}
		m.SetKey("job.jar")
		m.SetValue(r)
		ctx.GetAmContainerSpec().SetLocalResources([]*pb.StringLocalResourceMap{m})
		return ctx
	}
	fails := func(what string, id records.ApplicationID, parts ...string) {
		t.Helper()
		r := c.ended("alice", id)
		if r.GetYarnApplicationState() != pb.YarnApplicationState_FAILED {
			t.Errorf("%s: %v", what, r.GetYarnApplicationState())
		}
		for _, part := range parts {
			if !strings.Contains(r.GetDiagnostics(), part) {
				t.Errorf("%s: the diagnostics lack %q:\n%s", what, part, r.GetDiagnostics())
			}
		}
	}

	old := put("/jobs/job.jar", "first")
	await.Slowly(c.t, "the clock of the NameNode has gone on", func() bool { return put("/jobs/job.jar", "other").ModTime > old.ModTime })
	fails("a jar that changed after the submission", c.submit("alice", with(old, "/jobs/job.jar", "true")),
		"/jobs/job.jar changed on src filesystem - expected: \"")
	missing := with(old, "/jobs/gone.jar", "true")
	fails("a jar that was removed", c.submit("alice", missing), "File does not exist: hdfs://", "/jobs/gone.jar")

	// the NameNode is away while an application's files are fetched
	now := put("/jobs/now.jar", "now")
	c.Daemon("namenode").Kill()
	fails("no NameNode", c.submit("alice", with(now, "/jobs/now.jar", "true")), "/jobs/now.jar")
	restart(c)
	sent := filepath.Join(c.Dir(), "sent")
	id := c.submit("alice", with(now, "/jobs/now.jar", "cat job.jar >"+sent+"; exit 3"))
	fails("afterwards", id, "exitCode: 3")
	if b, err := os.ReadFile(sent); err != nil || string(b) != "now" {
		t.Errorf("the file that the application got: %q, %v", b, err)
	}

	// away while logs are to be aggregated: they stay until it's back
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	cid := records.ContainerIDFrom(box.GetId())
	call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "echo kept for later ><LOG_DIR>/stdout; sleep 1000"))
	local := filepath.Join(c.Dir(), "nodemanager1", "log", m.id.String(), cid.String(), "stdout")
	await.Slowly(c.t, "the container has written", func() bool {
		b, err := os.ReadFile(local)
		return err == nil && strings.Contains(string(b), "kept for later")
	})
	c.Daemon("namenode").Kill()
	m.Finish()
	c.ended("alice", m.id)
	if _, err := os.Stat(local); err != nil {
		t.Errorf("the logs went before they were aggregated: %v", err)
	}
	restart(c)
	await.Slowly(c.t, "the logs are aggregated", func() bool {
		found, err := files.Glob(t.Context(), "/app-logs/alice/bucket-logs-tfile/*/"+m.id.String()+"/*")
		return err == nil && len(found) == 1 && !strings.HasSuffix(found[0].Name, ".tmp")
	})
	out, err := c.RunAs(t.Context(), "alice", "yarn", "logs", "-applicationId", m.id.String())
	if err != nil || !strings.Contains(out, "kept for later") {
		t.Errorf("yarn logs: %s, %v", out, err)
	}
	await.Slowly(c.t, "the node's copy is gone", func() bool {
		_, err := os.Stat(local)
		return os.IsNotExist(err)
	})
}

func restart(c *cluster) {
	c.t.Helper()
	if err := c.Daemon("namenode").Restart(); err != nil {
		c.t.Fatal(err)
	}
	if err := c.WaitHDFS(c.t.Context(), 1); err != nil {
		c.t.Fatal(err)
	}
}

package logs

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/logs/tfile"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// cluster is the HDFS of this package's tests. There is no ResourceManager, which `yarn logs` is not to wait for.
var cluster = hadooplab.NewShared(hadooplab.Options{DataNodes: 1, Site: map[string]string{
	"dfs.permissions.enabled":                        "true",
	"yarn.nodemanager.remote-app-log-dir":            "/app-logs",
	"yarn.resourcemanager.address":                   "localhost:1",
	"yarn.resourcemanager.connect.max-wait.ms":       "20",
	"yarn.resourcemanager.connect.retry-interval.ms": "10",
	"ipc.client.connect.max.retries":                 "0",
}})

func TestMain(m *testing.M) {
	os.Exit(await.NoGoroutines(cluster.Run(m)))
}

func onHDFS(t testing.TB, o hdfsadapter.Options) *hdfsadapter.Adapter {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: cluster.Lab(t).Conf()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// What is aggregated to HDFS, stock's `yarn logs` prints.
func TestStockReadsOurLogs(t *testing.T) {
	a := onHDFS(t, hdfsadapter.Options{})
	if err := a.As("").RemoveAll(t.Context(), "/app-logs"); err != nil {
		t.Fatal(err)
	}
	for i, compression := range []string{tfile.None, tfile.GZ} {
		t.Run(compression, func(t *testing.T) {
			app := records.ApplicationID{ClusterTimestamp: time.Now().UnixMilli(), ID: int32(i + 1)}
			id := func(n int64) records.ContainerID {
				return records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: n}
			}
			l := newLab(t, func(c *Config) {
				c.Remote, c.Place.Root, c.Compression = OnHDFS(a), "/app-logs", compression
			})
			large := strings.Repeat("a line of a large log\n", 100_000)
			if err := l.StartApplication(Start{App: app, User: "alice", ACLs: map[string]string{ViewApp: "bob"}}); err != nil {
				t.Fatal(err)
			}
			for n, content := range []string{"the master's\n", large, "no line end"} {
				l.log(n%2, id(int64(n+1)), "stdout", content)
				l.log(n%2, id(int64(n+1)), "stderr", "")
				l.ContainerFinished(Ended{ID: id(int64(n + 1)), Master: n == 0})
			}
			l.FinishApplication(app)
			if o := <-l.ended; o.err != nil {
				t.Fatal(o.err)
			}
			for name, want := range map[string]struct {
				mode  fs.FileMode
				owner string
			}{
				"/app-logs":                      {fs.ModeSticky | 0o777, ""},
				"/app-logs/alice":                {0o770, "alice"},
				l.cfg.Place.AppDir(app, "alice"): {0o770, "alice"},
				l.cfg.Place.AppDir(app, "alice") + "/host.example.com_8041": {0o640, "alice"},
			} {
				info, err := a.As("").Stat(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode & (fs.ModePerm | fs.ModeSticky); got != want.mode || want.owner != "" && info.Owner != want.owner {
					t.Errorf("%s: %v of %s, want %v of %s", name, got, info.Owner, want.mode, want.owner)
				}
			}
			lab := cluster.Lab(t)
			out, err := lab.RunAs(t.Context(), "alice", "yarn", "logs", "-applicationId", app.String())
			if err != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			for _, want := range []string{
				"Container: " + id(1).String() + " on host.example.com_8041\nLogAggregationType: AGGREGATED\n",
				"LogType:stdout\n", "LogLength:13\nLogContents:\nthe master's\n\nEnd of LogType:stdout\n",
				large, "LogLength:11\nLogContents:\nno line end\nEnd of LogType:stdout\n",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("`yarn logs` has no %.80q in\n%.3000s", want, out)
				}
			}
			out, err = lab.RunAs(t.Context(), "alice", "yarn", "logs", "-applicationId", app.String(), "-containerId", id(2).String(),
				"-nodeAddress", "host.example.com:8041", "-log_files", "stdout", "-size", "-22")
			if err != nil || !strings.Contains(out, "LogLength:2200000\nLogContents:\na line of a large log\n\nEnd of LogType:stdout") {
				t.Errorf("the end of one log: %v\n%.3000s", err, out)
			}
			// Our reader finds the same.
			archive := Archive{FS: OnHDFS(a).As("alice"), Place: l.cfg.Place}
			files, err := archive.Files(t.Context(), app, "alice")
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
			if removed, err := DeleteAggregated(t.Context(), OnHDFS(a).As(""), "/app-logs", time.Now().Add(time.Hour), allFinished); removed != 1 || err != nil {
				t.Errorf("deleted %d, %v", removed, err)
			}
			if _, err := archive.Files(t.Context(), app, "alice"); err == nil {
				t.Error("the logs are still there")
			}
		})
	}
}

// The NameNode is away when an application ends, and comes again.
func TestNameNodeOutage(t *testing.T) {
	a := onHDFS(t, hdfsadapter.Options{Retry: 100 * time.Millisecond})
	l := newLab(t, func(c *Config) {
		c.Remote, c.Place.Root = OnHDFS(a), "/app-logs"
		c.RetryFirst, c.RetryFor = 50*time.Millisecond, 5*time.Minute
	})
	app := records.ApplicationID{ClusterTimestamp: time.Now().UnixMilli(), ID: 7}
	id := records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: 1}
	if err := l.StartApplication(Start{App: app, User: "alice"}); err != nil {
		t.Fatal(err)
	}
	path := l.log(0, id, "stdout", "kept")
	l.ContainerFinished(Ended{ID: id})
	lab := cluster.Lab(t)
	lab.Daemon("namenode").Kill()
	l.FinishApplication(app)
	await.Until(t, "the failure is reported", func() bool {
		rs := l.TakeReports()
		return len(rs) > 0 && rs[0].Status == pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE &&
			strings.Contains(rs[0].Diagnostics, lab.URI()) && strings.Contains(rs[0].Diagnostics, "connection refused")
	})
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the local log: %v", err)
	}
	if err := lab.Daemon("namenode").Restart(); err != nil {
		t.Fatal(err)
	}
	if err := lab.WaitHDFS(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-l.ended:
		if o.err != nil {
			t.Errorf("finished with %v", o.err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the logs are never uploaded")
	}
	if rs := l.TakeReports(); len(rs) == 0 || rs[len(rs)-1].Status != pb.LogAggregationStatus_LOG_SUCCEEDED {
		t.Errorf("reports %+v", rs)
	}
}

func allFinished(context.Context, records.ApplicationID) (bool, error) { return true, nil }

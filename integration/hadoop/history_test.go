package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// TestHDFSAwayAtHistoryWrite: the NameNode goes while a job runs, whose ApplicationMaster then has to commit the job and to
// write its history. If clients don't wait for a NameNode, as by default, the job fails, in words, and nothing hangs; if they
// do, nothing is lost.
func TestHDFSAwayAtHistoryWrite(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := options
	o.Site = map[string]string{
		"mapreduce.jobhistory.move.interval-ms": "1000",
		"mapreduce.am.max-attempts":             "1",
		"dfs.client.retry.policy.spec":          "500,400", // for those who enable it: every half second
	}
	l := hadooplab.Start(t, o)
	nameNode := l.Daemon("namenode")
	// during runs a job that sleeps, and kills the NameNode when its map has read what it reads.
	during := func(args ...string) (*hadooplab.Command, string) {
		t.Helper()
		c, app := begin(t, l, sleeper, append(args, "-m", "1", "-r", "0", "-mt", "5000")...)
		await.Slowly(t, "the map has what it needs", func() bool {
			logs, err := filepath.Glob(filepath.Join(l.Dir(), "nodemanager1", "log", app, "*_000002", "syslog"))
			if err != nil || len(logs) == 0 {
				return false
			}
			b, err := os.ReadFile(logs[0])
			return err == nil && strings.Contains(string(b), "Processing split")
		})
		nameNode.Kill()
		return c, app
	}
	back := func() {
		t.Helper()
		if err := nameNode.Restart(); err != nil {
			t.Fatal(err)
		}
		if err := l.WaitHDFS(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	report := func(app string) string {
		t.Helper()
		return get(t, fmt.Sprintf("http://localhost:%d/ws/v1/cluster/apps/%s", l.Port("rm-http"), app))
	}

	c, hasty := during()
	await.Slowly(t, "the application has ended", func() bool {
		return strings.Contains(report(hasty), `"state":"FINISHED"`)
	})
	// The connection is refused; or it was open, and ends or breaks, as it happens.
	lost := regexp.MustCompile(fmt.Sprintf(`Job commit failed: java\.(net|io)\.\w*Exception: [^\n]*:%d\b`, l.Port("namenode")))
	if text := report(hasty); !strings.Contains(text, `"finalStatus":"FAILED"`) || !lost.MatchString(text) {
		t.Errorf("no NameNode at the end: %s", text)
	}
	await.Slowly(t, "its containers are gone", func() bool { return len(of(processes(t, l), hasty)) == 0 })
	if j := end(t, c, hasty); j.Code == 0 {
		t.Errorf("no NameNode at the end: exit code 0\n%s", j.Stderr)
	}
	back()

	c, patient := during("-Ddfs.client.retry.policy.enabled=true")
	await.Slowly(t, "the map has ended", func() bool {
		return strings.Contains(c.Stderr(), " map 100%")
	})
	if c.Ended() {
		t.Error("the job has ended without a NameNode")
	}
	back()
	j := end(t, c, patient)
	if j.Code != 0 {
		t.Errorf("exit code %d\n%s", j.Code, j.Stderr)
	}
	if text := historyOf(t, l, j); !strings.Contains(text, `"state":"SUCCEEDED"`) || !strings.Contains(text, `"mapsCompleted":1`) {
		t.Errorf("the history of the job that waited: %s", text)
	}
	for _, app := range []string{hasty, patient} {
		if app == hasty && !onHeddle {
			continue // Hadoop tries once to make the folder
		}
		await.Slowly(t, "the logs are aggregated", func() bool {
			r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", app, "-log_files", "syslog")
			return err == nil && strings.Contains(r.Stdout, "Processing split") && strings.Contains(r.Stdout, "MRAppMaster")
		})
	}
}

package hadoop

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// TestMixedClusters runs a job with map and reduce tasks, and so the shuffle, where one of YARN's daemons is Hadoop's and the other
// Heddle's, both ways.
func TestMixedClusters(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("one of the daemons is to be Heddle's")
	}
	for role, name := range map[string]string{"nm": "Hadoop's NodeManager", "rm": "Hadoop's ResourceManager"} {
		t.Run(name, func(t *testing.T) {
			o := options
			o.Stock, o.HistoryServer = role, false
			l := hadooplab.Start(t, o)
			if role == "nm" {
				cannotSuspend(t, l)
			}
			c, app := begin(t, l, example(t, l, "pi"), "2", "100")
			j := end(t, c, app)
			if j.Code != 0 || !strings.Contains(j.Stdout, "Estimated value of Pi is 3.1") {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Shuffled Maps ": 2, "Failed Shuffles": 0})
			if got := status(t, l, app); !strings.Contains(got, "Final-State : SUCCEEDED") {
				t.Error(got)
			}
		})
	}
}

// cannotSuspend has people be refused who would suspend what runs on Hadoop's NodeManager.
func cannotSuspend(t *testing.T, l *hadooplab.Lab) {
	t.Helper()
	c, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	task := strings.Replace(app, "application", "container", 1) + "_01_000002"
	heddle := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), options.Heddle, append([]string{"container"}, args...)...)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
		out, err := cmd.CombinedOutput()
		if err == nil && args[0] != "-status" {
			t.Errorf("heddle container %v succeeds: %s", args, out)
		}
		return string(out)
	}
	await.Slowly(t, "its map runs", func() bool { return strings.Contains(heddle("-status", task), "State : RUNNING") })
	for _, args := range [][]string{{"-suspend", task}, {"-suspend", task, "-level", "shrunk"}, {"-resume", task}} {
		if said := heddle(args...); !strings.Contains(said, "can't suspend containers, nor resume them: it is a NodeManager of Hadoop's. Run one of Heddle's there (heddle nm), or end the container") {
			t.Errorf("heddle container %v: %s", args, said)
		}
	}
	if got := heddle("-status", task); !strings.Contains(got, "State : RUNNING") {
		t.Error(got)
	}
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", app); err != nil {
		t.Error(err)
	}
	end(t, c, app)
}

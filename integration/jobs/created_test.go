package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
)

// Queues are created by jobs, and the only ResourceManager is killed with -9 when the first job runs in its own and others are being submitted: all jobs
// end, and the queues of all are there.
func TestCreatedQueuesSurviveAKill(t *testing.T) {
	const queue = "yarn.scheduler.capacity.root."
	c := startCluster(t, 1, 2, map[string]string{
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
		queue + "queues": "default,users", queue + "default.capacity": "1w", queue + "users.capacity": "9w",
		queue + "users.auto-queue-creation-v2.enabled": "true", queue + "users.auto-queue-creation-v2.template.user-limit-factor": "7",
	})
	in, all := c.input(2, 20, 3)
	submit := func(name, mapper string) (*job, string) {
		out := filepath.Join(t.TempDir(), "out")
		return c.mr("-D", "mapreduce.job.queuename=root.users."+name, "-input", in, "-output", out, "-mapper", mapper, "-numReduceTasks", "0"), out
	}
	begun, end := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "end")
	running, out := submit("first", fmt.Sprintf("touch %s; while ! test -e %s; do sleep 0.05; done; cat", begun, end))
	await.Slowly(t, "a map runs", func() bool { _, err := os.Stat(begun); return err == nil })

	jobs, outs := []*job{running}, []string{out}
	for i := range 4 {
		j, out := submit(fmt.Sprintf("more%d", i), "cat")
		jobs, outs = append(jobs, j), append(outs, out)
		if i == 1 {
			c.kill("rm1")
			c.again("rm1")
		}
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if r := j.end(); r.Attempts != 1 || strings.Join(lines(c.output(outs[i])), "\n") != strings.Join(lines(all), "\n") {
			t.Errorf("job %d took %d attempts, or has other lines", i, r.Attempts)
		}
	}
	for _, name := range []string{"first", "more0", "more1", "more2", "more3"} {
		said, err := exec.Command(c.binary, "queue", "-conf", c.conf, "-status", "root.users."+name).CombinedOutput()
		if err != nil || !strings.Contains(string(said), "RUNNING") {
			t.Errorf("root.users.%s: %v\n%s", name, err, said)
		}
	}
}

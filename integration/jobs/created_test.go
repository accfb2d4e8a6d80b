package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	begun := filepath.Join(t.TempDir(), "begun")
	wait, open := gate(t)
	running, out := c.mapsIn("root.users.first", in, "touch "+begun+"; "+wait+"cat")
	await.Slowly(t, "a map runs", func() bool { _, err := os.Stat(begun); return err == nil })

	jobs, outs := []*job{running}, []string{out}
	for i := range 4 {
		j, out := c.mapsIn(fmt.Sprintf("root.users.more%d", i), in, "cat")
		jobs, outs = append(jobs, j), append(outs, out)
		if i == 1 {
			c.Kill("rm1")
			c.start("rm1")
		}
	}
	open()
	for i, j := range jobs {
		if r := j.end(); r.Attempts != 1 || !slices.Equal(lines(c.output(outs[i])), lines(all)) {
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

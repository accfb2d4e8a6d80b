package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Commands whose input lies on HDFS wait for room. Nodes stage what they read meanwhile: each reads its own file, from memory or not, and neither mounts nor files are left.
func TestStagedInputs(t *testing.T) {
	t.Parallel() // most of it waits
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startCluster(t, 1, 1, map[string]string{
		"fs.defaultFS": lab.URI(), "dfs.client.use.datanode.hostname": "true", "yarn.app.mapreduce.am.staging-dir": "/staging",
		"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1", "heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": "16",
	})
	fs := files(t, c.conf)
	var names strings.Builder
	for i := range 20 {
		put(t, fs, fmt.Sprintf("/in/%02d", i), fmt.Sprintf("file %02d\n", i))
		fmt.Fprintf(&names, "/in/%02d\n", i)
	}
	x := c.xargs("--probes", "--stage", "-P20", "-n1", "sh", "-c", `sleep 0.2; if [ -n "$HEDDLE_STAGED_INPUT" ]; then cat "$HEDDLE_STAGED_INPUT"; else echo "not $0"; fi`)
	if _, err := x.in.Write([]byte(names.String())); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 {
		t.Fatalf("%d: %s", code, x.stderr)
	}
	out, hits := x.stdout.String(), 0
	for i := range 20 {
		hit := strings.Count(out, fmt.Sprintf("file %02d\n", i))
		if hit+strings.Count(out, fmt.Sprintf("not /in/%02d\n", i)) != 1 {
			t.Errorf("file %d: %s", i, out)
		}
		hits += hit
	}
	if hits == 0 {
		t.Error("no command has had its input in memory")
	}
	c.stop()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil || strings.Contains(string(b), filepath.Join(c.dir)) {
		t.Errorf("mounts are left: %v", err)
	}
}

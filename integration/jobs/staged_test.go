package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/needs"
)

// startStaging starts a cluster of one node, with so many slots, that stages inputs from an HDFS on a RAM disk of 16 MB.
func startStaging(t testing.TB, lab *hadooplab.Lab, slots int) *cluster {
	t.Helper()
	return startCluster(t, 1, 1, map[string]string{
		"fs.defaultFS": lab.URI(), "dfs.client.use.datanode.hostname": "true", "yarn.app.mapreduce.am.staging-dir": "/staging",
		"heddle.probes.memory-mb": strconv.Itoa(512 * slots), "heddle.probes.vcores": strconv.Itoa(slots),
		"heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": "16",
	})
}

// Commands whose input lies on HDFS wait for room. Nodes stage what they read meanwhile: each reads its own file, from memory or not, and neither mounts nor files are left.
func TestStagedInputs(t *testing.T) {
	t.Parallel() // most of it waits
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startStaging(t, lab, 1)
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
	// Python's reader reads the same, from memory or by WebHDFS.
	for _, stage := range []string{"--stage", "--nice=0"} {
		x := c.xargs("--probes", stage, "-P20", "-n1", "env", "PYTHONPATH="+must(filepath.Abs("../../python")), "HADOOP_CONF_DIR="+lab.Conf(), needs.Program(t, "python3"), "-B", "-c",
			"import heddle, sys, time; time.sleep(0.2); sys.stdout.write(heddle.open_input(sys.argv[1]).read().decode())")
		if _, err := x.in.Write([]byte("/in/03\n/in/07\n/in/11\n")); err != nil {
			t.Fatal(err)
		}
		x.in.Close()
		if code := x.code(); code != 0 {
			t.Fatalf("%d: %s", code, x.stderr)
		}
		if got := slices.Sorted(slices.Values(lines(x.stdout.String()))); !slices.Equal(got, []string{"file 03", "file 07", "file 11"}) {
			t.Errorf("%s: %q", stage, got)
		}
	}
	c.stop()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil || strings.Contains(string(b), filepath.Join(c.dir)) {
		t.Errorf("mounts are left: %v", err)
	}
}

// A node is killed while inputs are in its memory, and another one takes its place: each command has one result, and neither mounts, groups, helpers nor files are left. It isn't
// parallel: it looks at all groups of RAM disks.
func TestAKilledNodeLeavesNothingStaged(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startStaging(t, lab, 1)
	fs := files(t, c.conf)
	var names strings.Builder
	for i := range 10 {
		put(t, fs, fmt.Sprintf("/in/%02d", i), fmt.Sprintf("file %02d\n", i))
		fmt.Fprintf(&names, "/in/%02d\n", i)
	}
	x := c.xargs("--probes", "--stage", "-P10", "-n1", "sh", "-c", `until test -e go; do sleep 0.02; done; if [ -n "$HEDDLE_STAGED_INPUT" ]; then cat "$HEDDLE_STAGED_INPUT" >/dev/null || exit 1; fi; echo "$0"`)
	if _, err := x.in.Write([]byte(names.String())); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	disk := filepath.Join(c.dir, "nm1", "local", "ramdisk")
	await.Until(t, "inputs are in memory", func() bool {
		staged, err := filepath.Glob(filepath.Join(disk, "out", "*"))
		return err == nil && len(staged) > 0
	})
	c.kill("nm1")
	c.again("nm1")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := x.code(); code != 0 {
		t.Errorf("%d: %s", code, x.stderr)
	}
	for i := range 10 {
		if n := strings.Count(x.stdout.String(), fmt.Sprintf("/in/%02d\n", i)); n != 1 {
			t.Errorf("file %d has %d results", i, n)
		}
	}
	c.stop()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil || strings.Contains(string(b), c.dir) {
		t.Errorf("mounts are left: %v", err)
	}
	if _, err := os.Stat(disk); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if g, p := groups(t, "ramdisk"), processes("stager", c.dir); len(g)+len(p) > 0 {
		t.Errorf("groups %q and helpers %v are left", g, p)
	}
}

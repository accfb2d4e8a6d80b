package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
)

// A node dies with the maps that run there, and with a map's output that a reduce needs. The job ends without them, while the ResourceManager
// still takes the node for alive, as it does for ten minutes.
func TestJobsEndWithoutADeadNode(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // am/mapreduce tests what it decides, in less time
	c := startCluster(t, 1, 2, map[string]string{"yarn.nodemanager.resource.memory-mb": "4096"}, "127.0.0.1", "127.0.0.2")
	const maps = 7
	in, want := c.numbered(maps)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	// Six containers for seven maps: each waits, but for the first ones, whose workers go on with another.
	j := c.mr("-input", in, "-output", out, "-reducer", "cat", "-D", "mapreduce.input.fileinputformat.split.maxsize=3",
		"-mapper", `case $mapreduce_task_attempt_id in *_0) case $mapreduce_task_partition in 0|1);; *) `+wait+`;; esac;; esac; cat`)
	app := j.application()
	id := "container_" + strings.TrimPrefix(app, "application_")
	await.Slowly(t, "five maps wait", func() bool { return len(processes("while [ ! -e", id)) == maps-2 })
	local := func(node string) string { return filepath.Join(c.dir, node, "local") }
	dead := "nm1"
	if len(processes("mr-master", local(dead))) > 0 {
		dead = "nm2"
	}
	if len(processes("mr-worker", local(dead))) == 0 {
		t.Fatal("no worker runs on the node that is to die")
	}
	c.Kill(dead)
	await.Until(t, "all that ran there is dead", func() bool {
		left := processes(local(dead))
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be dead by now
		}
		return len(left) == 0
	})
	await.Slowly(t, "the ApplicationMaster has others do the dead node's maps", func() bool { return strings.Contains(j.master(), "neither its workers nor its NodeManager answer") })
	open()
	r := j.end()
	if got := lines(c.output(out)); strings.Join(got, "\n") != strings.Join(lines(want), "\n") {
		t.Errorf("%q instead of %q", got, want)
	}
	if len(r.Failures) > 0 || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if list, err := c.applications().NodeReports(ctx, pb.NodeState_NS_RUNNING); err != nil || len(list) != 2 {
		t.Errorf("the ResourceManager has %d nodes, %v: it was not the ApplicationMaster that noticed", len(list), err)
	}
}

// master is what the ApplicationMaster of a job has logged.
func (j *job) master() string {
	var all strings.Builder
	for _, name := range must(filepath.Glob(filepath.Join(j.c.dir, "nm*", "log", "application_*", "container_*_000001", "*"))) {
		all.Write(must(os.ReadFile(name)))
	}
	return all.String()
}

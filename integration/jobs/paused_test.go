package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// on returns which of the processes are containers of a node.
func (c *cluster) on(node string, pids []int) (out []int) {
	for _, pid := range pids {
		if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); strings.HasPrefix(cwd, filepath.Join(c.dir, node)+"/") {
			out = append(out, pid)
		}
	}
	return out
}

// nodeOf returns the node that has an application's ApplicationMaster, and another one, of two.
func (c *cluster) nodeOf(container string) (its, other string) {
	c.t.Helper()
	await.Slowly(c.t, "the ApplicationMaster runs", func() bool {
		for i, node := range []string{"nm1", "nm2"} {
			if len(c.on(node, processes("mr-master", container))) == 1 {
				its, other = node, []string{"nm2", "nm1"}[i]
				return true
			}
		}
		return false
	})
	return its, other
}

func signal(t *testing.T, s syscall.Signal, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) { // a sleep ends by itself
			t.Fatal(err)
		}
	}
}

// The only node stands still until it counts as lost, and a second attempt works on another one. Then the first ApplicationMaster and its workers go on, where
// nobody can end them, and while no ResourceManager answers, which would tell it to stop. The output is of the second attempt, whole and once, and the
// first one ends by itself. That only one commits whenever the other one stands still, package commit tests at each of its operations.
func TestPausedMaster(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := startCluster(t, 1, 1, map[string]string{"yarn.nm.liveness-monitor.expiry-interval-ms": "5000", "yarn.am.liveness-monitor.expiry-interval-ms": "5000"})
	const maps = 6
	in, _ := c.numbered(maps)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	j := c.mr("-input", in, "-output", out, "-mapper", wait+"echo $CONTAINER_ID", "-numReduceTasks", "0", "-D", "mapreduce.input.fileinputformat.split.maxsize=3")
	attempt := "container_" + strings.TrimPrefix(j.application(), "application_")
	await.Slowly(t, "mappers run", func() bool { return len(processes("while [ ! -e", attempt+"_01_")) >= maps })
	c.node(1)
	c.ready(2)
	c.Signal("nm1", syscall.SIGSTOP)
	t.Cleanup(func() { c.Signal("nm1", syscall.SIGCONT) }) // or it doesn't end
	first := processes(attempt + "_01_")
	signal(t, syscall.SIGSTOP, first)
	await.Slowly(t, "mappers of the second attempt run", func() bool { return len(processes("while [ ! -e", attempt+"_02_")) >= maps })
	c.Signal("rm1", syscall.SIGSTOP)
	t.Cleanup(func() { c.Signal("rm1", syscall.SIGCONT) })
	signal(t, syscall.SIGCONT, first)
	open()
	await.Slowly(t, "the tasks of the first attempt are done", func() bool {
		return len(processes("echo $CONTAINER_ID", attempt+"_01_")) == 0
	})
	c.Signal("rm1", syscall.SIGCONT)
	if r := j.end(); r.Attempts != 2 || r.FinalStatus != "SUCCEEDED" {
		t.Errorf("%+v", r)
	}
	written := strings.Fields(c.output(out))
	for _, by := range written {
		if id, err := records.ParseContainerID(by); err != nil || id.Attempt.Attempt != 2 {
			t.Errorf("written by %s: %v", by, err)
		}
	}
	if len(written) != maps {
		t.Errorf("%d lines instead of %d", len(written), maps)
	}
	await.Slowly(t, "nothing of the job is left", func() bool { return len(processes("mr-", attempt)) == 0 })
}

// A node is lost with all that runs there, and with outputs of maps, while a reduce fetches: the outputs are made again, and each line comes once.
func TestNodeLostInMidShuffle(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := startCluster(t, 1, 2, map[string]string{"yarn.nm.liveness-monitor.expiry-interval-ms": "5000", "yarn.nodemanager.resource.memory-mb": "4096"})
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	j := c.mr("-input", in, "-output", out, "-mapper", `case $mapreduce_task_partition in 0) `+wait+`;; *) sleep 1;; esac; cat`, "-reducer", "cat", "-numReduceTasks", "1",
		"-D", "mapreduce.input.fileinputformat.split.maxsize=100000", "-D", "mapreduce.job.reduce.slowstart.completedmaps=0.1")
	container := "container_" + strings.TrimPrefix(j.application(), "application_")
	_, other := c.nodeOf(container + "_01_")
	await.Slowly(t, "all mappers but one are done, and the reduce fetches", func() bool {
		return strings.Contains(j.stderr.String(), "map 9") && len(c.on(other, processes("mr-worker", container))) > 0
	})
	c.Kill(other)
	signal(t, syscall.SIGKILL, c.on(other, processes("mr-worker", container)))
	open()
	r := j.end()
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	if r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

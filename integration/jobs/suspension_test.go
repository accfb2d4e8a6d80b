package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// pagesOut skips the test where nodes can't page out what stands still.
func (c *cluster) pagesOut() {
	c.t.Helper()
	said, err := os.ReadFile(filepath.Join(c.dir, "nm1.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	if strings.Contains(string(said), "the memory of suspended containers stays where it is") {
		c.t.Skipf("this machine can't page containers out: %s", said)
	}
}

// A short job gets its share of a full cluster, half of it, from containers of a long one, which go on where they stopped: the long job can't end,
// or even go on, before the short one has ended. The leader is killed while they are suspended. Both jobs end under the next one, and nothing is
// run twice.
func TestAShortJobSuspendsALongOne(t *testing.T) {
	swapfile.On(t, 1<<30)
	nmtest.RealGroups(t)
	c := startCluster(t, 3, 1, map[string]string{
		"yarn.nodemanager.resource.memory-mb":                            "4096",
		"yarn.scheduler.minimum-allocation-mb":                           "256",
		"yarn.resourcemanager.scheduler.monitor.enable":                  "true",
		"heddle.scheduler.preemption":                                    "suspend-immediate",
		"yarn.scheduler.capacity.root.queues":                            "long,short",
		"yarn.scheduler.capacity.root.long.capacity":                     "50",
		"yarn.scheduler.capacity.root.long.user-limit-factor":            "4",
		"yarn.scheduler.capacity.root.long.maximum-am-resource-percent":  "0.8",
		"yarn.scheduler.capacity.root.short.capacity":                    "50",
		"yarn.scheduler.capacity.root.short.maximum-am-resource-percent": "0.8",
	})
	c.pagesOut()
	const tasks, fit = 12, 7 // of 512 MB, beside the ApplicationMaster
	in, want := c.numbered(tasks)
	// A job's tasks leave files in its folder when they begin, and wait for a gate.
	begun := func(queue string) int {
		list, err := os.ReadDir(filepath.Join(c.dir, "begun-"+queue))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	submit := func(queue, wait, out string, inputs ...string) *job {
		dir := filepath.Join(c.dir, "begun-"+queue)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		args := []string{
			"-output", out, "-mapper", "mktemp " + dir + "/XXXXXX >/dev/null; " + wait + "cat", "-reducer", "cat", "-D", "mapreduce.job.queuename=" + queue,
			"-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "mapreduce.map.memory.mb=512", "-D", "mapreduce.reduce.memory.mb=512",
			"-D", "yarn.app.mapreduce.am.resource.mb=512",
		}
		for _, in := range inputs {
			args = append(args, "-input", in)
		}
		return c.mr(args...)
	}
	outLong, outShort := filepath.Join(c.dir, "long"), filepath.Join(c.dir, "short")
	wait, open := gate(t)
	long := submit("long", wait, outLong, in)
	await.Slowly(t, "the long job fills the cluster", func() bool { return begun("long") == fit })
	waitShort, openShort := gate(t)
	short := submit("short", waitShort, outShort, filepath.Join(in, "03"), filepath.Join(in, "04"), filepath.Join(in, "05"))
	await.Slowly(t, "the short job has its half", func() bool { return begun("short") == 3 })
	c.Kill(c.leader())
	openShort()
	if r := short.end(); r.FinalStatus != "SUCCEEDED" || r.Attempts != 1 || len(r.Failures) != 0 {
		t.Fatalf("%+v", r)
	}
	if got := c.output(outShort); got != "03\n04\n05\n" {
		t.Errorf("the short job wrote %q", got)
	}
	if n := begun("long"); n != fit {
		t.Errorf("%d tasks of the long job were begun while the short one ran, want %d", n, fit)
	}
	open()
	r := long.end()
	if r.FinalStatus != "SUCCEEDED" || r.Attempts != 1 || len(r.Failures) != 0 {
		t.Errorf("%+v", r)
	}
	if got := c.output(outLong); got != want {
		t.Errorf("the long job wrote %q instead of %q", got, want)
	}
	if n, m := begun("long"), begun("short"); n != tasks || m != 3 {
		t.Errorf("%d and %d tasks were begun, want %d and 3", n, m, tasks)
	}
}

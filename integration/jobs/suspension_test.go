package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
)

// A short job gets its share of a full cluster from containers of a long one, which go on where they stopped: the long job can't end, or
// even go on, before the short one has ended, and nothing of it is run twice.
func TestAShortJobSuspendsALongOne(t *testing.T) {
	swapfile.On(t, 1<<30)
	c := startCluster(t, 1, 1, map[string]string{
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
	said, err := os.ReadFile(filepath.Join(c.dir, "nm1.log"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(said), "the memory of suspended containers stays where it is") {
		t.Skipf("this machine can't page containers out: %s", said)
	}
	const tasks, fit = 12, 7 // of 512 MB, beside the ApplicationMaster
	in, want := c.numbered(tasks)
	begun := filepath.Join(c.dir, "begun")
	if err := os.Mkdir(begun, 0o777); err != nil {
		t.Fatal(err)
	}
	submit := func(queue, mapper, out, input string) *job {
		return c.mr("-input", input, "-output", out, "-mapper", mapper, "-reducer", "cat", "-D", "mapreduce.job.queuename="+queue,
			"-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "mapreduce.map.memory.mb=512", "-D", "mapreduce.reduce.memory.mb=512",
			"-D", "yarn.app.mapreduce.am.resource.mb=512")
	}
	outLong, outShort := filepath.Join(c.dir, "long"), filepath.Join(c.dir, "short")
	wait, open := gate(t)
	long := submit("long", "mktemp "+begun+"/XXXXXX >/dev/null; "+wait+"cat", outLong, in)
	await.Slowly(t, "the long job fills the cluster", func() bool {
		list, err := os.ReadDir(begun)
		return err == nil && len(list) == fit
	})
	short := submit("short", "cat", outShort, filepath.Join(in, "03"))
	if r := short.end(); r.FinalStatus != "SUCCEEDED" {
		t.Fatalf("%+v", r)
	}
	if got := c.output(outShort); got != "03\n" {
		t.Errorf("the short job wrote %q", got)
	}
	open()
	r := long.end()
	if r.FinalStatus != "SUCCEEDED" || r.Attempts != 1 || len(r.Failures) != 0 {
		t.Errorf("%+v", r)
	}
	if got := c.output(outLong); got != want {
		t.Errorf("the long job wrote %q instead of %q", got, want)
	}
	if list, err := os.ReadDir(begun); err != nil || len(list) != tasks {
		t.Errorf("%d tasks were begun, %v", len(list), err)
	}
}

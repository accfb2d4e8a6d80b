package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
)

// serving are nodes with a shuffle service.
var serving = map[string]string{"yarn.nodemanager.aux-services": "mapreduce_shuffle", "mapreduce.shuffle.port": "0"}

// Where nodes serve the outputs of maps, workers have gone before the reduces begin, and the output is as ever: with one part in memory or on disks,
// with a combiner, and with parts that are empty.
func TestNodesServeOutputs(t *testing.T) {
	c := startCluster(t, 1, 2, serving)
	in, all := texts(t)
	for i, x := range [][]string{
		{"-reducer", "uniq -c"},
		{"-reducer", "uniq -c", "-D", "mapreduce.task.io.sort.mb=1", "-D", "mapreduce.task.io.sort.factor=2"},
		{"-reducer", "uniq -c", "-numReduceTasks", "7"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.t = t
			out := filepath.Join(t.TempDir(), "out")
			j := c.mr(append([]string{"-input", in, "-output", out, "-mapper", "cat", "-slowstart", "1.0", "-cmdenv", "LC_ALL=C"}, x...)...)
			r := j.end()
			if got, want := lines(c.output(out)), lines(pipe(t, all, "sort | uniq -c")); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%d lines instead of %d, or others", len(got), len(want))
			}
			n := r.Counters[jobCounters]
			if n["NUM_LOST_MAP_OUTPUTS"]+r.Counters[taskCounters]["FAILED_SHUFFLE"] > 0 || r.Counters[taskCounters]["SHUFFLED_MAPS"] == 0 {
				t.Errorf("counters %v", r.Counters)
			}
		})
	}
}

// The worker of a map goes while another map runs, and what it has made stays on its node.
func TestWorkersGoBeforeTheirOutputsAreFetched(t *testing.T) {
	c := startCluster(t, 1, 1, serving)
	in, want := c.numbered(2)
	gates, out := t.TempDir(), filepath.Join(c.dir, "out")
	j := c.mr("-input", in, "-output", out, "-slowstart", "1.0", "-reducer", "cat", "-D", "mapreduce.input.fileinputformat.split.maxsize=3",
		"-mapper", "read l; echo $l; case $l in *1) while [ ! -e "+gates+"/open ]; do sleep 0.1; done;; esac; cat")
	app := j.application()
	id := "container_" + strings.TrimPrefix(app, "application_")
	var outputs []string
	await.Slowly(t, "one worker has gone, and its output is there", func() bool {
		outputs, _ = filepath.Glob(filepath.Join(c.dir, "nm1", "local", "usercache", "*", "appcache", app, "output", "*", "file.out.index"))
		return len(outputs) == 1 && len(processes("mr-worker", id)) == 1
	})
	if err := os.WriteFile(filepath.Join(gates, "open"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := j.end()
	if got := c.output(out); strings.Join(lines(got), "\n") != strings.Join(lines(want), "\n") {
		t.Errorf("%q instead of %q", got, want)
	}
	if n := r.Counters[jobCounters]; n["TOTAL_LAUNCHED_MAPS"] != 2 || n["NUM_LOST_MAP_OUTPUTS"] > 0 {
		t.Errorf("counters %v", n)
	}
}

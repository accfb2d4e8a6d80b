package hadoop

import (
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A node loses its label under the maps of a terasort, and another one gets it: what runs goes on, the maps that wait run on the other node, reduces read
// from both, and the output is in order.
func TestTerasortOnARelabelledNode(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	p := hadooplab.StartPartitioned(t, options)
	const rows, maps = 300_000, 30
	succeed(t, p.Lab, example(t, p.Lab, "teragen"), "-Dmapreduce.job.maps=1", strconv.Itoa(rows), "/relabel/in")
	c, app := begin(t, p.Lab, example(t, p.Lab, "terasort"), "-Dmapreduce.job.am.node-label-expression=masters", "-Dmapreduce.job.node-label-expression=gpu",
		"-Dmapreduce.job.reduces=2", "-Dmapreduce.input.fileinputformat.split.maxsize="+strconv.Itoa(rows*100/maps), "/relabel/in", "/relabel/out")
	running := func(node int) bool {
		if c.Ended() {
			t.Fatalf("the job has ended too early\n%s", c.Stderr())
		}
		return p.Containers(t)[p.Nodes[node]] > 0
	}
	await.Slowly(t, "maps run on gpu", func() bool { return running(0) })
	if out, err := p.Run(t.Context(), "yarn", "rmadmin", "-replaceLabelsOnNode", p.Nodes[0]+" "+p.Nodes[2]+"=gpu"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	await.Slowly(t, "further maps run on the other node", func() bool { return running(2) })
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("%d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{
		"Map input records": rows, "Reduce output records": rows, "Launched map tasks": maps, "Failed map tasks": -1, "Killed map tasks": -1, "Failed Shuffles": 0,
	})
	succeed(t, p.Lab, example(t, p.Lab, "teravalidate"), "/relabel/out", "/relabel/report")
	if report := cat(t, p.Lab, "/relabel/report/part-*"); !strings.HasPrefix(report, "checksum\t") || strings.Count(report, "\n") != 1 {
		t.Errorf("misordered: %s", report)
	}
}

package hadoop

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Jobs that know nothing of stage policies run under them side by side, and come to what they do without: the queues fresh and omo have the
// policies of these names, the queue default has none. Jobs of maps only are among them. Hadoop's ResourceManager ignores the policies.
func TestJobsUnderStagePolicies(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	in := text(3000)
	l.Put(t, "/stages/in/a", in)
	l.Put(t, "/stages/in/b", in)
	const early = "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05"
	for _, policy := range []string{"fresh", "omo"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			queue := "-Dmapreduce.job.queuename=" + policy
			count, app := begin(t, l, example(t, l, "wordcount"), queue, early, "-Dmapreduce.job.reduces=2", "/stages/in", "/stages/"+policy)
			if hadooplab.Full() {
				const rows = 20000
				succeed(t, l, example(t, l, "teragen"), queue, "-Dmapreduce.job.maps=2", strconv.Itoa(rows), "/stages/rows-"+policy)
				j := succeed(t, l, example(t, l, "terasort"), queue, early, "-Dmapreduce.job.reduces=2", "/stages/rows-"+policy, "/stages/sorted-"+policy)
				j.counts(t, map[string]int64{"Map input records": rows, "Reduce output records": rows, "Failed Shuffles": 0})
			}
			if j := end(t, count, app); j.Code != 0 {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			got := slices.Sorted(strings.Lines(cat(t, l, "/stages/"+policy+"/part-*")))
			if want := slices.Sorted(strings.Lines(wordCount(in + in))); !slices.Equal(got, want) {
				t.Errorf("%d words, want %d", len(got), len(want))
			}
		})
	}
}

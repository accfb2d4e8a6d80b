package hadoop

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
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

// The job's reduce is asked for when the first map ends. Of the others, which wait for a file, some find no room: FRESH holds the reduce back as
// long as that is so, and says so.
func TestFreshHoldsReducesBack(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	if !onHeddle {
		t.Skip("Hadoop has no stage policies")
	}
	words := []string{"1", "2", "3", "4", "5", "6"}
	for _, w := range words {
		l.Put(t, "/held/in/"+w, w+"\n")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	free := filepath.Join(dir, "free")
	c, app := begin(t, l, streaming(t, l), "-Dmapreduce.job.queuename=fresh", "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05", "-Dmapreduce.job.reduces=1",
		"-Dmapreduce.map.memory.mb=1536", "-files",
		script(t, "wait.sh", "#!/bin/sh\nread x\nmkdir "+filepath.Join(dir, "first")+" 2>/dev/null || until [ -e "+free+" ]; do sleep 0.2; done\necho $x\n"),
		"-input", "/held/in", "-output", "/held/out", "-mapper", "wait.sh", "-reducer", "cat")
	await.Slowly(t, "the reduce is held back", func() bool {
		return strings.Contains(explanation(t, l, app), "its reduces wait for its maps: 5 of 6 haven't ended")
	})
	if err := os.WriteFile(free, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if j := end(t, c, app); j.Code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
	}
	if got := strings.Fields(cat(t, l, "/held/out/part-*")); !slices.Equal(got, words) {
		t.Errorf("%q", got)
	}
}

// explanation is what the ResourceManager says of why an application waits.
func explanation(t *testing.T, l *hadooplab.Lab, app string) string {
	t.Helper()
	resp, err := http.Get("http://localhost:" + strconv.Itoa(l.Port("rm-http")) + "/ws/v1/heddle/apps/" + app + "/pending")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

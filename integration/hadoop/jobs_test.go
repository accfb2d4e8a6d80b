package hadoop

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/publicdir"
	"heddle/nm/nmtest"
)

func TestSecondarySort(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	var in strings.Builder
	want := map[int][]int{}
	for i := range 200 {
		key, value := i%5, i*37%101-50
		fmt.Fprintf(&in, "%d %d\n", key, value)
		want[key] = append(want[key], value)
	}
	l.Put(t, "/secondary/in/a", in.String())
	succeed(t, l, example(t, l, "secondarysort"), "/secondary/in", "/secondary/out")
	var out strings.Builder
	for key := range 5 {
		out.WriteString("------------------------------------------------\n")
		slices.Sort(want[key])
		for _, value := range want[key] {
			fmt.Fprintf(&out, "%d\t%d\n", key, value)
		}
	}
	if got := cat(t, l, "/secondary/out/part-*"); got != out.String() {
		t.Errorf("%s\nwant\n%s", got, &out)
	}
}

func TestJoin(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	l.Put(t, "/join/a/0", "a\t1\nb\t2\nc\t3\n")
	l.Put(t, "/join/b/0", "a\tx\nc\tz\n")
	succeed(t, l, example(t, l, "join"), "-inFormat", "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat",
		"-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat", "-outKey", "org.apache.hadoop.io.Text", "-joinOp", "inner",
		"/join/a", "/join/b", "/join/out")
	if got := cat(t, l, "/join/out/part-*"); got != "a\t[1,x]\nc\t[3,z]\n" {
		t.Error(got)
	}
}

func TestRandomTextWriter(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	j := succeed(t, l, example(t, l, "randomtextwriter"), "-Dmapreduce.randomtextwriter.totalbytes=200000", "-Dmapreduce.randomtextwriter.bytespermap=100000",
		"-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat", "/randomtext")
	text := cat(t, l, "/randomtext/part-*")
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": -1, "Map output records": int64(strings.Count(text, "\n"))})
	if len(text) < 200000 {
		t.Errorf("%d bytes", len(text))
	}
}

// The jar of MapReduce's tests, by its own driver.
func TestJarOfTests(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	tests := jar(t, l, "hadoop-mapreduce-client-jobclient-tests")
	j := succeed(t, l, tests, "sleep", "-m", "2", "-r", "1", "-mt", "10", "-rt", "10")
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1})

	results := filepath.Join(t.TempDir(), "results")
	dfsio := func(args ...string) string {
		succeed(t, l, tests, append([]string{"TestDFSIO", "-Dtest.build.data=/dfsio", "-resFile", results}, args...)...)
		b, err := os.ReadFile(results)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	size := []string{"-nrFiles", "2", "-fileSize", "2MB"}
	if got := dfsio(append(size, "-write")...); !strings.Contains(got, "TestDFSIO ----- : write") || !strings.Contains(got, "Total MBytes processed: 4") {
		t.Error(got)
	}
	if out, err := l.Run(t.Context(), "hdfs", "dfs", "-du", "-s", "/dfsio/io_data"); err != nil || !strings.HasPrefix(out, "4194304 ") {
		t.Errorf("%s, %v", out, err)
	}
	if got := dfsio(append(size, "-read")...); !strings.Contains(got, "TestDFSIO ----- : read") || strings.Count(got, "Total MBytes processed: 4") != 2 {
		t.Error(got)
	}
	succeed(t, l, tests, "TestDFSIO", "-Dtest.build.data=/dfsio", "-clean")
	if r, err := l.Try(t.Context(), "", "hdfs", "dfs", "-test", "-e", "/dfsio"); err != nil || r.Code != 1 {
		t.Errorf("the files are there yet: %+v, %v", r, err)
	}
}

// In the last map's first attempt a thousand lines take ten seconds, in any other a third of one.
const straggler = `#!/usr/bin/env python3
import os, sys, time
slow = os.environ["mapreduce_task_attempt_id"].endswith("_m_000002_0")
for i, line in enumerate(sys.stdin):
    if i % 1000 == 0:
        time.sleep(10 if slow else 0.3)
        print("reporter:status:at", i, file=sys.stderr, flush=True)
print(os.environ["mapreduce_task_attempt_id"][-1])
`

func TestSpeculation(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	lines := strings.Repeat(strings.Repeat("x", 99)+"\n", 20000)
	for i := range 3 {
		l.Put(t, fmt.Sprintf("/speculation/in/%d", i), lines)
	}
	j := succeed(t, l, streaming(t, l), "-Dmapreduce.job.reduces=0", "-Dmapreduce.map.speculative=true", "-Dmapreduce.job.speculative.minimum-allowed-tasks=1",
		"-Dmapreduce.job.speculative.slowtaskthreshold=0.5", "-Dmapreduce.job.speculative.retry-after-no-speculate=1000",
		"-Dmapreduce.job.speculative.speculative-cap-running-tasks=0.5", "-Dmapreduce.job.speculative.speculative-cap-total-tasks=0.5",
		"-files", script(t, "straggler.py", straggler), "-input", "/speculation/in", "-output", "/speculation/out", "-mapper", "straggler.py")
	j.counts(t, map[string]int64{"Map input records": 60000, "Failed map tasks": -1})
	if n := j.counter("Launched map tasks"); n < 4 {
		t.Errorf("%d maps were launched, none of them twice", n)
	}
	// On a busy machine other maps look slow as well.
	if got := strings.Fields(cat(t, l, "/speculation/out/part-*")); len(got) != 3 || got[2] == "0" {
		t.Errorf("attempts %v have won, the last of which must be another than the first", got)
	}
}

// halting maps like cat, but halts at a third of its input until the file exists that its argument names. It reports all the while.
const halting = `#!/usr/bin/env python3
import os, sys, time
for i, line in enumerate(sys.stdin):
    if i == 7000:
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.2)
            print("reporter:status:halts", file=sys.stderr, flush=True)
print(os.environ["mapreduce_task_attempt_id"][-1])
`

// MapReduce takes a suspended map for one that stands still, as docs/sharing.md says, and copies it if speculation is on and there is room; the
// result stays right. With speculation off, which is advised there, it waits.
func TestASuspendedMapIsCopiedOnlyBySpeculation(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop can't suspend")
	}
	nmtest.RealGroups(t)
	o := options
	o.DataNodes, o.Site = 0, maps.Clone(o.Site) // local files do
	dir := publicdir.New(t, "")
	o.Site["yarn.app.mapreduce.am.staging-dir"] = dir + "/staging"
	l := hadooplab.Start(t, o)
	lines := strings.Repeat(strings.Repeat("x", 99)+"\n", 20000)
	for i := range 3 {
		l.Put(t, fmt.Sprintf("%s/in/%d", dir, i), lines)
	}
	type running struct {
		c           *hadooplab.Command
		app, victim string
	}
	start := func(speculation string) (r running) {
		r.c, r.app = begin(t, l, streaming(t, l), "-Dmapreduce.job.reduces=0", "-Dmapreduce.map.speculative="+speculation,
			"-Dmapreduce.job.speculative.minimum-allowed-tasks=1", "-Dmapreduce.job.speculative.slowtaskthreshold=0.5",
			"-Dmapreduce.job.speculative.retry-after-no-speculate=1000", "-Dmapreduce.job.speculative.speculative-cap-running-tasks=0.5",
			"-Dmapreduce.job.speculative.speculative-cap-total-tasks=0.5", "-files", script(t, "halting.py", halting),
			"-input", dir+"/in", "-output", dir+"/out-"+speculation, "-mapper", "halting.py "+dir+"/go-"+speculation)
		first := master(t, l, r.app, 1)
		await.Slowly(t, "three maps are on their way", func() bool {
			maps := slices.DeleteFunc(of(programs(processes(t, l)), r.app), func(id string) bool { return id == first })
			if len(maps) == 3 {
				r.victim = maps[0]
			}
			return len(maps) == 3 && mapProgress(r.c) != "" && mapProgress(r.c) != "0"
		})
		if got := control(t, l, r.victim, "suspend"); !strings.Contains(got, `"state":"PAUSED"`) {
			t.Error(got)
		}
		if err := os.WriteFile(dir+"/go-"+speculation, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return r
	}
	off, on := start("false"), start("true")
	j := end(t, on.c, on.app) // by the copy, as the first attempt stands still
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Map input records": 60000, "Launched map tasks": 4, "Killed map tasks": 1, "Failed map tasks": -1})
	if got := strings.Fields(cat(t, l, dir+"/out-true/part-*")); len(got) != 3 || !slices.Contains(got, "1") {
		t.Errorf("attempts %v have won; want a second one among them", got)
	}
	if off.c.Ended() || !slices.Contains(of(programs(processes(t, l)), off.app), off.victim) {
		t.Errorf("without speculation the job didn't wait\n%s", off.c.Stderr())
	}
	if got := control(t, l, off.victim, "resume"); !strings.Contains(got, `"state":"RUNNING"`) {
		t.Error(got)
	}
	if j = end(t, off.c, off.app); j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Map input records": 60000, "Launched map tasks": 3, "Killed map tasks": -1, "Failed map tasks": -1})
}

// inShell runs a command in a shell.
func inShell(t *testing.T, sh *hadooplab.Shell, command ...string) hadooplab.Result {
	t.Helper()
	r, err := sh.Try(command...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMapredJob asks a running job's master, and the history server when it is over, by the commands of mapred job.
func TestMapredJob(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	sh, err := l.NewShell()
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	c, app := begin(t, l, sleeper, "-m", "2", "-r", "1", "-mt", "30000", "-rt", "10")
	id := strings.Replace(app, "application", "job", 1)
	attempt := func(task, n int) string {
		return fmt.Sprintf("attempt%s_m_%06d_%d", strings.TrimPrefix(id, "job"), task, n)
	}
	listed := func() string {
		return inShell(t, sh, "mapred", "job", "-list-attempt-ids", id, "MAP", "running").Stdout
	}
	await.Slowly(t, "both maps run", func() bool { return strings.Count(listed(), "attempt_") == 2 })
	if out := inShell(t, sh, "mapred", "job", "-list").Stdout; !strings.Contains(out, id) || !strings.Contains(out, "RUNNING") {
		t.Error(out)
	}
	if out := inShell(t, sh, "mapred", "job", "-status", id).Stdout; !strings.Contains(out, "Job state: RUNNING") || !strings.Contains(out, "Number of maps: 2") {
		t.Error(out)
	}
	if r := inShell(t, sh, "mapred", "job", "-set-priority", id, "HIGH"); r.Code != 0 || !strings.Contains(r.Stdout, "Changed job priority.") {
		t.Errorf("%+v", r)
	}
	if out := inShell(t, sh, "mapred", "job", "-events", id, "0", "10").Stdout; !strings.Contains(out, "Number of events (from 0) are: 0") {
		t.Error(out)
	}
	if r := inShell(t, sh, "mapred", "job", "-fail-task", attempt(0, 0)); r.Code != 0 || !strings.Contains(r.Stdout, "Killed task "+attempt(0, 0)+" by failing it") {
		t.Errorf("%+v", r)
	}
	if r := inShell(t, sh, "mapred", "job", "-kill-task", attempt(1, 0)); r.Code != 0 || !strings.Contains(r.Stdout, "Killed task "+attempt(1, 0)) {
		t.Errorf("%+v", r)
	}
	await.Slowly(t, "other attempts run", func() bool {
		out := listed()
		return strings.Contains(out, attempt(0, 1)) && strings.Contains(out, attempt(1, 1))
	})
	b := end(t, c, app)
	b.counts(t, map[string]int64{"Failed map tasks": 1, "Killed map tasks": 1, "Launched map tasks": 4})
	historyOf(t, l, b)
	if out := inShell(t, sh, "mapred", "job", "-counter", id, "org.apache.hadoop.mapreduce.JobCounter", "NUM_FAILED_MAPS").Stdout; strings.TrimSpace(out) != "1" {
		t.Error(out)
	}
	if out := inShell(t, sh, "mapred", "job", "-history", id).Stdout; !strings.Contains(out, "Hadoop job: "+id) || !strings.Contains(out, "Status: SUCCEEDED") {
		t.Error(out)
	}
	if out := inShell(t, sh, "mapred", "job", "-status", id).Stdout; !strings.Contains(out, "Job state: SUCCEEDED") {
		t.Error(out)
	}
	if out := inShell(t, sh, "mapred", "job", "-events", id, "0", "10").Stdout; !strings.Contains(out, "SUCCEEDED "+attempt(0, 1)) {
		t.Error(out)
	}
	await.Slowly(t, "the logs of the job are there", func() bool {
		return strings.Contains(inShell(t, sh, "mapred", "job", "-logs", id).Stdout, "MRAppMaster")
	})

	c, app = begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	id = strings.Replace(app, "application", "job", 1)
	await.Slowly(t, "the map runs", func() bool { return strings.Contains(listed(), "attempt_") })
	if r := inShell(t, sh, "mapred", "job", "-kill", id); r.Code != 0 || !strings.Contains(r.Stdout, "Killed job "+id) {
		t.Errorf("%+v", r)
	}
	if b := end(t, c, app); b.Code == 0 {
		t.Errorf("%+v", b)
	}
}

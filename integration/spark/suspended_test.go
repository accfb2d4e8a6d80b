package spark

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// goesOn has cached rows and Python workers, and counts the rows again and again until a file is there.
const goesOn = `
import os, sys, time
from pyspark.sql import SparkSession
gate, cached, log = sys.argv[1:]
spark = (SparkSession.builder.appName("long").config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", "file://" + log)
    .config("spark.eventLog.compress", "false").config("spark.eventLog.rolling.enabled", "false").getOrCreate())
sc = spark.sparkContext
seen = sc.accumulator(0)
parts, each = 4, 20000
rows = sc.parallelize(range(parts * each), parts).map(lambda i: (i % 100, "%0100d" % i)).cache()
def count(it):
    n = 0
    for _ in it:
        n += 1
        seen.add(1)
        if n % 1000 == 0:
            time.sleep(0.05)
    return [n]
rounds = 0
while rounds == 0 or not os.path.exists(gate):
    counts = rows.mapPartitions(count).collect()
    rounds += 1
    assert counts == [each] * parts, counts
    assert seen.value == rounds * parts * each, (seen.value, rounds)
    open(cached, "w").close()
assert rows.map(lambda kv: int(kv[1])).sum() == sum(range(parts * each))
spark.stop()
`

const (
	sortedMaps  = 24
	shortMaps   = 15
	standsStill = 10 * time.Minute
)

// TestSuspendedSparkAndTerasort: a Spark job with cached rows and Python workers and a terasort, both unmodified, fill a cluster, and stand still for ten
// minutes while a job of another queue has it. They end as if nothing had been: no executor is lost, and no task fails, is killed or runs again.
func TestSuspendedSparkAndTerasort(t *testing.T) { suspendSparkAndTerasort(t, 0, standsStill) }

// TestSuspendedSparkAndTerasortNextLeader: the same under three ResourceManagers, of which the leader is killed when the short job has just got a part of what it asks for: about
// half of the containers that it needs are suspended.
func TestSuspendedSparkAndTerasortNextLeader(t *testing.T) {
	suspendSparkAndTerasort(t, 3, 2*time.Minute)
}

func suspendSparkAndTerasort(t *testing.T, resourceManagers int, lasts time.Duration) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop can't suspend")
	}
	swapfile.On(t, 8<<30)
	nmtest.RealGroups(t)
	o := options
	o.HistoryServer, o.ResourceManagers = true, resourceManagers
	l := hadooplab.TwoQueues(t, o, 18432, map[string]string{
		"mapreduce.job.reduce.slowstart.completedmaps": "1",
		"mapreduce.map.speculative":                    "false",
		"mapreduce.reduce.speculative":                 "false",
		"mapreduce.jobhistory.move.interval-ms":        "1000",
	})
	dir := t.TempDir()
	gate, cached, events := filepath.Join(dir, "gate"), filepath.Join(dir, "cached"), t.TempDir()
	run(t, mapReduce(t, l, "teragen", "long", "-Dmapreduce.job.maps="+strconv.Itoa(sortedMaps), "24000000", "/tera/in"))

	spark, sparkID := begin(t, l, "--deploy-mode", "cluster", "--queue", "long", "--num-executors", "2", program(t, goesOn), gate, cached, events)
	await.Slowly(t, "Spark's rows are cached", func() bool {
		_, err := os.Stat(cached)
		return err == nil || spark.Ended()
	})
	sort := mapReduce(t, l, "terasort", "long", "-Dmapreduce.job.reduces=2", "/tera/in", "/tera/out")
	// On a busy machine its client tells of their progress when they have ended.
	await.Slowly(t, "terasort's maps run", func() bool { return hadooplab.RunningIn(t, l, "long") > sortedMaps/2 || sort.Ended() })

	short := l.Intrude(t, shortMaps, lasts)
	if n := hadooplab.Leader(t, l); n > 0 {
		await.Slowly(t, "some of the short job's maps run", func() bool { return short.Begun() >= shortMaps/3 || short.Ended() })
		t.Logf("%s is killed when %d of %d maps of the short job run, and %v are suspended", fmt.Sprint("rm", n), short.Begun(), shortMaps, l.Suspended(t))
		l.Daemon(fmt.Sprint("resourcemanager", n)).Kill()
	}
	short.Settles()
	before := l.Suspended(t)
	t.Logf("%d containers are suspended", len(before))
	// On a busy machine many maps of terasort end before the short job asks for its containers.
	if executors := hadooplab.OfApplication(before, sparkID); len(before) < len(executors)+sortedMaps/6 || len(executors) == 0 {
		t.Fatalf("suspended are %v, of Spark %v", before, executors)
	}
	short.Leaves()
	if spark.Ended() || sort.Ended() {
		t.Error("a long job has ended while it had next to nothing")
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, sort)
	if a := end(t, spark, sparkID); a.Code != 0 || !strings.Contains(a.Stderr, "final status: SUCCEEDED") {
		t.Errorf("Spark: exit code %d\n%s", a.Code, a.Stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(events, "application_*")); len(files) != 1 {
		t.Logf("attempts of Spark's ApplicationMaster: %s", hadooplab.Attempts(t, l, sparkID))
	}
	checkEvents(t, events)
	checkAttempts(t, l, regexp.MustCompile(`application_\d+_\d+`).FindString(sort.Stderr()))
	run(t, mapReduce(t, l, "teravalidate", "short", "/tera/out", "/tera/report"))
	if report, err := l.Run(t.Context(), "hdfs", "dfs", "-cat", "/tera/report/part-*"); err != nil || !strings.HasPrefix(report, "checksum\t") || strings.Count(report, "\n") != 1 {
		t.Errorf("misordered: %s, %v", report, err)
	}
}

// mapReduce begins one of Hadoop's examples.
func mapReduce(t *testing.T, l *hadooplab.Lab, name, queue string, args ...string) *hadooplab.Command {
	t.Helper()
	jar, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Begin("", append([]string{"hadoop", "jar", jar, name, "-Dmapreduce.job.queuename=" + queue}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	return c
}

// run waits for a command, which must succeed.
func run(t *testing.T, c *hadooplab.Command) {
	t.Helper()
	r, err := c.Wait(t.Context())
	if err != nil || r.Code != 0 {
		t.Fatalf("exit code %d, %v\n%s", r.Code, err, r.Stderr)
	}
	if m := regexp.MustCompile(`(Failed|Killed) (map|reduce) tasks=`).FindString(r.Stderr); m != "" {
		t.Errorf("%s\n%s", m, r.Stderr)
	}
}

// checkEvents reads what a Spark application has written of itself until its end: each task was run once, and no executor was lost.
func checkEvents(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "application_*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("event logs %v, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tasks := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Event    string
			Executor string `json:"Executor ID"`
			Removed  string `json:"Removed Reason"`
			End      struct {
				Reason string
			} `json:"Task End Reason"`
			Task struct {
				Attempt int
			} `json:"Task Info"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		switch e.Event {
		case "SparkListenerTaskEnd":
			if tasks++; e.End.Reason != "Success" || e.Task.Attempt != 0 {
				t.Errorf("a task: %s", lines.Bytes())
			}
		case "SparkListenerExecutorRemoved":
			t.Errorf("executor %s was lost: %s", e.Executor, e.Removed)
		case "SparkListenerApplicationEnd":
			t.Logf("Spark ran %d tasks", tasks)
			return
		}
	}
	t.Errorf("%s has no end: %v", files[0], lines.Err())
}

// checkAttempts asks the history server for a job's counts of attempts.
func checkAttempts(t *testing.T, l *hadooplab.Lab, app string) {
	t.Helper()
	url := fmt.Sprintf("http://localhost:%d/ws/v1/history/mapreduce/jobs/%s", l.Port("history-http"), strings.Replace(app, "application", "job", 1))
	var got struct {
		Job struct {
			State                string `json:"state"`
			Maps                 int    `json:"successfulMapAttempts"`
			Reduces              int    `json:"successfulReduceAttempts"`
			FailedMapAttempts    int    `json:"failedMapAttempts"`
			KilledMapAttempts    int    `json:"killedMapAttempts"`
			FailedReduceAttempts int    `json:"failedReduceAttempts"`
			KilledReduceAttempts int    `json:"killedReduceAttempts"`
		} `json:"job"`
	}
	await.Slowly(t, "the history server has "+app, func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&got) == nil
	})
	want := got
	want.Job.State, want.Job.Maps, want.Job.Reduces = "SUCCEEDED", sortedMaps, 2
	want.Job.FailedMapAttempts, want.Job.KilledMapAttempts, want.Job.FailedReduceAttempts, want.Job.KilledReduceAttempts = 0, 0, 0, 0
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

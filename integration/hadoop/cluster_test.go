package hadoop

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// options are those of the lab that tests share.
var options = hadooplab.Options{
	DataNodes: 1, ResourceManager: true, NodeManagers: 1, HistoryServer: true,
	Site: map[string]string{
		"mapreduce.job.reduce.slowstart.completedmaps": "0.5",
		"mapreduce.job.counters.max":                   "200",
		"mapreduce.jobhistory.move.interval-ms":        "1000",
		"mapreduce.job.maps":                           "1",
		// On a busy machine a second attempt of a slow task would spoil what tests count. One test has speculation on.
		"mapreduce.map.speculative":                      "false",
		"mapreduce.reduce.speculative":                   "false",
		"yarn.nodemanager.resource.memory-mb":            "6144",
		"yarn.resourcemanager.connect.retry-interval.ms": "500",
		"yarn.client.failover-sleep-base-ms":             "100",
		// NodeManagers of Heddle read ahead of maps.
		"heddle.nodemanager.warming.enabled": "true",
		// Queues with stage policies, which have no share of their own.
		"yarn.scheduler.capacity.root.queues":                     "default,fresh,omo",
		"yarn.scheduler.capacity.root.fresh.capacity":             "0",
		"yarn.scheduler.capacity.root.fresh.user-limit-factor":    "-1",
		"yarn.scheduler.capacity.root.fresh.maximum-applications": "100",
		"yarn.scheduler.capacity.root.fresh.heddle-stage-policy":  "fresh",
		"yarn.scheduler.capacity.root.omo.capacity":               "0",
		"yarn.scheduler.capacity.root.omo.user-limit-factor":      "-1",
		"yarn.scheduler.capacity.root.omo.maximum-applications":   "100",
		"yarn.scheduler.capacity.root.omo.heddle-stage-policy":    "omo",
	},
}

var (
	lab      *hadooplab.Shared
	onHeddle = hadooplab.OnHeddle()
)

func TestMain(m *testing.M) { os.Exit(hadooplab.Main(m, &options, &lab)) }

// job is a finished job, as its client has told of it.
type job struct {
	hadooplab.Result
	app string
}

var submitted = regexp.MustCompile(`Submitted application (application_\d+_\d+)`)

// program is the beginning of a command: a jar, or a class.
type program []string

var sleeper = program{"class", "org.apache.hadoop.mapreduce.SleepJob"} // as "sleep" in the jar of tests, which needs further jars

func jar(t *testing.T, l *hadooplab.Lab, name string, args ...string) program {
	t.Helper()
	path, err := l.Jar(name)
	if err != nil {
		t.Fatal(err)
	}
	return append(program{"hadoop", "jar", path}, args...)
}

func example(t *testing.T, l *hadooplab.Lab, name string) program {
	t.Helper()
	return jar(t, l, "hadoop-mapreduce-examples", name)
}

func streaming(t *testing.T, l *hadooplab.Lab) program {
	t.Helper()
	return jar(t, l, "hadoop-streaming")
}

// begin starts a job and returns when its id is known, or it has ended.
func begin(t *testing.T, l *hadooplab.Lab, p program, args ...string) (c *hadooplab.Command, app string) {
	t.Helper()
	c, err := l.Begin("", append(slices.Clone(p), args...)...)
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	await.Slowly(t, "the job is known", func() bool {
		if m := submitted.FindStringSubmatch(c.Stderr()); m != nil {
			app = m[1]
		}
		return app != "" || c.Ended()
	})
	return c, app
}

// end waits for the end of a job.
func end(t *testing.T, c *hadooplab.Command, app string) job {
	t.Helper()
	r, err := c.Wait(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	return job{r, app}
}

// try runs a job to its end.
func try(t *testing.T, l *hadooplab.Lab, p program, args ...string) job {
	t.Helper()
	c, app := begin(t, l, p, args...)
	return end(t, c, app)
}

// succeed is try for a job that must succeed.
func succeed(t *testing.T, l *hadooplab.Lab, p program, args ...string) job {
	t.Helper()
	j := try(t, l, p, args...)
	if j.Code != 0 {
		t.Fatalf("%s: exit code %d\n%s\n%s", strings.Join(args, " "), j.Code, j.Stdout, j.Stderr)
	}
	return j
}

// counter is a job's counter, as the client has printed it; −1 if it hasn't.
func (j job) counter(name string) int64 {
	m := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(name) + `=(-?\d+)$`).FindStringSubmatch(j.Stderr)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// cat returns the contents of files in HDFS.
func cat(t *testing.T, l *hadooplab.Lab, pattern string) string {
	t.Helper()
	out, err := l.Run(t.Context(), "hdfs", "dfs", "-cat", pattern)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// counts compares counters; −1 is for one that the job doesn't have.
func (j job) counts(t *testing.T, want map[string]int64) {
	t.Helper()
	for name, n := range want {
		if got := j.counter(name); got != n {
			t.Errorf("%s is %d, want %d", name, got, n)
		}
	}
	if t.Failed() {
		t.Log(j.Stderr)
	}
}

// get returns what is at a URL; it is "" unless that is a success.
func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(b)
}

// historyOf is what the JobHistoryServer has on a job, as soon as it has.
func historyOf(t *testing.T, l *hadooplab.Lab, j job) string {
	t.Helper()
	url := fmt.Sprintf("http://localhost:%d/ws/v1/history/mapreduce/jobs/%s", l.Port("history-http"), strings.Replace(j.app, "application", "job", 1))
	var text string
	await.Slowly(t, "the history server has the job", func() bool {
		text = get(t, url)
		return text != ""
	})
	return text
}

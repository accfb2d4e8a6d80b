package spark

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// ticks has cached rows, and runs short tasks over them, each of which writes the time of its end to a file, until another file is there.
const ticks = `
import os, sys, time
from pyspark.sql import SparkSession
gate, log = sys.argv[1:]
spark = SparkSession.builder.appName("ticks").getOrCreate()
sc = spark.sparkContext
parts, each = 8, 40000
rows = sc.parallelize(range(parts * each), parts).map(lambda i: (i % 100, os.urandom(500))).cache()
def work(it):
    n = sum(len(v) for _, v in it)
    time.sleep(0.2)
    with open(log, "a") as f:
        f.write("%f\n" % time.time())
    return [n]
while not os.path.exists(gate):
    assert rows.mapPartitions(work).collect() == [500 * each] * parts
spark.stop()
`

// executor is what its node says of a container.
type executor struct {
	Level    string
	Held     int64 `json:"heldMemoryMB"`
	Used     int64 `json:"memoryBytes"`
	CPU      int64 `json:"cpuTimeMs"`
	Breathed int64 `json:"lastBreathTime"`
	Breath   int64 `json:"lastBreathMs"`
}

// TestAnExecutorGivesItsMemory: an unmodified executor of Spark's default size has cached rows and Python workers. Suspension frees at least 85 % of the
// memory that it uses for others (it keeps 64 MB, whatever its size). It isn't lost, and the test says how soon after its return its tasks are as quick as
// before.
func TestAnExecutorGivesItsMemory(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop can't suspend")
	}
	swapfile.On(t, 2<<30)
	nmtest.RealGroups(t)
	l := hadooplab.Start(t, options)
	dir := t.TempDir()
	gate, log := filepath.Join(dir, "gate"), filepath.Join(dir, "log")
	spark, app := begin(t, l, "--deploy-mode", "cluster", "--executor-memory", "1g", program(t, ticks), gate, log)
	ended := func() []time.Time {
		t.Helper()
		f, err := os.Open(log)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var all []time.Time
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if s, err := strconv.ParseFloat(lines.Text(), 64); err == nil { // the last one may be written just now
				all = append(all, time.UnixMicro(int64(s*1e6)))
			}
		}
		return all
	}
	const before = 160 // tasks
	await.Slowly(t, "its tasks are at their rate", func() bool { return len(ended()) >= before || spark.Ended() })
	all := ended()
	rate := float64(before/2) / all[before-1].Sub(all[before/2-1]).Seconds()

	container, web := onlyExecutor(t, l, app)
	was := ofNode(t, web, container)
	order(t, l, container, "suspend?level=reclaimed&breathe=20s&")
	is := await.Value(t, "it is paged out", func() (executor, bool) {
		x := ofNode(t, web, container)
		return x, x.Level == "reclaimed" && x.Held <= 64 && x.Used < was.Used/2 // the node looks at what containers use every few seconds
	})
	freed := 1 - float64(max(is.Held<<20, is.Used))/float64(was.Used)
	t.Logf("of %d MB that it used it holds %d MB, and uses %d MB: %.0f %% are free for others", was.Used>>20, is.Held, is.Used>>20, 100*freed)
	if freed < 0.85 {
		t.Errorf("of %+v it keeps %+v", was, is)
	}
	const breaths = 4
	latest := is
	untilBreath := func() executor { // how it was before it
		t.Helper()
		return await.Value(t, "it breathes", func() (executor, bool) {
			was := latest
			latest = ofNode(t, web, container)
			return was, latest.Breathed != was.Breathed
		})
	}
	used, lasted := untilBreath().CPU, int64(0) // ms
	for i := range breaths {
		was := untilBreath()
		if lasted += was.Breath; i == breaths-1 {
			used = was.CPU - used
		}
	}
	t.Logf("%d breaths took %d ms each, and %d ms of CPU", breaths, lasted/breaths, used/breaths)
	still := len(ended())
	resumed := time.Now()
	order(t, l, container, "resume?")
	var back time.Duration
	await.Slowly(t, "its tasks are at their rate again", func() bool {
		const window = 2 * time.Second
		all := ended()[still:]
		for i, from := range all {
			n := 0
			for _, at := range all[i:] {
				if at.Sub(from) <= window {
					n++
				}
			}
			if float64(n) >= 0.9*rate*window.Seconds() {
				back = from.Sub(resumed)
				return true
			}
		}
		return spark.Ended()
	})
	t.Logf("it ran %.1f tasks a second, and from %v after its return at least 90 %% of that", rate, back.Round(10*time.Millisecond))
	if again, _ := onlyExecutor(t, l, app); again != container {
		t.Errorf("%s was lost, and %s is in its place", container, again)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if a := end(t, spark, app); a.Code != 0 {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
}

// answer asks a daemon for something, which it must answer.
func answer(t *testing.T, method, url string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no connection may outlive the lab
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, into)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %v: %s", method, url, resp.Status, err, body)
	}
}

// onlyExecutor returns the container of an application's only executor, and its node's web address.
func onlyExecutor(t *testing.T, l *hadooplab.Lab, app string) (id, web string) {
	t.Helper()
	var got struct {
		Containers struct {
			Container []struct {
				ContainerID, NodeHTTPAddress string
				ApplicationMaster            bool
			}
		}
	}
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/apps/"+app+"/containers?user.name=root", &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Containers.Container {
		if c.ApplicationMaster {
			continue
		}
		if id != "" {
			t.Fatalf("%s has more than one executor: %+v", app, got)
		}
		id, web = c.ContainerID, c.NodeHTTPAddress
	}
	if id == "" {
		t.Fatalf("%s has no executor: %+v", app, got)
	}
	return id, web
}

// ofNode returns what a container's node says of it.
func ofNode(t *testing.T, web, container string) executor {
	t.Helper()
	var got struct{ Container executor }
	answer(t, http.MethodGet, "http://"+web+"/ws/v1/heddle/containers/"+container+"?user.name=root", &got)
	return got.Container
}

// order has the ResourceManager suspend a container, or resume it.
func order(t *testing.T, l *hadooplab.Lab, container, what string) {
	t.Helper()
	answer(t, http.MethodPost, fmt.Sprintf("http://localhost:%d/ws/v1/heddle/containers/%s/%suser.name=root", l.Port("rm-http"), container, what), &struct{}{})
}

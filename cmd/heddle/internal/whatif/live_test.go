package whatif_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/rm/queue"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) {
	if inContainer() {
		return
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

// A container of a job has one of these variables: the times of its stages' tasks in JSON, or that of a task in ms. Real containers run the test's own program.
const (
	jobVariable  = "WHATIF_TEST_JOB"
	taskVariable = "WHATIF_TEST_TASK_MS"
)

// inContainer is what a real container does, if this is one. Time in which a task is suspended doesn't count.
func inContainer() bool {
	text := os.Getenv(jobVariable)
	if ms, err := strconv.Atoi(os.Getenv(taskVariable)); err == nil {
		const tick = 100
		for range ms / tick {
			<-time.After(tick * time.Millisecond)
		}
		return true
	} else if text == "" {
		return false
	}
	var j job
	err := json.Unmarshal([]byte(text), &j.stages)
	if err == nil {
		err = am.Run(context.Background(), am.Options{}, j.run)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

var small = records.NewResource(1024, 1)

// job has two stages, of which the second begins when the first has ended.
type job struct {
	queue  string
	at     time.Duration
	stages [2][]time.Duration
}

// jobs are the same for the same seed.
func jobs(n int, seed uint64) []job {
	random := rand.New(rand.NewPCG(seed, 1))
	list := make([]job, n)
	at := time.Duration(0)
	for i := range list {
		j := &list[i]
		j.queue, j.at = []string{"prod", "dev", "dev"}[i%3], at
		at += time.Duration(random.ExpFloat64() * 150 * float64(time.Millisecond))
		for s := range j.stages {
			for range 2 + random.IntN(6) {
				j.stages[s] = append(j.stages[s], time.Duration(300+random.IntN(700))*time.Millisecond)
			}
		}
	}
	return list
}

// live is a cluster that runs jobs.
type live struct {
	*minicluster.Cluster
	t    *testing.T
	apps *client.Applications
	mu   sync.Mutex
	plan map[records.ApplicationID]*job
}

// run runs jobs on a cluster with some settings, and returns its record.
func run(t *testing.T, list []job, settings map[string]string) *load.Load {
	t.Helper()
	l, _ := runOn(t, list, settings, 3, func(*live) {})
	return l
}

// twoQueues are the settings of a cluster that records into a folder.
func twoQueues(dir string) map[string]string {
	return map[string]string{
		"heddle.record.dir":                                               dir,
		queue.Prefix + "root.queues":                                      "prod,dev",
		queue.Prefix + "root.prod.capacity":                               "50",
		queue.Prefix + "root.dev.capacity":                                "50",
		queue.Prefix + "root.prod.user-limit-factor":                      "10",
		queue.Prefix + "root.dev.user-limit-factor":                       "10",
		queue.Prefix + "maximum-am-resource-percent":                      "0.5",
		"yarn.resourcemanager.scheduler.class":                            "capacity",
		"yarn.scheduler.minimum-allocation-mb":                            "1024",
		"yarn.resourcemanager.am.max-attempts":                            "1",
		"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000",
	}
}

// runOn runs jobs on some nodes, and returns the record and its folder. before is called when the jobs have ended and the cluster still runs.
func runOn(t *testing.T, list []job, settings map[string]string, nodes int, before func(*live)) (*load.Load, string) {
	t.Helper()
	dir := t.TempDir()
	set := twoQueues(dir)
	maps.Copy(set, settings)
	w := &live{Cluster: minicluster.Start(t, 1, set), t: t, plan: map[records.ApplicationID]*job{}}
	cluster, err := client.NewCluster(w.Conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if w.apps, err = cluster.Applications("alice"); err != nil {
		t.Fatal(err)
	}
	for range nodes {
		w.Node(minicluster.NodeOptions{Run: w.container})
	}
	var wait sync.WaitGroup
	begin := time.Now()
	for i := range list {
		wait.Go(func() {
			until(begin.Add(list[i].at))
			w.submit(&list[i])
		})
	}
	wait.Wait()
	before(w)
	w.StopRM(0)
	l, err := load.Open(dir, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func until(at time.Time) { <-time.After(time.Until(at)) }

func (w *live) submit(j *job) {
	id, _, err := w.apps.New(w.t.Context())
	if err != nil {
		w.t.Error(err)
		return
	}
	w.mu.Lock()
	w.plan[id] = j
	w.mu.Unlock()
	if err := w.apps.Submit(w.t.Context(), client.Submission{ID: id, Name: "job", Queue: j.queue, Resource: small}); err != nil {
		w.t.Error(err)
		return
	}
	if r, err := w.apps.Wait(w.t.Context(), id, nil); err != nil || !r.Succeeded() {
		w.t.Errorf("%v in %s: %v, %v", id, j.queue, r.State, err)
	}
}

// container runs an ApplicationMaster or a task.
func (w *live) container(ctx context.Context, c minicluster.Container) int {
	if c.ID.Sequence() != 1 {
		text, _ := c.Env(taskVariable)
		ms, _ := strconv.Atoi(text)
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
		return 0
	}
	w.mu.Lock()
	j := w.plan[c.ID.Attempt.App]
	w.mu.Unlock()
	creds, err := token.DecodeCredentials(c.Launch.GetTokens())
	if err != nil {
		w.t.Error(err)
		return 1
	}
	o := am.Options{Conf: w.Conf, Credentials: creds, Host: "amhost", Log: minicluster.Log(w.t), Getenv: func(name string) (string, bool) {
		if name == "CONTAINER_ID" {
			return c.ID.String(), true
		}
		return c.Env(name)
	}}
	if err := am.Run(ctx, o, j.run); err != nil {
		w.t.Logf("%v: %v", c.ID, err)
		return 1
	}
	return 0
}

// run runs the stages one after the other. A task that preemption ended is run again.
func (j *job) run(_ context.Context, m *am.Master) error {
	events := m.Events()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for s, tasks := range j.stages {
		ask := am.Request{Priority: int32(s) + 1, Resource: small, Count: len(tasks)}
		if _, err := m.Request(ask); err != nil {
			return err
		}
		open, runs := slices.Clone(tasks), map[records.ContainerID]time.Duration{}
		for ended := 0; ended < len(tasks); {
			e, more := <-events
			if !more {
				return nil
			}
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					if len(open) == 0 {
						return fmt.Errorf("more than %d containers", len(tasks))
					}
					m.Start(c.ID, am.Launch{Command: []string{"exec", self}, Env: map[string]string{taskVariable: fmt.Sprint(open[0].Milliseconds())}})
					runs[c.ID], open = open[0], open[1:]
				}
			case am.ContainerCompleted:
				if e.ExitStatus != records.ExitPreempted {
					ended++
					continue
				}
				open, ask.Count = append(open, runs[e.ID]), 1
				if _, err := m.Request(ask); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// p50 is the median time of the applications of a queue, in seconds, as recorded.
func p50(l *load.Load, queue string) float64 {
	var times []float64
	for i := range l.Apps {
		if a := &l.Apps[i]; a.Queue == queue && a.Then.End >= 0 {
			times = append(times, float64(a.Then.End-a.Submit)/1000)
		}
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func predict(t *testing.T, l *load.Load, c change.Request) *whatif.Report {
	t.Helper()
	o, words, err := c.Options(l)
	if err != nil {
		t.Fatal(err)
	}
	r, err := whatif.Answer(l, whatif.Ask{Options: o, Changes: words})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rowOf(t *testing.T, r *whatif.Report, queue string) *whatif.Row {
	t.Helper()
	for i := range r.Queues {
		if r.Queues[i].Name == queue {
			return &r.Queues[i]
		}
	}
	t.Fatalf("there is no queue %s", queue)
	return nil
}

// holdsNames checks that the files of a record have names, and nothing of what applications do: no variable of theirs, no command, no host of an ApplicationMaster, no secret.
func holdsNames(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{taskVariable, os.Args[0], "amhost", "oken", "ecret"} {
			if bytes.Contains(text, []byte(no)) {
				t.Errorf("%s has %q", f, no)
			}
		}
		if !bytes.Contains(text, []byte(`"user":"alice"`)) {
			t.Errorf("%s doesn't have who submitted", f)
		}
	}
}

// What a live cluster has recorded under load is met when it is played unchanged, and a change of queues is predicted in its direction.
func TestLiveClustersDoWhatIsPredicted(t *testing.T) {
	list := jobs(24, 5)
	before, dir := runOn(t, list, nil, 3, func(w *live) {
		web := w.RM(0).Addr(rm.WebAddress).String()
		if out, err := heddle("-D", "yarn.resourcemanager.webapp.address="+web, "-grade", "4", "-submit", "queue=root.prod,user=alice,containers=4,seconds=1"); err != nil || !strings.Contains(out, "starts  after") {
			t.Errorf("asked of the cluster itself: %v %s", err, out)
		}
	})
	holdsNames(t, dir)
	setting := map[string]string{queue.Prefix + "root.dev.maximum-capacity": "50", queue.Prefix + "root.dev.capacity": "20", queue.Prefix + "root.prod.capacity": "80"}
	var c change.Request
	for k, v := range setting {
		c.Set = append(c.Set, k+"="+v)
	}
	slices.Sort(c.Set)
	r := predict(t, before, c)
	b := r.Backtest
	t.Logf("%d applications, %d containers: errors of times %.4f in the median, %.4f at p95; p90 wait %.2f s recorded, %.2f s played", b.Apps, r.Record.Containers, b.Median, b.P95, r.Cluster.Then.Wait.P90, r.Cluster.Before.Wait.P90)
	if b.Apps != len(list) || b.Median > 0.017 || b.P95 > 0.1 || r.Cluster.Then.Wait.P90 < 0.5 {
		t.Errorf("%d applications, p90 wait %.2f s: the median error is %.3f, p95 %.3f: %+v", b.Apps, r.Cluster.Then.Wait.P90, b.Median, b.P95, b.Worst)
	}
	after := run(t, list, setting)
	for _, q := range []string{"root.prod", "root.dev"} {
		row := rowOf(t, r, q)
		predicted, happened := row.After.Time.P50-row.Before.Time.P50, p50(after, q)-p50(before, q)
		t.Logf("%s: median time %.2f s before, predicted %.2f s, measured %.2f s", q, p50(before, q), row.After.Time.P50, p50(after, q))
		if math.Signbit(predicted) != math.Signbit(happened) && math.Abs(happened) > 0.3 {
			t.Errorf("%s: a change of %+.2f s is predicted, and one of %+.2f s happened", q, predicted, happened)
		}
	}
}

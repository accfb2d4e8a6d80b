package hadooplab

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
)

// TwoQueues starts a Heddle of which a job in the queue short may have nearly everything: jobs in the queue long have only what no other
// job wants, and are suspended for that. more are further settings.
func TwoQueues(t testing.TB, o Options, memory int, more map[string]string) *Lab {
	t.Helper()
	const capacity = "yarn.scheduler.capacity.root."
	o.Site = map[string]string{
		"yarn.nodemanager.resource.memory-mb":           strconv.Itoa(memory),
		"yarn.nodemanager.resource.cpu-vcores":          "1800", // the long queue's hundredth is more than nothing
		"yarn.resourcemanager.scheduler.monitor.enable": "true",
		"heddle.scheduler.preemption":                   "suspend-immediate",
		"heddle.scheduler.preemption.min-runtime-ms":    "20000",
		capacity + "queues":                             "long,short",
		capacity + "long.capacity":                      "1",
		capacity + "long.user-limit-factor":             "100",
		capacity + "long.maximum-am-resource-percent":   "1",
		capacity + "short.capacity":                     "99",
		capacity + "short.maximum-am-resource-percent":  "1",
	}
	maps.Copy(o.Site, more)
	return Start(t, o)
}

// Intruder is a job in the queue short, each of whose maps holds 1 GB for as long.
type Intruder struct {
	*Command
	t       testing.TB
	dir     string // where each of its maps makes a file
	maps    int
	lasts   time.Duration
	arrived time.Time
}

// Intrude begins one.
func (l *Lab) Intrude(t testing.TB, maps int, lasts time.Duration) *Intruder {
	t.Helper()
	var lines strings.Builder
	for i := range maps {
		fmt.Fprintf(&lines, "%02d\n", i)
	}
	l.Put(t, "/short/in", lines.String())
	x := &Intruder{t: t, dir: t.TempDir(), maps: maps, lasts: lasts, arrived: time.Now()}
	const sleeps = 5 * time.Second
	mapper := fmt.Sprintf("mktemp %s/XXXXXX >/dev/null; for i in $(seq %d); do echo reporter:status:$i >&2; sleep %d; done; cat", x.dir, lasts/sleeps, sleeps/time.Second)
	c, err := l.BeginCommand(exec.Command(l.options.Heddle, "mr", "-conf", l.Conf(), "-input", "/short/in", "-output", "/short/out", "-mapper", mapper,
		"-numReduceTasks", "0", "-D", "mapreduce.job.queuename=short", "-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "mapreduce.map.memory.mb=1024"))
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	x.Command = c
	return x
}

// Settles waits until all of its maps run.
func (x *Intruder) Settles() {
	x.t.Helper()
	await.Slowly(x.t, "the short job has all that it asks for", func() bool { return x.Begun() == x.maps || x.Ended() })
	x.t.Logf("the short job's maps were on their way %v after its submission began", time.Since(x.arrived).Round(100*time.Millisecond))
}

// Begun returns how many of its maps have begun.
func (x *Intruder) Begun() int {
	list, err := os.ReadDir(x.dir)
	if err != nil {
		x.t.Fatal(err)
	}
	return len(list)
}

// Leaves waits until it has ended, as it must: each of its maps was run once, and nothing took less time than it was to take.
func (x *Intruder) Leaves() {
	x.t.Helper()
	r, err := x.Wait(x.t.Context())
	if err != nil || r.Code != 0 {
		x.t.Fatalf("the short job: exit code %d, %v\n%s", r.Code, err, r.Stderr)
	}
	if n := x.Begun(); n != x.maps {
		x.t.Errorf("maps of the short job were begun %d times", n)
	}
	if lasted := time.Since(x.arrived); lasted < x.lasts {
		x.t.Errorf("the short job took %v", lasted)
	}
}

// Leader returns the number of the ResourceManager that leads a group, 0 where there is only one.
func Leader(t testing.TB, l *Lab) (n int) {
	t.Helper()
	if l.options.ResourceManagers == 0 {
		return 0
	}
	await.Slowly(t, "a ResourceManager leads", func() bool {
		for n = range l.options.ResourceManagers {
			n++
			var info struct {
				ClusterInfo struct{ HAState string }
			}
			if err := l.Get(t.Context(), fmt.Sprint("rm-http", n), "/ws/v1/cluster/info", &info); err == nil && info.ClusterInfo.HAState == "ACTIVE" {
				return true
			}
		}
		return false
	})
	return n
}

// Attempts returns what the ResourceManager tells of an application's attempts, as JSON.
func Attempts(t testing.TB, l *Lab, app string) string {
	t.Helper()
	text, err := l.fetch(t.Context(), leading(t, l), "/ws/v1/cluster/apps/"+app+"/appattempts?user.name=root", "application/json")
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// leading returns the web service of the ResourceManager that leads.
func leading(t testing.TB, l *Lab) string {
	t.Helper()
	if n := Leader(t, l); n > 0 {
		return fmt.Sprint("rm-http", n)
	}
	return "rm-http"
}

// RunningIn returns how many containers run in a queue.
func RunningIn(t testing.TB, l *Lab, queue string) (n int) {
	t.Helper()
	var got struct {
		Apps struct {
			App []struct{ RunningContainers int }
		}
	}
	if err := l.Get(t.Context(), leading(t, l), "/ws/v1/cluster/apps?states=RUNNING&queue="+queue+"&user.name=root", &got); err != nil {
		t.Fatal(err)
	}
	for _, a := range got.Apps.App {
		n += a.RunningContainers
	}
	return n
}

// Suspended returns the ids of the containers that are suspended now, in order.
func (l *Lab) Suspended(t testing.TB) []string {
	t.Helper()
	text, err := l.fetch(t.Context(), leading(t, l), "/ws/v1/heddle/containers?suspended=true&user.name=root", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`container_(e\d+_)?\d+_\d+_\d+_\d+`).FindAllString(string(text), -1)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// OfApplication returns those of some containers that belong to an application. After a change of leaders ids have an epoch.
func OfApplication(containers []string, app string) (own []string) {
	of := regexp.MustCompile(`^container_(e\d+_)?` + regexp.QuoteMeta(strings.TrimPrefix(app, "application_")) + "_")
	for _, id := range containers {
		if of.MatchString(id) {
			own = append(own, id)
		}
	}
	return own
}

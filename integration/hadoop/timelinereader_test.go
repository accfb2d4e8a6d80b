package hadoop

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
)

// flowOf returns what a reader of timeline version 2 needs to find an application: its user, flow and run.
func flowOf(t *testing.T, l *hadooplab.Lab, app string) url.Values {
	t.Helper()
	var about struct {
		App struct {
			Name, User  string
			StartedTime int64
		}
	}
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/apps/"+app, &about); err != nil {
		t.Fatal(err)
	}
	return url.Values{"userid": {about.App.User}, "flowname": {about.App.Name}, "flowrunid": {fmt.Sprint(about.App.StartedTime)}}
}

// read2 returns the entities of a type that a reader of timeline version 2 has of an application.
func read2(t *testing.T, l *hadooplab.Lab, app string, flow url.Values, kind string) (list []map[string]any) {
	t.Helper()
	q := maps.Clone(flow)
	q.Set("fields", "ALL")
	q.Set("limit", "1000")
	path := fmt.Sprintf("http://localhost:%d/ws/v2/timeline/apps/%s/entities/%s?%s", l.Port("timeline-reader"), app, kind, q.Encode())
	text := get(t, path)
	if err := json.Unmarshal([]byte(text), &list); err != nil && text != "" {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return list
}

// kinds2 are the types of entities of a MapReduce job.
var kinds2 = []string{"YARN_APPLICATION", "YARN_APPLICATION_ATTEMPT", "YARN_CONTAINER", "MAPREDUCE_JOB", "MAPREDUCE_TASK", "MAPREDUCE_TASK_ATTEMPT"}

// shape returns what entities of a type have, and not how much: the names of information, metrics, configuration and events of each, and its information where
// that is the same in each run of a job.
func shape(kind string, list []map[string]any) string {
	var lines []string
	for _, e := range list {
		info, _ := e["info"].(map[string]any)
		delete(info, "YARN_APPLICATION_CALLER_CONTEXT") // as in version 1
		for key, value := range info {
			text := fmt.Sprint(value)
			if varies.MatchString(key) || strings.HasPrefix(kind, "MAPREDUCE") {
				text = "…"
			}
			info[key] = text
		}
		var metrics, events []string
		for _, m := range listOf(e["metrics"]) {
			metrics = append(metrics, fmt.Sprint(m["id"], "/", m["aggregationOp"], "/", m["type"]))
		}
		for _, x := range listOf(e["events"]) {
			events = append(events, fmt.Sprint(x["id"]))
		}
		if strings.HasSuffix(fmt.Sprint(e["id"]), "_01_000001") { // a stock ResourceManager has its node end an ApplicationMaster that has unregistered
			info["YARN_CONTAINER_EXIT_STATUS"] = "…"
			events = slices.DeleteFunc(events, func(id string) bool { return id == "YARN_CONTAINER_KILLED" })
		}
		slices.Sort(metrics)
		slices.Sort(events)
		configs, _ := e["configs"].(map[string]any)
		line := fmt.Sprintf("%s %v\n  created %v, prefix %v, configs %v\n  info %v\n  metrics %v\n  events %v\n", kind, e["id"], e["createdtime"] != float64(0), e["idprefix"] != nil,
			len(configs) > 0, info, metrics, events)
		lines = append(lines, own.ReplaceAllString(line, "${1}_0_"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

var (
	own    = regexp.MustCompile(`(application|appattempt|container|job|task|attempt)(_e\d+)?_\d{13}_`)
	varies = regexp.MustCompile(`TIME|PORT|ADDRESS|URL|DIAGNOSTICS|UID|FROM_ID|LAUNCH_COMMAND|MASTER_NODE_ID`)
)

func listOf(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, x := range all {
		if m, ok := x.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// TestTimelineReader runs a MapReduce job of Hadoop's with timeline version 2. A stock reader has the same entities of it as with a stock ResourceManager and
// NodeManager (testdata/timeline2.txt): the ResourceManager's, the node's and the ApplicationMaster's, which writes to the collector beside it.
func TestTimelineReader(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := options
	o.HistoryServer, o.TimelineReader = false, true
	o.Site = maps.Clone(o.Site)
	o.Site["yarn.nodemanager.resource-monitor.interval-ms"] = "500"
	l := hadooplab.Start(t, o)
	job := succeed(t, l, example(t, l, "pi"), "-Dmapreduce.job.tags=a,b", "-Dmapreduce.job.emit-timeline-data=true", "2", "10")
	flow := flowOf(t, l, job.app)
	await.Slowly(t, "the end of the job and of its containers is published", func() bool {
		apps, containers := read2(t, l, job.app, flow, "YARN_APPLICATION"), read2(t, l, job.app, flow, "YARN_CONTAINER")
		return strings.Contains(fmt.Sprint(apps), "YARN_APPLICATION_FINISHED") && strings.Count(fmt.Sprint(containers), "YARN_CONTAINER_FINISHED ") >= 4 &&
			strings.Contains(fmt.Sprint(read2(t, l, job.app, flow, "MAPREDUCE_JOB")), "JOB_FINISHED")
	})
	var got strings.Builder
	for _, kind := range kinds2 {
		got.WriteString(shape(kind, read2(t, l, job.app, flow, kind)))
	}
	if want := ofStock(t, "testdata/timeline2.txt", got.String()); got.String() != want {
		t.Errorf("published:\n%s\nwant\n%s", got.String(), want)
	}
}

// TestTimelineOutlivesKills kills the JVM with the collectors and then the node while a job runs. The ApplicationMaster and the node find the new collectors, and the
// reader has all of the job in the end; also that its map was suspended and resumed.
func TestTimelineOutlivesKills(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock node's collectors die with it, and with their application's part of the history")
	}
	nmtest.RealGroups(t)
	o := options
	o.HistoryServer, o.TimelineReader = false, true
	o.Site = maps.Clone(o.Site)
	maps.Copy(o.Site, map[string]string{"yarn.nodemanager.recovery.enabled": "true", "yarn.nodemanager.recovery.supervised": "true"})
	l := hadooplab.Start(t, o)
	c, app := begin(t, l, sleeper, "-Dmapreduce.job.emit-timeline-data=true", "-m", "1", "-r", "1", "-mt", "90000", "-rt", "10")
	flow := flowOf(t, l, app)
	has := func(kind string, want ...string) {
		t.Helper()
		await.Slowly(t, fmt.Sprint(want, " is published"), func() bool {
			all := fmt.Sprint(read2(t, l, app, flow, kind))
			return !slices.ContainsFunc(want, func(one string) bool { return !strings.Contains(all, one) })
		})
	}
	task := strings.Replace(app, "application", "container", 1) + "_01_000002"
	has("YARN_CONTAINER", task, "YARN_CONTAINER_CREATED")
	node := l.Daemon("nodemanager1")
	if err := node.WaitLog(t.Context(), task+" transitioned from SCHEDULED to RUNNING"); err != nil {
		t.Fatal(err)
	}
	has("MAPREDUCE_JOB", "JOB_SUBMITTED") // what is under way at the kill, Hadoop's client in the ApplicationMaster gives up after a while
	has("MAPREDUCE_TASK", "TASK_STARTED")
	first := hadooplab.ServicesJVM(t, l, 0)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := hadooplab.ServicesJVM(t, l, first)
	control(t, l, task, "suspend")
	control(t, l, task, "resume")
	has("YARN_CONTAINER", "YARN_CONTAINER_PAUSED", "YARN_CONTAINER_RESUMED")
	node.Kill()
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	hadooplab.ServicesJVM(t, l, second)
	if j := end(t, c, app); j.Code != 0 {
		t.Fatal(j.Stderr)
	}
	has("YARN_APPLICATION", "YARN_APPLICATION_CREATED", "YARN_APPLICATION_FINISHED")
	has("YARN_APPLICATION_ATTEMPT", "YARN_APPLICATION_ATTEMPT_REGISTERED", "YARN_APPLICATION_ATTEMPT_FINISHED")
	has("MAPREDUCE_JOB", "JOB_SUBMITTED", "JOB_FINISHED")
	has("MAPREDUCE_TASK", "TASK_STARTED", "TASK_FINISHED")
	await.Slowly(t, "each container has its end and its beginning", func() bool {
		list := read2(t, l, app, flow, "YARN_CONTAINER")
		whole := 0
		for _, e := range list {
			if all := fmt.Sprint(e["events"]); strings.Contains(all, "YARN_CONTAINER_CREATED") && strings.Contains(all, "YARN_CONTAINER_FINISHED") {
				whole++
			}
		}
		return whole == 3 && len(list) == 3
	})
}

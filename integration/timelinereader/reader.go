// Package timelinereader reads for tests what a stock reader of timeline version 2 has of an application.
package timelinereader

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Reader reads in a lab with a reader. Get returns what is at a URL, "" if nothing is.
type Reader struct {
	Lab *hadooplab.Lab
	Get func(t *testing.T, url string) string
}

// Flow returns what a reader needs to find an application that the ResourceManager knows: its user, flow and run.
func (r Reader) Flow(t *testing.T, app string) url.Values {
	t.Helper()
	var about struct {
		App struct {
			Name, User  string
			StartedTime int64
		}
	}
	if err := r.Lab.Get(t.Context(), "rm-http", "/ws/v1/cluster/apps/"+app, &about); err != nil {
		t.Fatal(err)
	}
	return url.Values{
		"userid": {about.App.User}, "flowname": {about.App.Name},
		"flowrunid": {fmt.Sprint(about.App.StartedTime)},
	}
}

// Entities returns those of a type that an application has.
func (r Reader) Entities(t *testing.T, app string, flow url.Values, kind string) (list []map[string]any) {
	t.Helper()
	q := maps.Clone(flow)
	q.Set("fields", "ALL")
	q.Set("limit", "1000")
	path := fmt.Sprintf("http://localhost:%d/ws/v2/timeline/apps/%s/entities/%s?%s", r.Lab.Port("timeline-reader"), app,
		kind, q.Encode())
	text := r.Get(t, path)
	if err := json.Unmarshal([]byte(text), &list); err != nil && text != "" {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return list
}

// Kinds are the types of entities of a MapReduce job.
var Kinds = []string{
	"YARN_APPLICATION", "YARN_APPLICATION_ATTEMPT", "YARN_CONTAINER", "MAPREDUCE_JOB",
	"MAPREDUCE_TASK", "MAPREDUCE_TASK_ATTEMPT",
}

// Shapes returns the Shape of all entities of a MapReduce job.
func (r Reader) Shapes(t *testing.T, app string, flow url.Values) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range Kinds {
		b.WriteString(shape(kind, r.Entities(t, app, flow, kind)))
	}
	return b.String()
}

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
		// a stock ResourceManager has its node end an ApplicationMaster that has unregistered
		if strings.HasSuffix(fmt.Sprint(e["id"]), "_01_000001") {
			info["YARN_CONTAINER_EXIT_STATUS"] = "…"
			events = slices.DeleteFunc(events, func(id string) bool { return id == "YARN_CONTAINER_KILLED" })
		}
		slices.Sort(metrics)
		slices.Sort(events)
		configs, _ := e["configs"].(map[string]any)
		line := fmt.Sprintf("%s %v\n  created %v, prefix %v, configs %v\n  info %v\n  metrics %v\n  events %v\n", kind,
			e["id"], e["createdtime"] != float64(0), e["idprefix"] != nil,
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

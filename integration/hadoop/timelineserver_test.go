package hadoop

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var updateTimeline = flag.Bool("update-timeline", false, "write testdata/timeline.json and timeline2.txt anew, from a stock ResourceManager (HEDDLE_TEST_STOCK=1)")

// published returns the entities of a type that a timeline server has.
func published(t *testing.T, l *hadooplab.Lab, kind string) string {
	t.Helper()
	return get(t, fmt.Sprintf("http://localhost:%d/ws/v1/timeline/%s?limit=1000", l.Port("timeline-http"), kind))
}

// unlike are the parts of entities that differ between two runs of the same jobs, and then those that differ between YARN and Heddle (docs/compatibility.md), with
// their replacements.
var unlike = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(application|appattempt|container|job)(_e\d+)?_\d{13}_`), "${1}_0_"},
	{regexp.MustCompile(`"(timestamp|starttime|YARN_APPLICATION_SUBMITTED_TIME)": \d{13}`), `"$1": 0`},
	{regexp.MustCompile(`"(YARN_APPLICATION_CPU|YARN_APPLICATION_MEMORY|YARN_CONTAINER_ALLOCATED_PORT|YARN_APPLICATION_ATTEMPT_RPC_PORT)": \d+`), `"$1": 1`},
	{regexp.MustCompile(`(localhost|127\.0\.0\.1):\d+`), "localhost:1"},
	{regexp.MustCompile(`\[\d{4}-\d\d-\d\d [\d:.]+\]`), "[now]"},

	{regexp.MustCompile(`"YARN_APPLICATION_CALLER_CONTEXT": "CLI",\s*`), ""},
	{regexp.MustCompile(`"YARN_APPLICATION_FINAL_STATUS": "(UNDEFINED|FAILED|KILLED)"`), `"YARN_APPLICATION_FINAL_STATUS": "none"`},
	{regexp.MustCompile(`"YARN_APPLICATION_ATTEMPT_DIAGNOSTICS_INFO": "(Application application_0_\d+ was killed by user root at 127.0.0.1)?"`), `"YARN_APPLICATION_ATTEMPT_DIAGNOSTICS_INFO": ""`},
	{regexp.MustCompile(`/(cluster|applicationhistory)/app/`), "/app/"}, // in diagnostics
}

// comparable returns lists of entities in a form in which the same jobs have the same ones.
func comparable(t *testing.T, lists string) string {
	t.Helper()
	var b strings.Builder
	for list := range strings.Lines(lists) {
		var all struct{ Entities []map[string]any }
		if err := json.Unmarshal([]byte(list), &all); err != nil {
			t.Fatalf("%v\n%s", err, list)
		}
		slices.SortFunc(all.Entities, func(a, b map[string]any) int { return cmp.Compare(a["entity"].(string), b["entity"].(string)) })
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(all.Entities); err != nil {
			t.Fatal(err)
		}
	}
	text := b.String()
	for _, u := range unlike {
		text = u.pattern.ReplaceAllString(text, u.with)
	}
	return text
}

// TestTimelineServer runs a job that succeeds, one whose ApplicationMaster fails and one that is killed. A stock timeline server gets the entities that a
// stock ResourceManager publishes of them: testdata/timeline.json has these. Once the ResourceManager has forgotten the first job, YARN's commands find it there.
func TestTimelineServer(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := options
	o.HistoryServer, o.TimelineServer = false, true
	o.Site = maps.Clone(o.Site)
	o.Site["yarn.resourcemanager.max-completed-applications"] = "1"
	l := hadooplab.Start(t, o)
	first := succeed(t, l, example(t, l, "pi"), "-Dmapreduce.job.tags=a,b", "-Dmapreduce.job.emit-timeline-data=true", "2", "10")
	if j := try(t, l, example(t, l, "pi"), "-Dyarn.app.mapreduce.am.command-opts=-XX:NoSuchOption", "1", "1"); j.Code == 0 {
		t.Fatal("a job without an ApplicationMaster has succeeded")
	}
	c, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	await.Slowly(t, "a map runs", func() bool {
		return strings.Contains(published(t, l, "YARN_CONTAINER"), strings.Replace(app, "application", "container", 1)+"_01_000002")
	})
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", app); err != nil {
		t.Fatal(err)
	}
	end(t, c, app)
	await.Slowly(t, "the end of all is published", func() bool {
		return strings.Count(published(t, l, "YARN_APPLICATION"), `"YARN_APPLICATION_FINISHED"`) == 3 && strings.Count(published(t, l, "YARN_CONTAINER"), `"YARN_CONTAINER_FINISHED"`) >= 8
	})
	var lists strings.Builder
	for _, kind := range []string{"YARN_APPLICATION", "YARN_APPLICATION_ATTEMPT", "YARN_CONTAINER"} {
		lists.WriteString(published(t, l, kind) + "\n")
	}
	stock := ofStock(t, "testdata/timeline.json", lists.String())
	if got, want := comparable(t, lists.String()), comparable(t, stock); got != want {
		t.Errorf("published:\n%s\nwant\n%s", got, want)
	}
	if got := published(t, l, "MAPREDUCE_JOB"); !strings.Contains(got, `"JOB_FINISHED"`) {
		t.Errorf("the ApplicationMaster has published %s", got)
	}
	stockPast := past(t, fmt.Sprintf("http://localhost:%d", l.Port("timeline-http")), app)
	ofStock(t, "testdata/applicationhistory.txt", past(t, fmt.Sprintf("http://localhost:%d", l.Port("timeline-http")), first.app))
	if got := past(t, fmt.Sprintf("http://localhost:%d", l.Port("rm-http")), app); onHeddle && comparablePast(got) != comparablePast(stockPast) {
		t.Errorf("of a killed job the ResourceManager tells\n%s\nwant\n%s", comparablePast(got), comparablePast(stockPast))
	}
	forgotten(t, l, first.app)
}

// ofStock returns what a stock cluster has published, which is written anew if that is asked for.
func ofStock(t *testing.T, file, published string) string {
	t.Helper()
	if *updateTimeline {
		if err := os.WriteFile(file, []byte(published), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stock, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(stock)
}

// forgotten checks that YARN's commands find an ended application that the ResourceManager has no more.
func forgotten(t *testing.T, l *hadooplab.Lab, app string) {
	t.Helper()
	await.Slowly(t, "the ResourceManager forgets the application", func() bool {
		return get(t, fmt.Sprintf("http://localhost:%d/ws/v1/cluster/apps/%s", l.Port("rm-http"), app)) == ""
	})
	attempt := strings.Replace(app, "application", "appattempt", 1) + "_000001"
	for _, c := range []struct {
		command []string
		want    []string
	}{
		{[]string{"yarn", "application", "-status", app}, []string{"Final-State : SUCCEEDED", "Application-Name : QuasiMonteCarlo", "State : FINISHED", "User : root"}},
		{[]string{"yarn", "applicationattempt", "-list", app}, []string{attempt, "FINISHED", "_01_000001"}},
		{[]string{"yarn", "container", "-list", attempt}, []string{"_01_000001", "_01_000004", "COMPLETE"}},
	} {
		out, err := l.Run(t.Context(), c.command...)
		for _, want := range c.want {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v: %v, no %q in\n%s", c.command, err, want, out)
			}
		}
	}
}

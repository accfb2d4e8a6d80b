package hadoop

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// past returns what a server tells of an ended application at the paths of a timeline server's generic history, an answer a line.
func past(t *testing.T, server, app string) string {
	t.Helper()
	attempt := strings.Replace(app, "application", "appattempt", 1) + "_000001"
	var b strings.Builder
	for _, path := range []string{"", "/appattempts", "/appattempts/" + attempt, "/appattempts/" + attempt + "/containers"} {
		b.WriteString(get(t, server+"/ws/v1/applicationhistory/apps/"+app+path) + "\n")
	}
	container := firstMap.FindString(b.String())
	b.WriteString(get(t, server+"/ws/v1/applicationhistory/apps/"+app+"/appattempts/"+attempt+"/containers/"+container) + "\n")
	return b.String()
}

// firstMap is a job's second container, whose name has the cluster's epoch where leaders have changed.
var firstMap = regexp.MustCompile(`container(_e\d+)?_\d+_\d+_01_000002`)

// unlikePast are the parts of past that differ between two runs of the same job, and then those that differ between YARN and Heddle (docs/compatibility.md).
var unlikePast = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(application|appattempt|container|job)(_e\d+)?_\d{13}_\d+`), "${1}_0_1"},
	{regexp.MustCompile(`"(submittedTime|startedTime|launchTime|finishedTime|elapsedTime|rpcPort)":\d+`), `"$1":1`},
	{regexp.MustCompile(`\d+ MB-seconds, \d+ vcore-seconds`), "1 MB-seconds, 1 vcore-seconds"},
	{regexp.MustCompile(`(localhost|127\.0\.0\.1):\d+`), "localhost:1"},

	{regexp.MustCompile(`"amContainerId":"(\w+)","startedTime":\d+,"finishedTime":\d+`), `"amContainerId":"$1"`},
	{regexp.MustCompile(`/(cluster|applicationhistory)/(app|logs)/`), "/$2/"},
}

func comparablePast(text string) string {
	for _, u := range unlikePast {
		text = u.pattern.ReplaceAllString(text, u.with)
	}
	return text
}

// tellsOfTheEnded checks what the ResourceManager tells of an ended job with two maps and a reduce, in place of a timeline server: its answers are those that a stock
// timeline server gave of such a job (testdata/applicationhistory.txt), and YARN's commands find ended containers.
func tellsOfTheEnded(t *testing.T, l *hadooplab.Lab, app string) {
	t.Helper()
	server := fmt.Sprintf("http://localhost:%d", l.Port("rm-http"))
	stock, err := os.ReadFile("testdata/applicationhistory.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := comparablePast(past(t, server, app)), comparablePast(string(stock)); got != want {
		t.Errorf("the ResourceManager tells\n%s\nwant\n%s", got, want)
	}
	var list struct {
		App []struct{ AppID, AppState string }
	}
	text := get(t, server+"/ws/v1/applicationhistory/apps?states=FINISHED&user=root")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !slices.Contains(list.App, struct{ AppID, AppState string }{app, "FINISHED"}) {
		t.Errorf("%s isn't in %+v", app, list)
	}
	attempt := strings.Replace(app, "application", "appattempt", 1) + "_000001"
	for version, settings := range map[string][]string{
		"1": {"-Dyarn.timeline-service.generic-application-history.enabled=true", fmt.Sprintf("-Dyarn.timeline-service.address=localhost:%d", l.Port("rm"))},
		"2": {"-Dyarn.timeline-service.enabled=true", "-Dyarn.timeline-service.version=2.0f", fmt.Sprintf("-Dyarn.timeline-service.reader.webapp.address=localhost:%d", l.Port("rm-http"))},
	} {
		out, err := l.Run(t.Context(), slices.Concat([]string{"yarn", "container"}, settings, []string{"-list", attempt})...)
		for _, want := range []string{"Total number of containers :4", "_01_000001", "_01_000004", "COMPLETE"} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("version %s: %v, no %q in\n%s", version, err, want, out)
			}
		}
	}
}

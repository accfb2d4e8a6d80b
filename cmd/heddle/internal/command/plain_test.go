package command

import (
	"net/http"
	"strings"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nasty is a name as anybody may give one: a terminal would clear its screen, and the line after it would look like one of the command's.
const nasty = "a\x1b[2J\u009b31m\nforged\trow\r\x7f"

// What others have named reaches no terminal as a command, and forges no line.
func TestNamesOfOthersArePlain(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 5, ID: 6}
	a := &pb.ApplicationReport{}
	a.SetApplicationId(id.PB())
	a.SetYarnApplicationState(pb.YarnApplicationState_RUNNING)
	a.SetName(nasty)
	a.SetApplicationType(nasty)
	a.SetUser(nasty)
	a.SetQueue(nasty)
	a.SetHost(nasty)
	a.SetOriginalTrackingUrl(nasty)
	a.SetDiagnostics("first\n\tsecond" + nasty)
	before := apps
	apps = []*pb.ApplicationReport{a}
	t.Cleanup(func() { apps = before })
	f := startRM(t)
	text := strings.NewReplacer("\x1b", `\u001b`, "\u009b", "\u009b", "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(nasty) // as JSON
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/heddle/apps/" + id.String() + "/pending": say(200, jsonType, `{"pending":{"state":"`+text+`","queue":"`+text+`","summary":"`+text+`",
			"reason":[{"priority":20,"numContainers":2,"resourceName":"`+text+`","capability":{"memory":1,"vCores":1},"reason":"`+text+`"}],"loss":[{"containerId":"`+text+`","reason":"`+text+`"}]}}`),
		"GET /ws/v1/heddle/apps/" + id.String() + "/timeline": say(200, jsonType, `{"timeline":{"state":"`+text+`","finalStatus":"`+text+`","submitted":1795284934900,
			"container":[{"containerId":"`+text+`","nodeId":"`+text+`","suspended":[{"from":1795284941900,"queue":"`+text+`"}]}]}}`),
		"GET /ws/v1/cluster/info":                say(200, jsonType, `{"clusterInfo":{"startedOn":1}}`),
		"GET /ws/v1/cluster/metrics":             say(200, jsonType, `{"clusterMetrics":{}}`),
		"GET /ws/v1/cluster/apps":                say(200, jsonType, `{"apps":{"app":[{"id":"`+text+`","user":"`+text+`","applicationType":"`+text+`","queue":"`+text+`","name":"`+text+`","state":"`+text+`"}]}}`),
		"GET /ws/v1/cluster/apps/" + id.String(): say(200, jsonType, `{"app":{"name":"`+text+`"}}`),
	})
	settings := f.settings()
	for k, v := range web.settings() {
		settings[k] = v
	}
	for line, lines := range map[string]int{
		"app -list":                              3,
		"app -status " + id.String():             0, // diagnostics have as many lines as they like
		"app -why " + id.String():                3,
		"app -timeline " + id.String():           10,
		"app -why " + id.String() + " --json":    0,
		"app -status " + id.String() + " --json": 0,
		"app -list --json":                       0,
		"top -n 1":                               9,
		"top -n 1 --json":                        0,
	} {
		got := run(t, settings, strings.Fields(line)...)
		for name, out := range map[string]string{"standard output": got.out, "standard error": got.err} {
			if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) }); i >= 0 {
				t.Errorf("%s: %s has %q", line, name, out[max(0, i-20):min(len(out), i+20)])
			}
		}
		if !strings.Contains(got.out, "forged") {
			t.Errorf("%s doesn't show the name: %+v", line, got)
		}
		if n := strings.Count(got.out, "\n"); lines > 0 && n != lines {
			t.Errorf("%s: %d lines, want %d: %s", line, n, lines, got.out)
		}
	}
	if got := run(t, settings, "app", "-status", id.String()); !strings.Contains(got.out, "\tDiagnostics : first\n\tseconda") {
		t.Errorf("%s", got.out)
	}
}

package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/report"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// What stock YARN wrote of a leaf that an ask stops, with the names of the time taken out.
func TestActivitiesAreWrittenAsYARNDoes(t *testing.T) {
	act := func(name string, a explain.Activity, children ...report.Activity) report.Activity {
		if a.Diagnostic == "" {
			a.State = "SKIPPED"
		} else {
			a.State = "REJECTED"
		}
		return report.Activity{Activity: a, Name: name, Children: children}
	}
	tree := act("root", explain.Activity{Queue: "root"},
		act("root.a", explain.Activity{Queue: "root.a", Diagnostic: "full"},
			act("application_1_0003", explain.Activity{},
				act("", explain.Activity{Diagnostic: "large", Ask: &scheduler.Ask{Priority: 1, AllocationRequestID: -1}}))))
	stamp := int64(7)
	out := activities{
		Node: "n:1", Timestamp: &stamp, DateTime: "D", Allocations: []nodeAllocation{{State: "SKIPPED", Root: grouping(false).node(&tree)}},
	}
	for accept, want := range map[string]string{
		"application/json": `{"activities":{"nodeId":"n:1","timestamp":7,"dateTime":"D","allocations":[{"partition":"","finalAllocationState":"SKIPPED",` +
			`"root":{"name":"root","allocationState":"SKIPPED","children":[{"name":"root.a","allocationState":"REJECTED","diagnostic":"full",` +
			`"children":[{"name":"application_1_0003","appPriority":0,"allocationState":"SKIPPED",` +
			`"children":[{"name":"request_1_-1","requestPriority":1,"allocationRequestId":-1,"allocationState":"REJECTED","diagnostic":"large"}]}]}]}}]}}`,
		"application/xml": `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><activities><nodeId>n:1</nodeId><timestamp>7</timestamp>` +
			`<dateTime>D</dateTime><allocations><partition></partition><finalAllocationState>SKIPPED</finalAllocationState><root><name>root</name>` +
			`<allocationState>SKIPPED</allocationState><children><name>root.a</name><allocationState>REJECTED</allocationState>` +
			`<diagnostic>full</diagnostic><children><name>application_1_0003</name><appPriority>0</appPriority>` +
			`<allocationState>SKIPPED</allocationState><children><name>request_1_-1</name><requestPriority>1</requestPriority>` +
			`<allocationRequestId>-1</allocationRequestId><allocationState>REJECTED</allocationState><diagnostic>large</diagnostic>` +
			`</children></children></children></root></allocations></activities>`,
	} {
		if got := written(t, "activities", out, accept); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", accept, got, want)
		}
	}
}

func TestActivitiesAreShownAfterAHeartbeat(t *testing.T) {
	var w watched
	now := time.Unix(1_000_000, 0)
	for i, c := range []struct {
		after time.Duration
		shown bool
	}{{0, false}, {1, false}, {time.Second, true}, {shownFor - 1, true}, {shownFor, false}, {time.Second, true}} {
		now = now.Add(c.after)
		if got := w.look(now, time.Second); got != c.shown {
			t.Errorf("%d: shown is %v", i, got)
		}
	}
}

// What stock YARN wrote of a request on three nodes, one of which is reserved for it, with ids and the time taken out: summarized, and
// summarized by diagnostics.
func TestActivitiesOfNodesAreGroupedAsYARNDoes(t *testing.T) {
	on := func(host string, state explain.ActivityState, diagnostic string) report.Activity {
		return report.Activity{
			Node:     records.NodeID{Host: host, Port: 1},
			Activity: explain.Activity{OnNode: true, State: state, Diagnostic: diagnostic},
		}
	}
	const small = "Node's total resource is insufficient for request, insufficient resources=[memory-mb]"
	const full = "Node does not have sufficient resource for request, insufficient resources=[memory-mb]"
	nodes := []report.Activity{
		on("n1", explain.ActivitySkipped, small+"\nrequired=6, available=4"), on("n2", explain.ActivitySkipped, small+"\nrequired=6, available=3"),
		on("n3", explain.ActivityReReserved, full+"\nrequired=6, available=5"),
	}
	hold := &report.Hold{Reason: explain.Reason{Limit: explain.HasReservation, Ask: scheduler.Ask{Priority: 5, AllocationRequestID: -1}}}
	behind := &report.Hold{Reason: explain.Reason{Limit: explain.BehindOthers, Text: "later", Ask: scheduler.Ask{Priority: 6, AllocationRequestID: -1}}}
	requests := []heldRequest{{hold, nodes}, {behind, nodes}}
	s := &server{Config: Config{Now: func() time.Time { return time.UnixMilli(7).UTC() }}}
	const head = `"timestamp":7,"dateTime":"Thu Jan 01 00:00:00 UTC 1970","queueName":"root.q","appPriority":0,"allocationState":"SKIPPED","children":[`
	const later = `{"requestPriority":6,"allocationRequestId":-1,"allocationState":"REJECTED","diagnostic":"later"}`
	request := func(state, children string) string {
		return `{"requestPriority":5,"allocationRequestId":-1,"allocationState":"` + state + `","children":[` + children + `]},` + later + `]`
	}
	child := func(host, state, diagnostic string) string {
		return `{"name":"Container-Id-Not-Assigned","allocationState":"` + state + `","diagnostic":"` + diagnostic + `","nodeId":"` + host + `:1"}`
	}
	first, second := child("n1", "SKIPPED", small+`\nrequired=6, available=4`), child("n2", "SKIPPED", small+`\nrequired=6, available=3`)
	third := child("n3", "RE_RESERVED", full+`\nrequired=6, available=5`)
	for name, c := range map[string]struct {
		group   grouping
		summary bool
		want    string
	}{
		"each": {want: `{"nodeId":"n1:1",` + head + request("SKIPPED", first) + `},{"nodeId":"n2:1",` + head + request("SKIPPED", second) +
			`},{"nodeId":"n3:1",` + head + request("RE_RESERVED", third) + `}`},
		"summarized": {summary: true, want: `{` + head + request("RE_RESERVED", first+","+second+","+third) + `}`},
		"grouped": {group: true, summary: true, want: `{` + head + request("RE_RESERVED",
			`{"allocationState":"SKIPPED","diagnostic":"`+small+`","count":2,"nodeIds":["n1:1","n2:1"]},`+
				`{"allocationState":"RE_RESERVED","diagnostic":"`+full+`","count":1,"nodeIds":["n3:1"]}`) + `}`},
	} {
		out := appActivities{App: "a", Allocations: s.allocations(&view.App{Queue: "root.q"}, requests, c.group, c.summary)}
		if got, want := written(t, "appActivities", out, "application/json"), `{"appActivities":{"applicationId":"a","allocations":[`+c.want+`]}}`; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// written is what a client gets that accepts a media type.
func written(t *testing.T, name string, out any, accept string) string {
	t.Helper()
	api := yarnrest.NewAPI(logrus.NewEntry(logrus.New()))
	api.Handle("/it", yarnrest.Methods{http.MethodGet: {Handle: func(*yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.OK(name, yarnrest.Natural, out), nil
	}}})
	r := httptest.NewRequest(http.MethodGet, "/it", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return strings.TrimSpace(w.Body.String())
}

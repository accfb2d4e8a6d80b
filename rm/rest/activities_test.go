package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader"
	"heddle/rm/scheduler"
	yarnrest "heddle/yarn/rest"
)

// What stock YARN wrote of a leaf that an ask stops, with the names of the time taken out.
func TestActivitiesAreWrittenAsYARNDoes(t *testing.T) {
	act := func(name string, a scheduler.Activity, children ...leader.Activity) leader.Activity {
		if a.Diagnostic == "" {
			a.State = "SKIPPED"
		} else {
			a.State = "REJECTED"
		}
		return leader.Activity{Activity: a, Name: name, Children: children}
	}
	tree := act("root", scheduler.Activity{Queue: "root"},
		act("root.a", scheduler.Activity{Queue: "root.a", Diagnostic: "full"},
			act("application_1_0003", scheduler.Activity{},
				act("", scheduler.Activity{Diagnostic: "large", Ask: &scheduler.Ask{Priority: 1, AllocationRequestID: -1}}))))
	stamp := int64(7)
	out := activities{
		Node: "n:1", Timestamp: &stamp, DateTime: "D", Allocations: []nodeAllocation{{State: "SKIPPED", Root: activityNode(&tree)}},
	}
	api := yarnrest.NewAPI(logrus.NewEntry(logrus.New()))
	api.Handle("/it", yarnrest.Methods{http.MethodGet: {Handle: func(*yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.OK("activities", yarnrest.Natural, out), nil
	}}})
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
		r := httptest.NewRequest(http.MethodGet, "/it", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); got != want {
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

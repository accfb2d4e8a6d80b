package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/leader/report"
	"heddle/rm/scheduler/explain"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

const (
	notCapacity  = "Not Capacity Scheduler"
	noActivities = "waiting for display"
	// nodesOfApp is the default number of nodes that are shown one by one, as many as a stock ResourceManager remembers
	// (yarn.resourcemanager.activities-manager.app-activities.max-queue-length).
	nodesOfApp = 100
)

// appActivities shows why an application waits (Hadoop: AppActivitiesInfo).
type appActivities struct {
	App         string          `yarn:"applicationId"`
	Diagnostic  string          `yarn:"diagnostic,omitempty"`
	Timestamp   *int64          `yarn:"timestamp"` // this and the next only without allocations
	DateTime    string          `yarn:"dateTime,omitempty"`
	Allocations []appAllocation `yarn:"allocations"`
}

type appAllocation struct {
	Node      string       `yarn:"nodeId,omitempty"`
	Timestamp int64        `yarn:"timestamp"`
	DateTime  string       `yarn:"dateTime"`
	Queue     string       `yarn:"queueName"`
	Priority  int32        `yarn:"appPriority"`
	State     string       `yarn:"allocationState"`
	Children  []appRequest `yarn:"children"`
}

type appRequest struct {
	Priority   int32          `yarn:"requestPriority"`
	ID         int64          `yarn:"allocationRequestId"`
	State      string         `yarn:"allocationState"`
	Diagnostic string         `yarn:"diagnostic,omitempty"`
	Children   []nodeActivity `yarn:"children"`
}

// appActivities shows why an application waits, in YARN's form. A request that no node could help has the reasons of /ws/v1/heddle.
func (s *server) appActivities(c *yarnrest.Call) (yarnrest.Reply, error) {
	now := s.Now()
	out := appActivities{App: c.Var("app")}
	if v := c.Query().Get("maxTime"); v != "" {
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return yarnrest.Reply{}, &yarnrest.Error{
				Status: http.StatusBadRequest, Class: yarnrest.NumberFormatException, Message: "For input string: \"" + v + ".0\"",
			}
		}
	}
	if out.Diagnostic = s.refuseActivities(c); out.Diagnostic == "" {
		s.addAllocations(c, &out)
	}
	if stamp := now.UnixMilli(); out.Diagnostic != "" {
		out.Timestamp, out.DateTime = &stamp, now.Format(javaDate)
	}
	return yarnrest.OK("appActivities", yarnrest.Natural, out), nil
}

// refuseActivities returns what is wrong with a request for an application's activities, in Hadoop's wording.
func (s *server) refuseActivities(c *yarnrest.Call) string {
	q := c.Query()
	if !s.capacityScheduler() {
		return notCapacity
	}
	if text, _ := refuseGroup(q.Get("groupBy")); text != "" {
		return text
	}
	for _, action := range values(c, "actions") {
		if !slices.Contains([]string{"REFRESH", "GET"}, strings.ToUpper(action)) {
			return "Got invalid action: " + action + ", valid actions: [REFRESH, GET]"
		}
	}
	for name, text := range map[string]string{
		"requestPriorities": "request priorities must be integers!", "allocationRequestIds": "allocation request Ids must be integers!",
	} {
		for _, v := range values(c, name) {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return text
			}
		}
	}
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		switch {
		case err != nil:
			return "limit must be integer!"
		case n <= 0:
			return "limit must be greater than 0!"
		}
	}
	return ""
}

// addAllocations shows each node separately, as YARN does, or with summarize all nodes together.
func (s *server) addAllocations(c *yarnrest.Call, out *appActivities) {
	id, err := records.ParseApplicationID(out.App)
	if err != nil {
		out.Diagnostic = "Cannot find application with given appId"
		return
	}
	a, ok := s.View.App(id)
	if !ok || a.State.Ended() || !s.Access.MayView(caller(c), a.Rights()) {
		out.Diagnostic = "fail to get application activities after finished"
		return
	}
	q := c.Query()
	most := nodesOfApp
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		most = n
	}
	summary := strings.EqualFold(q.Get("summarize"), "true")
	if summary {
		most = 0
	}
	holds, on := s.activitiesFor(id, most)
	if len(holds) == 0 {
		out.Diagnostic = noActivities
		return
	}
	_, group := refuseGroup(q.Get("groupBy"))
	requests := wantedRequests(c, holds, on)
	if len(requests) > 0 {
		out.Allocations = s.allocations(&a, requests, group, summary)
	}
}

// activitiesFor asks the leader; on a follower there is nothing to show.
func (s *server) activitiesFor(id records.ApplicationID, most int) ([]report.Hold, [][]report.Activity) {
	l := s.Backend.Leader()
	if l == nil {
		return nil, nil
	}
	holds, on, err := l.AppActivities(id, most)
	if err != nil { // it no longer leads
		return nil, nil
	}
	return holds, on
}

// heldRequest is a pending request, with what holds it back in all and on each node.
type heldRequest struct {
	*report.Hold
	on []report.Activity
}

// wantedRequests selects the requests that a call asks for.
func wantedRequests(c *yarnrest.Call, holds []report.Hold, on [][]report.Activity) (out []heldRequest) {
	admits := func(name string, n int64) bool {
		list := values(c, name)
		return len(list) == 0 || slices.Contains(list, strconv.FormatInt(n, 10))
	}
	for i := range holds {
		if ask := &holds[i].Ask; admits("requestPriorities", int64(ask.Priority)) && admits("allocationRequestIds", ask.AllocationRequestID) {
			out = append(out, heldRequest{&holds[i], on[i]})
		}
	}
	return out
}

func (s *server) allocations(a *view.App, requests []heldRequest, group grouping, summary bool) (out []appAllocation) {
	now := s.Now()
	nodes := requests[0].on
	each := func(node string, from, to int) {
		one := appAllocation{
			Node: node, Timestamp: now.UnixMilli(), DateTime: now.Format(javaDate), Queue: a.Queue, Priority: a.Priority, State: "SKIPPED",
		}
		for _, r := range requests {
			one.Children = append(one.Children, group.request(r.Hold, r.on[from:to]))
		}
		out = append(out, one)
	}
	if summary || len(nodes) == 0 {
		each("", 0, len(nodes))
		return out
	}
	for i := range nodes {
		each(nodes[i].Node.String(), i, i+1)
	}
	return out
}

// request shows a request: its outcomes on nodes if these decide, else the limit that holds it back.
func (g grouping) request(h *report.Hold, on []report.Activity) appRequest {
	out := appRequest{Priority: h.Ask.Priority, ID: h.Ask.AllocationRequestID, State: string(explain.ActivitySkipped)}
	if len(on) == 0 || !ofNodes[h.Limit] {
		out.State, out.Diagnostic = string(explain.ActivityRejected), h.Text
		return out
	}
	if slices.ContainsFunc(on, func(a report.Activity) bool { return a.State == explain.ActivityReReserved }) {
		out.State = string(explain.ActivityReReserved)
	}
	out.Children = g.onNodes(on, notAssigned)
	return out
}

// ofNodes are the limits that depend on single nodes.
var ofNodes = map[explain.Limit]bool{
	explain.WrongPlace: true, explain.Blacklisted: true, explain.TooLarge: true, explain.LocalityDelay: true,
	explain.HasReservation: true, explain.Reserved: true, explain.ClusterFull: true,
}

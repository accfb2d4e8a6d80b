package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeScheduler(api *yarnrest.API) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(clusterBase+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	get("/scheduler", s.scheduler)
	get("/scheduler/activities", s.activities)
	get("/scheduler/app-activities/{app}", s.appActivities)
	get("/scheduler/bulk-activities", s.bulkActivities)
	api.Handle(clusterBase+"/scheduler/logs", yarnrest.Methods{http.MethodPost: {Handle: s.schedulerLogs}})
	s.routeSchedulerConf(api)
}

func (s *server) capacityScheduler() bool { return s.Queues.Tree().Kind == queue.Capacity }

// schedulerName is the scheduler's name, as YARN has it.
func (s *server) schedulerName() string {
	switch s.Queues.Tree().Kind {
	case queue.Fair:
		return "Fair"
	case queue.FIFO:
		return "Fifo"
	}
	return "Capacity"
}

type schedulerType struct {
	Info any `yarn:"schedulerInfo"`
}

func (s *server) scheduler(*yarnrest.Call) (yarnrest.Reply, error) {
	var info any
	switch s.Queues.Tree().Kind {
	case queue.Fair:
		info = s.fairInfo()
	case queue.FIFO:
		info = s.fifoInfo()
	default:
		info = s.capacityInfo()
	}
	return yarnrest.OK("scheduler", yarnrest.Natural, schedulerType{info}), nil
}

// fifoInfo is what YARN's FifoScheduler tells of itself.
type fifoInfo struct {
	Type       string  `yarn:"type,xsi"`
	Capacity   float32 `yarn:"capacity"`
	Used       float32 `yarn:"usedCapacity"`
	State      string  `yarn:"qstate"`
	MinMemory  int64   `yarn:"minQueueMemoryCapacity"`
	MaxMemory  int64   `yarn:"maxQueueMemoryCapacity"`
	Nodes      int     `yarn:"numNodes"`
	UsedMB     int64   `yarn:"usedNodeCapacity"`
	FreeMB     int64   `yarn:"availNodeCapacity"`
	TotalMB    int64   `yarn:"totalNodeCapacity"`
	Containers int     `yarn:"numContainers"`
}

func (s *server) fifoInfo() fifoInfo {
	out := fifoInfo{
		Type: "fifoScheduler", Capacity: 1, State: "RUNNING",
		MinMemory: s.MinAllocation.MemoryMB(), MaxMemory: s.MaxAllocation.MemoryMB(),
	}
	for _, n := range s.View.Nodes(pb.NodeState_NS_RUNNING, pb.NodeState_NS_DECOMMISSIONING) {
		out.Nodes++
		out.UsedMB += n.Used.MemoryMB()
		out.TotalMB += n.Capability.MemoryMB()
		out.Containers += n.Count
	}
	out.FreeMB = out.TotalMB - out.UsedMB
	if out.TotalMB > 0 {
		out.Used = float32(out.UsedMB) / float32(out.TotalMB)
	}
	return out
}

const (
	notCapacity  = "Not Capacity Scheduler"
	noActivities = "waiting for display"
)

type appActivities struct {
	App         string          `yarn:"applicationId"`
	Diagnostic  string          `yarn:"diagnostic,omitempty"`
	Timestamp   int64           `yarn:"timestamp"`
	DateTime    string          `yarn:"dateTime"`
	Allocations []appAllocation `yarn:"allocations"`
}

type appAllocation struct {
	Timestamp int64          `yarn:"timestamp"`
	DateTime  string         `yarn:"dateTime"`
	Queue     string         `yarn:"queueName"`
	Priority  int32          `yarn:"appPriority"`
	State     string         `yarn:"allocationState"`
	Children  []appRejection `yarn:"children"`
}

type appRejection struct {
	Priority   int32  `yarn:"requestPriority"`
	ID         int64  `yarn:"allocationRequestId"`
	State      string `yarn:"allocationState"`
	Diagnostic string `yarn:"diagnostic"`
}

const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// appActivities tells why an application waits, in YARN's form. The reasons are those of /ws/v1/heddle.
func (s *server) appActivities(c *yarnrest.Call) (yarnrest.Reply, error) {
	now := s.Now()
	out := appActivities{App: c.Var("app"), Timestamp: now.UnixMilli(), DateTime: now.Format(javaDate)}
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
	return yarnrest.OK("appActivities", yarnrest.Natural, out), nil
}

// refuseActivities is what is wrong with a request for an application's activities, in Hadoop's words.
func (s *server) refuseActivities(c *yarnrest.Call) string {
	q := c.Query()
	if !s.capacityScheduler() {
		return notCapacity
	}
	if text := refuseGroup(q.Get("groupBy")); text != "" {
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

func (s *server) addAllocations(c *yarnrest.Call, out *appActivities) {
	id, err := records.ParseApplicationID(out.App)
	if err != nil {
		out.Diagnostic = "Cannot find application with given appId"
		return
	}
	a, ok := s.View.App(id)
	if !ok || a.State.Ended() || !s.Access.MayView(caller(c), rights(&a)) {
		out.Diagnostic = "fail to get application activities after finished"
		return
	}
	reasons := s.View.Explain(&a)
	if len(reasons) == 0 {
		out.Diagnostic = noActivities
		return
	}
	alloc := appAllocation{
		Timestamp: out.Timestamp, DateTime: out.DateTime, Queue: a.Queue, Priority: a.Priority, State: "SKIPPED",
	}
	for _, r := range reasons {
		alloc.Children = append(alloc.Children, appRejection{r.Ask.Priority, r.Ask.AllocationRequestID, "REJECTED", r.Text})
	}
	out.Allocations = []appAllocation{alloc}
}

// schedulerLogs pretends to dump YARN's scheduler's log: what it would show is in this daemon's log anyway.
func (s *server) schedulerLogs(c *yarnrest.Call) (yarnrest.Reply, error) {
	if err := s.mustAdminister(c); err != nil {
		return yarnrest.Reply{}, err
	}
	if err := c.ParseForm(); err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	v := c.PostForm.Get("time")
	n, err := strconv.Atoi(v)
	switch {
	case err != nil:
		return yarnrest.Reply{}, &yarnrest.Error{
			Status: http.StatusBadRequest, Class: yarnrest.NumberFormatException, Message: "For input string: \"" + v + "\"",
		}
	case n <= 0:
		return yarnrest.Reply{}, yarnrest.BadRequest("Period must be greater than 0")
	}
	return yarnrest.Say(http.StatusOK, "%s scheduler logs are being created.", s.schedulerName()), nil
}

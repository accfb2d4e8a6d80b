package rest

import (
	"errors"
	"net/http"
	"strconv"

	"heddle/internal/together"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeScheduler(api *yarnrest.API) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(clusterBase+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	api.Handle(clusterBase+"/scheduler", yarnrest.Methods{http.MethodGet: {Handle: s.scheduler, Large: true}})
	get("/scheduler/activities", s.activities)
	get("/scheduler/app-activities/{app}", s.appActivities)
	get("/scheduler/bulk-activities", s.bulkActivities)
	api.Handle(clusterBase+"/scheduler/logs", yarnrest.Methods{http.MethodPost: {Handle: s.schedulerLogs}})
	s.routeSchedulerConf(api)
}

func (s *server) capacityScheduler() bool { return s.Queues.Tree().Kind == queue.Capacity }

// schedulerName is YARN's name of the scheduler.
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

// scheduler answers with the queues. Concurrent requests share one answer: with ten thousand queues it has many megabytes.
func (s *server) scheduler(c *yarnrest.Call) (yarnrest.Reply, error) {
	of := &s.queueAnswers.json
	if c.Format == yarnrest.XML {
		of = &s.queueAnswers.xml
	}
	body := of.Get(func() yarnrest.Body { return s.schedulerInfo().Encode(c.Format) })
	if body == nil {
		return yarnrest.Reply{}, errors.New("the answer could not be built")
	}
	return yarnrest.Reply{Encoded: body}, nil
}

// queueAnswers are the answers of scheduler that are being built.
type queueAnswers struct{ json, xml together.Group[yarnrest.Body] }

func (s *server) schedulerInfo() *yarnrest.Document {
	var info any
	switch s.Queues.Tree().Kind {
	case queue.Fair:
		info = s.fairInfo()
	case queue.FIFO:
		info = s.fifoInfo()
	default:
		info = s.capacityInfo()
	}
	return yarnrest.OK("scheduler", yarnrest.Natural, schedulerType{info}).Document
}

// fifoInfo describes YARN's FifoScheduler.
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

const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// schedulerLogs answers as YARN does when it dumps its scheduler's log. This daemon's log has it anyway.
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

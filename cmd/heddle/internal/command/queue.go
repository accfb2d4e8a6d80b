package command

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

var queue = verb{
	name: "queue", title: "queue",
	short: "List and show queues",
	options: func() []option.Option {
		return []option.Option{
			{Name: "status", Arg: "Queue Name", Help: "Shows a queue, by its name or its path from root."},
			{Name: "list", Arg: "Parent Queue Name", Help: "Lists the queues below this one; all stands for every queue."},
			{Name: "what-if", Arg: "Queue Name", Help: "Shows whether a container would start in this queue now, or what would hold it back. Takes -resource, -user and -am."},
			{Name: "resource", Arg: "Amounts", Help: "With -what-if: its size, such as memory-mb=1024,vcores=1."},
			{Name: "user", Arg: "User", Help: "With -what-if: the user who asks for it; by default you."},
			{Name: "am", Help: "With -what-if: the container is the ApplicationMaster of a new application."},
			{Name: "subClusterId", Arg: "ID", Hidden: true},
		}
	},
	run: func(s *session, l *option.Line) error {
		switch {
		case len(l.Args) > 0:
			return s.usage()
		case l.Has("what-if"):
			return s.queueWhatIf(l)
		case s.json && (l.Has("status") || l.Has("list")):
			return s.queueJSON(l)
		case l.Has("status"):
			return s.queueStatus(l.Value("status"))
		case l.Has("list"):
			return s.queueList(l.Value("list"))
		}
		return s.invalid()
	},
}

// queueWhatIf prints whether a container would start now.
func (s *session) queueWhatIf(l *option.Line) error {
	path := heddleAPI + "/queues/" + url.PathEscape(l.Value("what-if")) + "/what-if"
	query := url.Values{"resource": {l.Value("resource")}}
	if user := l.Value("user"); user != "" {
		query.Set("user", user)
	}
	if l.Has("am") {
		query.Set("am", "true")
	}
	if s.json {
		return notHeddle(s.printREST(path, query))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct {
		WhatIf struct {
			Queue, User string
			Starts      bool
			Reason      struct{ Limit, Reason, Remedy string }
		} `json:"whatIf"`
	}
	if err := c.GetInto(s, path, query, &answer); err != nil {
		return notHeddle(err)
	}
	a := answer.WhatIf
	if a.Starts {
		s.print("Yes: for %s in queue %s %s.\n", a.User, a.Queue, a.Reason.Reason)
		return nil
	}
	s.print("No: for %s in queue %s it would wait (%s): %s.\nWhat would free it: %s.\n", a.User, a.Queue, a.Reason.Limit, a.Reason.Reason, a.Reason.Remedy)
	return nil
}

// queueInfo asks for a queue. It returns nil if there is none with that name.
func (s *session) queueInfo(name string, children, recursive bool) (*pb.QueueInfo, error) {
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	req := &pb.GetQueueInfoRequest{}
	req.SetQueueName(name)
	req.SetIncludeChildQueues(children)
	req.SetRecursive(recursive)
	resp, err := cluster.Call(s, c, protocol.GetQueueInfo, req)
	if err != nil || !resp.HasQueueInfo() {
		return nil, err
	}
	return resp.GetQueueInfo(), nil
}

func (s *session) queueStatus(name string) error {
	q, err := s.queueInfo(name, false, false)
	if err != nil {
		return err
	}
	if q == nil {
		s.print("Cannot get queue from RM by queueName = %s, please check.\n", name)
		return failed
	}
	s.print("Queue Information : \n")
	if q.GetSchedulerType() == "FairScheduler" {
		s.fairQueue(q)
		return nil
	}
	if q.HasSchedulerType() {
		s.print("Scheduler Name : %s\n", q.GetSchedulerType())
	}
	s.print("Queue Name : %s\nQueue Path : %s\n", q.GetQueueName(), orNull(q.HasQueuePath(), q.GetQueuePath()))
	field(s, "State", queueState(q))
	field(s, "Capacity", share(q.GetCapacity()))
	field(s, "Current Capacity", share(q.GetCurrentCapacity()))
	field(s, "Maximum Capacity", share(q.GetMaximumCapacity()))
	field(s, "Weight", javafmt.Hundredths(q.GetWeight()))
	field(s, "Maximum Parallel Apps", fmt.Sprint(q.GetMaxParallelApps()))
	label := q.GetDefaultNodeLabelExpression()
	if strings.TrimSpace(label) == "" {
		label = "<DEFAULT_PARTITION>"
	}
	field(s, "Default Node Label expression", label)
	names := slices.Clone(q.GetAccessibleNodeLabels())
	slices.Sort(names)
	field(s, "Accessible Node Labels", strings.Join(names, ","))
	if q.HasPreemptionDisabled() {
		field(s, "Preemption", enabled(!q.GetPreemptionDisabled()))
	}
	if q.HasIntraQueuePreemptionDisabled() {
		field(s, "Intra-queue Preemption", enabled(!q.GetIntraQueuePreemptionDisabled()))
	}
	return nil
}

// fairQueue prints a queue of a Fair Scheduler.
func (s *session) fairQueue(q *pb.QueueInfo) {
	s.print("Scheduler Name : %s\nQueue Name : %s\n", q.GetSchedulerType(), q.GetQueueName())
	weight := javafmt.Hundredths(q.GetWeight())
	if strings.HasPrefix(weight, ".") {
		weight = "0" + weight
	}
	s.print("\tWeight : %s\n\tState : %s\n", weight, queueState(q))
	amount := func(name string, memory int64, vcores int32) {
		s.print("\t%s : <memory : %d, vCores:%d>\n", name, memory, vcores)
	}
	amount("MinResource", q.GetMinResourceMemory(), q.GetMinResourceVCore())
	amount("MaxResource", q.GetMaxResourceMemory(), q.GetMaxResourceVCore())
	amount("ReservedResource", q.GetReservedResourceMemory(), q.GetReservedResourceVCore())
	amount("SteadyFairShare", q.GetSteadyFairShareMemory(), q.GetSteadyFairShareVCore())
	if q.HasPreemptionDisabled() {
		// yarn prints the opposite of the state here. Scripts expect that.
		s.print("\tQueue Preemption : %s\n", enabled(q.GetPreemptionDisabled()))
	}
}

func enabled(yes bool) string {
	if yes {
		return "enabled"
	}
	return "disabled"
}

func queueState(q *pb.QueueInfo) string { return strings.TrimPrefix(q.GetState().String(), "Q_") }

func share(v float32) string { return javafmt.Hundredths(v*100) + "%" }

var queueHead = []string{
	"Queue Name", "Queue Path", "State", "Capacity", "Current Capacity", "Maximum Capacity", "Weight", "Maximum Parallel Apps",
}

func (s *session) queueList(name string) error {
	parent := name
	if strings.EqualFold(name, "all") {
		parent = "root"
	}
	q, err := s.queueInfo(parent, true, true)
	if err != nil {
		return err
	}
	if q == nil {
		s.print("Cannot get any queues under %s from RM,please check.\n", name)
		return failed
	}
	var rows [][]string
	var add func(q *pb.QueueInfo)
	add = func(q *pb.QueueInfo) {
		for _, child := range q.GetChildQueues() {
			rows = append(rows, []string{
				child.GetQueueName(), orNull(child.HasQueuePath(), child.GetQueuePath()), queueState(child), share(child.GetCapacity()),
				share(child.GetCurrentCapacity()), share(child.GetMaximumCapacity()), javafmt.Hundredths(child.GetWeight()),
				fmt.Sprint(child.GetMaxParallelApps()),
			})
			add(child)
		}
	}
	add(q)
	s.write(javafmt.Box(fmt.Sprintf("%d queues were found", len(rows)), queueHead, rows))
	return nil
}

// queueJSON prints the part of the scheduler's REST answer that describes a queue.
func (s *session) queueJSON(l *option.Line) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct {
		Scheduler struct {
			SchedulerInfo map[string]any `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	if err := c.GetInto(s, api+"/scheduler", nil, &answer); err != nil {
		return err
	}
	root := answer.Scheduler.SchedulerInfo
	if fair, ok := root["rootQueue"].(map[string]any); ok {
		root = fair
	}
	name := l.Value("status")
	if !l.Has("status") {
		if name = l.Value("list"); strings.EqualFold(name, "all") {
			return s.printValue(root)
		}
	}
	found := findQueue(root, name)
	if found == nil {
		fmt.Fprintf(s.err, "Cannot get queue from RM by queueName = %s, please check.\n", name)
		return failed
	}
	if l.Has("list") {
		return s.printValue(childQueues(found))
	}
	return s.printValue(found)
}

// findQueue finds a queue by its name or path in REST's answer about the scheduler.
func findQueue(q map[string]any, name string) map[string]any {
	if q["queueName"] == name || q["queuePath"] == name {
		return q
	}
	for _, child := range childQueues(q) {
		if found := findQueue(child, name); found != nil {
			return found
		}
	}
	return nil
}

// childQueues returns the children of a queue. The Capacity Scheduler lists them in "queues", the Fair Scheduler in
// "childQueues".
func childQueues(q map[string]any) []map[string]any {
	out := []map[string]any{}
	for _, key := range []string{"queues", "childQueues"} {
		under, ok := q[key].(map[string]any)
		if !ok {
			continue
		}
		list, ok := under["queue"].([]any)
		if !ok {
			continue
		}
		for _, e := range list {
			if child, ok := e.(map[string]any); ok {
				out = append(out, child)
			}
		}
	}
	return out
}

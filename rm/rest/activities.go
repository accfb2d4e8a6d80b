package rest

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/rm/leader/report"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// activities shows what allocating containers on a node would do (Hadoop: ActivitiesInfo).
type activities struct {
	Node        string           `yarn:"nodeId,omitempty"`
	Timestamp   *int64           `yarn:"timestamp"`
	DateTime    string           `yarn:"dateTime,omitempty"`
	Diagnostic  string           `yarn:"diagnostic,omitempty"`
	Allocations []nodeAllocation `yarn:"allocations"`
}

type nodeAllocation struct {
	Partition string       `yarn:"partition"`
	State     string       `yarn:"finalAllocationState"`
	Root      nodeActivity `yarn:"root"`
}

// nodeActivity is a queue, an application or a request (Hadoop: ActivityNodeInfo).
type nodeActivity struct {
	Name            string         `yarn:"name,omitempty"`
	AppPriority     *int32         `yarn:"appPriority"`
	RequestPriority *int32         `yarn:"requestPriority"`
	RequestID       *int64         `yarn:"allocationRequestId"`
	State           string         `yarn:"allocationState"`
	Diagnostic      string         `yarn:"diagnostic,omitempty"`
	Node            string         `yarn:"nodeId,omitempty"`
	Count           *int           `yarn:"count"` // number of nodes in this group
	Nodes           []string       `yarn:"nodeIds"`
	Children        []nodeActivity `yarn:"children"`
}

const (
	notYet = "waiting for next allocation"
	// shownFor is how long activities are shown after a request for them, as in YARN
	// (yarn.resourcemanager.activities-manager.scheduler-activities.ttl-ms).
	shownFor = 10 * time.Minute
	// bulkOfNodes is the default number of nodes in bulk-activities.
	bulkOfNodes = 10
)

// watched is the time span in which activities were requested. As in YARN the first request only starts the recording of the next
// heartbeats, and later ones show it.
type watched struct {
	mu          sync.Mutex
	since, last time.Time
}

// look records a request, and reports whether there was one before the last heartbeats.
func (w *watched) look(now time.Time, heartbeat time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() || now.Sub(w.last) >= shownFor {
		w.since = now
	}
	w.last = now
	return now.Sub(w.since) >= heartbeat
}

// activities shows the outcome for each queue, application and request on a node at this moment. YARN shows its last heartbeat;
// containers that were just granted are not shown here.
func (s *server) activities(c *yarnrest.Call) (yarnrest.Reply, error) {
	out := activities{Node: c.Query().Get("nodeId"), Diagnostic: notYet}
	refused, group := refuseGroup(c.Query().Get("groupBy"))
	switch {
	case !s.capacityScheduler():
		out = activities{Diagnostic: notCapacity}
	case refused != "":
		out = activities{Diagnostic: refused}
	default:
		var id records.NodeID
		if out.Node != "" {
			var err error
			if id, err = records.ParseNodeID(out.Node); err != nil {
				break
			}
		}
		if found, ok := s.activitiesOf(id, group); ok && s.watched.look(s.Now(), s.heartbeat) {
			out = found
		}
	}
	return yarnrest.OK("activities", yarnrest.Natural, out), nil
}

// grouping is whether nodes with the same outcome for a request are shown as one entry.
type grouping bool

// refuseGroup reads the groupBy of a request for activities; refused says what is wrong with it.
func refuseGroup(by string) (refused string, group grouping) {
	if by == "" || strings.EqualFold(by, "diagnostic") {
		return "", by != ""
	}
	return "Got invalid groupBy: " + by + ", valid groupBy types: [DIAGNOSTIC]", false
}

// notAssigned is YARN's name for a request's outcome on a node in an application's activities.
const notAssigned = "Container-Id-Not-Assigned"

// onNodes shows a request's outcomes on nodes. Groups have only the first lines of diagnostics, because the other lines concern one node each
// (Hadoop: ActivitiesUtils.getRequestActivityNodeInfos).
func (g grouping) onNodes(list []report.Activity, name string) (out []nodeActivity) {
	groups := map[nodeKey]int{}
	for i := range list {
		a := &list[i]
		one := nodeActivity{Name: name, State: string(a.State), Diagnostic: a.Diagnostic, Node: a.Node.String()}
		if !g {
			out = append(out, one)
			continue
		}
		first, _, _ := strings.Cut(a.Diagnostic, "\n")
		key := nodeKey{one.State, first}
		at, known := groups[key]
		if !known {
			at = len(out)
			groups[key] = at
			out = append(out, nodeActivity{State: one.State, Diagnostic: first, Count: new(int)})
		}
		*out[at].Count++
		out[at].Nodes = append(out[at].Nodes, one.Node)
	}
	return out
}

type nodeKey struct{ state, diagnostic string }

// activitiesOf returns the activities on a node, or on any node if none is given.
func (s *server) activitiesOf(node records.NodeID, group grouping) (activities, bool) {
	l := s.Backend.Leader()
	if l == nil {
		return activities{}, false
	}
	at, tree, ok, err := l.Activities(node)
	if err != nil || !ok {
		return activities{}, false
	}
	now := s.Now()
	stamp := now.UnixMilli()
	return activities{
		Node: at.String(), Timestamp: &stamp, DateTime: now.Format(javaDate),
		Allocations: []nodeAllocation{{State: "SKIPPED", Root: group.node(&tree)}},
	}, true
}

func (g grouping) node(a *report.Activity) nodeActivity {
	out := nodeActivity{Name: a.Name, State: string(a.State), Diagnostic: a.Diagnostic}
	switch {
	case a.Ask != nil:
		out.Name = "request_" + strconv.Itoa(int(a.Ask.Priority)) + "_" + strconv.FormatInt(a.Ask.AllocationRequestID, 10)
		out.RequestPriority, out.RequestID = &a.Ask.Priority, &a.Ask.AllocationRequestID
		out.Children = g.onNodes(a.Children, "")
		return out
	case a.Queue == "":
		out.AppPriority = &a.Priority
	}
	for i := range a.Children {
		out.Children = append(out.Children, g.node(&a.Children[i]))
	}
	return out
}

// bulkActivities shows the activities of several nodes.
func (s *server) bulkActivities(c *yarnrest.Call) (yarnrest.Reply, error) {
	count := bulkOfNodes
	refused, group := refuseGroup(c.Query().Get("groupBy"))
	if n := c.Query().Get("activitiesCount"); n != "" {
		var err error
		if count, err = strconv.Atoi(n); err != nil {
			return yarnrest.Reply{}, yarnrest.BadRequestBy(yarnrest.NumberFormatException, "For input string: %q", n)
		}
	}
	if !s.capacityScheduler() {
		return yarnrest.Reply{}, yarnrest.BadRequest(notCapacity)
	}
	if refused != "" {
		return yarnrest.Reply{}, yarnrest.BadRequest("%s", refused)
	}
	var out struct {
		Activities []activities `yarn:"activities"`
	}
	for _, n := range s.View.Nodes(pb.NodeState_NS_RUNNING, pb.NodeState_NS_DECOMMISSIONING) {
		if len(out.Activities) >= count {
			break
		}
		if a, ok := s.activitiesOf(n.ID, group); ok {
			out.Activities = append(out.Activities, a)
		}
	}
	return yarnrest.OK("bulkActivities", yarnrest.Natural, out), nil
}

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
	"heddle/yarn/records"
)

var node = verb{
	name: "node", title: "node",
	short: "List and show the cluster's nodes",
	options: func() []option.Option {
		return []option.Option{
			{Name: "list", Help: "Lists the running nodes; -states or -all select others, -showDetails shows more about each."},
			{Name: "states", Arg: "States", Values: option.Unlimited, Separator: ',', Help: "With -list: only nodes in these states. " + validNodeStates()},
			{Name: "all", Help: "With -list: nodes in any state."},
			{Name: "showDetails", Help: "With -list: each node's configured, allocated and used resources."},
			{Name: "status", Arg: "NodeId", Help: "Shows a node."},
		}
	},
	run: func(s *session, l *option.Line) error {
		switch {
		case len(l.Args) > 0:
			return s.usage()
		case l.Has("status"):
			return s.nodeStatus(l.Value("status"))
		case l.Has("list"):
			return s.nodeList(l)
		}
		return s.invalid()
	},
}

// allNodeStates are the states of nodes, in Hadoop's order.
var allNodeStates = []pb.NodeState{
	pb.NodeState_NS_NEW, pb.NodeState_NS_RUNNING, pb.NodeState_NS_UNHEALTHY, pb.NodeState_NS_DECOMMISSIONED,
	pb.NodeState_NS_LOST, pb.NodeState_NS_REBOOTED, pb.NodeState_NS_DECOMMISSIONING, pb.NodeState_NS_SHUTDOWN,
}

func validNodeStates() string {
	var names []string
	for _, st := range allNodeStates {
		names = append(names, records.NodeStateName(st))
	}
	return "The valid node state can be one of the following: " + strings.Join(names, ",") + "."
}

func (s *session) nodeStates(l *option.Line) ([]pb.NodeState, error) {
	if l.Has("all") {
		return allNodeStates, nil
	}
	var wanted []pb.NodeState
	for _, name := range option.Words(l.Values("states")) {
		i := slices.IndexFunc(allNodeStates, func(st pb.NodeState) bool {
			return strings.EqualFold(records.NodeStateName(st), name)
		})
		if i < 0 {
			s.print("The node state %s is invalid.\n%s\n", name, validNodeStates())
			return nil, failed
		}
		wanted = append(wanted, allNodeStates[i])
	}
	if len(wanted) == 0 {
		wanted = []pb.NodeState{pb.NodeState_NS_RUNNING}
	}
	return wanted, nil
}

var nodeColumns = []int{16, 15, 17, 28}

func (s *session) nodeList(l *option.Line) error {
	states, err := s.nodeStates(l)
	if err != nil {
		return err
	}
	if s.json {
		var names []string
		for _, st := range states {
			names = append(names, records.NodeStateName(st))
		}
		return s.printREST(api+"/nodes", url.Values{"states": {strings.Join(names, ",")}})
	}
	nodes, err := s.nodes(states)
	if err != nil {
		return err
	}
	s.print("Total Nodes:%d\n", len(nodes))
	s.write(javafmt.Row(nodeColumns, "Node-Id", "Node-State", "Node-Http-Address", "Number-of-Running-Containers"))
	for _, n := range nodes {
		s.write(javafmt.Row(nodeColumns, records.NodeIDFrom(n.GetNodeId()).String(),
			records.NodeStateName(n.GetNodeState()), n.GetHttpAddress(), fmt.Sprint(n.GetNumContainers())))
		if l.Has("showDetails") {
			s.print("Detailed Node Information :\n")
			s.print("\tConfigured Resources : %s\n", resource(n.GetCapability()))
			s.print("\tAllocated Resources : %s\n", orEmpty(n.HasUsed(), resource(n.GetUsed())))
			s.print("\tResource Utilization by Node : %s\n", utilization(n.GetNodeUtilization()))
			s.print("\tResource Utilization by Containers : %s\n", utilization(n.GetContainersUtilization()))
			s.print("\tNode-Labels : %s\n", labels(n))
		}
	}
	return nil
}

func orEmpty(there bool, text string) string {
	if !there {
		return ""
	}
	return text
}

func (s *session) nodes(states []pb.NodeState) ([]*pb.NodeReport, error) {
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	req := &pb.GetClusterNodesRequest{}
	req.SetNodeStates(states)
	resp, err := cluster.Call(s, c, protocol.GetClusterNodes, req)
	return resp.GetNodeReports(), err
}

func (s *session) nodeStatus(text string) error {
	id, err := records.ParseNodeID(text)
	if err != nil {
		return err
	}
	if s.json {
		err := s.printREST(api+"/nodes/"+id.String(), nil)
		if isNotFound(err) {
			fmt.Fprintf(s.err, "Could not find the node report for node id : %s\n", text)
			return failed
		}
		return err
	}
	nodes, err := s.nodes(nil)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(nodes, func(n *pb.NodeReport) bool { return records.NodeIDFrom(n.GetNodeId()) == id })
	if i < 0 {
		s.print("Could not find the node report for node id : %s\n", text)
		return nil // as in yarn, this isn't an error
	}
	n := nodes[i]
	s.print("Node Report : \n")
	field(s, "Node-Id", id.String())
	field(s, "Rack", n.GetRackName())
	field(s, "Node-State", records.NodeStateName(n.GetNodeState()))
	field(s, "Node-Http-Address", n.GetHttpAddress())
	field(s, "Last-Health-Update", javafmt.HealthTime(n.GetLastHealthReportTime(), s.zone))
	field(s, "Health-Report", orNull(n.HasHealthReport(), n.GetHealthReport()))
	field(s, "Containers", fmt.Sprint(n.GetNumContainers()))
	field(s, "Memory-Used", fmt.Sprintf("%dMB", n.GetUsed().GetMemory()))
	field(s, "Memory-Capacity", fmt.Sprintf("%dMB", n.GetCapability().GetMemory()))
	field(s, "CPU-Used", fmt.Sprintf("%d vcores", n.GetUsed().GetVirtualCores()))
	field(s, "CPU-Capacity", fmt.Sprintf("%d vcores", n.GetCapability().GetVirtualCores()))
	if lent, used := n.GetHeddleLent(), n.GetHeddleLentUsed(); n.HasHeddleLent() { // which YARN doesn't know
		field(s, "Lent-To-Short-Tasks", fmt.Sprintf("%dMB, %d vcores", lent.GetMemory(), lent.GetVirtualCores()))
		field(s, "Used-By-Short-Tasks", fmt.Sprintf("%dMB, %d vcores, %d probes wait", used.GetMemory(), used.GetVirtualCores(), n.GetHeddleProbesWaiting()))
	}
	field(s, "Node-Labels", labels(n))
	s.nodeAttributes(n)
	field(s, "Resource Utilization by Node", utilization(n.GetNodeUtilization()))
	field(s, "Resource Utilization by Containers", utilization(n.GetContainersUtilization()))
	s.print("\n")
	return nil
}

// nodeAttributes prints a node's attributes, one a line.
func (s *session) nodeAttributes(n *pb.NodeReport) {
	attributes := n.GetNodeAttributes()
	if len(attributes) == 0 {
		s.print("\tNode Attributes : \n")
		return
	}
	for i, a := range attributes {
		text := attributeText(a)
		if i == 0 {
			s.print("\tNode Attributes : %s\n", text)
		} else {
			s.print("\t%18s%s\n", "", text)
		}
	}
}

func attributeText(a *pb.NodeAttribute) string {
	name := a.GetAttributeKey().GetAttributeName()
	if p := a.GetAttributeKey().GetAttributePrefix(); p != "" {
		name = p + "/" + name
	}
	return fmt.Sprintf("%s(%s)=%s", name, a.GetAttributeType(), a.GetAttributeValue())
}

func labels(n *pb.NodeReport) string {
	names := slices.Clone(n.GetNodeLabels())
	slices.Sort(names)
	return strings.Join(names, ",")
}

// utilization writes the resources that are really in use.
func utilization(u *pb.ResourceUtilization) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("PMem:%d MB, VMem:%d MB, VCores:%s", u.GetPmem(), u.GetVmem(), javafmt.Float(u.GetCpu()))
}

// resource writes resources as Hadoop's Resource does. Types besides memory and vcores appear only if their amount
// isn't 0.
func resource(r *pb.Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r.GetMemory(), r.GetVirtualCores())
	for _, i := range r.GetResourceValueMap() {
		if i.GetKey() != records.MemoryName && i.GetKey() != records.VCoresName && i.GetValue() != 0 {
			fmt.Fprintf(&b, ", %s: %d%s", i.GetKey(), i.GetValue(), i.GetUnits())
		}
	}
	return b.String() + ">"
}

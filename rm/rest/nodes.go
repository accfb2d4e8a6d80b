package rest

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"heddle/rm/rest/attributes"
	"heddle/rm/rest/submission"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeNodes(api *yarnrest.API) {
	api.Handle(clusterBase+"/nodes", yarnrest.Methods{http.MethodGet: {Handle: s.nodes, Large: true}})
	api.Handle(clusterBase+"/nodes/{node}", yarnrest.Methods{http.MethodGet: {Handle: s.node}})
	api.Handle(clusterBase+"/nodes/{node}/resource", yarnrest.Methods{
		http.MethodPost: {Handle: s.visits.Administered("updateNodeResource", s.setNodeResource), Takes: yarnrest.TakesDocument},
	})
}

type nodeList struct {
	Node []nodeInfo `yarn:"node"`
}

type nodeInfo struct {
	Rack              string          `yarn:"rack"`
	State             string          `yarn:"state"`
	ID                string          `yarn:"id"`
	HostName          string          `yarn:"nodeHostName"`
	HTTPAddress       string          `yarn:"nodeHTTPAddress"`
	LastHealthUpdate  int64           `yarn:"lastHealthUpdate"`
	Version           string          `yarn:"version"`
	HealthReport      string          `yarn:"healthReport"`
	Containers        int             `yarn:"numContainers"`
	UsedMemoryMB      int64           `yarn:"usedMemoryMB"`
	AvailMemoryMB     int64           `yarn:"availMemoryMB"`
	UsedCores         int64           `yarn:"usedVirtualCores"`
	AvailCores        int64           `yarn:"availableVirtualCores"`
	MemUtilization    float32         `yarn:"memUtilization"`
	CPUUtilization    float32         `yarn:"cpuUtilization"`
	OpportunisticRun  int             `yarn:"numRunningOpportContainers"`
	OpportunisticGB   int64           `yarn:"usedMemoryOpportGB"`
	OpportunisticCore int64           `yarn:"usedVirtualCoresOpport"`
	Queued            int             `yarn:"numQueuedContainers"`
	Labels            []string        `yarn:"nodeLabels"`
	AllocationTags    struct{}        `yarn:"allocationTags"`
	Utilization       utilization     `yarn:"resourceUtilization"`
	Used              resourceInfo    `yarn:"usedResource"`
	Available         resourceInfo    `yarn:"availableResource"`
	Attributes        attributes.Info `yarn:"nodeAttributesInfo"`
	Total             resourceInfo    `yarn:"totalResource"`
}

type utilization struct {
	NodePhysicalMB       int32   `yarn:"nodePhysicalMemoryMB"`
	NodeVirtualMB        int32   `yarn:"nodeVirtualMemoryMB"`
	NodeCPU              float32 `yarn:"nodeCPUUsage"`
	ContainersPhysicalMB int32   `yarn:"aggregatedContainersPhysicalMemoryMB"`
	ContainersVirtualMB  int32   `yarn:"aggregatedContainersVirtualMemoryMB"`
	ContainersCPU        float32 `yarn:"containersCPUUsage"`
}

func (s *server) nodeInfo(n *view.Node) nodeInfo {
	available := n.Capability.Sub(n.Used)
	out := nodeInfo{
		Rack: n.Rack, State: records.NodeStateName(n.State), ID: n.ID.String(), HostName: n.ID.Host,
		HTTPAddress: n.HTTPAddress(), LastHealthUpdate: n.RegisteredAt, Version: n.Version, HealthReport: n.HealthReport,
		Containers: n.Count, UsedMemoryMB: n.Used.MemoryMB(), AvailMemoryMB: available.MemoryMB(),
		UsedCores: n.Used.VCores(), AvailCores: available.VCores(),
		Used: s.resource(n.Used), Available: s.resource(available), Total: s.resource(n.Capability), Attributes: attributes.Of(n.Attributes),
	}
	if n.Label != "" {
		out.Labels = []string{n.Label}
	}
	switch n.State {
	case pb.NodeState_NS_LOST, pb.NodeState_NS_DECOMMISSIONED, pb.NodeState_NS_REBOOTED, pb.NodeState_NS_SHUTDOWN:
		out.HTTPAddress = "" // no NodeManager runs there
		out.AvailMemoryMB, out.AvailCores, out.Available = 0, 0, s.resource(records.Resource{})
	}
	if !n.Known {
		return out
	}
	if n.Status.HealthTime > 0 {
		out.LastHealthUpdate = n.Status.HealthTime
	}
	chances := n.Status.Chances
	out.OpportunisticRun, out.OpportunisticGB, out.OpportunisticCore, out.Queued = chances.Running, chances.UsedGB, int64(chances.VCores), chances.Waiting
	node, containers := n.Status.Node, n.Status.Containers
	out.Utilization = utilization{
		node.GetPmem(), node.GetVmem(), node.GetCpu(), containers.GetPmem(), containers.GetVmem(), containers.GetCpu(),
	}
	if mb := n.Capability.MemoryMB(); mb > 0 {
		out.MemUtilization = 100 * float32(node.GetPmem()) / float32(mb)
	}
	if cores := n.Capability.VCores(); cores > 0 {
		out.CPUUtilization = 100 * node.GetCpu() / float32(cores)
	}
	return out
}

func (s *server) nodes(c *yarnrest.Call) (yarnrest.Reply, error) {
	var states []pb.NodeState
	if lists, ok := c.Query()["states"]; ok {
		for name := range strings.SplitSeq(lists[0], ",") {
			state, ok := nodeState(name)
			if !ok {
				return yarnrest.Reply{}, noEnum("org.apache.hadoop.yarn.api.records.NodeState", strings.ToUpper(name))
			}
			states = append(states, state)
		}
	}
	var out nodeList
	for _, n := range s.View.Nodes(states...) {
		out.Node = append(out.Node, s.nodeInfo(&n))
	}
	return yarnrest.OK("nodes", yarnrest.Natural, out), nil
}

// noEnum is Java's error for a name that an enumeration lacks.
func noEnum(class, name string) error { return yarnrest.Illegal("No enum constant %s.%s", class, name) }

func nodeState(name string) (pb.NodeState, bool) {
	n, ok := pb.NodeState_value["NS_"+strings.ToUpper(name)]
	return pb.NodeState(n), ok
}

// nodeID reads a node's id (Hadoop: NodeId.fromString).
func nodeID(text string) (records.NodeID, error) {
	parts := strings.Split(text, ":")
	if i := strings.LastIndexByte(text, ':'); strings.HasPrefix(text, "[") && i > 0 { // IPv6
		parts = []string{strings.Trim(text[:i], "[]"), text[i+1:]}
	}
	if len(parts) != 2 || parts[1] == "" {
		return records.NodeID{}, yarnrest.Illegal("Invalid NodeId [%s]. Expected host:port", text)
	}
	port, err := strconv.ParseInt(strings.TrimSpace(parts[1]), 10, 32)
	if err != nil {
		return records.NodeID{}, yarnrest.Illegal("Invalid port: %s", parts[1])
	}
	return records.NodeID{Host: strings.TrimSpace(parts[0]), Port: int32(port)}, nil
}

func (s *server) findNode(c *yarnrest.Call) (view.Node, error) {
	id, err := nodeID(c.Var("node"))
	if err != nil {
		return view.Node{}, err
	}
	n, ok := s.View.Node(id)
	if !ok {
		return n, s.absent(yarnrest.NotFound("nodeId, %s, is not found", c.Var("node")))
	}
	return n, nil
}

func (s *server) node(c *yarnrest.Call) (yarnrest.Reply, error) {
	n, err := s.findNode(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("node", yarnrest.Natural, s.nodeInfo(&n)), nil
}

type resourceOption struct {
	Resource          submission.Amount `yarn:"resource"`
	OverCommitTimeout int32             `yarn:"overCommitTimeout"`
}

// setNodeResource changes what a node offers. A stock ResourceManager lets any caller do that. With access control lists on,
// only administrators may do it here.
func (s *server) setNodeResource(c *yarnrest.Call) (yarnrest.Reply, error) {
	var option resourceOption
	if err := c.Decode(yarnrest.Target{Root: "resourceOption", Value: &option}); err != nil {
		return yarnrest.Reply{}, err
	}
	if err := s.mustAdminister(c); err != nil {
		return yarnrest.Reply{}, err
	}
	n, err := s.findNode(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	r, err := option.Resource.Of(s.Types)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := l.SetNodeResource(n.ID, r); err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return yarnrest.OK("resourceInfo", yarnrest.Natural, s.resource(r)), nil
}

// mustAdminister refuses callers who aren't administrators, if access control lists are on.
func (s *server) mustAdminister(c *yarnrest.Call) error {
	if s.Access.Enabled && !s.Access.Admin(caller(c)) {
		return yarnrest.Forbidden("Only admins can carry out this operation.")
	}
	return nil
}

// hostPort joins host and port.
func hostPort(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

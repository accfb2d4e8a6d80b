package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/internal/program"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

var rmadmin = verb{
	name: "rmadmin", title: "heddle rmadmin",
	short:   "Administer the ResourceManagers: leadership, nodes, labels, rereading the configuration",
	unknown: failed,
	options: rmadminOptions,
	run:     (*session).rmadmin,
}

func rmadminOptions() []option.Option {
	return []option.Option{
		{Name: "getServiceState", Arg: "Id", Help: "Shows whether a ResourceManager is active or on standby."},
		{Name: "getAllServiceState", Help: "Shows which ResourceManagers are active or on standby."},
		{Name: "transitionToActive", Arg: "Id", Optional: true, Help: "Makes a ResourceManager lead."},
		{Name: "transitionToStandby", Arg: "Id", Optional: true, Help: "Makes the leading ResourceManager hand over to another one."},
		{Name: "checkHealth", Arg: "Id", Help: "Exits with 0 if a ResourceManager is healthy."},
		{Name: "members", Help: "Lists the members of the group that replicates the ResourceManagers' state."},
		{Name: "removeMember", Arg: "Id", Help: "Removes a ResourceManager from the replicating group for good. Stop it first; it can return only with an empty state folder."},
		{Name: "forceLeader", Arg: "Id", Help: "Makes a ResourceManager lead without the others, with what it has, when no majority is left. Says what would be lost; --lose does it."},
		{Name: "lose", Help: "With -forceLeader: what it names may be lost."},
		{Name: "refreshQueues", Help: "Rereads the queues."},
		{Name: "refreshNodes", Help: "Rereads the lists of included and excluded nodes. With -g excluded nodes may finish their work."},
		{Name: "g", Long: "graceful", Arg: "Timeout", Optional: true, Help: "With -refreshNodes: how many seconds nodes have. -client or -server says who keeps the time. Without a number, or with -1, -client has no limit, and -server the configured one."},
		{Name: "client", Help: "With -refreshNodes -g: this command waits, then decommissions whatever is left."},
		{Name: "server", Help: "With -refreshNodes -g: the ResourceManager keeps the time."},
		{Name: "refreshNodesResources", Help: "Rereads the resources of nodes."},
		{Name: "refreshSuperUserGroupsConfiguration", Help: "Rereads which users may act for others."},
		{Name: "refreshUserToGroupsMappings", Help: "Clears the cache of users' groups."},
		{Name: "refreshAdminAcls", Help: "Rereads the list of administrators."},
		{Name: "refreshServiceAcl", Help: "Rereads the access lists of services."},
		{Name: "refreshClusterMaxPriority", Help: "Rereads the highest priority of applications."},
		{Name: "getGroups", Long: "getGroup", Arg: "Users", Values: option.Unlimited, Optional: true, Help: "Lists the groups of users, or of yourself."},
		{Name: "updateNodeResource", Arg: "Node MB VCores [Timeout]", Values: 4, Help: "Changes the resources of a node (host:port): memory in MB and vcores, or all as memory-mb=1024Mi,vcores=1. Timeout is how many seconds containers that no longer fit may run on."},
		{Name: "addToClusterNodeLabels", Arg: "Labels", Optional: true, Values: option.Unlimited, Help: `Adds node labels: "a,b(exclusive=false)".`},
		{Name: "removeFromClusterNodeLabels", Arg: "Labels", Optional: true, Values: option.Unlimited, Help: `Removes node labels: "a,b".`},
		{Name: "replaceLabelsOnNode", Arg: "Mappings", Optional: true, Values: option.Unlimited, Help: `Gives nodes labels: "node1[:port]=a node2=b".`},
		{Name: "failOnUnknownNodes", Help: "With -replaceLabelsOnNode: unknown nodes are an error."},
		{Name: "forceactive", Hidden: true},
		{Name: "forcemanual", Hidden: true},
		{Name: "directlyAccessNodeLabelStore", Hidden: true},
	}
}

// adminError prints the failure of an administrator's command, and returns the status -1 of yarn rmadmin.
func (s *session) adminError(name string, err error) error {
	var exit program.Exit
	if err == nil || errors.As(err, &exit) || s.Err() != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s: %s\n", name, message(err))
	return failed
}

func (s *session) rmadmin(l *option.Line) error {
	if l.Has("directlyAccessNodeLabelStore") {
		return errors.New("-directlyAccessNodeLabelStore: the labels are in the ResourceManagers' replicated state; leave this option out to ask a running one")
	}
	for _, name := range []string{"transitionToActive", "transitionToStandby"} {
		// yarn also accepts -transitionToActive --forceactive rm1.
		if l.Has(name) && l.Value(name) == "" && len(l.Args) == 1 {
			l.Set(name, l.Args[0])
			l.Args = nil
		}
	}
	commands := []struct {
		name string
		run  func(*option.Line) error
	}{
		{"getServiceState", s.serviceState},
		{"getAllServiceState", s.allServiceStates},
		{"transitionToActive", s.toActive},
		{"transitionToStandby", s.toStandby},
		{"checkHealth", s.checkHealth},
		{"members", s.members},
		{"removeMember", s.removeMember},
		{"forceLeader", func(l *option.Line) error { return forceLeader(s, l) }},
		{"refreshQueues", refresh(s, protocol.RefreshQueues)},
		{"refreshNodes", s.refreshNodes},
		{"refreshNodesResources", refresh(s, protocol.RefreshNodesResources)},
		{"refreshSuperUserGroupsConfiguration", refresh(s, protocol.RefreshSuperUserGroupsConfiguration)},
		{"refreshUserToGroupsMappings", refresh(s, protocol.RefreshUserToGroupsMappings)},
		{"refreshAdminAcls", refresh(s, protocol.RefreshAdminAcls)},
		{"refreshServiceAcl", refresh(s, protocol.RefreshServiceAcls)},
		{"refreshClusterMaxPriority", refresh(s, protocol.RefreshClusterMaxPriority)},
		{"getGroups", s.groups},
		{"updateNodeResource", s.updateNodeResource},
		{"addToClusterNodeLabels", s.addLabels},
		{"removeFromClusterNodeLabels", s.removeLabels},
		{"replaceLabelsOnNode", s.replaceLabels},
	}
	for _, c := range commands {
		if !l.Has(c.name) {
			continue
		}
		if len(l.Args) > 0 || strings.HasPrefix(c.name, "transitionTo") && l.Value(c.name) == "" {
			fmt.Fprintf(s.err, "%s: incorrect number of arguments\n", c.name)
			return s.usage()
		}
		return s.adminError(c.name, c.run(l))
	}
	if len(l.Args) > 0 {
		fmt.Fprintf(s.err, "%s: Unknown command\n", l.Args[0])
	}
	return s.usage()
}

// refresh makes the ResourceManager reread something.
func refresh[Req, Resp any](s *session, m protocol.Method[Req, Resp]) func(*option.Line) error {
	return func(*option.Line) error {
		c, err := s.cluster()
		if err != nil {
			return err
		}
		_, err = cluster.Admin(s, c, m, new(Req))
		return err
	}
}

func (s *session) groups(l *option.Line) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	users := l.Values("getGroups")
	if len(users) == 0 {
		users = []string{c.User()}
	}
	found := map[string][]string{}
	for _, u := range users {
		req := &pb.GetGroupsForUserRequest{}
		req.SetUser(u)
		resp, err := cluster.Admin(s, c, protocol.GetGroupsForUser, req)
		if err != nil {
			return err
		}
		found[u] = slices.Concat([]string{}, resp.GetGroups())
		if !s.json {
			s.print("%s :%s\n", u, strings.Join(append([]string{""}, resp.GetGroups()...), " "))
		}
	}
	if s.json {
		return s.printValue(found)
	}
	return nil
}

// decommissionPoll is the time between two questions whether nodes are still decommissioning.
const decommissionPoll = time.Second

func (s *session) refreshNodes(l *option.Line) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.RefreshNodesRequest{}
	if !l.Has("g") {
		_, err := cluster.Admin(s, c, protocol.RefreshNodes, req)
		return err
	}
	if l.Has("client") == l.Has("server") {
		fmt.Fprintln(s.err, "refreshNodes: say who keeps the time, -client or -server")
		return s.usage()
	}
	timeout := -1
	if text := l.Value("g"); text != "" {
		if timeout, err = strconv.Atoi(text); err != nil || timeout < -1 {
			return fmt.Errorf("timeout %q is not a number of seconds, nor -1", text)
		}
	}
	req.SetDecommissionType(pb.DecommissionType_DECOMMISSION_GRACEFUL)
	if l.Has("server") && timeout >= 0 {
		req.SetDecommissionTimeout(int32(timeout))
	}
	if _, err := cluster.Admin(s, c, protocol.RefreshNodes, req); err != nil || l.Has("server") {
		return err
	}
	return s.awaitDecommission(c, timeout)
}

// awaitDecommission waits until no node is decommissioning. After the timeout (in seconds; -1: none) it decommissions
// whatever is left.
func (s *session) awaitDecommission(c *cluster.Cluster, timeout int) error {
	began := s.now()
	for {
		resp, err := cluster.Admin(s, c, protocol.CheckForDecommissioningNodes, &pb.CheckForDecommissioningNodesRequest{})
		if err != nil {
			return err
		}
		waited := int(s.now().Sub(began) / time.Second)
		var names []string
		for _, n := range resp.GetDecommissioningNodes() {
			names = append(names, records.NodeIDFrom(n).String())
		}
		switch {
		case len(names) == 0:
			s.print("Graceful decommissioning completed in %d seconds.\n", waited)
			return nil
		case timeout >= 0 && waited >= timeout:
			s.print("Graceful decommissioning not completed in %d seconds, issuing forceful decommissioning command.\n", timeout)
			req := &pb.RefreshNodesRequest{}
			req.SetDecommissionType(pb.DecommissionType_DECOMMISSION_FORCEFUL)
			_, err := cluster.Admin(s, c, protocol.RefreshNodes, req)
			return err
		}
		s.print("Nodes '%s' are still decommissioning.\n", strings.Join(names, ","))
		select {
		case <-s.Done():
			return s.Err()
		case <-time.After(decommissionPoll):
		}
	}
}

func (s *session) updateNodeResource(l *option.Line) error {
	v := l.Values("updateNodeResource")
	if len(v) < 2 {
		fmt.Fprintln(s.err, "Number of parameters specified for updateNodeResource is wrong.")
		return s.usage()
	}
	id, err := records.ParseNodeID(v[0])
	if err != nil {
		return err
	}
	r, rest, err := s.nodeResource(v[1:])
	if err != nil {
		return err
	}
	timeout := int64(-1)
	if len(rest) > 0 {
		if timeout, err = strconv.ParseInt(rest[0], 10, 32); err != nil || timeout < -1 || len(rest) > 1 {
			return fmt.Errorf("invalid timeout specified : %s", strings.Join(rest, " "))
		}
	}
	option := &pb.ResourceOption{}
	option.SetResource(r)
	option.SetOverCommitTimeout(int32(timeout))
	m := &pb.NodeResourceMap{}
	m.SetNodeId(id.PB())
	m.SetResourceOption(option)
	req := &pb.UpdateNodeResourceRequest{}
	req.SetNodeResourceMap([]*pb.NodeResourceMap{m})
	c, err := s.cluster()
	if err != nil {
		return err
	}
	_, err = cluster.Admin(s, c, protocol.UpdateNodeResource, req)
	return err
}

// nodeResource reads resources in either form, and returns the remaining words.
func (s *session) nodeResource(v []string) (*pb.Resource, []string, error) {
	types, err := s.conf.ResourceTypes()
	if err != nil {
		return nil, nil, err
	}
	var r records.Resource
	if !strings.Contains(v[0], "=") {
		if len(v) < 2 {
			return nil, nil, errors.New("give the node's memory in MB and its vcores, or all resources as memory-mb=1024Mi,vcores=1")
		}
		for i := range 2 {
			n, err := strconv.ParseInt(v[i], 10, 64)
			if err != nil || n < 0 || i == records.VCores && n > 1<<31-1 {
				return nil, nil, fmt.Errorf("invalid resource value: (%s,%s) for updateNodeResource", v[0], v[1])
			}
			r[i] = n
		}
		return types.PB(r), v[2:], nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(v[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		i, ok := types.Index(name)
		if !ok {
			return nil, nil, fmt.Errorf("invalid resource type: %s. not allowed. The cluster has %s", name, types)
		}
		digits := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 {
			return nil, nil, fmt.Errorf("invalid resource value: %s. unable to extract unit and actual value", pair)
		}
		if unit := value[len(digits):]; unit != "" {
			if n, err = records.ConvertUnits(unit, types.At(i).Units, n); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", pair, err)
			}
		}
		r[i], seen[name] = n, true
	}
	for _, name := range []string{records.MemoryName, records.VCoresName} {
		if !seen[name] {
			return nil, nil, fmt.Errorf("%s is missing in %s", name, v[0])
		}
	}
	return types.PB(r), v[1:], nil
}

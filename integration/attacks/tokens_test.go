package attacks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func tampered(t token.Token) token.Token {
	t.Password = append(bytes.Clone(t.Password[:len(t.Password)-1]), t.Password[len(t.Password)-1]^1)
	return t
}

// forgeries are calls with tokens that nobody gave out, and with none.
func (x *target) forgeries() {
	m := x.unmanaged(hostile)
	box := m.container()
	node := records.NodeIDFrom(box.GetNodeId())
	good := m.Nodes[node]
	master := func(t token.Token) ipc.Invoker {
		return x.to(rm.MasterAddress, protocol.ApplicationMaster, ipc.Identity{Token: &t})
	}

	bad := tampered(m.Token)
	refused(x, "a token with another password", protocol.Allocate, master(bad), &pb.AllocateRequest{})
	id, err := token.ParseAMRM(m.Token.Identifier)
	if err != nil {
		x.t.Fatal(err)
	}
	id.Attempt.App.ID--
	stolen := m.Token
	stolen.Identifier = id.Encode()
	refused(x, "a token for another application", protocol.Allocate, master(stolen), &pb.AllocateRequest{})
	id, err = token.ParseAMRM(m.Token.Identifier)
	if err != nil {
		x.t.Fatal(err)
	}
	id.KeyID += 7
	early := m.Token
	early.Identifier = id.Encode()
	refused(x, "a token of a master key to come", protocol.Allocate, master(early), &pb.AllocateRequest{})
	refused(x, "an ApplicationMaster without a token", protocol.Allocate, x.to(rm.MasterAddress, protocol.ApplicationMaster, ipc.Identity{User: "root"}), &pb.AllocateRequest{})

	run := launch(box, nil, "id > "+x.Dir()+"/work/got-in")
	refused(x, "a node's token with another password", protocol.StartContainers, m.NodeWith(box, tampered(good)), run)
	nm, err := token.ParseNM(good.Identifier)
	if err != nil {
		x.t.Fatal(err)
	}
	nm.Submitter = "root"
	asRoot := good
	asRoot.Identifier = nm.Encode()
	refused(x, "a node's token for root", protocol.StartContainers, m.NodeWith(box, asRoot), run)
	refused(x, "no token at a node", protocol.StartContainers, x.client.Endpoint(node.String(), protocol.ContainerManagement, ipc.Identity{User: "root"}), run)

	// the right to speak to the node, and a container's token that is made up
	own, err := token.ParseContainer(box.GetContainerToken().GetIdentifier())
	if err != nil {
		x.t.Fatal(err)
	}
	own.SetAppSubmitter("root")
	raw, err := token.Encode(own)
	if err != nil {
		x.t.Fatal(err)
	}
	forged := launch(box, nil, "id > "+x.Dir()+"/work/got-in")
	start := forged.GetStartContainerRequest()[0]
	t := token.FromPB(box.GetContainerToken())
	t.Identifier = raw
	start.SetContainerToken(t.PB())
	resp, err := protocol.StartContainers.Call(x.t.Context(), m.Node(box), forged)
	if err == nil && len(resp.GetSucceededRequests()) > 0 {
		x.t.Error("a container's token for root got in")
	}
	if _, err := os.Stat(x.Dir() + "/work/got-in"); err == nil {
		x.t.Error("somebody's command was run")
	}
	expired := token.Delegation{Owner: "root", Renewer: "root", MaxMS: 1, KeyID: 1}
	d := token.Token{Kind: token.KindDelegation, Identifier: expired.Encode(), Password: []byte("0123456789012345678")}
	refused(x, "a delegation token that is made up", protocol.GetClusterMetrics, x.to(rm.ClientAddress, protocol.ApplicationClient, ipc.Identity{Token: &d}), &pb.GetClusterMetricsRequest{})
	refused(x, "a localizer that nobody started", protocol.LocalizerHeartbeat,
		x.client.Endpoint(x.Address("nm1", "yarn.nodemanager.localizer.address"), protocol.Localization, ipc.Identity{User: "root"}), &pb.LocalizerStatus{})
}

// deadAttempts are tokens of an application that has ended.
func (x *target) deadAttempts() {
	m := x.unmanaged(hostile)
	box := m.container()
	run := launch(box, nil, "id > "+x.Dir()+"/work/got-in")
	m.kill()
	await.Slowly(x.t, "its ApplicationMaster is refused", func() bool {
		_, err := protocol.Allocate.Call(x.t.Context(), m.RM, &pb.AllocateRequest{})
		return err != nil
	})
	await.Slowly(x.t, "its tokens start nothing", func() bool {
		resp, err := protocol.StartContainers.Call(x.t.Context(), m.Node(box), run)
		return err != nil || len(resp.GetSucceededRequests()) == 0
	})
}

// othersApplications tries what only an owner or an administrator may do.
func (x *target) othersApplications() {
	m := x.unmanaged(honest)
	to := x.as(hostile)
	kill := &pb.KillApplicationRequest{}
	kill.SetApplicationId(m.id.PB())
	refused(x, "a stranger who kills", protocol.ForceKillApplication, to, kill)
	move := &pb.MoveApplicationAcrossQueuesRequest{}
	move.SetApplicationId(m.id.PB())
	move.SetTargetQueue("default")
	refused(x, "a stranger who moves", protocol.MoveApplicationAcrossQueues, to, move)
	fail := &pb.FailApplicationAttemptRequest{}
	fail.SetApplicationAttemptId(m.Attempt.PB())
	refused(x, "a stranger who fails an attempt", protocol.FailApplicationAttempt, to, fail)
	admin := x.to(rm.AdminAddress, protocol.Administration, x.who(hostile))
	refused(x, "a stranger who refreshes queues", protocol.RefreshQueues, admin, &pb.RefreshQueuesRequest{})
	refused(x, "a stranger who refreshes nodes", protocol.RefreshNodes, admin, &pb.RefreshNodesRequest{})
	refused(x, "a stranger who makes himself administrator", protocol.RefreshAdminAcls, admin, &pb.RefreshAdminAclsRequest{})

	// an id that was given to one is no other's
	ctx := x.submission(honest)
	refused(x, "a stranger who submits with another's id", protocol.SubmitApplication, to, peer.Submission(ctx))
	must(x, protocol.SubmitApplication, x.as(honest), peer.Submission(ctx))
	report := &pb.GetApplicationReportRequest{}
	report.SetApplicationId(ctx.GetApplicationId())
	if got := must(x, protocol.GetApplicationReport, to, report).GetApplicationReport(); got.HasAmRmToken() && len(got.GetAmRmToken().GetIdentifier()) > 0 {
		x.t.Error("a stranger is given the token of another's ApplicationMaster")
	}
	if _, err := m.Allocate(&pb.AllocateRequest{}); err != nil {
		x.t.Errorf("the honest ApplicationMaster: %v", err)
	}
}

// forgedNodes pretend to be nodes, new and known ones.
func (x *target) forgedNodes() {
	to := x.to(rm.TrackerAddress, protocol.ResourceTracker, x.who("yarn"))
	register := func(id records.NodeID) {
		req := &pb.RegisterNodeManagerRequest{}
		req.SetNodeId(id.PB())
		req.SetHttpPort(8042)
		req.SetResource(records.ResourceTypes{}.PB(records.NewResource(1<<20, 1000)))
		req.SetNmVersion("3.4.2")
		resp, err := protocol.RegisterNodeManager.Call(x.t.Context(), to, req)
		if err == nil && (resp.GetNodeAction() == pb.NodeAction_NORMAL || resp.HasContainerTokenMasterKey() || resp.HasNmTokenMasterKey()) {
			x.t.Errorf("a stranger is taken for the node %v", id)
		}
	}
	register(records.NodeID{Host: "127.0.0.9", Port: 4711})
	nodes := must(x, protocol.GetClusterNodes, x.as(honest), &pb.GetClusterNodesRequest{}).GetNodeReports()
	for _, n := range nodes {
		id := records.NodeIDFrom(n.GetNodeId())
		register(id)
		health := &pb.NodeHealthStatus{}
		health.SetIsNodeHealthy(false)
		status := &pb.NodeStatus{}
		status.SetNodeId(id.PB())
		status.SetNodeHealthStatus(health)
		beat := &pb.NodeHeartbeatRequest{}
		beat.SetNodeStatus(status)
		if resp, err := protocol.NodeHeartbeat.Call(x.t.Context(), to, beat); err == nil && resp.GetNodeAction() == pb.NodeAction_NORMAL {
			x.t.Errorf("a stranger's heartbeat for %v is taken", id)
		}
		leave := &pb.UnRegisterNodeManagerRequest{}
		leave.SetNodeId(id.PB())
		refused(x, fmt.Sprintf("a stranger who unregisters %v", id), protocol.UnRegisterNodeManager, to, leave)
	}
}

// raftPort speaks to it as a member would that doesn't know the cluster's secret.
func (x *target) raftPort() {
	before := len(x.applications())
	for _, hello := range []string{
		"heddle-raft 1 daemons rm1\n", "heddle-raft 1 daemons rm2\n", "heddle-raft 2 daemons rm2\n", "heddle-raft 1 other rm1\n", strings.Repeat("x", 1<<20),
	} {
		c, err := net.Dial("tcp", x.Address(x.leader(), "heddle.raft.address"))
		if err != nil {
			x.t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(15 * time.Second))
		// a vote for rm2 in a term that beats all others, as raft's transport writes it
		vote := "\x01\x86\xa4Term\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\xa9Candidate\xc4\x03rm2\xacLastLogIndex\xcf\x7f\xff\xff\xff\xff\xff\xff\xff" +
			"\xabLastLogTerm\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\xb2LeadershipTransfer\xc3\xa9RPCHeader\x82\xafProtocolVersion\x03\xa2ID\xc4\x03rm2"
		_, _ = io.WriteString(c, hello+vote) // it may be closed before
		answer, _ := io.ReadAll(io.LimitReader(c, 1<<16))
		_ = c.Close()
		if bytes.Contains(answer, []byte("Granted\xc3")) || bytes.Contains(answer, []byte("Success\xc3")) {
			x.t.Errorf("the greeting %.30q gets a vote: %q", hello, answer)
		}
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := x.Leader(ctx, ""); err != nil {
		x.t.Errorf("nobody leads after strangers were at the raft port: %v", err)
	}
	if after := len(x.applications()); after < before {
		x.t.Errorf("%d applications of %d are left", after, before)
	}
}

package faults

import (
	"bytes"
	"context"
	"net"
	"testing"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// What clients are told is in Hadoop's own words, as recorded from it.
const (
	mismatched = "DIGEST-MD5: digest response format violation. Mismatched response."
	sasl       = "javax.security.sasl.SaslException"
)

func tampered(t token.Token) token.Token {
	t.Password = append(bytes.Clone(t.Password[:len(t.Password)-1]), t.Password[len(t.Password)-1]^1)
	return t
}

func TestTokens(t *testing.T) {
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{"heddle.am.client-tokens": "true"}})
	t.Run("ApplicationMaster", func(t *testing.T) { c.with(t).masterTokens() })
	t.Run("Node", func(t *testing.T) { c.with(t).nodeTokens() })
	t.Run("Container", func(t *testing.T) { c.with(t).containerTokens() })
	t.Run("Delegation", func(t *testing.T) { c.with(t).delegationTokens() })
	t.Run("Client", func(t *testing.T) { c.with(t).clientTokens() })
	if got := len(call(c, protocol.GetClusterNodes, c.as("alice"), &pb.GetClusterNodesRequest{}).GetNodeReports()); got != 1 {
		t.Errorf("%d nodes are left", got)
	}
}

// with is the cluster for a part of a test.
func (c *cluster) with(t *testing.T) *cluster {
	d := *c
	d.t = t
	return &d
}

func (c *cluster) masterTokens() {
	m := c.unmanaged("alice", nil)
	try := func(what string, who ipc.Identity, class, text string) {
		c.t.Helper()
		to := c.fresh().to("rm-scheduler", protocol.ApplicationMaster, who)
		refused(c, what, protocol.Allocate, to, &pb.AllocateRequest{}, class, text)
	}
	with := func(change func(*token.AMRM)) token.Token {
		id, err := token.ParseAMRM(m.Token.Identifier)
		if err != nil {
			c.t.Fatal(err)
		}
		change(&id)
		return token.Token{Kind: m.Token.Kind, Service: m.Token.Service, Identifier: id.Encode(), Password: m.Token.Password}
	}
	bad := tampered(m.Token)
	try("another password", ipc.Identity{Token: &bad}, sasl, mismatched)
	other := with(func(id *token.AMRM) { id.Attempt.Attempt++ })
	try("an attempt that doesn't exist", ipc.Identity{Token: &other}, ipc.InvalidToken, "not found in AMRMTokenSecretManager.")
	foreign := with(func(id *token.AMRM) { id.Attempt.App.ID += 1000 })
	try("an application that doesn't exist", ipc.Identity{Token: &foreign}, ipc.InvalidToken, "not found in AMRMTokenSecretManager.")
	old := with(func(id *token.AMRM) { id.KeyID++ })
	if onHeddle { // Hadoop's words for it differ from version to version
		try("a key that there isn't", ipc.Identity{Token: &old}, ipc.InvalidToken, "not found in AMRMTokenSecretManager.")
	}
	try("no token", ipc.Identity{User: "alice"}, ipc.AccessControlException, "SIMPLE authentication is not enabled.  Available:[TOKEN]")

	second := c.unmanaged("mallory", nil)
	mixed := with(func(*token.AMRM) {})
	mixed.Password = second.Token.Password
	try("the password of another application", ipc.Identity{Token: &mixed}, sasl, mismatched)
	second.kill("mallory", second.id)
	try("an application that was killed", ipc.Identity{Token: &second.Token}, ipc.InvalidToken,
		second.Attempt.String()+" not found in AMRMTokenSecretManager.")

	m.containers(1) // all of that has done nothing to the real one
	m.Finish()
	c.ended("alice", m.id)
	try("an application that has finished", ipc.Identity{Token: &m.Token}, ipc.InvalidToken,
		m.Attempt.String()+" not found in AMRMTokenSecretManager.")
}

func (c *cluster) nodeTokens() {
	m, other := c.unmanaged("alice", nil), c.unmanaged("bob", nil)
	box, theirs := m.containers(1)[0], other.containers(1)[0]
	node := records.NodeIDFrom(box.GetNodeId())
	good := m.Nodes[node]
	with := func(change func(*token.NM)) token.Token {
		id, err := token.ParseNM(good.Identifier)
		if err != nil {
			c.t.Fatal(err)
		}
		change(&id)
		return token.Token{Kind: good.Kind, Service: good.Service, Identifier: id.Encode(), Password: good.Password}
	}
	req := launch(tokenOf(box), "sleep 100")
	refused(c, "another password", protocol.StartContainers, m.NodeWith(box, tampered(good)), req, sasl, mismatched)
	refused(c, "another user", protocol.StartContainers, m.NodeWith(box, with(func(id *token.NM) { id.Submitter = "root" })), req, sasl, mismatched)
	refused(c, "another node", protocol.StartContainers, m.NodeWith(box, with(func(id *token.NM) { id.Node.Port++ })), req, ipc.InvalidToken,
		"Given NMToken for application : "+m.Attempt.String()+" is not valid for current node manager")
	refused(c, "a key that there isn't", protocol.StartContainers, m.NodeWith(box, with(func(id *token.NM) { id.KeyID++ })), req, ipc.InvalidToken,
		"Given NMToken for application : "+m.Attempt.String()+" seems to have been generated illegally.")
	none := m.fresh().client.Endpoint(node.String(), protocol.ContainerManagement, ipc.Identity{User: "alice"})
	refused(c, "no token", protocol.StartContainers, none, req, ipc.AccessControlException, "SIMPLE authentication is not enabled.  Available:[TOKEN]")

	// A good token of another application opens nothing: it neither starts, asks, stops, nor signals.
	resp := call(c, protocol.StartContainers, other.Node(theirs), req)
	if f := resp.GetFailedRequests(); len(f) != 1 || f[0].GetException().GetClassName() != ipc.YarnException ||
		!bytes.Contains([]byte(f[0].GetException().GetMessage()), []byte("Unauthorized request to start container.")) {
		c.t.Errorf("another application's container: %v", resp)
	}
	call(c, protocol.StartContainers, m.Node(box), req)
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId([]*pb.ContainerId{box.GetId()})
	if f := call(c, protocol.StopContainers, other.Node(theirs), stop).GetFailedRequests(); len(f) != 1 {
		c.t.Error("another application has stopped a container")
	}
	ask := &pb.GetContainerStatusesRequest{}
	ask.SetContainerId([]*pb.ContainerId{box.GetId()})
	if f := call(c, protocol.GetContainerStatuses, other.Node(theirs), ask).GetFailedRequests(); len(f) != 1 {
		c.t.Error("another application has asked for a container's status")
	}
	if st := call(c, protocol.GetContainerStatuses, m.Node(box), ask).GetStatus(); len(st) != 1 || st[0].GetState() != pb.ContainerState_C_RUNNING {
		c.t.Errorf("after all of that: %v", st)
	}
	m.kill("alice", m.id)
	other.kill("bob", other.id)
}

func (c *cluster) containerTokens() {
	m, other := c.unmanaged("alice", nil), c.unmanaged("bob", nil)
	box, theirs := m.containers(1)[0], other.containers(1)[0]
	good := tokenOf(box)
	with := func(change func(*pb.ContainerTokenIdentifier)) token.Token {
		id, err := token.ParseContainer(good.Identifier)
		if err != nil {
			c.t.Fatal(err)
		}
		change(id)
		raw, err := token.Encode(id)
		if err != nil {
			c.t.Fatal(err)
		}
		return token.Token{Kind: good.Kind, Service: good.Service, Identifier: raw, Password: good.Password}
	}
	invalid := "Invalid container token used for starting container on : " + records.NodeIDFrom(box.GetNodeId()).String()
	for what, tok := range map[string]token.Token{
		"another password":    tampered(good),
		"root's":              with(func(id *pb.ContainerTokenIdentifier) { id.SetAppSubmitter("root") }),
		"more memory":         with(func(id *pb.ContainerTokenIdentifier) { id.GetResource().SetMemory(1 << 40) }),
		"a later end":         with(func(id *pb.ContainerTokenIdentifier) { id.SetExpiryTimeStamp(1 << 50) }),
		"another container":   with(func(id *pb.ContainerTokenIdentifier) { id.GetContainerId().SetId(999) }),
		"somebody's password": {Kind: good.Kind, Service: good.Service, Identifier: good.Identifier, Password: tokenOf(theirs).Password},
	} {
		refused(c, what, protocol.StartContainers, m.Node(box), launch(tok, "true"), ipc.InvalidToken, invalid)
	}
	refused(c, "a key that there isn't", protocol.StartContainers, m.Node(box),
		launch(with(func(id *pb.ContainerTokenIdentifier) { id.SetMasterKeyId(id.GetMasterKeyId() + 1) }), "true"), ipc.InvalidToken,
		"seems to have an illegally generated token.")
	if onHeddle { // Hadoop answers with a NullPointerException
		garbage := token.Token{Kind: good.Kind, Service: good.Service, Identifier: []byte("\xff\xff\xff"), Password: good.Password}
		refused(c, "garbage", protocol.StartContainers, m.Node(box), launch(garbage, "true"), ipc.InvalidToken, invalid)
		refused(c, "nothing", protocol.StartContainers, m.Node(box), launch(token.Token{Kind: good.Kind}, "true"), ipc.InvalidToken, invalid)
	}
	if resp := call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(theirs), "true")); len(resp.GetFailedRequests()) != 1 {
		c.t.Errorf("with a container token of another application: %v", resp)
	}
	id := records.ContainerIDFrom(box.GetId())
	if resp := call(c, protocol.StartContainers, m.Node(box), launch(good, "exit 7")); len(resp.GetSucceededRequests()) != 1 {
		c.t.Fatalf("with the good token: %v", resp)
	}
	if st := m.Ended(id); st.GetExitStatus() != 7 {
		c.t.Errorf("ended with %v", st)
	}
	resp := call(c, protocol.StartContainers, m.Node(box), launch(good, "true"))
	if f := resp.GetFailedRequests(); len(f) != 1 || !bytes.Contains([]byte(f[0].GetException().GetMessage()), []byte("Attempt to relaunch the same container")) {
		c.t.Errorf("with a token that was used: %v", resp)
	}
	m.kill("alice", m.id)
	other.kill("bob", other.id)
}

func (c *cluster) delegationTokens() {
	get := &pb.GetDelegationTokenRequest{}
	get.SetRenewer("oozie")
	tok := token.FromPB(call(c, protocol.GetDelegationToken, c.as("alice"), get).GetToken())
	renew, cancel := &pb.RenewDelegationTokenRequest{}, &pb.CancelDelegationTokenRequest{}
	renew.SetToken(tok.PB())
	cancel.SetToken(tok.PB())
	ask := &pb.GetNewApplicationRequest{}

	refused(c, "another password", protocol.GetNewApplication, c.fresh().bearing(tampered(tok)), ask, sasl, mismatched)
	id, err := token.ParseDelegation(tok.Identifier)
	if err != nil {
		c.t.Fatal(err)
	}
	id.Owner = "root"
	forged := token.Token{Kind: tok.Kind, Identifier: id.Encode(), Password: tok.Password}
	if onHeddle { // to Hadoop the number is all of a token, and it finds another one's password under it
		refused(c, "another owner", protocol.GetNewApplication, c.fresh().bearing(forged), ask, ipc.InvalidToken, "can't be found in cache")
	}
	id.Sequence += 1000
	forged.Identifier = id.Encode()
	refused(c, "a number that there isn't", protocol.GetNewApplication, c.fresh().bearing(forged), ask, ipc.InvalidToken, "can't be found in cache")
	// The ResourceManager wraps what its secret manager refuses (RPCUtil).
	refused(c, "renewed by its owner", protocol.RenewDelegationToken, c.as("alice"), renew, ipc.YarnException,
		"AccessControlException: alice tries to renew a token (")
	refused(c, "cancelled by a stranger", protocol.CancelDelegationToken, c.as("mallory"), cancel, ipc.YarnException,
		"AccessControlException: mallory is not authorized to cancel the token")
	bad := &pb.RenewDelegationTokenRequest{}
	bad.SetToken(tampered(tok).PB())
	refused(c, "renewed with another password", protocol.RenewDelegationToken, c.as("oozie"), bad, ipc.YarnException,
		"is trying to renew a token (")
	call(c, protocol.RenewDelegationToken, c.as("oozie"), renew)
	call(c, protocol.GetNewApplication, c.fresh().bearing(tok), ask)
	call(c, protocol.CancelDelegationToken, c.as("oozie"), cancel)
	refused(c, "a cancelled one", protocol.GetNewApplication, c.fresh().bearing(tok), ask, ipc.InvalidToken, "can't be found in cache")
	refused(c, "renewing a cancelled one", protocol.RenewDelegationToken, c.as("oozie"), renew, ipc.YarnException,
		"InvalidToken: Renewal request for unknown token")

	// An application's end takes the token in its credentials along.
	if onHeddle {
		tok = token.FromPB(call(c, protocol.GetDelegationToken, c.as("alice"), get).GetToken())
		var credentials token.Credentials
		credentials.SetToken("rm", tok)
		raw, err := credentials.Encode(token.FormatWritable)
		if err != nil {
			c.t.Fatal(err)
		}
		m := c.unmanaged("alice", func(ctx *pb.ApplicationSubmissionContext) { ctx.GetAmContainerSpec().SetTokens(raw) })
		call(c, protocol.GetNewApplication, c.fresh().bearing(tok), ask)
		m.Finish()
		c.ended("alice", m.id)
		refused(c, "that of an application that has ended", protocol.GetNewApplication, c.fresh().bearing(tok), ask, ipc.InvalidToken, "can't be found in cache")
	}
}

// An ApplicationMaster that serves its clients by the tokens that they have of the ResourceManager.
func (c *cluster) clientTokens() {
	if !onHeddle {
		c.t.Skip("Hadoop hands these tokens out on secure clusters only")
	}
	m, other := c.unmanaged("alice", nil), c.unmanaged("bob", nil)
	server, err := ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: client.NewClientSecrets(m.Attempt, m.Registration.GetClientToAmTokenMasterKey())})
	if err != nil {
		c.t.Fatal(err)
	}
	callers := make(chan string, 10)
	protocol.GetNewApplication.Serve(server, func(ctx context.Context, _ *pb.GetNewApplicationRequest) (*pb.GetNewApplicationResponse, error) {
		callers <- ipc.CallFrom(ctx).User
		return &pb.GetNewApplicationResponse{}, nil
	})
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		c.t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	to := func(t token.Token) ipc.Invoker {
		return c.fresh().client.Endpoint(l.Addr().String(), protocol.ApplicationClient, ipc.Identity{Token: &t})
	}
	ask := &pb.GetNewApplicationRequest{}
	good := token.FromPB(c.report("carol", m.id).GetClientToAmToken())
	call(c, protocol.GetNewApplication, to(good), ask)
	if who := <-callers; who != "carol" {
		c.t.Errorf("called by %q", who)
	}
	refused(c, "another password", protocol.GetNewApplication, to(tampered(good)), ask, sasl, mismatched)
	posing := good
	posing.Identifier = token.ClientToAM{Attempt: m.Attempt, Client: "alice"}.Encode()
	refused(c, "another user", protocol.GetNewApplication, to(posing), ask, sasl, mismatched)
	theirs := token.FromPB(c.report("carol", other.id).GetClientToAmToken())
	refused(c, "another application", protocol.GetNewApplication, to(theirs), ask, ipc.InvalidToken, "Illegal client-token!")
	if bytes.Equal(other.Registration.GetClientToAmTokenMasterKey(), m.Registration.GetClientToAmTokenMasterKey()) {
		c.t.Error("two applications have the same key")
	}
	m.kill("alice", m.id)
	if c.report("carol", m.id).HasClientToAmToken() {
		c.t.Error("there is a token for an application that has ended")
	}
	other.kill("bob", other.id)
}

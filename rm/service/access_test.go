package service

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/rm/access"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/acl"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// house is a ResourceManager whose access control lists count, with everybody who may call it:
//
//	owner        alice, who may submit to root.open; app is hers
//	viewer       carol, whom alice lets see app
//	modifier     mallory, whom alice lets change app
//	queue-admin  bob, who administers root.open
//	other        eve, who may submit to root.other; app2 is hers
//	admin        administers the cluster
//	runner       yarn, who runs the ResourceManager
//	renewer      rene, whom alice's delegation token names
//	nobody       says no name
//	delegate     has alice's delegation token
//	am           has the token of app's attempt
//	other-am     has the token of app2's
//	former-am    has a token of an attempt of app that isn't there
//	forger       names app's attempt, and doesn't know the password
//	node         has proved to be n1, which is registered
//	other-node   has proved to be n2
//	stock-node   a NodeManager that can't prove anything
type house struct {
	*cluster
	client     *ipc.Client
	app, app2  records.ApplicationID
	delegation token.Token
	registered bool // both ApplicationMasters
}

// patience takes the place of limits of client and server. A connection that is given up in the meantime looks like a refusal, and a process
// may be stopped for minutes. What hangs is ended by the limit of go test.
const patience = 24 * time.Hour

// proof is the key by which nodes prove who they are.
var proof = []byte("the cluster's secret, 32 bytes..")

var (
	n1 = records.NodeID{Host: "n1", Port: 45454}
	n2 = records.NodeID{Host: "n2", Port: 45454}
)

func (h *house) attempt() records.AttemptID { return records.AttemptID{App: h.app, Attempt: 1} }

func (h *house) container() records.ContainerID {
	return records.ContainerID{Attempt: h.attempt(), ID: 1}
}

// open builds a house, whose node registers at a port of the kind nodes. It is closed with the test.
func open(t *testing.T, lists bool, nodes func(*Service) Port) *house {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "open,other", "root.acl_submit_applications": " ", "root.acl_administer_queue": " ",
		"root.open.capacity": "60", "root.open.acl_submit_applications": "alice", "root.open.acl_administer_queue": "bob",
		"root.other.capacity": "40", "root.other.acl_submit_applications": "eve",
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{cluster: openClusterWith(t, &access.Checker{
		Enabled: lists, Admins: acl.Parse("admin"), Self: "yarn", Queues: queue.NewLive(tree),
	})}
	h.ha = true
	h.client = ipc.NewClient(ipc.ClientConfig{ConnectTimeout: patience, CallTimeout: -1, WriteTimeout: patience})
	t.Cleanup(h.client.Close)
	ctx, cancel := context.WithCancel(context.Background())
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- h.lead.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() { cancel(); <-over })
	<-ready
	h.must(nodes(h.svc), "node", protocol.RegisterNodeManager.Descriptor(), registration())
	h.must(nodes(h.svc), "node", protocol.NodeHeartbeat.Descriptor(), beat(0, ""))
	h.app = h.submit("owner", "open", "sleep")
	h.app2 = h.submit("other", "other", "sleep")
	h.delegation, err = h.svc.NewDelegationToken("alice", "", "rene")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// submit submits an application whose lists admit carol and mallory, and waits until its ApplicationMaster was launched.
func (h *house) submit(who, queue, name string) records.ApplicationID {
	h.t.Helper()
	resp := h.must(h.svc.Clients(), who, protocol.GetNewApplication.Descriptor(), &pb.GetNewApplicationRequest{})
	id := records.ApplicationIDFrom(resp.(*pb.GetNewApplicationResponse).GetApplicationId())
	req := submission(id, name)
	ctx := req.GetApplicationSubmissionContext()
	ctx.SetQueue(queue)
	var lists []*pb.ApplicationACLMap
	for what, user := range map[pb.ApplicationAccessType]string{
		pb.ApplicationAccessType_APPACCESS_VIEW_APP: "carol", pb.ApplicationAccessType_APPACCESS_MODIFY_APP: "mallory",
	} {
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(what)
		m.SetAcl(user)
		lists = append(lists, m)
	}
	ctx.GetAmContainerSpec().SetApplication_ACLs(lists)
	h.must(h.svc.Clients(), who, protocol.SubmitApplication.Descriptor(), req)
	await.Until(h.t, "the ApplicationMaster's launch", func() (launched bool) {
		h.Read(func(s *ledger.State) {
			a := s.Apps[id].Current()
			launched = a != nil && a.State == ledger.AttemptLaunched
		})
		return launched
	})
	return id
}

var everybody = []string{
	"owner", "viewer", "modifier", "queue-admin", "other", "admin", "runner", "renewer", "nobody", "delegate",
	"am", "other-am", "former-am", "forger", "node", "other-node", "stock-node",
}

// identity is what somebody calls with.
func (h *house) identity(who string) ipc.Identity {
	amrm := func(app records.ApplicationID, attempt int32) ipc.Identity {
		t := h.svc.amrmToken(h.lead, records.AttemptID{App: app, Attempt: attempt})
		return ipc.Identity{User: "alice", Token: &t}
	}
	node := func(id records.NodeID) ipc.Identity {
		t := token.Node(proof, id)
		return ipc.Identity{User: "yarn-node", Token: &t}
	}
	switch who {
	case "owner":
		return ipc.Identity{User: "alice"}
	case "viewer":
		return ipc.Identity{User: "carol"}
	case "modifier":
		return ipc.Identity{User: "mallory"}
	case "queue-admin":
		return ipc.Identity{User: "bob"}
	case "other":
		return ipc.Identity{User: "eve"}
	case "admin":
		return ipc.Identity{User: "admin"}
	case "runner":
		return ipc.Identity{User: "yarn"}
	case "renewer":
		return ipc.Identity{User: "rene"}
	case "nobody":
		return ipc.Identity{}
	case "delegate":
		return ipc.Identity{User: "dave", Token: &h.delegation}
	case "am":
		return amrm(h.app, 1)
	case "other-am":
		return amrm(h.app2, 1)
	case "former-am":
		return amrm(h.app, 7)
	case "forger":
		id := amrm(h.app, 1)
		id.Token.Password = []byte("guessed")
		return id
	case "node":
		return node(n1)
	case "other-node":
		return node(n2)
	case "stock-node":
		return ipc.Identity{User: "yarn-node"}
	}
	h.t.Fatalf("nobody is called %q", who)
	return ipc.Identity{}
}

// call has somebody call a method at a port.
func (h *house) call(p Port, who string, m protocol.Descriptor, req proto.Message) (proto.Message, error) {
	h.t.Helper()
	resp := m.NewResponse()
	return resp, h.client.Endpoint(h.listen(p), m.Protocol, h.identity(who)).Invoke(h.t.Context(), m.Method, req, resp)
}

// listen opens a port, and returns its address.
func (h *house) listen(p Port) string {
	h.t.Helper()
	c := &p.Config
	c.HandshakeTimeout, c.IdleTimeout, c.ReadTimeout, c.WriteTimeout = -1, -1, patience, patience
	server, err := ipc.NewServer(p.Config)
	if err != nil {
		h.t.Fatal(err)
	}
	p.Serve(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- server.Serve(l) }()
	h.t.Cleanup(func() {
		server.Close()
		<-over
	})
	return l.Addr().String()
}

func (h *house) must(p Port, who string, m protocol.Descriptor, req proto.Message) proto.Message {
	h.t.Helper()
	resp, err := h.call(p, who, m, req)
	if err != nil {
		h.t.Fatalf("%s of %s: %v", m.Name, who, err)
	}
	return resp
}

// outcome is what came of a call, in the words of the table: ok, another answer, or an exception with the one that it wraps.
func outcome(resp proto.Message, err error) string {
	var refused *ipc.RemoteError
	var closed *ipc.ConnError
	var unproven *ipc.AuthError
	switch {
	case errors.As(err, &closed), errors.As(err, &unproven), errors.As(err, &refused) && refused.Method == "":
		return notLetIn
	case errors.As(err, &refused):
		out := refused.Class[strings.LastIndexByte(refused.Class, '.')+1:]
		if wrapped, _, ok := strings.Cut(refused.Message(), ": "); ok && strings.HasSuffix(wrapped, "Exception") {
			out += " of " + wrapped
		}
		return out
	case err != nil:
		return err.Error()
	}
	switch r := resp.(type) {
	case *pb.GetApplicationReportResponse:
		return seen(r.GetApplicationReport())
	case *pb.GetApplicationsResponse:
		for _, a := range r.GetApplications() {
			if a.GetUser() == "alice" {
				return seen(a)
			}
		}
		return "not listed"
	case *pb.RegisterNodeManagerResponse:
		if r.GetNodeAction() != pb.NodeAction_NORMAL {
			return "told to " + r.GetNodeAction().String()
		}
	case *pb.NodeHeartbeatResponse:
		if r.GetNodeAction() != pb.NodeAction_NORMAL {
			return "told to " + r.GetNodeAction().String()
		}
	}
	return "ok"
}

// seen tells whether a report shows the details of an application, or none.
func seen(r *pb.ApplicationReport) string {
	if r.GetDiagnostics() == "N/A" && r.GetHost() == "N/A" {
		return "without details"
	}
	return "ok"
}

// row is a method, by the name of its protocol and its own, and what comes of it for whom.
type row struct {
	name string
	want map[string]string // by caller
}

// readTable reads a table: a line for a port or a method, and under it, indented, a line for each outcome: outcome, colon, callers.
func readTable(t *testing.T, file string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			rows = append(rows, row{line, map[string]string{}})
		default:
			what, callers, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok || len(rows) == 0 {
				t.Fatalf("%s:%d: no outcome with callers under a method: %q", file, n+1, line)
			}
			for _, who := range strings.Fields(callers) {
				want := rows[len(rows)-1].want
				if want[who] != "" || !slices.Contains(everybody, who) {
					t.Fatalf("%s:%d: %s occurs twice, or is nobody", file, n+1, who)
				}
				want[who] = what
			}
		}
	}
	return rows
}

// String writes a row as the table has it.
func (r row) String() string {
	lines := map[string][]string{}
	var order []string
	for _, who := range everybody {
		if what := r.want[who]; what != "" {
			if lines[what] == nil {
				order = append(order, what)
			}
			lines[what] = append(lines[what], who)
		}
	}
	out := r.name + "\n"
	for _, what := range order {
		out += "    " + what + ": " + strings.Join(lines[what], " ") + "\n"
	}
	return out
}

// changesNothing reports whether a method only asks.
func changesNothing(name string) bool {
	for _, prefix := range []string{"get", "list", "check", "monitor"} {
		if strings.HasPrefix(name, prefix) {
			return name != "getNewApplication" && name != "getDelegationToken"
		}
	}
	return false
}

// notLetIn is the outcome for who can't prove to a port who he is, whatever method he calls.
const notLetIn = "not let in"

// tryPort finds out whom a port lets in.
func (s served) tryPort(t *testing.T, want row) row {
	m := s.methods()[0]
	got := row{want.name, map[string]string{}}
	h := open(t, true, s.nodes())
	addr := h.listen(s.port(h.svc))
	outcomes := make([]string, len(everybody))
	var calls sync.WaitGroup
	for i, who := range everybody { // at the same time, as a server lingers over connections that it closes
		identity := h.identity(who)
		calls.Go(func() {
			resp := m.NewResponse()
			outcomes[i] = outcome(resp, h.client.Endpoint(addr, m.Protocol, identity).Invoke(t.Context(), m.Method, m.NewRequest(), resp))
		})
	}
	calls.Wait()
	for i, who := range everybody {
		got.want[who] = "let in"
		if outcomes[i] == notLetIn {
			got.want[who] = notLetIn
		}
	}
	return got
}

// try finds out what comes of a method for all that a port lets in. Who is expected to be let through gets a house of his own. For the others there is
// one, in which nothing may change.
func (s served) try(t *testing.T, lists bool, callers []string, m protocol.Descriptor, want row) row {
	got := row{want.name, map[string]string{}}
	var shared *house
	for _, who := range callers {
		through := !changesNothing(m.Name) && want.want[who] == "ok"
		h := shared
		if through || h == nil {
			h = open(t, lists, s.nodes())
		}
		req := m.NewRequest()
		if request := requests[m.Name]; request != nil {
			req = request(h)
		}
		var before []byte
		if !through {
			shared = h
			before = h.snapshot()
		}
		got.want[who] = outcome(h.call(s.port(h.svc), who, m, req))
		if !through && !bytes.Equal(before, h.snapshot()) {
			t.Errorf("%s: %s, who is not let through, has changed something", want.name, who)
		}
	}
	return got
}

func (h *house) snapshot() []byte {
	var b bytes.Buffer
	h.Read(func(s *ledger.State) {
		if err := s.WriteSnapshot(&b); err != nil {
			h.t.Fatal(err)
		}
	})
	return b.Bytes()
}

// served is a protocol of a ResourceManager at a port, under the name that it has in the table.
type served struct {
	protocol ipc.Protocol
	name     string
	port     func(*Service) Port
}

// nodes is the kind of port at which nodes register in a house of this row's.
func (s served) nodes() func(*Service) Port {
	if s.protocol == protocol.ResourceTracker {
		return s.port
	}
	return func(s *Service) Port { return s.Nodes(proof, false) }
}

func (s served) methods() []protocol.Descriptor {
	return slices.DeleteFunc(protocol.All(), func(m protocol.Descriptor) bool { return m.Protocol != s.protocol })
}

var allServed = []served{
	{protocol.ApplicationClient, "client", (*Service).Clients},
	{protocol.ApplicationMaster, "master", (*Service).Masters},
	{protocol.ResourceTracker, "node", func(s *Service) Port { return s.Nodes(proof, false) }},
	{protocol.ResourceTracker, "node-open", func(s *Service) Port { return s.Nodes(proof, true) }},
	{protocol.ResourceTracker, "node-without-secret", func(s *Service) Port { return s.Nodes(nil, true) }},
	{protocol.Administration, "admin", (*Service).Admins},
	{protocol.HAService, "ha", (*Service).Admins},
	{protocol.LeaderControl, "leader", (*Service).Admins},
}

// Every method of every protocol of the ResourceManager has a row in the table, and lets through whom that says, and nobody else. Who
// is refused has changed nothing.
func TestWhoMayCallWhat(t *testing.T) { testTable(t, "testdata/access.txt", true) }

// Without access control lists everybody may do with applications what he likes, as in YARN, and still not administer the cluster.
func TestWhoMayCallWhatWithoutLists(t *testing.T) { testTable(t, "testdata/access-off.txt", false) }

func testTable(t *testing.T, file string, lists bool) {
	rows := map[string]row{}
	for _, r := range readTable(t, file) {
		if _, twice := rows[r.name]; twice {
			t.Errorf("%s has two rows for %s", file, r.name)
		}
		rows[r.name] = r
	}
	ports := map[string]row{}
	for _, r := range readTable(t, "testdata/access.txt") {
		ports[r.name] = r
	}
	check := func(name string, try func(t *testing.T, want row) row) {
		want, ok := rows[name]
		if delete(rows, name); !ok {
			want = row{name, nil}
		}
		t.Run(strings.ReplaceAll(name, " ", "/"), func(t *testing.T) {
			t.Parallel()
			if got := try(t, want); !maps.Equal(got.want, want.want) {
				t.Errorf("%s has no such row; what happened is\n%s", file, got)
			}
		})
	}
	for _, s := range allServed {
		if lists { // which don't matter to whom a port lets in
			check(s.name, s.tryPort)
		}
		port := ports[s.name]
		callers := slices.DeleteFunc(slices.Clone(everybody), func(who string) bool { return port.want[who] == notLetIn })
		for _, m := range s.methods() {
			check(s.name+" "+m.Name, func(t *testing.T, want row) row {
				return s.try(t, lists, callers, m, want)
			})
		}
	}
	for name := range rows {
		t.Errorf("%s has a row for %q, which nobody serves", file, name)
	}
}

// requests are what everybody asks of methods whose empty request would say nothing: mostly about app, its container and the node n1.
var requests = map[string]func(*house) proto.Message{
	"submitApplication": func(h *house) proto.Message {
		id, _, err := h.lead.NewApplication("owner") // the ledger is of a version that doesn't record to whom
		if err != nil {
			h.t.Fatal(err)
		}
		req := submission(id, "another")
		req.GetApplicationSubmissionContext().SetQueue("open")
		return req
	},
	"getApplicationReport": func(h *house) proto.Message {
		return pb.GetApplicationReportRequest_builder{ApplicationId: h.app.PB()}.Build()
	},
	"forceKillApplication": func(h *house) proto.Message {
		return pb.KillApplicationRequest_builder{ApplicationId: h.app.PB()}.Build()
	},
	"failApplicationAttempt": func(h *house) proto.Message {
		return pb.FailApplicationAttemptRequest_builder{ApplicationAttemptId: h.attempt().PB()}.Build()
	},
	"moveApplicationAcrossQueues": func(h *house) proto.Message {
		return pb.MoveApplicationAcrossQueuesRequest_builder{ApplicationId: h.app.PB(), TargetQueue: proto.String("open")}.Build()
	},
	"getApplicationAttempts": func(h *house) proto.Message {
		return pb.GetApplicationAttemptsRequest_builder{ApplicationId: h.app.PB()}.Build()
	},
	"getApplicationAttemptReport": func(h *house) proto.Message {
		return pb.GetApplicationAttemptReportRequest_builder{ApplicationAttemptId: h.attempt().PB()}.Build()
	},
	"getContainers": func(h *house) proto.Message {
		return pb.GetContainersRequest_builder{ApplicationAttemptId: h.attempt().PB()}.Build()
	},
	"getContainerReport": func(h *house) proto.Message {
		return pb.GetContainerReportRequest_builder{ContainerId: h.container().PB()}.Build()
	},
	"signalToContainer": func(h *house) proto.Message {
		return pb.SignalContainerRequest_builder{
			ContainerId: h.container().PB(), Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum(),
		}.Build()
	},
	"updateApplicationPriority": func(h *house) proto.Message {
		return pb.UpdateApplicationPriorityRequest_builder{ApplicationId: h.app.PB(), ApplicationPriority: priority(0)}.Build()
	},
	"updateApplicationTimeouts": func(h *house) proto.Message {
		at := view.FormatTime(time.Now().Add(time.Hour))
		to := pb.ApplicationUpdateTimeoutMap_builder{
			ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String(at),
		}.Build()
		return pb.UpdateApplicationTimeoutsRequest_builder{
			ApplicationId: h.app.PB(), ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{to},
		}.Build()
	},
	"getDelegationToken": func(*house) proto.Message {
		return pb.GetDelegationTokenRequest_builder{Renewer: proto.String("rene")}.Build()
	},
	"renewDelegationToken": func(h *house) proto.Message {
		return pb.RenewDelegationTokenRequest_builder{Token: h.delegation.PB()}.Build()
	},
	"cancelDelegationToken": func(h *house) proto.Message {
		return pb.CancelDelegationTokenRequest_builder{Token: h.delegation.PB()}.Build()
	},
	"getQueueInfo": func(*house) proto.Message {
		return pb.GetQueueInfoRequest_builder{QueueName: proto.String("open"), IncludeApplications: proto.Bool(true)}.Build()
	},
	"allocate":                func(h *house) proto.Message { h.register(); return asking(0, 1, "") },
	"finishApplicationMaster": func(h *house) proto.Message { h.register(); return farewell() },
	"getResourceProfile": func(*house) proto.Message {
		return pb.GetResourceProfileRequest_builder{Profile: proto.String("large")}.Build()
	},
	"transitionToActive":   func(*house) proto.Message { return pb.TransitionToActiveRequest_builder{ReqInfo: byUser()}.Build() },
	"transitionToStandby":  func(*house) proto.Message { return pb.TransitionToStandbyRequest_builder{ReqInfo: byUser()}.Build() },
	"transitionToObserver": func(*house) proto.Message { return pb.TransitionToObserverRequest_builder{ReqInfo: byUser()}.Build() },
	"registerNodeManager":  func(*house) proto.Message { return registration() },
	"nodeHeartbeat":        func(*house) proto.Message { return beat(1, "") },
	"unRegisterNodeManager": func(*house) proto.Message {
		return pb.UnRegisterNodeManagerRequest_builder{NodeId: n1.PB()}.Build()
	},
	"updateNodeResource": func(*house) proto.Message {
		option := pb.ResourceOption_builder{Resource: records.ResourceTypes{}.PB(records.NewResource(4096, 4))}.Build()
		m := pb.NodeResourceMap_builder{NodeId: n1.PB(), ResourceOption: option}.Build()
		return pb.UpdateNodeResourceRequest_builder{NodeResourceMap: []*pb.NodeResourceMap{m}}.Build()
	},
	"refreshNodes": func(*house) proto.Message {
		return pb.RefreshNodesRequest_builder{DecommissionType: pb.DecommissionType_DECOMMISSION_NORMAL.Enum()}.Build()
	},
	"getGroupsForUser": func(*house) proto.Message {
		return pb.GetGroupsForUserRequest_builder{User: proto.String("alice")}.Build()
	},
	"saveFederationQueuePolicy": func(*house) proto.Message {
		w := pb.FederationQueueWeight_builder{RouterWeight: proto.String("a:1"), AmrmWeight: proto.String("a:1"), HeadRoomAlpha: proto.String("1")}.Build()
		return pb.SaveFederationQueuePolicyRequest_builder{
			Queue: proto.String("open"), FederationQueueWeight: w, PolicyManagerClassName: proto.String("c"),
		}.Build()
	},
	"forceLeader":  func(*house) proto.Message { return pb.ForceLeaderRequest_builder{}.Build() },
	"removeMember": func(*house) proto.Message { return pb.RemoveMemberRequest_builder{Id: proto.String("rm2")}.Build() },
}

// register registers both ApplicationMasters, if they aren't.
func (h *house) register() {
	h.t.Helper()
	if h.registered {
		return
	}
	h.registered = true
	for _, who := range []string{"am", "other-am"} {
		h.must(h.svc.Masters(), who, protocol.RegisterApplicationMaster.Descriptor(), &pb.RegisterApplicationMasterRequest{})
	}
}

func farewell() *pb.FinishApplicationMasterRequest {
	return pb.FinishApplicationMasterRequest_builder{FinalApplicationStatus: pb.FinalApplicationStatus_APP_SUCCEEDED.Enum()}.Build()
}

func byUser() *pb.HAStateChangeRequestInfo {
	return pb.HAStateChangeRequestInfo_builder{ReqSource: pb.HARequestSource_REQUEST_BY_USER.Enum()}.Build()
}

// An ApplicationMaster can't end containers of another application.
func TestMastersReleaseTheirOwnContainers(t *testing.T) {
	h := open(t, true, func(s *Service) Port { return s.Nodes(proof, false) })
	h.register()
	req := asking(0, 1, "")
	req.SetRelease([]*pb.ContainerId{h.container().PB()})
	if got := outcome(h.call(h.svc.Masters(), "other-am", protocol.Allocate.Descriptor(), req)); got != "InvalidContainerReleaseException" {
		t.Errorf("another application's ApplicationMaster: %s", got)
	}
	if got := outcome(h.call(h.svc.Masters(), "am", protocol.Allocate.Descriptor(), req)); got != "ok" {
		t.Errorf("its own: %s", got)
	}
}

// A caller that may not see an application is told neither its progress nor more than its name, in YARN's words.
func TestWhatStrangersHear(t *testing.T) {
	h := open(t, true, func(s *Service) Port { return s.Nodes(proof, false) })
	h.register()
	req := asking(0, 0, "")
	req.SetProgress(.5)
	h.must(h.svc.Masters(), "am", protocol.Allocate.Descriptor(), req)
	for who, want := range map[string]float32{"owner": .5, "other": 0} {
		resp := h.must(h.svc.Clients(), who, protocol.GetApplicationReport.Descriptor(), pb.GetApplicationReportRequest_builder{ApplicationId: h.app.PB()}.Build())
		if got := resp.(*pb.GetApplicationReportResponse).GetApplicationReport().GetProgress(); got != want {
			t.Errorf("%s hears of a progress of %v, not %v", who, got, want)
		}
	}
	for _, c := range []struct {
		of   string
		m    protocol.Descriptor
		req  proto.Message
		what string
	}{
		{"an attempt", protocol.GetApplicationAttemptReport.Descriptor(), pb.GetApplicationAttemptReportRequest_builder{ApplicationAttemptId: h.attempt().PB()}.Build(), "attempt " + h.attempt().String()},
		{"attempts", protocol.GetApplicationAttempts.Descriptor(), pb.GetApplicationAttemptsRequest_builder{ApplicationId: h.app.PB()}.Build(), "application " + h.app.String()},
		{"a container", protocol.GetContainerReport.Descriptor(), pb.GetContainerReportRequest_builder{ContainerId: h.container().PB()}.Build(), "application " + h.app.String()},
		{"containers", protocol.GetContainers.Descriptor(), pb.GetContainersRequest_builder{ApplicationAttemptId: h.attempt().PB()}.Build(), "application " + h.app.String()},
	} {
		_, err := h.call(h.svc.Clients(), "other", c.m, c.req)
		var refused *ipc.RemoteError
		if want := "User eve does not have privilege to see this " + c.what; !errors.As(err, &refused) || refused.Message() != want {
			t.Errorf("of %s: %v, not %q", c.of, err, want)
		}
	}
}

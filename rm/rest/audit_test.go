package rest

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/await"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// rpc are endpoints of one user at a member.
type rpc struct {
	t              *testing.T
	clients, admin *ipc.Endpoint
}

func (c *cluster) rpcOf(t *testing.T, id, user string) *rpc {
	t.Helper()
	client := ipc.NewClient(ipc.ClientConfig{CallerContext: "CLI"})
	t.Cleanup(client.Close)
	to := func(port string, p ipc.Protocol) *ipc.Endpoint {
		return client.Endpoint(c.rms[id].Addr(port).String(), p, ipc.Identity{User: user})
	}
	return &rpc{t, to(rm.ClientAddress, protocol.ApplicationClient), to(rm.AdminAddress, protocol.Administration)}
}

// calls makes the calls by RPC of the recorded conversation. Refusals are part of it.
func (r *rpc) calls(app records.ApplicationID, queues ...string) {
	priority, ctx := &pb.UpdateApplicationPriorityRequest{}, r.t.Context()
	priority.SetApplicationId(app.PB())
	priority.SetApplicationPriority(pb.Priority_builder{Priority: proto32(3)}.Build())
	_, _ = protocol.UpdateApplicationPriority.Call(ctx, r.clients, priority)
	for _, q := range queues {
		move := &pb.MoveApplicationAcrossQueuesRequest{}
		move.SetApplicationId(app.PB())
		move.SetTargetQueue(q)
		_, _ = protocol.MoveApplicationAcrossQueues.Call(ctx, r.clients, move)
	}
	timeouts := &pb.UpdateApplicationTimeoutsRequest{}
	timeouts.SetApplicationId(app.PB())
	lifetime := &pb.ApplicationUpdateTimeoutMap{}
	lifetime.SetExpireTime("2099-01-01T00:00:00.000+0000")
	timeouts.SetApplicationTimeouts([]*pb.ApplicationUpdateTimeoutMap{lifetime})
	_, _ = protocol.UpdateApplicationTimeouts.Call(ctx, r.clients, timeouts)
}

func (r *rpc) signal(container records.ContainerID) {
	req := &pb.SignalContainerRequest{}
	req.SetContainerId(container.PB())
	req.SetCommand(pb.SignalContainerCommand_OUTPUT_THREAD_DUMP)
	_, _ = protocol.SignalToContainer.Call(r.t.Context(), r.clients, req)
}

func (r *rpc) kill(app records.ApplicationID) {
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(app.PB())
	_, _ = protocol.ForceKillApplication.Call(r.t.Context(), r.clients, req)
}

func (r *rpc) refreshQueues() {
	_, _ = protocol.RefreshQueues.Call(r.t.Context(), r.admin, &pb.RefreshQueuesRequest{})
}

func proto32(v int32) *int32 { return &v }

// The same requests of the same users leave the lines that a stock ResourceManager wrote (rm/audit/testdata/stock.log), by RPC and by REST. Two things differ on purpose:
// REST's lines have the caller's address, and a submission to a queue that isn't there is refused at once.
func TestTheAuditLogIsYARNs(t *testing.T) {
	dir := t.TempDir()
	const property = "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>" +
		"<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>" +
		"<property><name>yarn.scheduler.capacity.root.acl_administer_queue</name><value>root</value></property>" +
		"<property><name>yarn.scheduler.capacity.root.acl_submit_applications</name><value>*</value></property></configuration>"
	if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(property), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rm-audit.log")
	c := startIn(t, 1, dir, "yarn.acl.enable=true", "yarn.admin.acl=root", "heddle.audit.file="+file)
	me := c.leader()
	submit := func() records.ApplicationID {
		text, _ := at(c.ask(me, "POST", "/ws/v1/cluster/apps/new-application?user.name=alice", "").json(t), "application-id").(string)
		body := `{"application-id":"` + text + `","application-name":"x","queue":"default","am-container-spec":{"commands":{"command":"true"}}}`
		if a := c.ask(me, "POST", "/ws/v1/cluster/apps?user.name=alice", body); a.status != http.StatusAccepted {
			t.Fatal(a)
		}
		id, err := records.ParseApplicationID(text)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	put := func(user string, app records.ApplicationID, what, body string) {
		c.ask(me, "PUT", "/ws/v1/cluster/apps/"+app.String()+"/"+what+"?user.name="+user, body)
	}
	first := submit()
	bob, alice, root := c.rpcOf(t, me, "bob"), c.rpcOf(t, me, "alice"), c.rpcOf(t, me, "root")
	container := records.ContainerID{Attempt: records.AttemptID{App: first, Attempt: 1}, ID: 2}
	bob.kill(first)
	bob.calls(first, "default")
	bob.signal(container)
	alice.calls(first, "default", "nothere")
	alice.signal(container)
	alice.kill(first)
	second := submit()
	put("alice", second, "priority", `{"priority":2}`)
	put("alice", second, "queue", `{"queue":"default"}`)
	put("bob", second, "state", `{"state":"KILLED"}`)
	put("alice", second, "state", `{"state":"KILLED"}`)
	bob.refreshQueues()
	root.refreshQueues()

	recorded, err := os.ReadFile("../audit/testdata/stock.log")
	if err != nil {
		t.Fatal(err)
	}
	want := plainLines(string(recorded), "Fail Attempt", "_0003", "updateNodeResource")
	for i, line := range want { // REST's lines
		if !strings.Contains(line, "IP=") && !strings.Contains(line, "Application Finished") {
			want[i] = strings.Replace(line, "\tOPERATION", "\tIP=127.0.0.1\tOPERATION", 1)
		}
	}
	var got []string
	await.Until(t, "all lines", func() bool {
		b, _ := os.ReadFile(file)
		got = plainLines(string(b))
		return len(got) >= len(want)
	})
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-YARN's +Heddle's\n%s", d)
	}
}

// plainLines are lines without times, and with the applications' numbers only; a few words leave a line out.
func plainLines(text string, without ...string) (out []string) {
	numbers := regexp.MustCompile(`_\d{13}_`)
	for line := range strings.Lines(text) {
		_, line, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " resourcemanager.RMAuditLogger: ")
		for _, word := range without {
			ok = ok && !strings.Contains(line, word)
		}
		if ok {
			out = append(out, numbers.ReplaceAllString(line, "_T_"))
		}
	}
	return out
}

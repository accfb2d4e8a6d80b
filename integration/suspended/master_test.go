package suspended

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"heddle/am/client"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// master is an application whose ApplicationMasters are processes in containers that leave their tokens to this one, and sleep. This one speaks for them.
type master struct {
	*peer.Master
	*lab
	id       records.ApplicationID
	dir      string
	previous []string // containers of the attempt before, as it was told when it registered
	updated  []*pb.UpdatedContainer
	refused  []*pb.UpdateContainerError
	workers  map[string]*worker
	does     string // what its workers do besides: one of the misfits, or nothing
}

// submit has an ApplicationMaster run.
func (l *lab) submit(change func(*client.Submission)) *master {
	l.t.Helper()
	ctx := l.t.Context()
	id, _, err := l.apps.New(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	m := &master{lab: l, id: id, dir: filepath.Join(l.Dir(), id.String()), workers: map[string]*worker{}}
	if err := os.Mkdir(m.dir, 0o777); err != nil {
		l.t.Fatal(err)
	}
	script := filepath.Join(m.dir, "master.sh")
	text := `set -e
echo $$ > ` + m.dir + `/$CONTAINER_ID.pid
cp "$HADOOP_TOKEN_FILE_LOCATION" ` + m.dir + `/$CONTAINER_ID.part
mv ` + m.dir + `/$CONTAINER_ID.part ` + m.dir + `/$CONTAINER_ID.tokens
exec sleep 3600
`
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		l.t.Fatal(err)
	}
	s := client.Submission{ID: id, Name: l.t.Name(), AM: client.Launch{Command: []string{"exec sh " + script}}, Resource: records.NewResource(128, 1), MaxAttempts: 3}
	if change != nil {
		change(&s)
	}
	if err := l.apps.Submit(ctx, s); err != nil {
		l.t.Fatal(err)
	}
	m.enter(1)
	return m
}

// masterID is the container of an attempt's ApplicationMaster.
func (m *master) masterID(attempt int32) string {
	a := records.AttemptID{App: m.id, Attempt: attempt}
	found := must(filepath.Glob(filepath.Join(m.dir, "container_*.tokens")))
	for _, f := range found {
		name := strings.TrimSuffix(filepath.Base(f), ".tokens")
		if id, err := records.ParseContainerID(name); err == nil && id.Attempt == a {
			return name
		}
	}
	return ""
}

// enter waits for an attempt's ApplicationMaster, and registers for it.
func (m *master) enter(attempt int32) {
	m.t.Helper()
	await.Slowly(m.t, fmt.Sprintf("the ApplicationMaster of attempt %d runs", attempt), func() bool { return m.masterID(attempt) != "" })
	file := filepath.Join(m.dir, m.masterID(attempt)+".tokens")
	credentials, err := client.LoadCredentials(func(string) (string, bool) { return file, true })
	if err != nil {
		m.t.Fatal(err)
	}
	own, _ := credentials.OfKind(token.KindAMRM)
	m.Master = m.ports().Speak(m.t, records.AttemptID{App: m.id, Attempt: attempt}, own)
	m.previous = nil
	for _, c := range m.Registration.GetContainersFromPreviousAttempts() {
		m.previous = append(m.previous, records.ContainerIDFrom(c.GetId()).String())
	}
}

// ports are how an ApplicationMaster reaches the cluster.
func (l *lab) ports() peer.Ports {
	return peer.Ports{
		Master: func(t token.Token) ipc.Invoker {
			return l.client.Failover(l.Addresses(rm.MasterAddress), protocol.ApplicationMaster, ipc.Identity{Token: &t},
				ipc.RetryPolicy{MaxElapsed: time.Minute, MaxAttempts: 1000, Base: 20 * time.Millisecond, Max: 100 * time.Millisecond})
		},
		Node: func(node records.NodeID, t token.Token) ipc.Invoker {
			return l.client.Endpoint(node.String(), protocol.ContainerManagement, ipc.Identity{Token: &t})
		},
	}
}

// allocate is a heartbeat.
func (m *master) allocate(req *pb.AllocateRequest) *pb.AllocateResponse {
	m.t.Helper()
	resp, err := m.Allocate(req)
	if err != nil {
		m.t.Fatal(err)
	}
	m.updated = append(m.updated, resp.GetUpdatedContainers()...)
	m.refused = append(m.refused, resp.GetUpdateErrors()...)
	return resp
}

// completed is what the ResourceManager told of a container's end; nil: nothing yet.
func (m *master) completed(id string) *pb.ContainerStatus {
	return m.Completed[must(records.ParseContainerID(id))]
}

// work has so many containers work.
func (m *master) work(n int, mb int64) []*worker {
	m.t.Helper()
	return m.begin(m.Granted(n, records.NewResource(mb, 1)))
}

func (m *master) begin(list []*pb.Container) (out []*worker) {
	m.t.Helper()
	for _, c := range list {
		id := records.ContainerIDFrom(c.GetId()).String()
		dir := filepath.Join(m.dir, id)
		if err := os.Mkdir(dir, 0o777); err != nil {
			m.t.Fatal(err)
		}
		spec := must(client.Launch{Command: []string{"exec env " + workVariable + "=" + dir + " " + misfitVariable + "='" + m.does + "' " + os.Args[0]}}.PB())
		if resp, err := protocol.StartContainers.Call(m.t.Context(), m.Node(c), peer.Launch(c.GetContainerToken(), spec)); err != nil || len(resp.GetFailedRequests()) > 0 {
			m.t.Fatalf("%v %v", err, resp)
		}
		w := newWorker(m.t, dir, m.nameOf(c.GetNodeId()), id)
		m.workers[id] = w
		out = append(out, w)
	}
	for _, w := range out {
		w.progress()
	}
	return out
}

// nameOf is a node's name in the lab.
func (m *master) nameOf(n *pb.NodeId) string {
	for _, name := range m.NodeManagers {
		if m.Address(name, "yarn.nodemanager.address") == records.NodeIDFrom(n).String() {
			return name
		}
	}
	m.t.Fatalf("no node %v", n)
	return ""
}

// dies kills the process of an attempt's ApplicationMaster.
func (m *master) dies() {
	m.t.Helper()
	pid := must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(m.dir, m.masterID(m.Attempt.Attempt)+".pid")))))))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
}

// ends waits for the end of containers.
func (m *master) ends(workers ...*worker) {
	m.t.Helper()
	await.Slowly(m.t, "containers have ended", func() bool {
		m.allocate(&pb.AllocateRequest{})
		for _, w := range workers {
			if m.completed(w.id) == nil {
				return false
			}
		}
		return true
	})
}

// finish says farewell.
func (m *master) finish() {
	m.t.Helper()
	m.Finish()
	// The process of the ApplicationMaster sleeps on, as none of ours ever does; it ends here.
	m.dies()
}

func containerID(t interface{ Fatal(...any) }, text string) *pb.ContainerId {
	id, err := records.ParseContainerID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id.PB()
}

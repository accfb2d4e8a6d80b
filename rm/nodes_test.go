package rm

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/secret"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// nodeClient speaks for nodes.
type nodeClient struct {
	t       *testing.T
	tracker *ipc.Endpoint
}

func (m *member) nodeClient(t *testing.T, who ipc.Identity) nodeClient {
	t.Helper()
	c := ipc.NewClient(ipc.ClientConfig{})
	t.Cleanup(c.Close)
	return nodeClient{t, c.Endpoint(m.Addr(TrackerAddress).String(), protocol.ResourceTracker, who)}
}

func (c nodeClient) register(id records.NodeID) (*pb.RegisterNodeManagerResponse, error) {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(id.PB())
	req.SetHttpPort(8042)
	req.SetResource(records.ResourceTypes{}.PB(records.NewResource(4096, 4)))
	req.SetNmVersion(conf.HadoopVersion)
	return protocol.RegisterNodeManager.Call(c.t.Context(), c.tracker, req)
}

func (c nodeClient) heartbeat(id records.NodeID, response int32) (*pb.NodeHeartbeatResponse, error) {
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	status := &pb.NodeStatus{}
	status.SetNodeId(id.PB())
	status.SetResponseId(response)
	status.SetNodeHealthStatus(health)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	return protocol.NodeHeartbeat.Call(c.t.Context(), c.tracker, req)
}

func (c nodeClient) unregister(id records.NodeID) error {
	req := &pb.UnRegisterNodeManagerRequest{}
	req.SetNodeId(id.PB())
	_, err := protocol.UnRegisterNodeManager.Call(c.t.Context(), c.tracker, req)
	return err
}

func secretFile(t *testing.T, text string) (file string, key []byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, s.Key(token.NodeKeyUse, token.NodeKeyLength)
}

// startWith is startOne for a single ResourceManager whose log is kept.
func startWith(t *testing.T, set map[string]string) (m *member, log *bytes.Buffer) {
	t.Helper()
	c := settingsFor(t, t.TempDir(), 1)
	for k, v := range set {
		c.Set(k, v)
	}
	if r := c.Validate(); !r.OK() {
		t.Fatal(r)
	}
	log = &bytes.Buffer{}
	l := logrus.New()
	l.SetOutput(log) // logrus writes one entry at a time
	r, err := New(Options{Conf: c, ID: "rm1", Log: logrus.NewEntry(l)})
	if err != nil {
		t.Fatal(err)
	}
	opened := bytes.NewBuffer(slices.Clone(log.Bytes()))
	m = &member{ResourceManager: r, done: make(chan error, 1)}
	m.run()
	t.Cleanup(func() { m.halt(t) })
	return m, opened
}

const joinsWithoutProof = "can register as a node without proof"

// Who doesn't know the cluster's secret neither registers a node nor gets the keys that nodes trust.
func TestStrangersRegisterNoNodes(t *testing.T) {
	file, key := secretFile(t, "a secret of the whole cluster")
	_, other := secretFile(t, "a secret of another cluster")
	m, log := startWith(t, map[string]string{"heddle.cluster.secret-file": file})
	if strings.Contains(log.String(), joinsWithoutProof) {
		t.Errorf("it warns:\n%s", log)
	}
	n1, n2 := records.NodeID{Host: "n1", Port: 8041}, records.NodeID{Host: "n2", Port: 8041}
	forged, right := token.Node(other, n1), token.Node(key, n1)
	for name, who := range map[string]ipc.Identity{"without a token": {User: "yarn"}, "with a token of another secret": {Token: &forged}} {
		resp, err := m.nodeClient(t, who).register(n1)
		if err == nil {
			t.Errorf("%s: %v", name, resp)
		}
	}
	own := m.nodeClient(t, ipc.Identity{Token: &right, RequireToken: true})
	if resp, err := own.register(n2); ipc.Class(err) != ipc.AccessControlException {
		t.Errorf("one node registers another: %v, %v", resp, err)
	}
	resp, err := own.register(n1)
	if err != nil || len(resp.GetNmTokenMasterKey().GetBytes()) == 0 {
		t.Fatalf("a node of the cluster: %v, %v", resp, err)
	}
	if resp, err := own.heartbeat(n1, 0); err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
		t.Errorf("its heartbeat: %v, %v", resp, err)
	}
	second := token.Node(key, n2)
	mate := m.nodeClient(t, ipc.Identity{Token: &second})
	if resp, err := mate.heartbeat(n1, 5); ipc.Class(err) != ipc.AccessControlException {
		t.Errorf("a heartbeat of another node: %v, %v", resp, err)
	}
	if err := mate.unregister(n1); ipc.Class(err) != ipc.AccessControlException {
		t.Errorf("a farewell of another node: %v", err)
	}
	if resp, err := own.heartbeat(n1, 1); err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
		t.Errorf("then its heartbeat: %v, %v", resp, err)
	}
}

func TestEachStartSaysThatNodesJoinWithoutProof(t *testing.T) {
	file, key := secretFile(t, "a secret of the whole cluster")
	for name, set := range map[string]map[string]string{
		"no secret":            nil,
		"stock nodes admitted": {"heddle.cluster.secret-file": file, "heddle.cluster.stock-daemons": "admit"},
	} {
		t.Run(name, func(t *testing.T) {
			m, log := startWith(t, set)
			if n := strings.Count(log.String(), joinsWithoutProof); n != 1 {
				t.Errorf("it is said %d times:\n%s", n, log)
			}
			n1 := records.NodeID{Host: "n1", Port: 8041}
			if resp, err := m.nodeClient(t, ipc.Identity{User: "yarn"}).register(n1); err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
				t.Errorf("a stock node: %v, %v", resp, err)
			}
			if set == nil {
				right := token.Node(key, n1)
				if _, err := m.nodeClient(t, ipc.Identity{Token: &right, RequireToken: true}).register(n1); err == nil {
					t.Error("a node that wants proof took a ResourceManager that has none")
				}
			}
		})
	}
}

// names is a name service.
type names map[string]string

func (n names) LookupAddr(context.Context, string) ([]string, error) { return nil, nil }

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	return []string{n[host]}, nil
}

// A listed name counts only for the machine that has it.
func TestUnlistedMachineWithAListedName(t *testing.T) {
	include := filepath.Join(t.TempDir(), "include")
	if err := os.WriteFile(include, []byte("n1\nn2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := startWith(t, map[string]string{"yarn.resourcemanager.nodes.include-path": include})
	m.launcher.Service.Names = names{"n1": "127.0.0.1", "n2": netip.MustParseAddr("10.6.6.6").String()}
	c := m.nodeClient(t, ipc.Identity{User: "yarn"})
	if resp, err := c.register(records.NodeID{Host: "n1", Port: 1}); err != nil || resp.GetNodeAction() != pb.NodeAction_NORMAL {
		t.Errorf("the listed machine: %v, %v", resp, err)
	}
	resp, err := c.register(records.NodeID{Host: "n2", Port: 1})
	// Hadoop's nodes try on after a StandbyException, and shut down after any other answer.
	if !ipc.IsClass(err, ipc.StandbyException) || len(resp.GetNmTokenMasterKey().GetBytes()) > 0 {
		t.Errorf("another machine under a listed name: %v, %v", resp, err)
	}
	if err != nil && !strings.Contains(err.Error(), "list that address") {
		t.Errorf("it hears %v", err)
	}
}

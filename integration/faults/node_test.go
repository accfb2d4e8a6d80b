package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// A node comes back with containers of an application that the ResourceManager has never heard of: its state was lost.
func TestNodeWithContainersOfAnUnknownApplication(t *testing.T) {
	if !onHeddle {
		t.Skip("Hadoop keeps its state elsewhere")
	}
	c := start(t, hadooplab.Options{NodeManagers: 1})
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	id := records.ContainerIDFrom(box.GetId())
	const mark = "86423"
	call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "sleep "+mark))
	await.Slowly(c.t, "the container runs", func() bool { return len(c.processes(mark)) > 0 })

	node, rm := c.Daemon("nodemanager1"), c.Daemon("resourcemanager")
	node.Kill()
	rm.Kill()
	if len(c.processes(mark)) == 0 {
		t.Fatal("the container died with its node")
	}
	states, err := filepath.Glob(filepath.Join(c.Dir(), "tmp", "heddle", "rm*"))
	if err != nil || len(states) == 0 {
		t.Fatalf("where the ResourceManager keeps its state: %v, %v", states, err)
	}
	for _, dir := range states {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := rm.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitYARN(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	await.Slowly(c.t, "its processes are gone", func() bool { return len(c.processes(mark)) == 0 })
	await.Slowly(c.t, "its files are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(c.Dir(), "nodemanager1", "local", "usercache", "*", "appcache", m.id.String(), id.String()))
		return err == nil && len(left) == 0
	})
	nodes := call(c, protocol.GetClusterNodes, c.fresh().as("alice"), &pb.GetClusterNodesRequest{}).GetNodeReports()
	if len(nodes) != 1 || nodes[0].GetNumContainers() != 0 || nodes[0].GetUsed().GetMemory() != 0 {
		t.Errorf("the node, afterwards: %v", nodes)
	}
	again := c.fresh().unmanaged("alice", nil)
	box = again.containers(1)[0]
	id = records.ContainerIDFrom(box.GetId())
	call(c, protocol.StartContainers, again.Node(box), launch(tokenOf(box), "exit 4"))
	if st := again.Ended(id); st.GetExitStatus() != 4 {
		t.Errorf("a container of the new cluster: %v", st)
	}
	again.Finish()
}

// A container fills the disk of its node: it sees that, the node says that it's unwell, and is well again when the files are gone.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{
		"yarn.nodemanager.disk-health-checker.interval-ms":                              "500",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
	}})
	node := c.Daemon("nodemanager1")
	if err := node.Stop(); err != nil { // it takes its leave, and comes back under another port
		t.Fatal(err)
	}
	local := filepath.Join(c.Dir(), "nodemanager1", "local")
	hadooplab.SmallDisk(t, local, 16)
	t.Cleanup(node.Kill) // before its disk goes
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitYARN(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	report := func() *pb.NodeReport {
		for _, n := range call(c, protocol.GetClusterNodes, c.as("alice"), &pb.GetClusterNodesRequest{}).GetNodeReports() {
			if n.GetNodeState() != pb.NodeState_NS_LOST && n.GetNodeState() != pb.NodeState_NS_SHUTDOWN {
				return n
			}
		}
		return &pb.NodeReport{}
	}
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	id := records.ContainerIDFrom(box.GetId())
	said := filepath.Join(c.Dir(), "said")
	call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "dd if=/dev/zero of=big bs=1M count=100 2>"+said+"; sleep 1000"))
	await.Slowly(c.t, "the node says that its disk is full", func() bool {
		n := report()
		return n.GetNodeState() == pb.NodeState_NS_UNHEALTHY && strings.Contains(n.GetHealthReport(), local)
	})
	if b, _ := os.ReadFile(said); !strings.Contains(string(b), "No space left on device") {
		t.Errorf("the container has seen %s", b)
	}
	if st := m.Ended(id); st.GetExitStatus() == 0 {
		t.Errorf("the container: %v", st)
	}
	await.Slowly(c.t, "the node is well again", func() bool { return report().GetNodeState() == pb.NodeState_NS_RUNNING })
	box = m.containers(1)[0]
	id = records.ContainerIDFrom(box.GetId())
	call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "exit 6"))
	if st := m.Ended(id); st.GetExitStatus() != 6 {
		t.Errorf("a container, afterwards: %v", st)
	}
	m.Finish()
}

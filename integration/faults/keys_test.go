package faults

import (
	"fmt"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Master keys are replaced every few seconds while an application runs. It goes on, on connections that it makes anew each time,
// with the tokens that it was last given: through several keys, and the death of a leader between two of them.
func TestKeysRollUnderAnApplication(t *testing.T) {
	if !onHeddle {
		t.Skip("Hadoop's ResourceManagers need ZooKeeper for this")
	}
	const rolling = "master-key-rolling-interval-secs"
	c := start(t, hadooplab.Options{NodeManagers: 1, ResourceManagers: 3, Site: map[string]string{
		"yarn.resourcemanager.am-rm-tokens." + rolling:        "4",
		"yarn.resourcemanager.nm-tokens." + rolling:           "4",
		"yarn.resourcemanager.container-tokens." + rolling:    "4",
		"yarn.resourcemanager.delegation.key.update-interval": "4000",
		"yarn.nm.liveness-monitor.expiry-interval-ms":         "4000", // keys are used one and a half times as long after nodes have got them
	}})
	m := c.unmanaged("alice", nil)
	get := &pb.GetDelegationTokenRequest{}
	get.SetRenewer("alice")
	delegation := token.FromPB(call(c, protocol.GetDelegationToken, c.as("alice"), get).GetToken())
	long := m.containers(1)[0]
	if f := call(c, protocol.StartContainers, m.node(long), launch(tokenOf(long), "sleep 1000")).GetFailedRequests(); len(f) > 0 {
		t.Fatal(f)
	}
	masterKeys, nodeKeys, containerKeys := map[int32]bool{}, map[int32]bool{}, map[int32]bool{}
	ask := &pb.GetContainerStatusesRequest{}
	ask.SetContainerId([]*pb.ContainerId{long.GetId()})
	work := func() {
		box := m.containers(1)[0]
		id := records.ContainerIDFrom(box.GetId())
		if f := call(c, protocol.StartContainers, m.node(box), launch(tokenOf(box), "exit 3")).GetFailedRequests(); len(f) > 0 {
			t.Fatal(f)
		}
		if st := m.completed(id)[id]; st.GetExitStatus() != 3 {
			t.Fatalf("%v ended with %v", id, st)
		}
		if st := call(c, protocol.GetContainerStatuses, m.node(long), ask).GetStatus(); len(st) != 1 || st[0].GetState() != pb.ContainerState_C_RUNNING {
			t.Fatalf("the long container: %v", st)
		}
		call(c, protocol.GetNewApplication, c.fresh().bearing(delegation), &pb.GetNewApplicationRequest{})
		amrm, _ := token.ParseAMRM(m.token.Identifier)
		nm, _ := token.ParseNM(m.nodes[records.NodeIDFrom(box.GetNodeId())].Identifier)
		start, _ := token.ParseContainer(tokenOf(box).Identifier)
		masterKeys[amrm.KeyID], nodeKeys[nm.KeyID], containerKeys[start.GetMasterKeyId()] = true, true, true
	}
	for began := time.Now(); len(masterKeys) < 4 || len(containerKeys) < 3 || len(nodeKeys) < 2; work() {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("keys of ApplicationMasters %v, nodes %v, containers %v", masterKeys, nodeKeys, containerKeys)
		}
	}

	c.Daemon("resourcemanager" + c.leader()[2:]).Kill()
	await.Slowly(c.t, "the application is served by the next leader", func() bool {
		_, err := m.tryAllocate(&pb.AllocateRequest{})
		return err == nil
	})
	before := len(containerKeys)
	for began := time.Now(); len(containerKeys) < before+2; work() {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("keys of containers %v", containerKeys)
		}
	}
	r := c.report("alice", m.id)
	if r.GetCurrentApplicationAttemptId().GetAttemptId() != 1 || r.GetYarnApplicationState() != pb.YarnApplicationState_RUNNING {
		t.Errorf("after all of that: %v", r)
	}
	m.finish()
}

// leader is the id of the ResourceManager that leads.
func (c *cluster) leader() (id string) {
	c.t.Helper()
	await.Slowly(c.t, "a ResourceManager leads", func() bool {
		for i := 1; i <= c.rms; i++ {
			at := c.fresh().client.Endpoint(fmt.Sprintf("localhost:%d", c.Port(fmt.Sprint("rm-admin", i))), protocol.HAService, ipc.Identity{User: "root"})
			resp, err := protocol.GetServiceStatus.Call(c.t.Context(), at, &pb.GetServiceStatusRequest{})
			if err == nil && resp.GetState() == pb.HAServiceState_ACTIVE {
				id = fmt.Sprint("rm", i)
				return true
			}
		}
		return false
	})
	return id
}

package faults

import (
	"fmt"
	"strconv"
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
	t.Parallel() // it mostly waits
	const (
		rolling = "master-key-rolling-interval-secs"
		// sending is one and a half times what a node may be silent for. A key of containers signs that long after nodes have got it,
		// and then they get the next one, which ends the last but one: what that signed at last is good for the rest of a key's life.
		sending = 12 * time.Second
		good    = 5 * time.Second
	)
	c := start(t, hadooplab.Options{NodeManagers: 1, ResourceManagers: 3, Site: map[string]string{
		"yarn.resourcemanager.am-rm-tokens." + rolling:        "8",
		"yarn.resourcemanager.nm-tokens." + rolling:           "8",
		"yarn.resourcemanager.container-tokens." + rolling:    strconv.Itoa(int((sending + good) / time.Second)),
		"yarn.resourcemanager.delegation.key.update-interval": "4000",
		"yarn.nm.liveness-monitor.expiry-interval-ms":         strconv.Itoa(int(sending * 2 / 3 / time.Millisecond)),
	}})
	m := c.unmanaged("alice", nil)
	get := &pb.GetDelegationTokenRequest{}
	get.SetRenewer("alice")
	delegation := token.FromPB(call(c, protocol.GetDelegationToken, c.as("alice"), get).GetToken())
	long := m.containers(1)[0]
	if f := call(c, protocol.StartContainers, m.Node(long), launch(tokenOf(long), "sleep 1000")).GetFailedRequests(); len(f) > 0 {
		t.Fatal(f)
	}
	masterKeys, nodeKeys, containerKeys := map[int32]bool{}, map[int32]bool{}, map[int32]bool{}
	ask := &pb.GetContainerStatusesRequest{}
	ask.SetContainerId([]*pb.ContainerId{long.GetId()})
	work := func() {
		began := time.Now()
		box := m.containers(1)[0]
		id := records.ContainerIDFrom(box.GetId())
		if f := call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "exit 3")).GetFailedRequests(); len(f) > 0 {
			if time.Since(began) > good {
				return // a machine as slow as that needs another token
			}
			t.Fatal(f)
		}
		if st := m.Ended(id); st.GetExitStatus() != 3 {
			t.Fatalf("%v ended with %v", id, st)
		}
		if st := call(c, protocol.GetContainerStatuses, m.Node(long), ask).GetStatus(); len(st) != 1 || st[0].GetState() != pb.ContainerState_C_RUNNING {
			t.Fatalf("the long container: %v", st)
		}
		call(c, protocol.GetNewApplication, c.fresh().bearing(delegation), &pb.GetNewApplicationRequest{})
		amrm, _ := token.ParseAMRM(m.Token.Identifier)
		nm, _ := token.ParseNM(m.Nodes[records.NodeIDFrom(box.GetNodeId())].Identifier)
		start, _ := token.ParseContainer(tokenOf(box).Identifier)
		masterKeys[amrm.KeyID], nodeKeys[nm.KeyID], containerKeys[start.GetMasterKeyId()] = true, true, true
	}
	for began := time.Now(); len(masterKeys) < 3 || len(containerKeys) < 2 || len(nodeKeys) < 2; work() {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("keys of ApplicationMasters %v, nodes %v, containers %v", masterKeys, nodeKeys, containerKeys)
		}
	}

	c.Daemon("resourcemanager" + c.leader()[2:]).Kill()
	await.Slowly(c.t, "the application is served by the next leader", func() bool {
		_, err := m.Allocate(&pb.AllocateRequest{})
		return err == nil
	})
	before := len(containerKeys)
	for began := time.Now(); len(containerKeys) < before+1; work() {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("keys of containers %v", containerKeys)
		}
	}
	r := c.report("alice", m.id)
	if r.GetCurrentApplicationAttemptId().GetAttemptId() != 1 || r.GetYarnApplicationState() != pb.YarnApplicationState_RUNNING {
		t.Errorf("after all of that: %v", r)
	}
	m.Finish()
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

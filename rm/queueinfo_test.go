package rm

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// clientsOf starts a ResourceManager and returns where alice is its client.
func clientsOf(t *testing.T, c *conf.Config) *ipc.Endpoint {
	t.Helper()
	m := startOne(t, c, 0)
	t.Cleanup(func() { m.halt(t) })
	client := ipc.NewClient(ipc.ClientConfig{})
	t.Cleanup(client.Close)
	await.Value(t, "a leader", func() (bool, bool) { return true, m.Leader() != nil })
	return client.Endpoint(m.Addr(ClientAddress).String(), protocol.ApplicationClient, ipc.Identity{User: "alice"})
}

func queueInfo(t *testing.T, clients *ipc.Endpoint, name string, children, deep bool) *pb.QueueInfo {
	t.Helper()
	req := &pb.GetQueueInfoRequest{}
	req.SetQueueName(name)
	req.SetIncludeChildQueues(children)
	req.SetRecursive(deep)
	resp, err := protocol.GetQueueInfo.Call(context.Background(), clients, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetQueueInfo()
}

// Queues are those of capacity-scheduler.xml, with their states, shares and rights.
func TestQueuesOverRPC(t *testing.T) {
	dir := t.TempDir()
	c := settingsFor(t, dir, 1)
	const prefix = "yarn.scheduler.capacity.root."
	for k, v := range map[string]string{
		"queues": "a,b", "a.capacity": "25", "b.capacity": "75", "b.queues": "b1,b2", "b.b1.capacity": "100", "b.b2.capacity": "0",
		"a.state": "STOPPED", "acl_submit_applications": " ", "acl_administer_queue": " ", "b.b1.acl_submit_applications": "alice",
	} {
		c.Set(prefix+k, v)
	}
	c.Set("yarn.acl.enable", "true")
	clients := clientsOf(t, c)

	ask := func(name string, children, deep bool) *pb.QueueInfo {
		t.Helper()
		return queueInfo(t, clients, name, children, deep)
	}
	if q := ask("a", true, true); q.GetQueuePath() != "root.a" || q.GetCapacity() != 0.25 || q.GetState() != pb.QueueState_Q_STOPPED {
		t.Errorf("%v", q)
	}
	if q := ask("root", true, false); len(q.GetChildQueues()) != 2 || len(q.GetChildQueues()[1].GetChildQueues()) != 0 {
		t.Errorf("%v", q)
	}
	if q := ask("root", true, true); len(q.GetChildQueues()[1].GetChildQueues()) != 2 {
		t.Errorf("%v", q)
	}
	if q := ask("nowhere", true, true); q != nil {
		t.Errorf("%v", q)
	}
	acls, err := protocol.GetQueueUserAcls.Call(context.Background(), clients, &pb.GetQueueUserAclsInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string]int{}
	for _, a := range acls.GetQueueUserAcls() {
		rights[a.GetQueueName()] = len(a.GetUserAcls())
	}
	if rights["root"] != 0 || rights["root.b.b1"] != 1 || rights["root.b.b2"] != 0 || len(rights) != 5 {
		t.Errorf("%v", rights)
	}
}

// Queues of a Fair Scheduler have weights and shares instead; the fields are those that a stock one sends.
func TestFairQueuesOverRPC(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "fair-scheduler.xml")
	const allocations = `<allocations><queue name="a"><weight>3</weight><minResources>1024 mb,1 vcores</minResources><maxRunningApps>7</maxRunningApps>
		<queue name="x"/><queue name="y"><allowPreemptionFrom>false</allowPreemptionFrom></queue></queue></allocations>`
	if err := os.WriteFile(file, []byte(allocations), 0o600); err != nil {
		t.Fatal(err)
	}
	c := settingsFor(t, dir, 1)
	c.Set("yarn.resourcemanager.scheduler.class", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler")
	c.Set("yarn.scheduler.fair.allocation.file", file)
	q := queueInfo(t, clientsOf(t, c), "a", true, false)
	if q.GetQueueName() != "root.a" || q.HasQueuePath() || q.GetSchedulerType() != "FairScheduler" || q.GetWeight() != 3 ||
		q.GetMinResourceMemory() != 1024 || q.GetMaxRunningApp() != 7 || q.HasMaximumCapacity() || q.GetState() != pb.QueueState_Q_RUNNING {
		t.Errorf("%v", q)
	}
	below := q.GetChildQueues()
	if len(below) != 2 || below[0].GetQueueName() != "root.a.x" || !below[0].GetPreemptionDisabled() || below[1].GetPreemptionDisabled() {
		t.Errorf("preemptable is what Hadoop writes into preemptionDisabled: %v", below)
	}
}

package rest

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/rm/leader"
	"heddle/yarn/records"
)

// The limit of a user's ApplicationMasters was shown as 0. It is the queue's guarantee times the share of masters times the factor of users.
func TestTheLimitOfAUsersMastersIsShown(t *testing.T) {
	dir := t.TempDir()
	text := "<configuration>"
	for key, value := range map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.b.maximum-capacity": "50", "root.b.user-limit-factor": "0.5", "maximum-am-resource-percent": "0.5",
	} {
		text += "<property><name>yarn.scheduler.capacity." + key + "</name><value>" + value + "</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(text+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startIn(t, 1, dir)
	me := c.leader()
	n := records.NodeID{Host: "n", Port: 1}
	if _, err := c.rms[me].Leader().RegisterNode(leader.NodeRegistration{Node: n, Capability: records.NewResource(32768, 32)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.rms[me].Leader().HeartbeatNode(leader.NodeCall{Node: n, Status: leader.NodeStatus{Healthy: true}}); err != nil {
		t.Fatal(err)
	}
	got := c.ask(me, "GET", "/ws/v1/cluster/scheduler", "").json(t)
	for i, want := range []struct{ queue, user float64 }{{16384, 8192}, {8192, 4096}} {
		q := at(got, "scheduler", "schedulerInfo", "queues", "queue", i)
		usage := at(q, "resources", "resourceUsagesByPartition", 0)
		if user, queue := at(usage, "userAmLimit", "memory"), at(usage, "amLimit", "memory"); user != want.user || queue != want.queue {
			t.Errorf("%v: masters may have %v, of a user %v; want %v", at(q, "queueName"), queue, user, want)
		}
	}
}

package rest

import "testing"

// A queue that a FairScheduler made for an application is there as long as somebody is in it.
func TestAccessToMadeQueues(t *testing.T) {
	c := start(t, 1, "yarn.resourcemanager.scheduler.class=org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler")
	me := c.leader()
	check := func(queue string, want int) {
		t.Helper()
		if a := c.ask(me, "GET", "/ws/v1/cluster/queues/"+queue+"/access?user=bob&user.name=alice", ""); a.status != want {
			t.Errorf("%s: %d %s, want %d", queue, a.status, a.body, want)
		}
	}
	check("root.made.up", 403)
	app := c.submit(me, `,"queue":"root.made.up"`)
	check("root.made.up", 200)
	check("made", 200)
	check("root.made.up.not", 403)
	if a := c.ask(me, "PUT", "/ws/v1/cluster/apps/"+app+"/state?user.name=alice", `{"state":"KILLED"}`); a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	check("root.made.up", 403)
}

package access

import (
	"testing"

	"heddle/rm/queue"
	"heddle/yarn/acl"
	"heddle/yarn/pb"
)

// tree has the queues of Hadoop's recordings with access control lists on.
func tree(t *testing.T) *queue.Tree {
	t.Helper()
	q, err := queue.ParseCapacity(map[string]string{
		"root.queues": "open,other", "root.acl_submit_applications": " ", "root.acl_administer_queue": " ",
		"root.open.capacity": "60", "root.open.acl_submit_applications": "alice", "root.open.acl_administer_queue": "bob",
		"root.other.capacity": "40", "root.other.acl_submit_applications": "eve",
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestApplications(t *testing.T) {
	c := &Checker{Enabled: true, Admins: acl.Parse("admin1"), Self: "root", Queues: queue.NewLive(tree(t))}
	shared := &pb.ApplicationSubmissionContext{}
	spec := &pb.ContainerLaunchContext{}
	grant := func(what pb.ApplicationAccessType, who string) *pb.ApplicationACLMap {
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(what)
		m.SetAcl(who)
		return m
	}
	spec.SetApplication_ACLs([]*pb.ApplicationACLMap{
		grant(pb.ApplicationAccessType_APPACCESS_VIEW_APP, "eve"), grant(pb.ApplicationAccessType_APPACCESS_MODIFY_APP, "mallory"),
	})
	shared.SetAmContainerSpec(spec)
	for _, x := range []struct {
		user                            string
		viewPrivate, viewShared, modify bool
	}{
		{"alice", true, true, true},
		{"bob", true, true, true},
		{"admin1", true, true, true},
		{"root", true, true, true},
		{"eve", false, true, false},
		{"mallory", false, false, true},
		{"dr.who", false, false, false},
		{"", false, false, false},
	} {
		private := Application{User: "alice", Queue: "root.open"}
		both := Application{User: "alice", Queue: "root.open", Context: shared}
		if got := c.MayView(x.user, private); got != x.viewPrivate {
			t.Errorf("%q sees the private application: %v", x.user, got)
		}
		if got := c.MayView(x.user, both); got != x.viewShared {
			t.Errorf("%q sees the shared application: %v", x.user, got)
		}
		if got := c.MayModify(x.user, both); got != x.modify {
			t.Errorf("%q changes the shared application: %v", x.user, got)
		}
	}
	c.Enabled = false
	if !c.MayModify("eve", Application{User: "alice", Queue: "root.open"}) {
		t.Error("lists count although they are off")
	}
}

func TestQueues(t *testing.T) {
	c := &Checker{Enabled: true, Admins: acl.Parse("admin1"), Self: "root", Queues: queue.NewLive(tree(t))}
	for _, x := range []struct {
		user, queue                   string
		submit, hasSubmit, administer bool
	}{
		{"alice", "open", true, true, false},
		{"alice", "root.open", true, true, false},
		{"bob", "open", true, false, true},
		{"eve", "open", false, false, false},
		{"eve", "other", true, true, false},
		{"admin1", "open", false, false, false},
		{"eve", "nowhere", true, false, false},
		{"alice", "root.open.below", true, true, false}, // as above it
		{"bob", "root.open.below", true, false, true},
		{"bob", "open.below", true, false, false},
	} {
		if got := c.MaySubmit(x.user, x.queue); got != x.submit {
			t.Errorf("%s may submit to %s: %v", x.user, x.queue, got)
		}
		_, known := c.Queues.Tree().Find(x.queue)
		if got, want := c.MayMoveTo(x.user, x.queue), x.submit && known; got != want {
			t.Errorf("%s may move to %s: got %v, want %v", x.user, x.queue, got, want)
		}
		if got := c.OnQueue(queue.Submit, x.user, x.queue); got != x.hasSubmit {
			t.Errorf("%s has the right to submit to %s: %v", x.user, x.queue, got)
		}
		if got := c.OnQueue(queue.Administer, x.user, x.queue); got != x.administer {
			t.Errorf("%s administers %s: %v", x.user, x.queue, got)
		}
	}
	c.Enabled = false
	if !c.MaySubmit("eve", "open") || !c.MayMoveTo("eve", "open") {
		t.Error("lists count for submissions and moves although they are off")
	}
	if c.OnQueue(queue.Administer, "eve", "open") || !c.OnQueue(queue.Administer, "bob", "open") || c.OnQueue(queue.Administer, "eve", "nowhere") {
		t.Error("rights on queues are by their lists, also where these are off")
	}
	c.Queues = queue.NewLive(queue.Default(queue.FIFO))
	if !c.OnQueue(queue.Administer, "eve", "nowhere") {
		t.Error("a FIFO scheduler knows every queue")
	}
}

func TestMadeQueuesHaveTheListsAboveThem(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="root"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps>
		<queue name="a" type="parent"><aclSubmitApps>alice</aclSubmitApps><aclAdministerApps>bob</aclAdministerApps></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Checker{Enabled: true, Queues: queue.NewLive(fair)}
	made := fair.With([]string{"root.a.made"})
	for _, x := range []struct {
		right queue.Right
		user  string
		want  bool
	}{{queue.Submit, "alice", true}, {queue.Submit, "bob", false}, {queue.Administer, "bob", true}, {queue.Administer, "alice", false}} {
		if got := c.OnQueueOf(made, x.right, x.user, "root.a.made"); got != x.want {
			t.Errorf("right %v of %s on a made queue: %v", x.right, x.user, got)
		}
	}
	if c.OnQueue(queue.Submit, "alice", "root.a.made") {
		t.Error("a queue that isn't there has rights")
	}
}

// A FairScheduler's queues were open to everybody unless yarn.acl.enable was on. integration/rest has what a stock ResourceManager does.
func TestAFairSchedulersListsCountWithoutACLs(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="root"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps>
		<queue name="a" type="parent"><aclSubmitApps>alice</aclSubmitApps><aclAdministerApps>bob</aclAdministerApps></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Checker{Admins: acl.Parse("admin1"), Queues: queue.NewLive(fair)}
	for user, want := range map[string]bool{"alice": true, "bob": true, "eve": false, "admin1": false} {
		for _, name := range []string{"root.a", "root.a.made"} {
			if got := c.MaySubmit(user, name); got != want {
				t.Errorf("%s may submit to %s: %v", user, name, got)
			}
		}
		if !c.MayMoveTo(user, "root.a") {
			t.Errorf("%s may move nothing to root.a", user)
		}
	}
}

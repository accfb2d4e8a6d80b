package faults

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/internal/webanswer"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

func TestRights(t *testing.T) {
	const queues = "yarn.scheduler.capacity.root"
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{
		"yarn.acl.enable":                           "true",
		"yarn.admin.acl":                            "boss",
		queues + ".queues":                          "default,closed",
		queues + ".default.capacity":                "60",
		queues + ".closed.capacity":                 "40",
		queues + ".acl_submit_applications":         " ",
		queues + ".acl_administer_queue":            " ",
		queues + ".default.acl_submit_applications": "*",
		queues + ".default.acl_administer_queue":    " ",
		queues + ".closed.acl_submit_applications":  "carol",
		queues + ".closed.acl_administer_queue":     "dave",
		"hadoop.proxyuser.oozie.hosts":              "127.0.0.1",
		"hadoop.proxyuser.oozie.users":              "alice",
		"hadoop.proxyuser.hue.hosts":                "10.1.2.3",
		"hadoop.proxyuser.hue.groups":               "*",
		"hadoop.proxyuser.knox.hosts":               "*",
		"hadoop.proxyuser.knox.groups":              "daemon",
	}})
	t.Run("Application", func(t *testing.T) { c.with(t).applicationRights() })
	t.Run("Queue", func(t *testing.T) { c.with(t).queueRights() })
	t.Run("Proxy", func(t *testing.T) { c.with(t).proxyRights() })
	t.Run("Admin", func(t *testing.T) { c.with(t).adminRights() })
}

// applicationRights: alice lets bob and the group daemon see her application, and carol change it.
func (c *cluster) applicationRights() {
	rights := func(ctx *pb.ApplicationSubmissionContext) {
		var acls []*pb.ApplicationACLMap
		for kind, list := range map[pb.ApplicationAccessType]string{
			pb.ApplicationAccessType_APPACCESS_VIEW_APP: "bob daemon", pb.ApplicationAccessType_APPACCESS_MODIFY_APP: "carol",
		} {
			m := &pb.ApplicationACLMap{}
			m.SetAccessType(kind)
			m.SetAcl(list)
			acls = append(acls, m)
		}
		ctx.GetAmContainerSpec().SetApplication_ACLs(acls)
	}
	m := c.unmanaged("alice", rights)
	box := m.containers(1)[0]
	start := launch(tokenOf(box), "echo secret ><LOG_DIR>/stdout; sleep 1000")
	start.GetStartContainerRequest()[0].GetContainerLaunchContext().SetApplication_ACLs(m.Registration.GetApplication_ACLs()) // as ApplicationMasters do
	if f := call(c, protocol.StartContainers, m.Node(box), start).GetFailedRequests(); len(f) > 0 {
		c.t.Fatal(f)
	}
	attempts := &pb.GetApplicationAttemptsRequest{}
	attempts.SetApplicationId(m.id.PB())
	containers := &pb.GetContainersRequest{}
	containers.SetApplicationAttemptId(m.Attempt.PB())
	kill := &pb.KillApplicationRequest{}
	kill.SetApplicationId(m.id.PB())
	priority := &pb.UpdateApplicationPriorityRequest{}
	priority.SetApplicationId(m.id.PB())
	priority.SetApplicationPriority(&pb.Priority{})
	signal := &pb.SignalContainerRequest{}
	signal.SetContainerId(box.GetId())
	signal.SetCommand(pb.SignalContainerCommand_FORCEFUL_SHUTDOWN)
	fail := &pb.FailApplicationAttemptRequest{}
	fail.SetApplicationAttemptId(m.Attempt.PB())

	for user, sees := range map[string]bool{"alice": true, "bob": true, "daemon": true, "boss": true, "carol": false, "mallory": false, "dave": false} {
		if got := c.report(user, m.id).GetHost() == "localhost"; got != sees {
			c.t.Errorf("%s sees where the ApplicationMaster is: %v", user, got)
		}
		if sees {
			call(c, protocol.GetApplicationAttempts, c.as(user), attempts)
			continue
		}
		text := "User " + user + " does not have privilege to see this application " + m.id.String()
		refused(c, user+" asks for attempts", protocol.GetApplicationAttempts, c.as(user), attempts, ipc.YarnException, text)
		refused(c, user+" asks for containers", protocol.GetContainers, c.as(user), containers, ipc.YarnException, text)
	}
	for _, user := range []string{"bob", "daemon", "mallory", "dave"} {
		text := "User " + user + " cannot perform operation MODIFY_APP on " + m.id.String()
		refused(c, user+" kills", protocol.ForceKillApplication, c.as(user), kill, ipc.YarnException, "java.security.AccessControlException: "+text)
		refused(c, user+" sets the priority", protocol.UpdateApplicationPriority, c.as(user), priority, ipc.YarnException, "java.security.AccessControlException: "+text)
		refused(c, user+" fails the attempt", protocol.FailApplicationAttempt, c.as(user), fail, ipc.YarnException, "java.security.AccessControlException: "+text)
		if onHeddle { // Hadoop lets everybody
			refused(c, user+" signals", protocol.SignalToContainer, c.as(user), signal, ipc.YarnException, "java.security.AccessControlException: "+text)
		}
		if status, body := c.rest(http.MethodPut, "/ws/v1/cluster/apps/"+m.id.String()+"/state?user.name="+user, `{"state":"KILLED"}`); status != http.StatusForbidden {
			c.t.Errorf("%s kills over REST: %d %s", user, status, body)
		}
	}
	// the node shows what a container writes to who may see the application
	logs := fmt.Sprintf("http://%s/ws/v1/node/containers/%v/logs/stdout?user.name=", box.GetNodeHttpAddress(), records.ContainerIDFrom(box.GetId()))
	await.Slowly(c.t, "bob reads the log", func() bool {
		_, body := c.get(logs + "bob")
		return strings.Contains(body, "secret")
	})
	if onHeddle { // Hadoop shows logs to everybody
		if status, body := c.get(logs + "mallory"); strings.Contains(body, "secret") || status < 400 {
			c.t.Errorf("mallory reads the log: %d %s", status, body)
		}
	}
	call(c, protocol.UpdateApplicationPriority, c.as("carol"), priority)
	c.kill("carol", m.id)
	if d := c.report("alice", m.id).GetDiagnostics(); !strings.Contains(d, "was killed by user carol at ") {
		c.t.Errorf("diagnostics: %s", d)
	}
}

func (c *cluster) queueRights() {
	ctx := c.submission("mallory")
	ctx.SetQueue("closed")
	id := records.ApplicationIDFrom(ctx.GetApplicationId())
	refused(c, "a queue without rights", protocol.SubmitApplication, c.as("mallory"), peer.Submission(ctx), ipc.YarnException,
		fmt.Sprintf("User mallory does not have permission to submit %v to queue closed", id))
	body := fmt.Sprintf(`{"application-id":%q,"application-name":"x","queue":"closed","unmanaged-AM":true,"am-container-spec":{},"resource":{"memory":128,"vCores":1}}`, id)
	if status, text := c.rest(http.MethodPost, "/ws/v1/cluster/apps?user.name=mallory", body); status != http.StatusBadRequest || !strings.Contains(text, "does not have permission to submit") {
		c.t.Errorf("over REST: %d %s", status, text)
	}
	m := c.unmanaged("alice", nil)
	move := &pb.MoveApplicationAcrossQueuesRequest{}
	move.SetApplicationId(m.id.PB())
	move.SetTargetQueue("closed")
	refused(c, "moving there", protocol.MoveApplicationAcrossQueues, c.as("alice"), move, ipc.YarnException,
		"java.security.AccessControlException: User alice cannot submit applications to target queue or the target queue doesn't exist: closed while moving")
	c.kill("alice", m.id)

	theirs := c.unmanaged("carol", func(ctx *pb.ApplicationSubmissionContext) { ctx.SetQueue("closed") })
	kill := &pb.KillApplicationRequest{}
	kill.SetApplicationId(theirs.id.PB())
	refused(c, "killing carol's", protocol.ForceKillApplication, c.as("alice"), kill, ipc.YarnException, "User alice cannot perform operation MODIFY_APP")
	c.kill("dave", theirs.id) // who administers the queue
}

func (c *cluster) proxyRights() {
	ask := &pb.GetNewApplicationRequest{}
	as := func(real, user string) ipc.Invoker {
		return c.fresh().to("rm", protocol.ApplicationClient, ipc.Identity{User: user, RealUser: real})
	}
	call(c, protocol.GetNewApplication, as("oozie", "alice"), ask)
	call(c, protocol.GetNewApplication, as("knox", "daemon"), ask) // who is in the group daemon
	for _, w := range []struct{ real, user, text string }{
		{"oozie", "bob", "User: oozie is not allowed to impersonate bob"},
		{"mallory", "alice", "User: mallory is not allowed to impersonate alice"},
		{"knox", "alice", "User: knox is not allowed to impersonate alice"},
		{"hue", "alice", "Unauthorized connection for super-user: hue from IP /127.0.0.1"},
	} {
		refused(c, w.real+" for "+w.user, protocol.GetNewApplication, as(w.real, w.user), ask, ipc.AuthorizationException, w.text)
		status, body := c.rest(http.MethodPost, "/ws/v1/cluster/apps/new-application?user.name="+w.real+"&doAs="+w.user, "")
		if status != http.StatusForbidden {
			c.t.Errorf("%s for %s over REST: %d %s", w.real, w.user, status, body)
		}
	}
	// what is submitted for somebody is his, and he may kill it
	ctx := c.submission("alice")
	call(c, protocol.SubmitApplication, as("oozie", "alice"), peer.Submission(ctx))
	id := records.ApplicationIDFrom(ctx.GetApplicationId())
	if user := c.report("alice", id).GetUser(); user != "alice" {
		c.t.Errorf("submitted as %q", user)
	}
	c.kill("alice", id)
}

func (c *cluster) adminRights() {
	admin := func(user string) ipc.Invoker {
		return c.to("rm-admin", protocol.Administration, ipc.Identity{User: user})
	}
	for _, user := range []string{"mallory", "dave"} {
		refused(c, user+" refreshes queues", protocol.RefreshQueues, admin(user), &pb.RefreshQueuesRequest{}, ipc.YarnException,
			ipc.AccessControlException+": User "+user+" doesn't have permission to call 'refreshQueues'")
	}
	call(c, protocol.RefreshQueues, admin("boss"), &pb.RefreshQueuesRequest{})

	// what the configuration says is in force when an administrator says so
	c.set("yarn-site.xml", "yarn.admin.acl", "chief")
	c.set("core-site.xml", "hadoop.proxyuser.oozie.users", "bob")
	call(c, protocol.RefreshAdminAcls, admin("boss"), &pb.RefreshAdminAclsRequest{})
	refused(c, "who was an administrator", protocol.RefreshSuperUserGroupsConfiguration, admin("boss"),
		&pb.RefreshSuperUserGroupsConfigurationRequest{}, ipc.YarnException, "User boss doesn't have permission to call")
	ask := &pb.GetNewApplicationRequest{}
	as := func(user string) ipc.Invoker {
		return c.fresh().to("rm", protocol.ApplicationClient, ipc.Identity{User: user, RealUser: "oozie"})
	}
	call(c, protocol.GetNewApplication, as("alice"), ask)
	call(c, protocol.RefreshSuperUserGroupsConfiguration, admin("chief"), &pb.RefreshSuperUserGroupsConfigurationRequest{})
	call(c, protocol.GetNewApplication, as("bob"), ask)
	refused(c, "whom oozie might act for", protocol.GetNewApplication, as("alice"), ask, ipc.AuthorizationException, "User: oozie is not allowed to impersonate alice")
	call(c, protocol.RefreshUserToGroupsMappings, admin("chief"), &pb.RefreshUserToGroupsMappingsRequest{})
	groups := &pb.GetGroupsForUserRequest{}
	groups.SetUser("daemon")
	refused(c, "groups for a stranger", protocol.GetGroupsForUser, admin("mallory"), groups, ipc.IOException,
		"AccessControlException: User mallory doesn't have permission to call 'getGroupsForUser'")
	if g := call(c, protocol.GetGroupsForUser, admin("chief"), groups).GetGroups(); len(g) != 1 || g[0] != "daemon" {
		c.t.Errorf("groups of daemon: %v", g)
	}
}

// rest makes a request to the ResourceManager.
func (c *cluster) rest(method, path, body string) (status int, text string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, fmt.Sprintf("http://localhost:%d%s", c.Port("rm-http"), path), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return c.send(req)
}

func (c *cluster) get(url string) (status int, text string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send(req)
}

func (c *cluster) send(req *http.Request) (status int, text string) {
	c.t.Helper()
	return webanswer.To(c.t, req)
}

// set changes a file of the configuration.
func (c *cluster) set(file, key, value string) {
	c.t.Helper()
	path := filepath.Join(c.Conf(), file)
	var site struct {
		XMLName  xml.Name `xml:"configuration"`
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = xml.Unmarshal(b, &site)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range site.Property {
		if site.Property[i].Name == key {
			site.Property[i].Value = value
		}
	}
	if b, err = xml.Marshal(site); err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

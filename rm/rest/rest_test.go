package rest

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/ports"
	"heddle/rm"
	"heddle/rm/leader"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/logplace"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// cluster is a group of ResourceManagers with their web ports, and no node.
type cluster struct {
	t    testing.TB
	urls map[string]string // by id
	stop map[string]func()
	rms  map[string]*rm.ResourceManager
}

// start runs n ResourceManagers on loopback. more are settings, key=value.
func start(t testing.TB, n int, more ...string) *cluster {
	t.Helper()
	return startIn(t, n, "", more...)
}

// startIn is start with a configuration folder.
func startIn(t testing.TB, n int, dir string, more ...string) *cluster {
	t.Helper()
	c, ids := settings(t, n, dir, more...)
	return startWith(t, c, ids)
}

// settings returns the configuration of n ResourceManagers, and their ids.
func settings(t testing.TB, n int, dir string, more ...string) (*conf.Config, []string) {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: more})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("heddle.state.dir", filepath.Join(t.TempDir(), "state"))
	// long, so that nobody loses the leadership because other tests keep the machine busy
	c.Set("heddle.raft.heartbeat-timeout-ms", "1000")
	c.Set("heddle.raft.election-timeout-ms", "1000")
	c.Set("heddle.raft.lease-timeout-ms", "800")
	keys := []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress}
	var ids []string
	for i := range n {
		id := fmt.Sprintf("rm%d", i+1)
		ids = append(ids, id)
		free := ports.Loopback(t, len(keys)+1)
		for i, key := range keys {
			c.Set(key+"."+id, free[i])
			if n == 1 {
				c.Set(key, free[i])
			}
		}
		c.Set("heddle.raft.address."+id, free[len(keys)])
	}
	if n > 1 {
		c.Set("yarn.resourcemanager.ha.enabled", "true")
		c.Set("yarn.resourcemanager.ha.rm-ids", strings.Join(ids, ","))
	}
	if r := c.Validate(); !r.OK() {
		t.Fatal(r)
	}
	return c, ids
}

// startWith is start with a whole configuration.
func startWith(t testing.TB, c *conf.Config, ids []string) *cluster {
	t.Helper()
	out := &cluster{t: t, urls: map[string]string{}, stop: map[string]func(){}, rms: map[string]*rm.ResourceManager{}}
	for _, id := range ids {
		out.run(c, id)
	}
	t.Cleanup(func() {
		for _, stop := range out.stop {
			stop()
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return out
}

func (c *cluster) run(settings *conf.Config, id string) {
	c.t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	r, err := rm.New(rm.Options{Conf: settings, ID: id, Log: logrus.NewEntry(log), Web: func(r *rm.ResourceManager) (http.Handler, error) { return Of(r, Mounts{}) }})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	c.stop[id] = func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	}
	c.urls[id] = "http://" + r.Addr(rm.WebAddress).String()
	c.rms[id] = r
}

// leader waits until a member leads, and returns its id.
func (c *cluster) leader() string {
	c.t.Helper()
	return await.Value(c.t, "somebody leads", func() (string, bool) {
		for id, r := range c.rms {
			if r.Leader() != nil {
				return id, true
			}
		}
		return "", false
	})
}

type answer struct {
	status int
	header http.Header
	body   string
}

// While nodes are upgraded, it is seen at one place which have which release. YARN's version is 3.4.2 on all of them.
func TestReleasesOfNodes(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	for _, host := range []string{"n1", "n2"} {
		r := leader.NodeRegistration{Node: records.NodeID{Host: host, Port: 1}, Capability: records.NewResource(1024, 1), Version: conf.HadoopVersion}
		if host == "n2" {
			r.Release = "0.9-17"
		}
		if _, err := c.rms[me].Leader().RegisterNode(r); err != nil {
			t.Fatal(err)
		}
	}
	got := c.ask(me, "GET", "/ws/v1/heddle/nodes", "").json(t)
	if a, b := at(got, "nodes", "node", 0, "release"), at(got, "nodes", "node", 1, "release"); a != nil || b != "0.9-17" {
		t.Errorf("releases %v and %v: %v", a, b, got)
	}
}

// Where tasks may be long, nodes say to which partition they belong.
func TestPartitionsOfNodes(t *testing.T) {
	for cutoff, want := range map[string][]any{"60000": {"general", "short"}, "0": {nil, nil}} {
		c := start(t, 1, "heddle.scheduler.partition.cutoff-ms="+cutoff, "heddle.scheduler.partition.short-percent=50")
		me := c.leader()
		for _, host := range []string{"n1", "n2"} {
			r := leader.NodeRegistration{Node: records.NodeID{Host: host, Port: 1}, Capability: records.NewResource(1024, 1), Version: conf.HadoopVersion}
			if _, err := c.rms[me].Leader().RegisterNode(r); err != nil {
				t.Fatal(err)
			}
		}
		got := c.ask(me, "GET", "/ws/v1/heddle/nodes", "").json(t)
		for i := range 2 {
			// which of the two is short, their hashes say
			partition, closed := at(got, "nodes", "node", i, "partition"), at(got, "nodes", "node", i, "closedToLongTasks")
			if !slices.Contains(want, partition) || closed != (partition == "short") {
				t.Errorf("with a cutoff of %s: %v", cutoff, got)
			}
			want = slices.DeleteFunc(slices.Clone(want), func(x any) bool { return x != nil && x == partition })
		}
	}
}

// ask makes a request and doesn't follow redirects.
func (c *cluster) ask(id, method, path, body string, headers ...string) answer {
	c.t.Helper()
	req, err := http.NewRequest(method, c.urls[id]+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (a answer) json(t testing.TB) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return v
}

// at follows a path of keys, and indices, into a document.
func at(v any, keys ...any) any {
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// submit submits an application of alice, and returns its id.
func (c *cluster) submit(id, more string) string {
	c.t.Helper()
	app, _ := at(c.ask(id, "POST", "/ws/v1/cluster/apps/new-application?user.name=alice", "").json(c.t), "application-id").(string)
	body := `{"application-id":"` + app + `","application-name":"n","am-container-spec":{"commands":{"command":"true"}},` +
		`"resource":{"memory":1024,"vCores":1}` + more + `}`
	a := c.ask(id, "POST", "/ws/v1/cluster/apps?user.name=alice", body)
	if want := c.urls[id] + "/ws/v1/cluster/apps/" + app; a.status != 202 || a.header.Get("Location") != want {
		c.t.Fatalf("%d %s %s", a.status, a.header.Get("Location"), a.body)
	}
	return app
}

func TestLifeOfAnApplication(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	app := c.submit(me, `,"application-tags":{"tag":["B","a"]},"priority":2,"application-type":"SHELL"`)
	path := "/ws/v1/cluster/apps/" + app

	got := c.ask(me, "GET", path, "").json(t)
	for key, want := range map[string]any{
		"user": "alice", "state": "ACCEPTED", "queue": "root.default", "applicationTags": "a,b", "finalStatus": "UNDEFINED",
		"trackingUI": "UNASSIGNED", "applicationType": "SHELL", "priority": float64(0),
	} {
		if v := at(got, "app", key); v != want {
			t.Errorf("%s is %v, not %v", key, v, want)
		}
	}
	if v := at(got, "app", "resourceRequests", 0, "capability", "memory"); v != float64(1024) {
		t.Errorf("asks for %v", v)
	}
	if v, _ := at(got, "app", "diagnostics").(string); !strings.Contains(v, "no node takes containers") {
		t.Errorf("its diagnostics are %q", v)
	}
	reason := c.ask(me, "GET", "/ws/v1/heddle/apps/"+app+"/pending?user.name=alice", "").json(t)
	if v := at(reason, "pending", "reason", 0, "limit"); v != "nodes" {
		t.Errorf("explained by %v: %v", v, reason)
	}
	for query, want := range map[string]any{
		"resource=memory-mb%3D1024,vcores%3D1": "nodes", "resource=memory-mb%3D99999999": 400, "resource=": 400, "resource=disk%3D1": 400,
		"resource=memory-mb": 400, "resource=vcores%3D1&am=perhaps": 400, "resource=vcores%3D1&am=true": "nodes",
	} {
		a := c.ask(me, "GET", "/ws/v1/heddle/queues/default/what-if?user=bob&"+query, "")
		if limit := at(a.json(t), "whatIf", "reason", "limit"); a.status != want && limit != want {
			t.Errorf("what if %s: %d, %v, want %v", query, a.status, limit, want)
		}
	}
	if a := c.ask(me, "GET", "/ws/v1/heddle/queues/nowhere/what-if?resource=vcores%3D1", ""); a.status != 400 {
		t.Errorf("what if in an unknown queue: %d", a.status)
	}
	times := c.ask(me, "GET", "/ws/v1/heddle/apps/"+app+"/timeline?user.name=alice", "").json(t)
	if v := at(times, "timeline", "state"); v != "ACCEPTED" || at(times, "timeline", "submitted") != at(got, "app", "startedTime") || at(times, "timeline", "accepted") == nil ||
		at(times, "timeline", "registered") != nil || at(times, "timeline", "attempt", 0, "appAttemptId") == nil {
		t.Errorf("its timeline is %v", times)
	}
	receipt := c.ask(me, "GET", "/ws/v1/heddle/apps/"+app+"/receipt?user.name=alice", "").json(t)
	if at(receipt, "receipt", "from") != at(got, "app", "startedTime") || at(receipt, "receipt", "step", 0, "from") != at(got, "app", "startedTime") || at(receipt, "receipt", "part", 0, "kind") == nil {
		t.Errorf("its receipt is %v", receipt)
	}
	if a := c.ask(me, "GET", "/ws/v1/heddle/apps/application_1_0099/receipt", ""); a.status != 404 {
		t.Errorf("a receipt of an unknown one: %d", a.status)
	}
	if a := c.ask(me, "GET", "/ws/v1/heddle/apps/application_1_0099/timeline", ""); a.status != 404 {
		t.Errorf("an application that isn't there: %d", a.status)
	}
	for query, want := range map[string]bool{
		"states=accepted": true, "states=RUNNING": false, "user=alice": true, "user=bob": false, "queue=default": true,
		"queue=root.default": true, "applicationTypes=shell": true, "applicationTags=B": true, "applicationTags=c": false,
		"name=n": true, "name=m": false, "finalStatus=UNDEFINED": true, "finishedTimeBegin=1": false, "startedTimeEnd=1": false,
	} {
		list := c.ask(me, "GET", "/ws/v1/cluster/apps?"+query, "").json(t)
		if found := at(list, "apps", "app", 0, "id") == app; found != want {
			t.Errorf("%s: found is %v", query, found)
		}
	}

	a := c.ask(me, "PUT", path+"/state?user.name=bob", `{"state":"RUNNING"}`)
	if a.status != 400 || !strings.Contains(a.body, "Only 'KILLED' is allowed as a target state.") {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = c.ask(me, "PUT", path+"/state?user.name=alice", `{"state":"KILLED","diagnostics":"enough"}`)
	if a.status != 202 || !strings.HasSuffix(a.header.Get("Location"), path+"/state") {
		t.Errorf("%d %v", a.status, a.header)
	}
	if v := at(c.ask(me, "GET", path+"/state", "").json(t), "state"); v != "KILLED" {
		t.Errorf("it is %v", v)
	}
	if v, _ := at(c.ask(me, "GET", path, "").json(t), "app", "diagnostics").(string); !strings.Contains(v, "enough") {
		t.Errorf("it was killed because of %q", v)
	}
	if a = c.ask(me, "PUT", path+"/state?user.name=alice", `{"state":"KILLED"}`); a.status != 200 {
		t.Errorf("killed twice: %d", a.status)
	}
}

func TestXML(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	a := c.ask(me, "POST", "/ws/v1/cluster/apps/new-application?user.name=bob", "", "Accept", "application/xml")
	var fresh struct {
		XMLName xml.Name `xml:"NewApplication"`
		ID      string   `xml:"application-id"`
		VCores  int      `xml:"maximum-resource-capability>vCores"`
	}
	if err := xml.Unmarshal([]byte(a.body), &fresh); err != nil || fresh.VCores == 0 {
		t.Fatalf("%v: %s", err, a.body)
	}
	body := `<application-submission-context><application-id>` + fresh.ID + `</application-id><application-name>x</application-name>` +
		`<am-container-spec><commands><command>true</command></commands><environment><entry><key>K</key><value>V</value></entry>` +
		`</environment></am-container-spec><resource><memory>512</memory><vCores>1</vCores></resource>` +
		`<application-tags><tag>t</tag></application-tags></application-submission-context>`
	a = c.ask(me, "POST", "/ws/v1/cluster/apps?user.name=bob", body, "Accept", "application/xml", "Content-Type", "application/xml")
	if a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a = c.ask(me, "GET", "/ws/v1/cluster/apps", "", "Accept", "application/xml")
	var list struct {
		XMLName xml.Name `xml:"apps"`
		App     []struct {
			ID, Name string
			Tags     string `xml:"applicationTags"`
		} `xml:"app"`
	}
	if err := xml.Unmarshal([]byte(a.body), &list); err != nil || len(list.App) != 1 || list.App[0].Tags != "t" {
		t.Errorf("%v: %s", err, a.body)
	}
	a = c.ask(me, "GET", "/ws/v1/cluster/scheduler", "", "Accept", "application/xml")
	if !strings.Contains(a.body, `<schedulerInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="capacityScheduler">`) {
		t.Errorf("%.300s", a.body)
	}
}

func TestRefusals(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	const base = "/ws/v1/cluster"
	for _, x := range []struct {
		method, path, body string
		status             int
		class, message     string
	}{
		{"GET", base + "/apps/nonsense", "", 400, "BadRequestException", "Invalid ApplicationId prefix: nonsense."},
		{"GET", base + "/apps/application_1_0001", "", 404, "NotFoundException", "app with id: application_1_0001 not found"},
		{"GET", base + "/apps?limit=0", "", 400, "BadRequestException", "limit value must be greater then 0"},
		{"GET", base + "/apps?states=SLEEPING", "", 400, "BadRequestException", "Invalid application-state SLEEPING"},
		{"GET", base + "/apps?deSelects=x", "", 400, "BadRequestException", "Invalid deSelects string x"},
		{"GET", base + "/apps?startedTimeBegin=2&startedTimeEnd=1", "", 400, "BadRequestException", "startedTimeEnd must be greater"},
		{"GET", base + "/nodes/nohost", "", 400, "IllegalArgumentException", "Invalid NodeId [nohost]"},
		{"GET", base + "/nodes/nohost:1", "", 404, "NotFoundException", "nodeId, nohost:1, is not found"},
		{"POST", base + "/apps?user.name=a", "{}", 400, "BadRequestException", "Could not parse application id "},
		{"POST", base + "/apps?user.name=a", "{", 400, "WebApplicationException", "UnmarshalException"},
		{
			"POST", base + "/apps?user.name=a", `{"application-id":"application_1_0001","resource":{"memory":99999999}}`, 400,
			"BadRequestException", "Requested more memory than configured max",
		},
		{
			"POST", base + "/apps?user.name=a", `{"application-id":"application_1_0001","am-container-spec":{"local-resources":` +
				`{"entry":[{"key":"f","value":{"type":"FILE"}}]}}}`, 400, "BadRequestException", "local resource f",
		},
		{
			"POST", base + "/apps?user.name=a", `{"application-id":"application_1_0001","am-container-spec":{"credentials":` +
				`{"secrets":{"entry":[{"key":"s","value":"***"}]}}}}`, 400, "BadRequestException", "secret s",
		},
		{"PUT", base + "/apps/application_1_0001/priority?user.name=a", `{"priority":1}`, 404, "NotFoundException", "not found"},
		{"DELETE", base + "/info", "", 405, "WebApplicationException", ""},
		{"POST", "/ws/v1/heddle/containers/container_1_0001_01_000001/suspend?user.name=a", "", 404, "NotFoundException", "doesn't exist"},
		{"POST", "/ws/v1/heddle/containers/container_1_0001_01_000001/suspend?level=deep&user.name=a", "", 400, "BadRequestException", "shrunk, frozen, reclaimed"},
		{"POST", "/ws/v1/heddle/containers/container_1_0001_01_000001/suspend?breathe=1s&user.name=a", "", 400, "BadRequestException", "neither never"},
		{"POST", "/ws/v1/heddle/containers/container_1_0001_01_000001/suspend?hold=64&user.name=a", "", 404, "NotFoundException", "doesn't exist"},
		{"GET", "/ws/v1/heddle/containers?suspended=maybe", "", 400, "BadRequestException", "must be true or false"},
		{"POST", base + "/scheduler-conf/validate", "{}", 400, "", "only supported by MutableConfScheduler"},
	} {
		a := c.ask(me, x.method, x.path, x.body)
		var got struct {
			E struct{ Exception, Message string } `json:"RemoteException"`
		}
		if x.class != "" {
			if err := json.Unmarshal([]byte(a.body), &got); err != nil {
				t.Errorf("%s %s: %v: %s", x.method, x.path, err, a.body)
			}
		} else {
			got.E.Message = a.body
		}
		if a.status != x.status || got.E.Exception != x.class || !strings.Contains(got.E.Message, x.message) {
			t.Errorf("%s %s %s: %d %s", x.method, x.path, x.body, a.status, a.body)
		}
	}
}

func TestPagesOfTheDaemon(t *testing.T) {
	c := start(t, 1, "yarn.admin.acl=boss")
	me := c.leader()
	for _, x := range []struct{ path, kind, want string }{
		{"/conf?name=yarn.acl.enable", "application/json", "yarn.acl.enable"},
		{"/jmx?qry=Hadoop:service=ResourceManager,name=ClusterMetrics", "application/json", `"NumActiveNMs" : 0`},
		{"/jmx?qry=Hadoop:service=ResourceManager,name=RpcActivityForPort*", "application/json", `"tag.serverName" : "ResourceTrackerService"`},
		{"/jmx?get=java.lang:type=Memory::HeapMemoryUsage", "application/json", `"used" : `},
		{"/jmx?qry=Hadoop:service=ResourceManager,name=RpcDetailedActivityForPort*", "application/json", `"NodeHeartbeatNumOps" : `},
		{"/jmx?qry=Hadoop:service=ResourceManager,name=MetricsSystem,*", "application/json", `"NumActiveSources" : `},
		{"/jmx?qry=Hadoop:service=ResourceManager,name=DelegationToken*", "application/json", `"StoreTokenNumOps" : `},
		{"/jmx?qry=java.lang:type=OperatingSystem", "application/json", `"SystemCpuLoad" : `},
		{"/stacks", "text/plain", "goroutine"},
		{"/logLevel", "text/html", "Log Level"},
		{"/metrics", "text/plain", "heddle_rm_leader 1"},
		{"/metrics", "text/plain", "\ngo_gc_heap_live_bytes "},
		{"/isActive", "text/plain", "I am Active!"},
		{"/logs/", "text/html", "Directory: /logs/"},
		{"/ws/v1/heddle/members", "application/json", `"leader":"` + me + `"`},
	} {
		a := c.ask(me, "GET", x.path, "")
		if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), x.kind) || !strings.Contains(a.body, x.want) {
			t.Errorf("%s: %d %s %.300s", x.path, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
	if a := c.ask(me, "GET", "/?user.name=x", ""); a.status != 302 || a.header.Get("Location") != c.urls[me]+"/cluster?user.name=x" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := c.ask(me, "GET", "/logLevel?log=x&level=debug&user.name=mallory", ""); a.status != 403 {
		t.Errorf("mallory may change the log level: %d", a.status)
	}
}

// A member that doesn't lead sends clients to the one that does, and tells of itself.
func TestStandby(t *testing.T) {
	c := start(t, 3)
	for {
		leads := c.leader()
		leadership := c.rms[leads].Leader()
		var wrong []string
		for id := range c.rms {
			if id != leads {
				wrong = append(wrong, c.asStandby(id, leads, leadership)...)
			}
		}
		if c.rms[leads].Leader() == leadership { // nobody else has come to lead meanwhile, as when the machine stands still
			for _, w := range wrong {
				t.Error(w)
			}
			return
		}
	}
}

// asStandby returns what a member answers otherwise than a standby should.
func (c *cluster) asStandby(id, leads string, leadership *leader.Leader) (wrong []string) {
	c.t.Helper()
	fail := func(format string, args ...any) { wrong = append(wrong, id+": "+fmt.Sprintf(format, args...)) }
	await.Until(c.t, id+" knows who leads", func() bool { return c.rms[id].LeaderID() == leads || c.rms[leads].Leader() != leadership })
	const path = "/ws/v1/cluster/apps?states=RUNNING"
	a := c.ask(id, "GET", path, "")
	if a.status != 307 || a.header.Get("Location") != c.urls[leads]+path || !strings.HasPrefix(a.body, "This is standby RM.") {
		fail("%d %v %s", a.status, a.header, a.body)
	}
	for _, x := range []struct{ method, path string }{
		{"POST", "/ws/v1/cluster/apps/new-application?user.name=alice"},
		{"PUT", "/ws/v1/cluster/apps/application_1_1/state"},
		{"DELETE", "/ws/v1/cluster/apps/a%2Fb?x=%20y&x"},
		{"GET", "/cluster/app/application_1_1"},
		{"HEAD", "/cluster"},
		{"OPTIONS", "/ws/v1/cluster/apps"},
		{"GET", "/"},
		{"GET", "/nosuch"},
	} {
		if a := c.ask(id, x.method, x.path, ""); a.status != 307 || a.header.Get("Location") != c.urls[leads]+x.path {
			fail("%s %s: %d %v", x.method, x.path, a.status, a.header)
		}
	}
	for path, want := range map[string]string{
		"/jmx?qry=Hadoop:service=ResourceManager,name=RMInfo": `"State" : "standby"`, "/conf?name=yarn.acl.enable": "yarn.acl.enable", "/stacks": "goroutine ",
		"/metrics": "heddle_rm_leader 0", "/logs/": "", "/logLevel": "", "/cluster/cluster": "",
	} {
		if a := c.ask(id, "GET", path, ""); a.status != 200 || !strings.Contains(a.body, want) {
			fail("%s: %d %.300s", path, a.status, a.body)
		}
	}
	info := c.ask(id, "GET", "/ws/v1/cluster/info", "").json(c.t)
	if v := at(info, "clusterInfo", "haState"); v != "STANDBY" {
		fail("it says that it is %v", v)
	}
	if v := at(info, "clusterInfo", "haZooKeeperConnectionState"); v != "CONNECTED" {
		fail("checks for CONNECTED alarm: %v", v)
	}
	if a := c.ask(id, "GET", "/isActive", ""); a.status != 405 {
		fail("%d", a.status)
	}
	if members := c.ask(id, "GET", "/ws/v1/heddle/members", "").json(c.t); at(members, "members", "leader") != leads {
		fail("%v", members)
	}
	await.Until(c.t, id+" shows that all members answer, and their releases", func() bool {
		list, _ := at(c.ask(id, "GET", "/ws/v1/heddle/members", "").json(c.t), "members", "member").([]any)
		return len(list) == 3 && !slices.ContainsFunc(list, func(m any) bool {
			return at(m, "reachable") != true || at(m, "behind") == nil || at(m, "version") != conf.Version
		})
	})
	return wrong
}

// A delegation token lets its bearer act for its owner, until it is cancelled, and by nothing else.
func TestDelegationTokens(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	const who = "/ws/v1/cluster/userinfo"
	a := c.ask(me, "GET", who+"?op=getdelegationtoken&renewer=bob&user.name=alice", "")
	text, _ := at(a.json(t), "Token", "urlString").(string)
	if a.status != 200 || text == "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	user := func(path string, headers ...string) any {
		t.Helper()
		return at(c.ask(me, "GET", path, "", headers...).json(t), "requestedUser")
	}
	if u := user(who + "?delegation=" + text); u != "alice" {
		t.Errorf("by parameter it is %v", u)
	}
	if u := user(who+"?user.name=eve", "X-Hadoop-Delegation-Token", text); u != "alice" {
		t.Errorf("by header it is %v", u)
	}
	for _, x := range []struct {
		method, query string
		status        int
	}{
		{"PUT", "op=RENEWDELEGATIONTOKEN&user.name=eve&token=" + text, 403},
		{"PUT", "op=RENEWDELEGATIONTOKEN&user.name=bob&token=" + text, 200},
		{"PUT", "op=RENEWDELEGATIONTOKEN&user.name=bob", 400},
		{"PUT", "op=RENEWDELEGATIONTOKEN&user.name=bob&token=nonsense", 403},
		{"PUT", "op=GETDELEGATIONTOKEN&user.name=alice", 400},
		{"GET", "op=GETDELEGATIONTOKEN", 401},
		{"GET", "delegation=nonsense", 403},
		{"GET", "delegation=" + text[:len(text)-60] + "AAAA" + text[len(text)-56:], 403},
		{"PUT", "op=CANCELDELEGATIONTOKEN&user.name=eve&token=" + text, 404},
		{"PUT", "op=CANCELDELEGATIONTOKEN&user.name=alice&token=" + text, 200},
		{"GET", "delegation=" + text, 403},
	} {
		if a := c.ask(me, x.method, who+"?"+x.query, ""); a.status != x.status {
			t.Errorf("%s %s: %d %s", x.method, x.query, a.status, a.body)
		}
	}
}

// logPaths stands in for nm/logs/past, which this layer doesn't see; a test there compares its paths with the description, too.
type logPaths struct{}

func (logPaths) Route(api *yarnrest.API, base string, _ logplace.Finder) {
	for _, path := range []string{"/apps/{app}/logs", "/containers/{container}/logs", "/containers/{container}/logs/{file}"} {
		api.Handle(base+path, yarnrest.Methods{http.MethodGet: {}})
	}
}

// The description of our API has the paths that are served, no more and no less.
func TestDescription(t *testing.T) {
	b, err := os.ReadFile("../../docs/heddle-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimRight(line, ":\n"), "  "); ok && strings.HasPrefix(path, "/") {
			described = append(described, path)
		}
	}
	api := yarnrest.NewAPI(nil)
	(&server{Config: Config{Logs: logPaths{}}}).routeHeddle(api)
	served := api.Paths()
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described: %v\nserved: %v", described, served)
	}
}

// What was submitted, and who users are, outlives the leader.
func TestFailover(t *testing.T) {
	c := start(t, 3)
	first := c.leader()
	app := c.submit(first, "")
	login := c.ask(first, "GET", "/ws/v1/cluster/userinfo?user.name=alice", "").header.Get("Set-Cookie")
	cookie, _, _ := strings.Cut(login, ";")
	c.stop[first]()
	delete(c.stop, first)
	delete(c.rms, first)
	second := c.leader()
	got := c.ask(second, "GET", "/ws/v1/cluster/apps/"+app, "").json(t)
	if at(got, "app", "state") != "ACCEPTED" || at(got, "app", "user") != "alice" {
		t.Errorf("the next leader knows %v", got)
	}
	if u := at(c.ask(second, "GET", "/ws/v1/cluster/userinfo", "", "Cookie", cookie).json(t), "requestedUser"); u != "alice" {
		t.Errorf("the next leader takes the cookie for one of %v", u)
	}
	if v := at(c.ask(second, "GET", "/ws/v1/heddle/members", "").json(t), "members", "leader"); v != second {
		t.Errorf("it says that %v leads", v)
	}
	if a := c.ask(second, "PUT", "/ws/v1/cluster/apps/"+app+"/state?user.name=alice", `{"state":"KILLED"}`); a.status != 202 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// BenchmarkApps lists a thousand applications that wait.
func BenchmarkApps(b *testing.B) {
	c := start(b, 1)
	me := c.leader()
	for range 1000 {
		c.submit(me, "")
	}
	var size int
	for b.Loop() {
		size = len(c.ask(me, "GET", "/ws/v1/cluster/apps", "").body)
	}
	b.SetBytes(int64(size))
}

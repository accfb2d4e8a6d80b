package rest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/rm/leader"
	"heddle/yarn/records"
)

// queueFile makes a configuration folder with settings of queues, below yarn.scheduler.capacity.root.
func queueFile(t *testing.T, settings ...string) string {
	t.Helper()
	dir, text := t.TempDir(), "<configuration>"
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		text += "<property><name>yarn.scheduler.capacity.root." + key + "</name><value>" + value + "</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(text+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What Hadoop 3.5's queue editor calls (YarnApiClient and mutationBuilder of hadoop-yarn-capacity-scheduler-ui), in its form, gets the answers that it reads.
func TestHadoopsQueueEditor(t *testing.T) {
	c := startIn(t, 1, queueFile(t, "queues=default", "default.capacity=100"), "yarn.scheduler.configuration.store.class=memory", "yarn.acl.enable=true", "yarn.admin.acl=yarn", "yarn.webapp.scheduler-ui.read-only.enable=true")
	me := c.leader()
	if _, err := c.rms[me].Leader().RegisterNode(leader.NodeRegistration{Node: records.NodeID{Host: "n1", Port: 1}, Capability: records.NewResource(8192, 8), Version: "3.4.2"}); err != nil {
		t.Fatal(err)
	}
	call := func(method, path, body string, want int) answer {
		t.Helper()
		a := c.ask(me, method, clusterBase+path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"user.name=yarn", body, "Accept", "application/json")
		if a.status != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, a.status, want, a.body)
		}
		return a
	}
	for name, want := range map[string]string{"hadoop.http.authentication.type": "simple", "yarn.webapp.scheduler-ui.read-only.enable": "true"} {
		if got := at(c.ask(me, "GET", "/conf?name="+name, "", "Accept", "application/json").json(t), "property", "value"); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	for path, has := range map[string][]any{
		"/scheduler":              {"scheduler", "schedulerInfo", "type"},
		"/scheduler-conf":         {"property", 0, "name"},
		"/scheduler-conf/version": {"versionID"},
		"/nodes":                  {"nodes", "node", 0, "id"},
	} {
		if got := at(call("GET", path, "", 200).json(t), has...); got == nil {
			t.Errorf("%s lacks %v", path, has)
		}
	}
	call("GET", "/get-node-labels", "", 200)
	call("GET", "/get-node-to-labels", "", 200)
	const change = `{"update-queue":[{"queue-name":"root.default","params":{"entry":[{"key":"capacity","value":"40"}]}}],` +
		`"add-queue":[{"queue-name":"root.new","params":{"entry":[{"key":"capacity","value":"60"},{"key":"maximum-capacity","value":"80"}]}}],` +
		`"global-updates":[{"entry":[{"key":"yarn.scheduler.capacity.maximum-applications","value":"5000"}]}]}`
	if got := call("POST", "/scheduler-conf/validate", change, 200).body; !strings.Contains(got, `"yarn.scheduler.capacity.root.new.maximum-capacity"`) {
		t.Errorf("the validated configuration is %s", got)
	}
	if got := call("POST", "/scheduler-conf/validate", strings.Replace(change, `"60"`, `"70"`, 1), 400).body; !strings.Contains(got, "validation failed") {
		t.Errorf("a bad sum: %s", got)
	}
	before := at(call("GET", "/scheduler-conf/version", "", 200).json(t), "versionID")
	call("PUT", "/scheduler-conf", change, 200)
	if after := at(call("GET", "/scheduler-conf/version", "", 200).json(t), "versionID"); after == before {
		t.Errorf("the version stays %v", after)
	}
	// one removal is a text; its editor stops a queue first
	call("PUT", "/scheduler-conf", `{"update-queue":[{"queue-name":"root.new","params":{"entry":[{"key":"state","value":"STOPPED"}]}}]}`, 200)
	call("PUT", "/scheduler-conf", `{"remove-queue":"root.new","update-queue":[{"queue-name":"root.default","params":{"entry":[{"key":"capacity","value":"100"}]}}]}`, 200)
	if got := c.ask(me, "PUT", clusterBase+"/scheduler-conf?user.name=alice", change).status; got != 403 {
		t.Errorf("alice changes queues: %d", got)
	}
	if got := at(c.ask(me, "GET", "/ws/v1/heddle/whoami?user.name=yarn", "").json(t), "whoami", "mayChangeQueues"); got != false {
		t.Errorf("although it is switched off, an administrator may change queues: %v", got)
	}
}

// Two administrators edit at once: the second change is refused, and names both versions; nothing is lost. A version holds across leaders.
func TestTheSecondEditorSeesTheFirst(t *testing.T) {
	c := start(t, 3, "yarn.scheduler.configuration.store.class=memory", "yarn.admin.acl=*")
	me := c.leader()
	put := func(version, capacity string) answer {
		return c.ask(me, "PUT", clusterBase+"/scheduler-conf?user.name=a&version="+url.QueryEscape(version), `{"global-updates":[{"entry":[{"key":"yarn.scheduler.capacity.maximum-applications","value":"`+capacity+`"}]}]}`)
	}
	version := func() string {
		return fmt.Sprint(at(c.ask(me, "GET", clusterBase+"/scheduler-conf/version?user.name=a", "").json(t), "versionID"))
	}
	staged := version()
	if a := put(staged, "11"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := put(staged, "22"); a.status != 409 || !strings.Contains(a.body, "the change is for version "+staged+", and version") {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	for _, bad := range []string{"x", "-1", "99999999999999999999"} {
		if a := put(bad, "33"); a.status != 400 {
			t.Errorf("version %s: %d %s", bad, a.status, a.body)
		}
	}
	staged = version()
	c.stop[me]() // between staging and applying
	delete(c.stop, me)
	delete(c.rms, me)
	me = c.leader()
	if now := version(); now != staged {
		t.Errorf("the next leader has version %s, not %s", now, staged)
	}
	if a := put(staged, "44"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if conf := c.ask(me, "GET", clusterBase+"/scheduler-conf?user.name=a", "").body; !strings.Contains(conf, `"44"`) || strings.Contains(conf, `"22"`) {
		t.Errorf("%s", conf)
	}
}

// A trial says what starts, whom preemption takes and who stands in the way, and changes nothing.
func TestTrialOfQueues(t *testing.T) {
	queues := queueFile(t, "queues=a,b", "a.capacity=90", "a.maximum-capacity=90", "b.capacity=10", "b.maximum-capacity=10", "a.user-limit-factor=9",
		"b.user-limit-factor=9", "a.maximum-am-resource-percent=1", "b.maximum-am-resource-percent=1")
	c := startIn(t, 1, queues, "yarn.scheduler.configuration.store.class=memory", "yarn.admin.acl=*", "yarn.resourcemanager.scheduler.monitor.enable=true")
	me := c.leader()
	l := c.rms[me].Leader()
	if _, err := l.RegisterNode(leader.NodeRegistration{Node: records.NodeID{Host: "n1", Port: 1}, Capability: records.NewResource(10240, 10), Version: "3.4.2"}); err != nil {
		t.Fatal(err)
	}
	submit := func(queue string) string {
		id := c.ask(me, "POST", clusterBase+"/apps/new-application?user.name=alice", "").json(t)["application-id"].(string)
		if a := c.ask(me, "POST", clusterBase+"/apps?user.name=alice", `{"application-id":"`+id+`","queue":"`+queue+`","am-container-spec":{"commands":{"command":"x"}},"resource":{"memory":2048,"vCores":1}}`); a.status != 202 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return id
	}
	running, waiting := submit("a"), submit("b")
	trial := func(body string) answer { return c.ask(me, "POST", "/ws/v1/heddle/queues/trial?user.name=root", body) }
	before := c.ask(me, "GET", clusterBase+"/scheduler-conf?user.name=root", "").body
	widen := `{"update-queue":[{"queue-name":"root.b","params":{"entry":[{"key":"capacity","value":"40"},{"key":"maximum-capacity","value":"40"}]}},{"queue-name":"root.a","params":{"entry":[{"key":"capacity","value":"60"},{"key":"maximum-capacity","value":"90"}]}}]}`
	got := trial(widen)
	if got.status != 200 || at(got.json(t), "trial", "start", 0, "applicationId") != waiting || at(got.json(t), "trial", "start", 0, "containers") != 1.0 || at(got.json(t), "trial", "start", 0, "containersAsItIs") != 0.0 {
		t.Errorf("a wider queue b: %d %s", got.status, got.body)
	}
	if !strings.Contains(got.body, `{"key":"yarn.scheduler.capacity.root.b.capacity","before":"10","after":"40"}`) {
		t.Errorf("the difference is %s", got.body)
	}
	got = trial(`{"remove-queue":["root.a"],"update-queue":[{"queue-name":"root.b","params":{"entry":[{"key":"capacity","value":"100"},{"key":"maximum-capacity","value":"100"}]}}]}`)
	if got.status != 200 || at(got.json(t), "trial", "stranded", 0, "applicationId") != running || !strings.Contains(fmt.Sprint(at(got.json(t), "trial", "refused")), "root.a") {
		t.Errorf("without a's queue: %d %s", got.status, got.body)
	}
	if got := trial(`{"update-queue":[{"queue-name":"root.b","params":{"entry":[{"key":"capacity","value":"40"}]}}]}`); got.status != 400 {
		t.Errorf("a bad sum: %d %s", got.status, got.body)
	}
	if after := c.ask(me, "GET", clusterBase+"/scheduler-conf?user.name=root", "").body; after != before {
		t.Errorf("a trial has changed the queues: %s", after)
	}
}

package nm

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// answer is what a web request has got.
type answer struct {
	status int
	kind   string
	header http.Header
	body   string
}

// web makes a web request to the node; headers are names and values in turn.
func (l *lab) web(method, path string, headers ...string) answer {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, "http://"+l.node.WebAddress()+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header, string(b)}
}

const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// expect compares an answer with a pattern, in which … stands for anything.
func (l *lab) expect(got answer, status int, kind, pattern string) {
	l.t.Helper()
	re := regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), "…", ".*") + `$`)
	if got.status != status || got.kind != kind || !re.MatchString(got.body) {
		l.t.Errorf("%d %s\n%s\nwant %d %s\n%s", got.status, got.kind, got.body, status, kind, pattern)
	}
}

const (
	jsonType = "application/json;charset=utf-8"
	xmlType  = "application/xml; charset=utf-8"
	textType = "text/plain;charset=utf-8"
	htmlType = "text/html;charset=utf-8"
)

func exception(class, message string) string {
	short := class[strings.LastIndexByte(class, '.')+1:]
	b, _ := json.Marshal(message)
	return `{"RemoteException":{"exception":"` + short + `","message":` + string(b) + `,"javaClassName":"` + class + `"}}`
}

const (
	badRequest = "org.apache.hadoop.yarn.webapp.BadRequestException"
	notFound   = "org.apache.hadoop.yarn.webapp.NotFoundException"
)

func TestWebOfAnEmptyNode(t *testing.T) {
	l := newLab(t).up()
	node := l.node.Node().String()
	info := `{"nodeInfo":{"healthReport":"","totalVmemAllocatedContainersMB":8601,"totalPmemAllocatedContainersMB":4096,` +
		`"totalVCoresAllocatedContainers":8,"vmemCheckEnabled":false,"pmemCheckEnabled":true,"lastNodeUpdateTime":…,` +
		`"resourceTypes":"memory-mb (unit=Mi), vcores","nodeHealthy":true,"nodeManagerVersion":"3.4.2",…"id":"` + node + `","nodeHostName":"localhost","nmStartupTime":…}}`
	for _, path := range []string{"", "/", "/info"} {
		l.expect(l.web("GET", "/ws/v1/node"+path, "Accept", asJSON), 200, jsonType, info)
	}
	l.expect(l.web("GET", "/ws/v1/node/info", "Accept", asXML), 200, xmlType,
		`<?xml version="1.0" encoding="UTF-8" standalone="yes"?><nodeInfo><healthReport></healthReport><totalVmemAllocatedContainersMB>8601</…</nodeInfo>`)
	app, c := "application_1700000000000_9998", "container_1700000000000_9998_01_000001"
	const unknown = "java.lang.Exception: Unknown container. Container either has not started or has already completed or doesn't belong to this node at all."
	for _, q := range []struct {
		method, path, accept string
		status               int
		kind, body           string
	}{
		{"GET", "/apps", asJSON, 200, jsonType, `{"apps":{}}`},
		{"GET", "/apps", asXML, 200, xmlType, `…<apps></apps>`},
		{"GET", "/apps?state=SLEEPING", asJSON, 200, jsonType, `{"apps":{}}`},
		{"GET", "/apps?user=", asJSON, 200, jsonType, `{"apps":{}}`},
		{"GET", "/containers", asJSON, 200, jsonType, `{"containers":{}}`},
		{"GET", "/containers", asXML, 200, xmlType, `…<containers></containers>`},
		{"GET", "/apps/" + app, asJSON, 404, jsonType, exception(notFound, "java.lang.Exception: app with id "+app+" not found")},
		{"GET", "/apps/nonsense", asJSON, 400, jsonType, exception(badRequest, "java.lang.IllegalArgumentException: Invalid ApplicationId prefix: nonsense. "+
			"The valid ApplicationId should start with prefix application")},
		{"GET", "/apps/application_x_1", asJSON, 400, jsonType, exception(badRequest, "java.lang.IllegalArgumentException: Invalid ApplicationId: application_x_1")},
		{"GET", "/containers/" + c, asJSON, 404, jsonType, exception(notFound, "java.lang.Exception: container with id, "+c+", not found")},
		{"GET", "/containers/nonsense", asJSON, 400, jsonType, exception(badRequest, "java.lang.Exception: invalid container id, nonsense")},
		{"GET", "/containers/" + c + "/logs", asJSON, 404, jsonType, exception(notFound, unknown)},
		{"GET", "/containers/nonsense/logs", asJSON, 400, jsonType, exception(badRequest, "java.lang.Exception: invalid container id, nonsense")},
		{"GET", "/containers/" + c + "/logs/stdout", "*/*", 404, textType, unknown},
		{"GET", "/containerlogs/nonsense/stdout", "*/*", 400, textType, "java.lang.Exception: invalid container id, nonsense"},
		{"GET", "/containers/" + c + "/logs/stdout", asJSON, 406, "application/json", `…"status":"406"}`},
		{"GET", "/auxiliaryservices", asJSON, 400, jsonType, exception(badRequest, "java.lang.Exception: Auxiliary services manifest is not enabled")},
		{"GET", "/auxiliaryservices", asXML, 400, xmlType, `…<message>java.lang.Exception: Auxiliary services manifest is not enabled</message>…`},
		{"PUT", "/auxiliaryservices", asJSON, 404, jsonType, `{"RemoteException":{"exception":"JsonParseException",…`},
		{"GET", "/resources/yarn.io%2Fgpu", asJSON, 200, jsonType, `{}`},
		{"PUT", "/yarn/sysfs/ann/" + app, asJSON, 404, jsonType, `…app with id ` + app + ` not found…`},
		{"GET", "/nope", asJSON, 404, htmlType, `…<title>Sorry, got error 404</title>…`},
		{"POST", "/info", asJSON, 405, jsonType, `…`},
	} {
		l.expect(l.web(q.method, "/ws/v1/node"+q.path, "Accept", q.accept), q.status, q.kind, q.body)
	}
	for path, title := range map[string]string{
		"/node": "NodeManager information", "/node/": "NodeManager information", "/node/node": "NodeManager information",
		"/node/allApplications": "Applications running on this node", "/node/allContainers": "All containers running on this node",
	} {
		l.expect(l.web("GET", path), 200, htmlType, "…<title>"+title+"</title>…")
	}
	if to := l.web("GET", "/"); to.status != 302 || to.header.Get("Location") != "http://"+l.node.WebAddress()+"/node" {
		t.Errorf("%+v", to)
	}
	l.expect(l.web("GET", "/nope", "Accept", "*/*"), 404, "text/html;charset=iso-8859-1", "…<title>Error 404 Not Found</title>…")
	l.expect(l.web("GET", "/conf?name=yarn.acl.enable"), 200, "text/xml;charset=utf-8", "…<name>yarn.acl.enable</name><value>false</value>…")
	l.expect(l.web("GET", "/stacks"), 200, textType, "goroutine…")
	l.expect(l.web("GET", "/logLevel"), 200, htmlType, "…Log Level…")
	l.expect(l.web("GET", "/node/containerlogs/nonsense/ann"), 400, htmlType, "…invalid container id, nonsense…")
	if m := l.web("GET", "/metrics"); m.status != 200 || !strings.Contains(m.body, "\nheddle_nm_healthy 1\n") || !strings.Contains(m.body, "\nheddle_nm_memory_bytes 4.294967296e+09\n") {
		t.Errorf("%d %s", m.status, m.body)
	}
	if p := l.web("GET", "/ws/v1/node/info?user.name=ann"); p.status != 200 || !strings.HasPrefix(p.header.Get("Set-Cookie"), `hadoop.auth="u=ann&p=ann&t=simple&e=`) {
		t.Errorf("%+v", p)
	}
	l.expect(l.web("GET", "/logs/"), 200, htmlType, "…userlogs/…")
	l.expect(l.web("GET", "/logs/..%2Fnm-local-dir"), 404, "text/html;charset=iso-8859-1", "…HTTP ERROR 404 Not Found…")
}

func TestWebOfABusyNode(t *testing.T) {
	l := newLab(t).up()
	id := containerID(1, 2)
	c := l.run(id, "echo '<one>' > "+"${LOG_DIRS}/stdout; while :; do echo; done > count")
	l.running(c)
	app, node, at := attempt(1).App.String(), l.node.Node().String(), l.node.WebAddress()
	logs := "/ws/v1/node/containers/" + id.String() + "/logs"
	await.Until(t, "the log", func() bool { return strings.Contains(l.web("GET", logs+"/stdout").body, "<one>") })

	l.expect(l.web("GET", "/ws/v1/node/apps/"+app), 200, jsonType,
		`{"app":{"id":"`+app+`","state":"RUNNING","user":"ann","containerids":["`+id.String()+`"]}}`)
	l.expect(l.web("GET", "/ws/v1/node/apps?state=RUNNING&user=ann", "Accept", asXML), 200, xmlType,
		`…<apps><app><id>`+app+`</id><state>RUNNING</state><user>ann</user><containerids>`+id.String()+`</containerids></app></apps>`)
	l.expect(l.web("GET", "/ws/v1/node/apps?user=bob"), 200, jsonType, `{"apps":{}}`)
	l.expect(l.web("GET", "/ws/v1/node/apps?user="), 400, jsonType, exception(badRequest, "java.lang.Exception: Error: You must specify a non-empty string for the user"))
	l.expect(l.web("GET", "/ws/v1/node/apps?state=running"), 400, jsonType, exception("java.lang.IllegalArgumentException",
		"No enum constant org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState.running"))
	l.expect(l.web("GET", "/ws/v1/node/containers"), 200, jsonType, `{"containers":{"container":[{"id":"`+id.String()+`","state":"RUNNING","exitCode":-1000,`+
		`"diagnostics":"","user":"ann","totalMemoryNeededMB":256,"totalVCoresNeeded":1,"executionType":"GUARANTEED",`+
		`"containerLogsLink":"http://`+at+`/node/containerlogs/`+id.String()+`/ann","nodeId":"`+node+`","containerLogFiles":[…"stdout"]}]}}`)
	l.expect(l.web("GET", "/ws/v1/node/containers/"+id.String(), "Accept", asXML), 200, xmlType, `…<container><id>`+id.String()+`</id>…<containerLogFiles>stdout</containerLogFiles></container>`)

	l.expect(l.web("GET", logs), 200, jsonType, `{"containerLogsInfo":{"containerLogInfo":[…{"fileName":"stdout","fileSize":"6","lastModifiedTime":"…"}],`+
		`"logAggregationType":"LOCAL","containerId":"`+id.String()+`","nodeId":"`+node+`"}}`)
	l.expect(l.web("GET", logs, "Accept", asXML), 200, xmlType, `…<containerLogsInfoes><containerLogsInfo><containerLogInfo>…</containerLogsInfo></containerLogsInfoes>`)
	text := func(part string) string {
		return "Container: " + id.String() + " on " + node + "\nLogAggregationType: LOCAL\n====…\nLogType:stdout\nLogLastModifiedTime:…\nLogLength:6\nLogContents:\n" +
			part + "End of LogType:stdout.This log file belongs to a running container (" + id.String() + ") and so may not be complete.\n***…\n\n"
	}
	l.expect(l.web("GET", logs+"/stdout", "Accept", "*/*"), 200, textType, text("<one>\n"))
	l.expect(l.web("GET", logs+"/stdout?size=3"), 200, textType, text("<on"))
	l.expect(l.web("GET", logs+"/stdout?size=-3"), 200, textType, text("e>\n"))
	l.expect(l.web("GET", logs+"/stdout?size=some"), 400, textType, "…some…")
	l.expect(l.web("GET", logs+"/stdout?format=octet-stream"), 200, "application/octet-stream; charset=utf-8", text("<one>\n"))
	l.expect(l.web("GET", logs+"/stdout?format=pdf"), 400, textType, "The valid values for the parameter : format are [text, octet-stream]")
	l.expect(l.web("GET", "/ws/v1/node/containerlogs/"+id.String()+"/stdout?size=0"), 200, textType, text(""))
	if h := l.web("GET", "/ws/v1/node/containerlogs/"+id.String()+"/stdout").header; !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a log may run as a page: %v", h)
	}
	for _, name := range []string{"nothing", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "..%2Fx%00"} {
		l.expect(l.web("GET", logs+"/"+name), 404, textType, "java.lang.Exception: Cannot find this log on the local disk.")
	}
	pages := "/node/containerlogs/" + id.String() + "/ann"
	l.expect(l.web("GET", pages), 200, htmlType, "…<title>Logs for "+id.String()+"</title>…"+pages+"/stdout/?start=-4096…")
	l.expect(l.web("GET", pages+"/stdout/?start=-4096"), 200, htmlType, "…<td class=\"content\">\n<pre>&lt;one&gt;\n</pre>\n</td></tr></tbody></table>…")
	l.expect(l.web("GET", pages+"/stdout?start=-3"), 200, htmlType, "…Showing 3 bytes of 6 total…<pre>e&gt;\n</pre>…")
	l.expect(l.web("GET", pages+"/stdout?start=x"), 400, htmlType, "…start must be a number…")
	l.expect(l.web("GET", "/node/container/"+id.String()), 200, htmlType, "…<title>Container "+id.String()+"</title>…RUNNING…")
	l.expect(l.web("GET", "/node/application/"+app), 200, htmlType, "…"+id.String()+"…")

	control := "/ws/v1/heddle/containers/" + id.String()
	l.expect(l.web("PUT", control+"/resume"), 200, jsonType, `{"container":{…"state":"RUNNING","suspended":false…`)
	l.expect(l.web("PUT", control+"/suspend"), 200, jsonType, `{"container":{"id":"`+id.String()+`","applicationId":"`+app+`","user":"ann","state":"PAUSED","suspended":true…`)
	l.expect(l.web("GET", "/ws/v1/node/containers/"+id.String()), 200, jsonType, `…"state":"PAUSED"…`)
	l.rm.seen("the suspension", func(beats []*pb.NodeHeartbeatRequest) bool {
		for _, s := range beats[len(beats)-1].GetNodeStatus().GetContainersStatuses() {
			if s.GetContainerSubState() == pb.ContainerSubState_CSS_PAUSED {
				return true
			}
		}
		return false
	})
	if m := l.web("GET", "/metrics").body; !strings.Contains(m, "\nheddle_nm_containers_suspended 1\n") || !strings.Contains(m, "\nheddle_nm_containers_running 0\n") {
		t.Error(m)
	}
	if m := l.web("GET", "/metrics").body; !strings.Contains(m, "\nheddle_nm_suspension_steps_total{step=\"stop\"} 1\n") {
		t.Error(m)
	}
	l.expect(l.web("PUT", control+"/resume"), 200, jsonType, `…"state":"RUNNING"…`)
	l.expect(l.web("PUT", control+"/suspend?level=frozen&breathe=10s"), 200, jsonType, `…"level":"frozen","wantedLevel":"frozen"…"breathEveryMs":10000…`)
	l.expect(l.web("PUT", control+"/resume"), 200, jsonType, `…"level":"running","wantedLevel":"running"…`)
	for query, says := range map[string]string{
		"level=deep": "is not one of running, shrunk", "level=running": "what resume brings", "breathe=1s": "neither never nor a duration", "breathe=soon": "neither never",
	} {
		l.expect(l.web("PUT", control+"/suspend?"+query), 400, jsonType, "…"+says+"…")
	}
	l.expect(l.web("GET", control), 200, jsonType, `…"suspended":false…`)
	l.expect(l.web("GET", "/ws/v1/heddle/containers"), 200, jsonType, `{"containers":{"container":[{…}]}}`)
	l.expect(l.web("PUT", "/ws/v1/heddle/containers/nonsense/suspend"), 400, jsonType, "…")
	l.expect(l.web("GET", control+"/suspend"), 405, jsonType, "…")

	if _, err := protocol.StopContainers.Call(t.Context(), l.as(id.Attempt), stopRequest(id)); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "its end", func() bool { return c.State() == container.Done })
	l.expect(l.web("PUT", control+"/suspend"), 409, jsonType, `…DONE…`)
	l.expect(l.web("GET", logs+"/stdout"), 200, textType, "…End of LogType:stdout.\n***…")
	var bean struct {
		Beans []map[string]any
	}
	if err := json.Unmarshal([]byte(l.web("GET", "/jmx?qry=Hadoop:service=NodeManager,name=NodeManagerMetrics").body), &bean); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"ContainersLaunched": 1.0, "ContainersKilled": 1.0, "ContainersRunning": 0.0, "AllocatedContainers": 0.0, "AvailableGB": 4.0} {
		if got := bean.Beans[0][name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func stopRequest(list ...records.ContainerID) *pb.StopContainersRequest {
	m := &pb.StopContainersRequest{}
	m.SetContainerId(ids(list...))
	return m
}

func TestWebKeepsStrangersOut(t *testing.T) {
	l := newLab(t, "yarn.acl.enable=true", "yarn.admin.acl=root").up()
	id := containerID(3, 1)
	r := l.request(id, "echo secret > ${LOG_DIRS}/stdout; sleep 100")
	acl := func(kind pb.ApplicationAccessType, list string) *pb.ApplicationACLMap {
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(kind)
		m.SetAcl(list)
		return m
	}
	r.GetContainerLaunchContext().SetApplication_ACLs([]*pb.ApplicationACLMap{
		acl(pb.ApplicationAccessType_APPACCESS_VIEW_APP, "vic,mod"), acl(pb.ApplicationAccessType_APPACCESS_MODIFY_APP, "mod"),
	})
	resp, err := protocol.StartContainers.Call(t.Context(), l.as(id.Attempt), startRequest(r))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		t.Fatalf("%v, %v", resp, err)
	}
	c, err := l.node.Containers().Container(id)
	if err != nil {
		t.Fatal(err)
	}
	l.running(c)
	logs := "/ws/v1/node/containers/" + id.String() + "/logs"
	await.Until(t, "the log", func() bool { return strings.Contains(l.web("GET", logs+"/stdout?user.name=ann").body, "secret") })
	control := "/ws/v1/heddle/containers/" + id.String()
	page := "/node/containerlogs/" + id.String() + "/ann"
	for _, who := range []struct {
		user         string
		view, modify bool
	}{{"ann", true, true}, {"vic", true, false}, {"mod", true, true}, {"eve", false, false}, {"root", true, true}} {
		as := "?user.name=" + who.user
		status := func(allowed bool) int {
			if allowed {
				return 200
			}
			return 403
		}
		for path, allowed := range map[string]bool{
			logs: who.view, logs + "/stdout": who.view, page: who.view, page + "/stdout": who.view,
			"/logs/userlogs/": false, "/logLevel": true,
		} {
			if got := l.web("GET", path+as); got.status != status(allowed) || !allowed && strings.Contains(got.body, "secret") {
				t.Errorf("GET %s%s: %d %s", path, as, got.status, got.body)
			}
		}
		for _, what := range []string{"/suspend", "/resume"} {
			if got := l.web("PUT", control+what+as); got.status != status(who.modify) {
				t.Errorf("PUT %s%s: %d %s", what, as, got.status, got.body)
			}
		}
		if listed := strings.Contains(l.web("GET", "/ws/v1/node/containers/"+id.String()+as).body, "containerLogFiles"); listed != who.view {
			t.Errorf("logs of the container are listed for %s: %v", who.user, listed)
		}
	}
	l.expect(l.web("GET", logs+"?user.name=eve", "Accept", asJSON), 403, jsonType,
		exception("org.apache.hadoop.yarn.exceptions.YarnException", "User [eve] is not authorized to view the logs for application "+attempt(3).App.String()))
	// Hadoop's clients ask for the options of a path, and say who they are when they are told to.
	for _, method := range []string{"GET", "OPTIONS"} {
		for _, path := range []string{logs, logs + "/stdout", page} {
			if got := l.web(method, path); got.status != 401 || got.header.Get("WWW-Authenticate") != "PseudoAuth" {
				t.Errorf("%s %s by nobody: %d %v", method, path, got.status, got.header)
			}
		}
	}
	if got := l.web("PUT", control+"/suspend"); got.status != 403 || c.State() != container.Running {
		t.Errorf("by nobody: %d, %v", got.status, c.State())
	}
	if got := l.web("GET", "/logLevel?log=x&level=error&user.name=eve"); got.status != 403 {
		t.Errorf("by a stranger: %+v", got)
	}
}

// Diagnostics hold the end of a container's logs: who may not see these doesn't see those.
func TestDiagnosticsAreShownToWhoMaySeeTheApplication(t *testing.T) {
	l := newLab(t, "yarn.acl.enable=true", "yarn.admin.acl=root").up()
	c := l.run(containerID(4, 1), "echo the end of the log >> <LOG_DIR>/stderr; exit 3")
	await.Until(t, "the end", func() bool { return c.State() == container.Done })
	if !strings.Contains(c.Status().Diagnostics, "the end of the log") {
		t.Fatalf("%q", c.Status().Diagnostics)
	}
	id := c.ID().String()
	for user, may := range map[string]bool{"ann": true, "root": true, "eve": false, "": false} {
		for _, path := range []string{"/node/container/" + id, "/ws/v1/node/containers/" + id, "/ws/v1/node/containers"} {
			got := l.web("GET", path+"?user.name="+user)
			if user == "" {
				got = l.web("GET", path)
			}
			if got.status != 200 || strings.Contains(got.body, "the end of the log") != may {
				t.Errorf("%s by %q: %d %s", path, user, got.status, got.body)
			}
		}
	}
}

func TestWebSendsToTheLogServer(t *testing.T) {
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.log.server.url=http://jhs:19888/jobhistory/logs",
		"yarn.log.server.web-service.url=http://jhs:8188/ws/v1/applicationhistory", "fs.defaultFS=file:///", "yarn.nodemanager.remote-app-log-dir=/nowhere").up()
	id := containerID(9, 1).String()
	for path, to := range map[string]string{
		"/node/containerlogs/" + id + "/ann/stdout/?start=-4096":         "http://jhs:19888/jobhistory/logs/" + l.node.Node().String() + "/" + id + "/" + id + "/ann/stdout",
		"/node/containerlogs/" + id + "/ann":                             "http://jhs:19888/jobhistory/logs/" + l.node.Node().String() + "/" + id + "/" + id + "/ann",
		"/ws/v1/node/containers/" + id + "/logs":                         "http://jhs:8188/ws/v1/applicationhistory/containers/" + id + "/logs",
		"/ws/v1/node/containers/" + id + "/logs/std%20out?size=9&a=b%20": "http://jhs:8188/ws/v1/applicationhistory/containers/" + id + "/logs/std%20out?size=9&a=b%20",
	} {
		if got := l.web("GET", path); got.header.Get("Location") != to || got.status/100 != 3 {
			t.Errorf("%s: %d to %s", path, got.status, got.header.Get("Location"))
		}
	}
}

// The "Logs" link of an ended application asked for a name (401), where YARN's node redirects.
func TestLogsOfEndedApplicationsAreRedirectedUnasked(t *testing.T) {
	l := newLab(t, "yarn.log-aggregation-enable=true", "yarn.log.server.url=http://jhs:19888/jobhistory/logs", "yarn.acl.enable=true",
		"hadoop.http.authentication.simple.anonymous.allowed=false", "fs.defaultFS=file:///", "yarn.nodemanager.remote-app-log-dir=/nowhere").up()
	id := containerID(9, 1).String()
	page := "/node/containerlogs/" + id + "/ann"
	if got := l.web("GET", page); got.status != 307 || got.header.Get("Location") != "http://jhs:19888/jobhistory/logs/"+l.node.Node().String()+"/"+id+"/"+id+"/ann" {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
	if got := l.web("GET", "/node/containerlogs/nonsense/ann"); got.status != 401 {
		t.Errorf("no container: %d", got.status)
	}
}

func TestWebXMLIsWellFormed(t *testing.T) {
	l := newLab(t).up()
	id := containerID(1, 2)
	l.running(l.run(id, "sleep 100"))
	for _, path := range []string{"info", "apps", "containers", "containers/" + id.String() + "/logs", "apps/x", "resources/memory-mb"} {
		got := l.web("GET", "/ws/v1/node/"+path, "Accept", asXML)
		d := xml.NewDecoder(strings.NewReader(got.body))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v\n%s", path, err, got.body)
				break
			}
		}
	}
}

// The beans that dashboards read have the attributes that were recorded of a stock NodeManager.
func TestBeansAreStock(t *testing.T) {
	l := newLab(t).up()
	text, err := os.ReadFile("testdata/jmx.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string // types by bean and attribute
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	kind := func(v any) string {
		switch v.(type) {
		case bool:
			return "bool"
		case float64:
			return "number"
		case string:
			return "string"
		}
		return "other"
	}
	for name, attributes := range want {
		var page struct{ Beans []map[string]any }
		if err := json.Unmarshal([]byte(l.web("GET", "/jmx?qry=Hadoop:service=NodeManager,name="+name).body), &page); err != nil || len(page.Beans) != 1 {
			t.Errorf("%s: %v, %v", name, page, err)
			continue
		}
		got := map[string]string{}
		for key, v := range page.Beans[0] {
			if key != "name" {
				got[key] = kind(v)
			}
		}
		if diff := cmp.Diff(attributes, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

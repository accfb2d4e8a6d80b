package rest

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

// The requests are made of parts: paths with good and bad ids, parameters with good and bad values, methods, formats and
// bodies. A generator that always draws the same picks some hundred of their combinations.

const (
	clusterAPI = "/ws/v1/cluster"
	nodeAPI    = "/ws/v1/node"
)

// readPaths are asked with GET. A part in <> is replaced by ids, good and bad.
var readPaths = []string{
	clusterAPI, clusterAPI + "/info", clusterAPI + "/userinfo", clusterAPI + "/metrics", clusterAPI + "/scheduler", clusterAPI + "/scheduler-overview",
	clusterAPI + "/scheduler/activities", clusterAPI + "/scheduler/bulk-activities", clusterAPI + "/scheduler/app-activities/<app>",
	clusterAPI + "/scheduler-conf", clusterAPI + "/scheduler-conf/version", clusterAPI + "/scheduler-conf/format",
	clusterAPI + "/nodes", clusterAPI + "/nodes/<node>", clusterAPI + "/apps", clusterAPI + "/apps/<app>", clusterAPI + "/appstatistics",
	clusterAPI + "/apps/<app>/appattempts", clusterAPI + "/apps/<app>/appattempts/<attempt>",
	clusterAPI + "/apps/<app>/appattempts/<attempt>/containers", clusterAPI + "/apps/<app>/appattempts/<attempt>/containers/<container>",
	clusterAPI + "/apps/<app>/state", clusterAPI + "/apps/<app>/priority", clusterAPI + "/apps/<app>/queue",
	clusterAPI + "/apps/<app>/timeouts", clusterAPI + "/apps/<app>/timeouts/<timeout>",
	clusterAPI + "/queues/<queue>/access", clusterAPI + "/nosuch", clusterAPI + "/apps/<app>/nosuch",
	nodeAPI, nodeAPI + "/info", nodeAPI + "/apps", nodeAPI + "/apps/<app>", nodeAPI + "/containers", nodeAPI + "/containers/<container>",
	nodeAPI + "/containers/<container>/logs", nodeAPI + "/containers/<container>/logs/<file>", nodeAPI + "/containerlogs/<container>/<file>",
	nodeAPI + "/auxiliaryservices", nodeAPI + "/resources/<resource>", nodeAPI + "/nosuch",
}

// changePaths are asked with other methods.
var changePaths = []struct{ method, path, root string }{
	{http.MethodPost, clusterAPI + "/apps", "application-submission-context"},
	{http.MethodPut, clusterAPI + "/apps/<app>/state", "appstate"},
	{http.MethodPut, clusterAPI + "/apps/<app>/priority", "applicationpriority"},
	{http.MethodPut, clusterAPI + "/apps/<app>/queue", "appqueue"},
	{http.MethodPut, clusterAPI + "/apps/<app>/timeout", "timeout"},
	{http.MethodPost, clusterAPI + "/nodes/<node>/resource", "resourceOption"},
	{http.MethodPost, clusterAPI + "/containers/<container>/signal/<signal>", ""},
	{http.MethodPut, clusterAPI + "/scheduler-conf", "sched-conf"},
	{http.MethodPost, clusterAPI + "/scheduler-conf/validate", "sched-conf"},
	{http.MethodPost, clusterAPI + "/delegation-token", "delegation-token"},
}

// ids by what they stand for. The first one is good.
var ids = map[string][]string{
	"app": {
		"{live}", "{ended}", "application_{time}_9999", "application_1_1", "application_", "application", "app_1_1", "application_1_x", "application_x_1",
		"application_1_1_1", "application_-1_-1", "application_99999999999999999999_1", "application_1_99999999999", "%20", "%2e%2e", "a%2Fb", "%E2%82%AC",
		"{live}%20", "%20{live}", "APPLICATION_1_1", "{attempt}", "application_1_", "application__1", "application_+1_1", "{live};x=1", "%00", "{live}%0a",
	},
	"attempt": {
		"{attempt}", "appattempt_{time}_9999_000001", "appattempt_1_1_1", "appattempt_1_1", "appattempt", "appattempt_x_1_1", "{live}", "1", "%20", "appattempt_1_1_1_1",
		"appattempt_{time}_0001_000009", "appattempt_1_1_99999999999",
	},
	"container": {
		"{container}", "container_{time}_9999_01_000001", "container_e01_{time}_9999_01_000001", "container_1_1_1_1", "container_1", "container", "container_x_1_1_1",
		"container_e_1_1_1_1", "container_ex_1_1_1_1", "container_1_1_1_x", "%20", "{live}", "a%2Fb", "container_1_1_1_1_1_1", "container_{time}_0002_01_000099",
	},
	"node":     {"{node}", "localhost:1", "localhost", "nosuch:45454", "localhost:x", "localhost:", ":", "%20", "a:1:2", "localhost:99999999999", "a%2Fb:1"},
	"timeout":  {"LIFETIME", "lifetime", "NOSUCH", "%20"},
	"queue":    {"default", "root.default", "root", "nosuch", "%20", "root.nosuch"},
	"file":     {"stdout", "nosuch", "..", "..%2F..%2Fetc%2Fpasswd", "%20", "a%2Fb", "%2e%2e"},
	"resource": {"yarn.io%2Fgpu", "nosuch", "memory-mb"},
	"signal":   {"OUTPUT_THREAD_DUMP", "NOSUCH", "output_thread_dump", "%20"},
}

// parameters by the path that reads them, and values that are not what they should be.
var parameters = map[string][]string{
	clusterAPI + "/apps": {
		"state", "states", "finalStatus", "user", "queue", "limit", "startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd",
		"applicationTypes", "applicationTags", "name", "deSelects", "nosuch",
	},
	clusterAPI + "/nodes":                           {"states", "nosuch"},
	clusterAPI + "/appstatistics":                   {"states", "applicationTypes"},
	clusterAPI + "/queues/<queue>/access":           {"user", "queue-acl-type"},
	clusterAPI + "/scheduler/activities":            {"nodeId", "groupBy"},
	clusterAPI + "/scheduler/bulk-activities":       {"groupBy", "activitiesCount"},
	clusterAPI + "/scheduler/app-activities/<app>":  {"maxTime", "requestPriorities", "allocationRequestIds", "groupBy", "limit", "actions", "summarize"},
	nodeAPI + "/apps":                               {"state", "user", "nosuch"},
	nodeAPI + "/containers/<container>/logs/<file>": {"size", "format"},
	nodeAPI + "/containerlogs/<container>/<file>":   {"size", "format"},
	clusterAPI + "/info":                            {"user.name", "doAs", "op"},
}

var values = []string{
	"", "abc", "-1", "0", "1", "99999999999999999999", "1.5", "%20", "%zz", "%", "null", "FAILED", "failed", "RUNNING,x", ",", "ACCEPTED,FAILED", "true", "%E2%82%AC",
	"default", "root", "SUCCEEDED", "SUBMIT_APPLICATIONS", "DIAGNOSTIC", "all", "resourceRequests", strings.Repeat("9", 300), "a&states=b", "PROBE", "%3Cb%3E",
}

var accepts = []string{
	"application/json", "application/xml", "text/xml", "text/html", "text/plain", "*/*", "image/png", "application/*", "application/xml;q=0.5, application/json;q=0.9",
	"application/json;q=0", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "nonsense", "application/JSON", ";;,", "application/json; charset=utf-8",
}

var kinds = []string{
	"application/json", "application/xml", "text/xml", "text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data", "nonsense", "application/json; charset=utf-8",
	"application/JSON",
}

// bodies of a request whose document has the root R.
var bodies = []string{
	"", "{}", "[]", "{", "null", "\"text\"", "<R/>", "<R>", "<x/>", `{"R":{}}`, `{"x":1}`, "<R><x>1</x></R>", "not a document", "<!DOCTYPE R [<!ENTITY e 'x'>]><R>&e;</R>",
	`{"state":"RUNNING"}`, `{"state":"NOSUCH"}`, `{"state":1}`, `<appstate><state>NOSUCH</state></appstate>`, `{"priority":"x"}`, `{"priority":-5}`, `{"priority":99999999999}`,
	`<applicationpriority><priority>x</priority></applicationpriority>`, `{"queue":"nosuch"}`, `{"queue":""}`, `<appqueue><queue>nosuch</queue></appqueue>`,
	`{"timeout":{"type":"LIFETIME","expiryTime":"x"}}`, `{"timeout":{"type":"NOSUCH","expiryTime":"2030-01-01T00:00:00.000+0000"}}`, `{"timeout":{"expiryTime":"2001-01-01T00:00:00.000+0000"}}`,
	`{"application-id":"x"}`, `{"application-id":"application_1_1","resource":{"memory":-1}}`, `{"application-id":"application_1_1","resource":{"memory":99999999,"vCores":1}}`,
	`<application-submission-context><application-id>x</application-id></application-submission-context>`,
	`{"resource":{"memory":"x"}}`, `{"renewer":""}`, `{"update-queue":{"queue-name":"root.nosuch"}}`, strings.Repeat(" ", 5000) + "{}",
}

// odd are requests of their own.
var odd = []probe{
	{method: "GET", target: "//ws/v1/cluster/info"},
	{method: "GET", target: "/ws//v1/cluster/info"},
	{method: "GET", target: "/ws/v1/cluster//info"},
	{method: "GET", target: "/ws/v1/cluster/info/"},
	{method: "GET", target: "/ws/v1/cluster/info//"},
	{method: "GET", target: "/ws/v1/cluster/./info"},
	{method: "GET", target: "/ws/v1/cluster/x/../info"},
	{method: "GET", target: "/ws/v1/cluster/%69nfo"},
	{method: "GET", target: "/ws/v1/cluster%2Finfo"},
	{method: "GET", target: "/ws/v1/cluster/info;a=b"},
	{method: "GET", target: "/ws/v1/cluster/info?"},
	{method: "GET", target: "/ws/v1/cluster/info?&&=&a"},
	{method: "GET", target: "/ws/v1/cluster/apps/" + strings.Repeat("a", 4000)},
	{method: "GET", target: "/ws/v1/cluster/" + strings.Repeat("a/", 500)},
	{method: "GET", target: "/ws/v1/cluster/info?" + strings.Repeat("a", 4000)},
	{method: "GET", target: "/ws/v1"},
	{method: "GET", target: "/ws"},
	{method: "GET", target: "/ws/v2/cluster"},
	{method: "GET", target: "/WS/v1/cluster/info"},
	{method: "GET", target: "/ws/v1/cluster/Info"},
	{method: "OPTIONS", target: "/ws/v1/cluster/apps"},
	{method: "OPTIONS", target: "/ws/v1/cluster/nosuch"},
	{method: "OPTIONS", target: "/ws/v1/cluster/apps", accept: "text/html"},
	{method: "TRACE", target: "/ws/v1/cluster/info"},
	{method: "TRACE", target: "/jmx"},
	{method: "PATCH", target: "/ws/v1/cluster/info"},
	{method: "NOSUCH", target: "/ws/v1/cluster/info"},
	{method: "HEAD", target: "/ws/v1/cluster/info"},
	{method: "HEAD", target: "/ws/v1/cluster/apps/application_1_1"},
	{method: "HEAD", target: "/jmx"},
	{method: "POST", target: "/jmx"},
	{method: "GET", target: "/jmx?qry=bad"},
	{method: "GET", target: "/jmx?qry="},
	{method: "GET", target: "/jmx?qry=*:*bad"},
	{method: "GET", target: "/jmx?qry=a:b"},
	{method: "GET", target: "/jmx?qry=a:"},
	{method: "GET", target: "/jmx?qry=:name=x"},
	{method: "GET", target: "/jmx?qry=Hadoop:name=Nosuch"},
	{method: "GET", target: "/jmx?get="},
	{method: "GET", target: "/jmx?get=bad"},
	{method: "GET", target: "/jmx?get=bad::x"},
	{method: "GET", target: "/jmx?get=java.lang:type=Memory::Nosuch"},
	{method: "GET", target: "/jmx?get=java.lang:type=Memory::HeapMemoryUsage"},
	{method: "GET", target: "/jmx?get=java.lang:type=Nosuch::X"},
	{method: "GET", target: "/jmx?get=java.lang:type=Memory"},
	{method: "GET", target: "/jmx?callback=f&qry=java.lang:type=Nosuch"},
	{method: "GET", target: "/jmx?callback=a%22%3Cb%3E&qry=java.lang:type=Nosuch"},
	{method: "GET", target: "/conf?name=nosuch"},
	{method: "GET", target: "/conf?name="},
	{method: "GET", target: "/conf?format=json&name=yarn.acl.enable"},
	{method: "GET", target: "/conf?name=yarn.acl.enable", accept: "application/json"},
	{method: "GET", target: "/conf?name=nosuch", accept: "application/json"},
	{method: "GET", target: "/conf?name=yarn.acl.enable", accept: "text/plain"},
	{method: "PUT", target: "/conf"},
	{method: "GET", target: "/logLevel"},
	{method: "GET", target: "/logLevel?log=x"},
	{method: "GET", target: "/logLevel?log=x&level=NOSUCH"},
	{method: "POST", target: "/logLevel"},
	{method: "GET", target: "/stacks"},
	{method: "GET", target: "/stacks/x"},
	{method: "GET", target: "/isActive"},
	{method: "POST", target: "/isActive"},
	{method: "GET", target: "/prom"},
	{method: "GET", target: "/logs"},
	{method: "GET", target: "/logs/"},
	{method: "GET", target: "/logs/nosuch"},
	{method: "GET", target: "/logs/../conf"},
	{method: "GET", target: "/logs/%2e%2e/conf"},
	{method: "GET", target: "/static"},
	{method: "GET", target: "/static/"},
	{method: "GET", target: "/static/yarn.css"},
	{method: "GET", target: "/static/nosuch"},
	{method: "GET", target: "/static/jquery/jquery-3.6.0.min.js"},
	{method: "GET", target: "/static/hadoop-st.png"},
	{method: "GET", target: "/robots.txt"},
	{method: "GET", target: "/favicon.ico"},
	{method: "GET", target: "/"},
	{method: "GET", target: "/?a=b"},
	{method: "GET", target: "/nosuch"},
	{method: "GET", target: "/cluster"},
	{method: "GET", target: "/cluster/"},
	{method: "GET", target: "/cluster/cluster"},
	{method: "GET", target: "/cluster/apps"},
	{method: "GET", target: "/cluster/apps/RUNNING"},
	{method: "GET", target: "/cluster/nodes"},
	{method: "GET", target: "/cluster/nodes/lost"},
	{method: "GET", target: "/cluster/nodelabels"},
	{method: "GET", target: "/cluster/scheduler"},
	{method: "GET", target: "/cluster/app/{live}"},
	{method: "GET", target: "/cluster/app/application_1_1"},
	{method: "GET", target: "/cluster/app/bad"},
	{method: "GET", target: "/cluster/app"},
	{method: "GET", target: "/cluster/appattempt/{attempt}"},
	{method: "GET", target: "/cluster/container/{container}"},
	{method: "GET", target: "/cluster/nosuch"},
	{method: "POST", target: "/cluster/apps"},
	{method: "GET", target: "/cluster/errors-and-warnings"},
	{method: "GET", target: "/proxy/{live}"},
	{method: "GET", target: "/proxy/{live}/"},
	{method: "GET", target: "/proxy/application_1_1/"},
	{method: "GET", target: "/proxy/bad"},
	{method: "GET", target: "/proxy/"},
	{method: "GET", target: "/proxy"},
	{method: "GET", target: "/proxy/{ended}/"},
	{method: "GET", target: "/application.wadl"},
	{method: "GET", target: "/ui2"},
	{nm: true, method: "GET", target: "/"},
	{nm: true, method: "GET", target: "/node"},
	{nm: true, method: "GET", target: "/node/nosuch"},
	{nm: true, method: "GET", target: "/node/allContainers"},
	{nm: true, method: "GET", target: "/node/allApplications"},
	{nm: true, method: "GET", target: "/node/application/bad"},
	{nm: true, method: "GET", target: "/node/application/{live}"},
	{nm: true, method: "GET", target: "/node/container/bad"},
	{nm: true, method: "GET", target: "/node/container/{container}"},
	{nm: true, method: "GET", target: "/node/containerlogs/bad/x"},
	{nm: true, method: "GET", target: "/node/containerlogs/{container}/root"},
	{nm: true, method: "GET", target: "/static/yarn.css"},
	{nm: true, method: "GET", target: "/static/"},
	{nm: true, method: "GET", target: "/prom"},
	{nm: true, method: "GET", target: "/logs"},
	{nm: true, method: "GET", target: "/logs/"},
	{nm: true, method: "GET", target: "/logs/nosuch"},
	{nm: true, method: "GET", target: "/isActive"},
	{nm: true, method: "GET", target: "/jmx?qry=bad"},
	{nm: true, method: "GET", target: "/conf?name=nosuch"},
	{nm: true, method: "GET", target: "/stacks"},
	{nm: true, method: "GET", target: "/logLevel?log=x"},
	{nm: true, method: "GET", target: "/nosuch"},
	{nm: true, method: "GET", target: "/ws/v1/cluster/info"},
	{nm: true, method: "OPTIONS", target: "/ws/v1/node/info"},
	{nm: true, method: "PUT", target: "/ws/v1/node/auxiliaryservices", kind: "application/json", body: "{}"},
	{nm: true, method: "PUT", target: "/ws/v1/node/yarn/sysfs/root/bad", kind: "application/json", body: "{}"},
	{nm: true, method: "DELETE", target: "/ws/v1/node/containers/{container}"},
	{nm: true, method: "GET", target: "/robots.txt"},
	{nm: true, method: "GET", target: "/node/node"},
}

// probes are the requests, the same ones each time.
func probes() []probe {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	list := odd
	for _, path := range readPaths {
		list = append(list, g.reads(path)...)
	}
	for _, c := range changePaths {
		for range 24 {
			list = append(list, probe{
				method: c.method, target: g.fill(c.path, 0.7), kind: g.one(kinds, 0.6), accept: g.maybe(accepts, 0.2),
				body: strings.ReplaceAll(g.one(bodies, 0), "R", c.root), chunked: g.IntN(4) == 0,
			})
		}
	}
	seen := map[string]bool{}
	out := list[:0:0]
	for _, p := range list {
		p.nm = p.nm || strings.HasPrefix(p.target, nodeAPI)
		if s := p.String(); !seen[s] {
			seen[s] = true
			out = append(out, p)
		}
	}
	return out
}

type generator struct{ *rand.Rand }

// one draws from a list, the first with a probability of its own.
func (g generator) one(list []string, first float64) string {
	if g.Float64() < first {
		return list[0]
	}
	return list[g.IntN(len(list))]
}

// maybe draws from a list, or nothing.
func (g generator) maybe(list []string, p float64) string {
	if g.Float64() < p {
		return list[g.IntN(len(list))]
	}
	return ""
}

// fill puts ids into a path, which are good with a probability.
func (g generator) fill(path string, good float64) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, "<"); ok {
			parts[i] = g.one(ids[strings.TrimSuffix(name, ">")], good)
		}
	}
	return strings.Join(parts, "/")
}

// reads are requests for a path, more of those that take ids and parameters.
func (g generator) reads(path string) []probe {
	list := []probe{
		{method: http.MethodGet, target: g.fill(path, 1)},
		{method: http.MethodGet, target: g.fill(path, 1), accept: "application/xml"},
		{method: http.MethodGet, target: g.fill(path, 1), accept: g.one(accepts, 0)},
		{method: http.MethodDelete, target: g.fill(path, 1)},
		{method: http.MethodPost, target: g.fill(path, 1), kind: "application/json", body: "{}"},
		{method: http.MethodPut, target: g.fill(path, 1), kind: g.one(kinds, 0), body: "{}", accept: g.maybe(accepts, 0.3)},
	}
	if n := strings.Count(path, "<"); n > 0 {
		for range 10 * n {
			list = append(list, probe{method: http.MethodGet, target: g.fill(path, 0.6), accept: g.maybe(accepts, 0.15)})
		}
	}
	for _, name := range parameters[path] {
		for range 6 {
			list = append(list, probe{method: http.MethodGet, target: g.fill(path, 0.9) + "?" + name + "=" + g.one(values, 0), accept: g.maybe(accepts, 0.1)})
		}
	}
	return list
}

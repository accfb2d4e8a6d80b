package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// changing are the paths that change something for a GET, with a request that does.
var changing = map[string]string{
	clusterBase + "/scheduler-conf/format": "",
	"/logLevel":                            "?log=x&level=error",
}

// reading are the other patterns of the web port outside of its API. What they show may cost, but changes nothing.
var reading = []string{
	"/conf", "/jmx", "/stacks", "/metrics", "/isActive", "/robots.txt", "/static", "/logs", "/static/{$}", "/static/yarn.css", "/logs/", "/cluster", "/cluster/", "/",
}

// foreign is what the browser of somebody who reads a hostile page sends, if the page hides where it comes from.
var foreign = []string{"User-Agent", "Mozilla/5.0", "Cookie", ""}

// Links and pictures in foreign pages wiped queue changes, silenced the log, and made delegation tokens. Every path is asked here as such a
// page has it asked; a new path must be put on a list.
func TestNoGETOfAForeignPageChangesAnything(t *testing.T) {
	c := start(t, 1, "yarn.scheduler.configuration.store.class=memory", "yarn.admin.acl=*")
	me := c.leader()
	s, err := newServer(configOf(c.rms[me], Mounts{}))
	if err != nil {
		t.Fatal(err)
	}
	var gets []string
	for _, path := range s.api.Paths() {
		e, ok := s.api.Methods(path)[http.MethodGet]
		if ok {
			gets = append(gets, path)
		}
		if _, listed := changing[path]; e.Changes != listed {
			t.Errorf("%s changes something: %v; listed: %v", path, e.Changes, listed)
		}
	}
	for _, pattern := range s.mux.Patterns() {
		_, changes := changing[pattern]
		if changes == slices.Contains(reading, pattern) {
			t.Errorf("%s must be listed: does it change anything?", pattern)
		}
		gets = append(gets, strings.TrimSuffix(pattern, "{$}"))
	}
	if len(gets) < 50 {
		t.Errorf("only %d paths: %q", len(gets), gets)
	}
	node := leader.NodeRegistration{Node: records.NodeID{Host: "n1", Port: 1}, Capability: records.NewResource(1024, 1), Version: "3.4.2"}
	if _, err := c.rms[me].Leader().RegisterNode(node); err != nil {
		t.Fatal(err)
	}
	app := c.ask(me, "POST", clusterBase+"/apps/new-application?user.name=alice", "").json(t)["application-id"].(string)
	fill := strings.NewReplacer("{app}", app, "{queue}", "root.default", "{node}", "n1:1", "{container}", strings.Replace(app, "application", "container", 1)+"_01_000001",
		"{attempt}", strings.Replace(app, "application", "appattempt", 1)+"_000001", "{type}", "x", "{entity}", "x", "{cluster}", "c", "{member}", me)
	for _, path := range gets {
		for _, method := range []string{"GET", "HEAD"} {
			for _, query := range []string{changing[path], "?user.name=alice&op=GETDELEGATIONTOKEN&renewer=alice"} {
				target := fill.Replace(path) + query
				if strings.Contains(target, "{") {
					t.Fatalf("%s has variables that this test doesn't know", target)
				}
				var a answer
				if c.changes(me, func() { a = c.ask(me, method, target, "", foreign...) }) {
					t.Errorf("%s %s of a foreign page changes something: %d %.200s", method, target, a.status, a.body)
				}
				if _, guarded := changing[path]; guarded && a.status != http.StatusForbidden && a.status != http.StatusBadRequest { // 400: HEAD gives no token
					t.Errorf("%s %s: %d %.200s", method, target, a.status, a.body)
				}
			}
		}
	}
	// programs do all that as before
	for _, target := range []string{clusterBase + "/scheduler-conf/format?user.name=alice", "/logLevel?log=x&level=info&user.name=alice", "/conf?op=GETDELEGATIONTOKEN&user.name=alice"} {
		if a := c.ask(me, "GET", target, "", "User-Agent", "curl/8.5.0"); a.status != 200 {
			t.Errorf("%s: %d %s", target, a.status, a.body)
		}
	}
}

// changes reports whether something changes what a member has replicated, or its log's level, meanwhile.
func (c *cluster) changes(id string, meanwhile func()) bool {
	c.t.Helper()
	look := func() (out struct {
		level  logrus.Level
		tokens int
		apps   int
		queues int64
	},
	) {
		out.level = c.rms[id].Log().Logger.GetLevel()
		c.rms[id].Read(func(s *ledger.State) { out.tokens, out.apps = len(s.Delegations), len(s.Apps) })
		conf, err := c.rms[id].Leader().QueueConf().Recorded()
		if err != nil {
			c.t.Fatal(err)
		}
		out.queues = conf.Version
		return out
	}
	await.Until(c.t, id+" leads", func() bool { return c.rms[id].Leader() != nil })
	before := look()
	meanwhile()
	return look() != before
}

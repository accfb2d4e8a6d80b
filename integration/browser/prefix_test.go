package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// Pages were dead below a path, as Knox has (/gateway/x/yarn): their links and calls led out of it.
func TestPagesBelowAPath(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	leader, err := url.Parse("http://" + c.Conf.Text(rm.WebAddress))
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "/gateway/x/yarn"
	gate := httptest.NewServer(http.StripPrefix(prefix, httputil.NewSingleHostReverseProxy(leader)))
	defer gate.Close()
	cluster, apps := alice(t, c)
	runs, killed := submit(t, apps, client.Submission{Name: "runs", Unmanaged: true, MaxAttempts: 1}), submit(t, apps, client.Submission{Name: "killed", Unmanaged: true, MaxAttempts: 1})
	attempt, token, err := apps.MasterToken(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cluster.Master(client.MasterOptions{Attempt: attempt, Token: token, Host: "127.0.0.1", Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := apps.Kill(t.Context(), killed, ""); err != nil {
		t.Fatal(err)
	}
	at := gate.URL + prefix
	for path, want := range map[string][]string{
		"/cluster":                                {runs.String(), `href="` + at + "/cluster/app/" + runs.String()},
		"/cluster/apps/KILLED":                    {killed.String(), `href="` + at + "/cluster/app/" + killed.String()},
		"/cluster/app/" + runs.String():           {"alice", `href="` + at + "/cluster/appattempt/" + attempt.String()},
		"/cluster/app/" + killed.String():         {"KILLED", `href="` + at + "/cluster/app/" + killed.String()},
		"/cluster/appattempt/" + attempt.String(): {"RUNNING", `href="` + at + "/cluster/app/" + runs.String()},
		"/cluster/nodes":                          {"/default-rack", "RUNNING"},
		"/cluster/scheduler":                      {"root.default"},
		"/cluster/cluster":                        {"Leader"},
	} {
		page := Shows(t, at+path, want...)
		for _, link := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			there, err := url.Parse(at + path)
			if err == nil {
				there, err = there.Parse(link[1])
			}
			if err != nil {
				t.Fatalf("%s: %q: %v", path, link[1], err)
			}
			if path == "/cluster/cluster" && there.Host == leader.Host {
				continue // a member's own page is at its own address
			}
			if there.Host == leader.Host || "http://"+there.Host == gate.URL && !strings.HasPrefix(there.Path, prefix+"/") {
				t.Errorf("%s: %s leads out of %s", path, link[1], at)
			}
		}
	}
}

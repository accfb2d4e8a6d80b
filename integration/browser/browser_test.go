package browser

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// browse returns the page as it stands when its scripts have run for a while, by the browser's own clock.
func browse(t *testing.T, url string, budget time.Duration) string {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium on the PATH; `make prerequisites` installs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), fmt.Sprintf("--virtual-time-budget=%d", budget.Milliseconds()), "--dump-dom", url).Output()
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return string(out)
}

// shows looks at a page until there is on it what there should be. On a busy machine the browser's clock, by which it's told
// when to stop, runs ahead of the server.
func shows(t *testing.T, url string, want ...string) (page string) {
	t.Helper()
	var missing string
	for budget := 5 * time.Second; budget < 3*time.Minute; budget *= 2 {
		page, missing = browse(t, url, budget), ""
		for _, w := range want {
			if !strings.Contains(page, w) {
				missing = w
			}
		}
		if missing == "" {
			return page
		}
	}
	t.Errorf("%s lacks %q:\n%s", url, missing, page)
	return page
}

func TestPages(t *testing.T) {
	c := minicluster.Start(t, 3, nil)
	c.Node(minicluster.NodeOptions{})
	ids := c.Conf.RMIDs()
	web := func(i int) string { return c.Conf.Text(rm.WebAddress + "." + ids[i]) }
	cluster, err := client.NewCluster(c.Conf, minicluster.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	apps, err := cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := apps.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const name = `<img src=x onerror="document.title='broken'">`
	if err := apps.Submit(t.Context(), client.Submission{ID: id, Name: name, Unmanaged: true, Resource: records.NewResource(512, 1)}); err != nil {
		t.Fatal(err)
	}
	leader := "http://" + web(c.Leader())
	for path, want := range map[string][]string{
		"/":                               {id.String(), "alice", "ACCEPTED", `&lt;img src=x onerror=`},
		"/cluster/apps/FINISHED":          {"No applications."},
		"/cluster/app/" + id.String():     {"root.default", "appattempt_", "it is unmanaged"},
		"/cluster/app/application_1_0001": {"app with id: application_1_0001 not found"},
		"/cluster/nodes":                  {"/default-rack", "RUNNING"},
		"/cluster/scheduler":              {"root.default"},
		"/cluster/cluster":                {"rm1", "rm2", "rm3", "Leader", "Follower"},
		"/cluster/nothing":                {"There is no page /cluster/nothing"},
	} {
		page := shows(t, leader+path, want...)
		if strings.Contains(page, "<title>broken") {
			t.Errorf("%s ran what an application called itself", path)
		}
	}
	follower := "http://" + web((c.Leader()+1)%3)
	shows(t, follower+"/cluster", id.String())
}

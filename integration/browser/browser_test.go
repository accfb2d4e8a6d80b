package browser

import (
	"image"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/conf"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

func TestPages(t *testing.T) {
	c := minicluster.Start(t, 3, nil)
	c.Node(minicluster.NodeOptions{})
	ids := c.Conf.RMIDs()
	web := func(i int) string { return c.Conf.Text(rm.WebAddress + "." + ids[i]) }
	_, apps := alice(t, c)
	const name = `<img src=x onerror="document.title='broken'">` + "\x1b[2J\u202e"
	id := submit(t, apps, client.Submission{Name: name, Unmanaged: true, Resource: records.NewResource(512, 1)})
	leader := "http://" + web(c.Leader())
	for path, want := range map[string][]string{
		"/":                               {id.String(), "alice", "ACCEPTED", `&lt;img src=x onerror=`},
		"/cluster/apps/FINISHED":          {"None of 1 application is admitted by these filters."},
		"/cluster?state=ACCEPTED&q=IMG":   {id.String(), "1–1 of 1", `aria-current="true" id="state-ACCEPTED"`},
		"/cluster?stat=x":                 {"there is no parameter \"stat\": there are cursor, finalStatus"},
		"/cluster/app/" + id.String():     {"root.default", "appattempt_", "it is unmanaged", "&gt;\x1b[2J\u202e</bdi> <small>" + id.String()},
		"/cluster/app/application_1_0001": {"app with id: application_1_0001 not found"},
		"/cluster/nodes":                  {"/default-rack", "RUNNING"},
		"/cluster/scheduler":              {"root.default", "0 % of its guarantee, 0 % of the cluster", "User limit", "at least 100 % of the queue", ">alice</bdi>", "1 application</span>"},
		"/cluster/waiting":                {id.String(), "waits for its ApplicationMaster to register; it is unmanaged", "1–1 of 1"},
		"/cluster/users":                  {">alice</bdi>", "1–1 of 1", "Used in the last seven days"},
		"/cluster/preemptions":            {"No container that you may see is suspended.", "This leader has taken nothing"},
		"/cluster/cluster":                {"rm1", "rm2", "rm3", "Leader", "Follower"},
		"/cluster/nothing":                {"There is no page /cluster/nothing"},
		"/cluster/container/container_1_0001_01_000001": {"It has ended, or never was", "/cluster/logs/container_1_0001_01_000001"},
	} {
		page := Shows(t, leader+path, want...)
		if strings.Contains(page, "<title>broken") {
			t.Errorf("%s ran what an application called itself", path)
		}
	}
	large := submit(t, apps, client.Submission{Name: "large", Resource: records.NewResource(8192, 1)})
	const held = "ApplicationMaster's container"
	if page := Shows(t, leader+"/cluster/app/"+large.String(), large.String(), held, "Where its time went", "waiting for master"); strings.Count(page, held) != 1 {
		t.Errorf("it says %d times what the application waits for: %s", strings.Count(page, held), page)
	}
	follower := "http://" + web((c.Leader()+1)%3)
	Shows(t, follower+"/cluster", id.String())
}

// The page of queues was nearly empty with a FairScheduler: a name and a bar.
func TestQueuesOfAFairScheduler(t *testing.T) {
	c := minicluster.Start(t, 1, map[string]string{
		"yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
	})
	c.Node(minicluster.NodeOptions{})
	page := "http://" + c.Conf.Text(rm.WebAddress) + "/cluster/scheduler"
	Shows(t, page, "FairScheduler", ">root<", "Fair share", "8 GB, 8 vcores now")
	_, apps := alice(t, c)
	submit(t, apps, client.Submission{Name: "waits", Queue: "root.reports", Unmanaged: true, Resource: records.NewResource(512, 1)})
	Shows(t, page, ">root.reports<", "0 active, 1 waiting; at most no limit at once", "Demand", "Minimum", "At most", "Policy", "1 application</span>")
}

// A follower's own page was blank: it redirected its scripts and its style sheet to the leader, which is another origin.
func TestAFollowersOwnPageIsDrawn(t *testing.T) {
	c := minicluster.Start(t, 3, nil)
	ids := c.Conf.RMIDs()
	web := func(i int) *url.URL {
		u, err := url.Parse("http://" + c.Conf.Text(rm.WebAddress+"."+ids[i]))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	leads := c.Leader()
	follower := web((leads + 1) % 3)
	behind := httptest.NewServer(http.StripPrefix("/gateway/rm2", httputil.NewSingleHostReverseProxy(follower)))
	defer behind.Close()
	want := []string{"ResourceManagers", "rm1", "rm2", "rm3", "Leader", "Follower", "STANDBY", conf.Version}
	for _, page := range []string{follower.String() + "/cluster/cluster", behind.URL + "/gateway/rm2/cluster/cluster"} {
		Shows(t, page, want...)
		if n := inked(Screenshot(t, page, conf.Version)); n < 20_000 {
			t.Errorf("%s: a reader sees %d pixels that are not of the background", page, n)
		}
	}
	// the leader's pages, and their links, hold below a prefix too
	gate := httptest.NewServer(http.StripPrefix("/gateway/rm", httputil.NewSingleHostReverseProxy(web(leads))))
	defer gate.Close()
	c.Node(minicluster.NodeOptions{})
	apps := Shows(t, gate.URL+"/gateway/rm/cluster/apps", "No applications.", `href="`+gate.URL+`/gateway/rm/cluster/apps?state=RUNNING"`, `aria-current="page"`)
	if strings.Contains(apps, `href="/cluster`) {
		t.Errorf("a link leaves the prefix:\n%s", apps)
	}
	Shows(t, gate.URL+"/gateway/rm/cluster/nodes", "/default-rack", "RUNNING")
}

// inked counts the pixels that differ from the one in the lower right corner.
func inked(img image.Image) (n int) {
	b := img.Bounds()
	ground := img.At(b.Max.X-1, b.Max.Y-1)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if img.At(x, y) != ground {
				n++
			}
		}
	}
	return n
}

// alice is a user of a cluster.
func alice(t *testing.T, c *minicluster.Cluster) (*client.Cluster, *client.Applications) {
	t.Helper()
	cluster, err := client.NewCluster(c.Conf, minicluster.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	apps, err := cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	return cluster, apps
}

// submit submits an application, which is small unless it says otherwise.
func submit(t *testing.T, apps *client.Applications, x client.Submission) records.ApplicationID {
	t.Helper()
	id, _, err := apps.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x.ID = id; x.Resource.IsZero() {
		x.Resource = records.NewResource(128, 1)
	}
	if err := apps.Submit(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	return id
}

package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/webui/proxy"
	"heddle/yarn/records"
)

// page does what the pages of MapReduce (settings of tables in the session's storage), Spark (the same in the local one,
// and requests to its API as jQuery makes them) and Flink (modules) do, and what none of them may.
const page = `<!DOCTYPE html>
<html><head><script src="%[1]s/app.js"></script><script type="module" src="%[1]s/module.js"></script></head>
<body><p id="storage"></p><p id="api"></p><p id="fetched"></p><p id="module"></p><p id="attack">attack: none</p><script>
sessionStorage.setItem("table", JSON.stringify({a: 1}));
document.getElementById("storage").textContent = "storage: " + JSON.parse(sessionStorage.getItem("table")).a + localStorage.getItem("none") + loaded;
var x = new XMLHttpRequest();
x.onload = function () { document.getElementById("api").textContent = "api: " + x.responseText };
x.open("GET", "%[1]s/api/v1");
x.setRequestHeader("X-Requested-With", "XMLHttpRequest");
x.send();
fetch("%[1]s/api/v1").then(function (r) { return r.text() }).then(function (s) { document.getElementById("fetched").textContent = "fetched: " + s });
fetch("/ws/v1/secret", {credentials: "include"}).then(function (r) { return r.text() }).then(
	function (s) { document.getElementById("attack").textContent = "attack: got " + s }, function () {});
try { document.cookie = "stolen=1"; document.getElementById("attack").textContent += " cookie:" + document.cookie } catch (e) {}
</script></body></html>`

// behindProxy serves the pages of an application as a ResourceManager does.
func behindProxy(t *testing.T, tracking string) *httptest.Server {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	p := proxy.New(proxy.Config{
		Lookup: func(records.ApplicationID) (proxy.App, bool) {
			return proxy.App{User: "alice", Tracking: tracking, Hosts: []string{"127.0.0.1"}}, true
		},
		User: func(*http.Request) string { return "" }, MayView: func(string, records.ApplicationID) bool { return true },
		Pages: "http://127.0.0.1/cluster", Log: logrus.NewEntry(log),
	})
	t.Cleanup(p.Close)
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, proxy.Base+"/") {
			_, _ = io.WriteString(w, "the cluster's own")
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(cluster.Close)
	return cluster
}

// Pages of applications work behind the proxy, and get at nothing else that is on its host.
func TestPagesOfApplicationsAreConfined(t *testing.T) {
	own := proxy.Base + "/application_7_0001"
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/jobs/", http.StatusFound)
		case "/jobs/":
			_, _ = fmt.Fprintf(w, page, own)
		case "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, `var loaded = " script";`)
		case "/module.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, `document.getElementById("module").textContent = "module: loaded";`)
		case "/api/v1":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `executors`)
		}
	}))
	defer app.Close()
	cluster := behindProxy(t, app.URL)
	got := Shows(t, cluster.URL+own+"/", "storage: 1null script", "api: executors", "fetched: executors", "module: loaded")
	if strings.Contains(got, ">attack: got") || strings.Contains(got, "cookie:stolen") {
		t.Errorf("the page got at the cluster's own pages:\n%s", got)
	}
}

// Spark's pages kill a job by a link, which is a GET, and forms may do so, too. The application's own ones work behind the proxy, and those of a page
// of another site don't.
func TestOnlyAnApplicationsOwnPageMakesItAct(t *testing.T) {
	own := proxy.Base + "/application_7_0001"
	for name, way := range map[string]struct{ page, script string }{
		"link":           {`<a id="kill" href="%s/jobs/job/kill/?id=0">(kill)</a>`, "click()"},
		"form":           {`<form action="%s/jobs/job/kill/"><input type="hidden" name="id" value="0"><button id="kill">kill</button></form>`, "click()"},
		"script's form":  {`<form id="kill" action="%s/jobs/job/kill/"><input type="hidden" name="id" value="0"></form>`, "submit()"},
		"button's place": {`<form action="/"><input type="hidden" name="id" value="0"><button id="kill" formaction="%s/jobs/job/kill/">kill</button></form>`, "click()"},
	} {
		t.Run(name, func(t *testing.T) {
			page := func(base string) string {
				return "<!DOCTYPE html>" + fmt.Sprintf(way.page, base+own) +
					`<script>addEventListener("load", function () { document.getElementById("kill").` + way.script + ` })</script>`
			}
			var kills atomic.Int32
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				switch r.URL.Path {
				case "/jobs/":
					_, _ = io.WriteString(w, page(""))
				case "/jobs/job/kill/":
					kills.Add(1)
					_, _ = io.WriteString(w, "<p>killed by "+r.URL.RawQuery+"</p>")
				}
			}))
			defer app.Close()
			cluster := behindProxy(t, app.URL)
			evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, page(cluster.URL))
			}))
			defer evil.Close()
			Shows(t, strings.Replace(evil.URL, "127.0.0.1", "localhost", 1), "This request makes the application act")
			if n := kills.Load(); n != 0 {
				t.Errorf("another site's page killed %d jobs", n)
			}
			Shows(t, cluster.URL+own+"/jobs/", "killed by id=0<")
		})
	}
}

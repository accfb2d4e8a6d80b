package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/internal/publicdir"
	"heddle/nm"
	"heddle/rm"
	"heddle/yarn/records"
)

// realNode adds a NodeManager with real containers to a cluster.
func realNode(t *testing.T, c *minicluster.Cluster, set map[string]string) *nm.NodeManager {
	t.Helper()
	dir := publicdir.New(t, "")
	for key, value := range set {
		c.Conf.Set(key, value)
	}
	for key, value := range map[string]string{
		"hadoop.tmp.dir": dir, "yarn.nodemanager.local-dirs": dir + "/local", "yarn.nodemanager.log-dirs": dir + "/logs/userlogs", "yarn.log.dir": dir + "/logs",
		"yarn.nodemanager.hostname": "localhost", "yarn.nodemanager.webapp.address": "localhost:0", "yarn.nodemanager.localizer.address": "localhost:0",
		"yarn.nodemanager.disk-health-checker.enable": "false", "yarn.nodemanager.resource.memory-mb": "4096",
	} {
		c.Conf.Set(key, value)
	}
	return c.NodeManager()
}

// Links to the logs of an application that had ended led to a 404 of its node. The pages show a container's logs while it runs, and follow them, and afterwards what
// its node has collected; with what YARN's access control lists say, and everything in them as text.
func TestLogsRunningAndCollected(t *testing.T) {
	logs := publicdir.New(t, "")
	c := minicluster.Start(t, 1, map[string]string{
		"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " ",
		"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": "file://" + logs, "yarn.nodemanager.address": "localhost:0",
	})
	realNode(t, c, nil)
	_, apps := alice(t, c)
	const script = `echo '<img src=x onerror="document.title=1">'; printf 'bytes \377\033[2J\342\200\256 end\n'; seq 1 20000; while :; do echo tick; sleep 0.2; done`
	id := submit(t, apps, client.Submission{Name: "speaks", AM: client.Launch{Command: []string{client.Quote("{ "+script+"; }") + " > <LOG_DIR>/stdout"}}, MaxAttempts: 1, Resource: records.NewResource(256, 1)})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	container := strings.Replace(id.String(), "application", "container", 1) + "_01_000001"
	rest := at + "/ws/v1/heddle/containers/" + container + "/logs"
	await.Slowly(t, "it speaks", func() bool { return strings.Contains(ask(t, rest+"/stdout?start=-5&user.name=alice"), "tick") })

	tab := Open(t, 1400, 900)
	tab.Go(at + "/ws/v1/heddle/whoami?user.name=alice")
	tab.Until(`document.body.textContent.includes("alice")`)
	tab.Go(at + "/cluster/app/" + id.String())
	tab.Until(`document.querySelector('a[href$="/cluster/logs/` + container + `"]')`)
	tab.Click(`a[href$="/cluster/logs/` + container + `"]`)
	tab.Until(`[...document.querySelectorAll("td a")].some((a) => a.textContent === "stdout")`)
	tab.Eval(`[...document.querySelectorAll("td a")].find((a) => a.textContent === "stdout").click()`, nil)
	tab.Until(`document.querySelector("pre.log")?.textContent.endsWith("tick\n") && !document.querySelector("#log-follow").parentElement.hidden`)
	tab.Eval(`{ window.before = document.querySelector("pre.log").textContent.length; 0 }`, nil)
	tab.Until(`document.querySelector("pre.log").textContent.length > window.before + 10`) // it follows

	tab.Type("#log-find", "IMG SRC")
	tab.Click("#log-search button")
	tab.Until(`document.querySelectorAll(".found li button").length === 1`)
	tab.Click(".found li button")
	tab.Until(`document.querySelector("pre.log").textContent.startsWith('<img src=x onerror="document.title=1">\nbytes \ufffd\u001b[2J\u202e end\n1\n')`)
	var title string
	if tab.Eval("document.title", &title); title == "1" {
		t.Error("a log ran in the page")
	}

	var node, wide string
	tab.Eval(`fetch("/ws/v1/cluster/apps/`+id.String()+`").then((r) => r.json()).then((j) => j.app.amContainerLogs)`, &node)
	if err := apps.Kill(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "its logs are collected", func() bool { return strings.Contains(ask(t, rest+"?user.name=alice"), "AGGREGATED") })
	tab.Go(at + "/cluster/app/" + id.String())
	tab.Until(`document.querySelector('a[href$="/cluster/logs/` + id.String() + `"]')`)
	tab.Click(`a[href$="/cluster/logs/` + id.String() + `"]`)
	tab.Until(`document.querySelector("td a")?.textContent.startsWith("localhost_")`)
	tab.Click("td a")
	tab.Until(`[...document.querySelectorAll("td a")].some((a) => a.textContent === "stdout")`)
	await.Slowly(t, "the node has given them away", func() bool { return strings.Contains(ask(t, node+"/stdout"), "<main") }) // the ResourceManager's page
	tab.Size(360, 700)
	tab.Go(node + "/stdout")
	tab.Until(`document.querySelector("pre.log")?.textContent.includes("tick\n") && document.querySelector("#log-follow").parentElement.hidden`)
	tab.Eval(`String(document.documentElement.scrollWidth > innerWidth)`, &wide)
	if wide == "true" {
		t.Error("at 360 pixels the page scrolls sideways")
	}
	tab.Eval(axe+";0", nil)
	var found []string
	tab.Eval(`axe.run({}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes[0].html))`, &found)
	if len(found) > 0 {
		t.Errorf("axe: %q", found)
	}
	tab.Click("#log-first")
	tab.Until(`document.querySelector("pre.log").textContent.startsWith("<img")`)
	for user, want := range map[string]int{"alice": 200, "boss": 200, "bob": 403, "": 401} {
		for _, path := range []string{rest, rest + "/stdout", rest + "/stdout?start=0&end=9", rest + "/stdout?find=tick", rest + "/stdout?download=true", at + "/ws/v1/heddle/apps/" + id.String() + "/logs"} {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			if user != "" {
				path += sep + "user.name=" + user
			}
			if got := status(t, path); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
	}
	if text := ask(t, rest+"/stdout?user.name=alice&size=12"); !strings.Contains(text, "LogAggregationType: AGGREGATED") || !strings.Contains(text, "LogContents:\n<img src=x o\nEnd of LogType:stdout") {
		t.Errorf("YARN's form is %s", text)
	}
	for _, bad := range []string{"/../../etc/passwd", "/absent", "/stdout?start=x"} {
		if got := status(t, rest+strings.ReplaceAll(bad, "/..", "/%2e%2e")+map[bool]string{true: "&", false: "?"}[strings.Contains(bad, "?")]+"user.name=alice"); got != 404 && got != 400 {
			t.Errorf("%s: %d", bad, got)
		}
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, "favicon.ico") {
			t.Errorf("the page said %s", s)
		}
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", url, err))
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

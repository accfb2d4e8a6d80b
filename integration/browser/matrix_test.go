package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/rm/leader"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

// The newer pages with 0, 1, 10 and 10,000 nodes, with hostile names, and when the leader is lost: axe-core finds nothing in either theme, nothing scrolls sideways at 360 pixels, and what was seen
// stays. While nothing happens a tab takes less than 100 KB a minute, and no task of it is longer than 100 ms. HEDDLE_PICTURES_MATRIX names a folder for pictures.
func TestPagesWithNothingAndWithMuchOnThem(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it, as it takes minutes")
	}
	const queues = "yarn.scheduler.capacity.root."
	c := minicluster.Start(t, 1, map[string]string{
		"yarn.node-labels.enabled": "true", queues + "queues": "default," + longName + "," + oddQueue, queues + "default.capacity": "40", queues + longName + ".capacity": "30", queues + oddQueue + ".capacity": "30",
		queues + "accessible-node-labels." + longName + ".capacity": "100", queues + longName + ".accessible-node-labels." + longName + ".capacity": "80", queues + oddQueue + ".accessible-node-labels." + longName + ".capacity": "20",
	})
	if err := c.RM(0).Leader().Labels().Add([]nodelabels.Label{{Name: longName, Exclusive: true}, {Name: "a-b_9"}}); err != nil {
		t.Fatal(err)
	}
	at := "http://" + c.Conf.Text(rm.WebAddress)
	_, apps := alice(t, c)
	tab := Open(t, 1400, 1000)
	have := 0
	for _, n := range []int{0, 1, 10, 10_000} {
		register(t, c, have, n)
		label(t, c, have, n)
		have = n
		if n == 1 {
			submit(t, apps, client.Submission{Name: hostile, Unmanaged: true})
			submit(t, apps, client.Submission{Name: hostile, Unmanaged: true, Queue: oddQueue})
		}
		for name, path := range map[string]string{
			"labels": "/cluster/nodelabels", "queue": "/cluster/queue/root.default", "queue-long": "/cluster/queue/root." + longName, "queue-odd": "/cluster/queue/" + url.PathEscape("root."+oddQueue), "queues": "/cluster/scheduler", "apps": "/cluster/apps", "waiting": "/cluster/waiting",
			"map": "/cluster/nodes/map", "nodes-long": "/cluster/nodes?label=" + longName, "user": "/cluster/user/alice", "nodes": "/cluster/nodes", "node": "/cluster/node/" + hostOf(0) + ":45454",
		} {
			if n == 0 && name == "node" {
				continue
			}
			look(t, tab, at+path, fmt.Sprintf("%s-%d", name, n))
		}
	}
	idle(t, tab, at+"/cluster/nodelabels", 100_000)
	idle(t, tab, at+"/cluster/overview", 100_000)
	tab.Go(at + "/cluster/nodelabels")
	tab.Until(`document.querySelector("tbody tr")`)
	c.StopRM(0)
	tab.Until(`document.querySelector("#state.lost")?.textContent.includes("no ResourceManager answers") && document.querySelector("tbody tr")`)
	accessible(t, tab, "without a leader")
	picture(t, tab, "labels-lost")
}

// longName is a name of 200 characters, and oddQueue one of a queue from right to left and with markup; labels have letters, digits, - and _ only.
var (
	longName = strings.Repeat("Long-name_", 20)
	oddQueue = "עברית<b>&'\"%2F\u202exyz"
)

// label gives each second node the long label, and every tenth one the other.
func label(t *testing.T, c *minicluster.Cluster, from, to int) {
	t.Helper()
	var all []nodelabels.Mapping
	for i := from; i < to; i++ {
		name := map[bool]string{true: longName}[i%2 == 0]
		if i%10 == 9 {
			name = "a-b_9"
		}
		if name != "" {
			all = append(all, nodelabels.Mapping{Node: records.NodeID{Host: hostOf(i), Port: 45454}, Labels: []string{name}})
		}
	}
	if len(all) == 0 {
		return
	}
	if err := c.RM(0).Leader().Labels().Replace(all, false); err != nil {
		t.Fatal(err)
	}
}

// hostOf is the host of a simulated node, which has a long name.
func hostOf(i int) string { return fmt.Sprintf("w%d.%s", i, strings.Repeat("x", 40)) }

// register adds nodes to a cluster.
func register(t *testing.T, c *minicluster.Cluster, from, to int) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(64)
	for i := from; i < to; i++ {
		all.Go(func() error {
			_, err := c.RM(0).Leader().RegisterNode(leader.NodeRegistration{Node: records.NodeID{Host: hostOf(i), Port: 45454}, Capability: records.NewResource(65536, 32), Version: "3.4.2", HTTPPort: 1})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// look opens a page and checks how it is.
func look(t *testing.T, tab *Tab, url, name string) {
	t.Helper()
	tab.Size(1400, 1000)
	tab.Go(url)
	tab.Until(`document.querySelector("main h1") && document.querySelector("#state").textContent`)
	accessible(t, tab, name)
	picture(t, tab, name)
	tab.Size(360, 700)
	tab.pause() // canvases follow a moment later
	var wide bool
	if tab.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		t.Errorf("%s: at 360 pixels the page scrolls sideways", name)
		picture(t, tab, name+"-360")
	}
}

// idle measures a page that is only looked at. It may take so many bytes a minute.
func idle(t *testing.T, tab *Tab, url string, most float64) {
	t.Helper()
	tab.Go(url)
	tab.Until(`document.querySelector("main h1") && document.querySelector("#state").textContent`)
	tab.pause()
	var got struct{ Bytes, Longest float64 }
	tab.Eval(`new Promise((done) => {
		let longest = 0;
		performance.clearResourceTimings();
		performance.setResourceTimingBufferSize(10000);
		new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration); }).observe({ type: "longtask" });
		setTimeout(() => done({ Bytes: performance.getEntriesByType("resource").reduce((n, e) => n + e.transferSize, 0), Longest: longest }), 60000);
	})`, &got)
	t.Logf("%s: %.0f bytes in a minute, the longest task took %.0f ms", url, got.Bytes, got.Longest)
	if got.Bytes > most || got.Longest > 100 {
		t.Errorf("%s: %.0f bytes in a minute, the longest task took %.0f ms", url, got.Bytes, got.Longest)
	}
}

func picture(t *testing.T, tab *Tab, name string) {
	t.Helper()
	if folder := os.Getenv("HEDDLE_PICTURES_MATRIX"); folder != "" {
		tab.Theme("light")
		tab.pause()
		if err := os.WriteFile(filepath.Join(folder, name+".png"), tab.Picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

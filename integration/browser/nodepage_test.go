package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// hostile is a name that breaks pages which don't expect it: long, from right to left, and with markup.
var hostile = "<img src=x onerror=alert(1)>\u202eעברית " + strings.Repeat("long-", 40)

const machineOf = `{"machine":{"cpuCores":1.5,"processors":4,"load":0.5,"memoryBytes":1073741824,"totalMemoryBytes":4294967296,"swapBytes":0,"totalSwapBytes":0,
	"pressure":[{"resource":"io","some10":12.5,"some60":1,"some300":0,"full10":3,"full60":0,"full300":0}],
	"disk":[{"kind":"local-dirs","path":"/data/<b>","state":"FULL","problem":"used space above threshold","totalBytes":1000000000,"freeBytes":50000000}]}}`

// An administrator sees what a node does and how its machine is, drains it, keeps it after all, and changes what it offers. Others aren't offered that, and see what is theirs.
func TestNodePage(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, machineOf) }))
	t.Cleanup(web.Close)
	c := minicluster.Start(t, 1, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " "})
	node := c.Node(minicluster.NodeOptions{WebPort: web.Listener.Addr().(*net.TCPAddr).Port, Run: func(ctx context.Context, _ minicluster.Container) int {
		<-ctx.Done()
		return 0
	}})
	_, apps := alice(t, c)
	id := submit(t, apps, client.Submission{Name: hostile, MaxAttempts: 1, Resource: records.NewResource(512, 1)})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	page := at + "/cluster/node/" + node.ID.String()
	tab := Open(t, 1400, 900)
	tab.Go(page)
	saysWho(tab, "bob")
	tab.Until(`document.body.textContent.includes("1 container of applications that you may not see is left out.")`)
	tab.Until(`[...document.querySelectorAll("td")].some((c) => c.textContent === "/data/<b>") && document.body.textContent.includes("50.0 %") === false && document.body.textContent.includes("12.5 %")`)
	var offered bool
	if tab.Eval(`!!document.querySelector("#drain")`, &offered); offered {
		t.Error("bob is offered to drain a node")
	}
	tab.Click("#who summary")
	tab.Click("#who form button")
	saysWho(tab, "boss")
	tab.Until(`document.querySelector("#ran canvas")?.style.height && document.querySelector("#drain")`)
	tab.Eval(`{ window.confirm = () => true; document.querySelector("#ran-table").open = true; 0 }`, nil)
	tab.Until(`document.querySelector("#ran-table tbody tr bdi")?.textContent.includes("onerror")`)
	accessible(t, tab, "node page")

	tab.Type("#drain-minutes", "90")
	tab.Click("#drain button")
	tab.Until(`document.querySelector("main .notice")?.textContent === "It leaves." && document.querySelector("dl").textContent.includes("DECOMMISSIONING") && document.querySelector("dl").textContent.includes("Leaves until")`)
	if got := ask(t, at+"/ws/v1/cluster/nodes/"+node.ID.String()+"?user.name=boss"); !strings.Contains(got, `"state":"DECOMMISSIONING"`) {
		t.Errorf("%s", got)
	}
	tab.Click("#recommission button")
	tab.Until(`document.querySelector("main .notice")?.textContent === "It stays." && document.querySelector("dl").textContent.includes("RUNNING")`)
	tab.Type("#to-gigabytes", "6")
	tab.Type("#to-vcores", "5")
	tab.Click("#resize button")
	tab.Until(`[...document.querySelectorAll(".tile")].some((e) => e.textContent.includes("memory used of 6 GB"))`)
	tab.Type("#drain-minutes", "99999999")
	tab.Type("#to-vcores", "7")
	tab.Until(`document.querySelector("#state").textContent !== "" && document.querySelector("#drain-minutes").value === "99999999"`)
	tab.Click("#drain button")
	tab.Until(`document.querySelector("main .notice.bad")?.textContent.includes("must be a number of seconds from 0")`)
	tab.Size(360, 700)
	var wide bool
	if tab.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		t.Error("at 360 pixels the page scrolls sideways")
	}
	if err := apps.Kill(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, `"source":"network"`) { // refusals are such
			t.Errorf("the page said %q", s)
		}
	}
}

// accessible checks the page that is open with axe-core, in both themes.
func accessible(t *testing.T, tab *Tab, where string) {
	t.Helper()
	for _, v := range tab.Violations() {
		t.Errorf("%s, %s", where, v)
	}
}

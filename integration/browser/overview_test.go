package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// The first page that an operator opens says what REST says: figures, what waits and why, and what was used over time, as curves and as a table.
func TestOverview(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	large := submit(t, apps, client.Submission{Name: "<i>large\u202e", Unmanaged: true})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/overview?span=1h")
	tab.Until(`document.querySelector("#use canvas") && document.body.textContent.includes("memory used of 8 GB")`)
	tab.Until(`[...document.querySelectorAll(".news li")].some((l) => l.textContent.includes("` + `<i>large` + `") && l.textContent.includes("waits for its ApplicationMaster to register"))`)

	// the curves have a table behind them, with the figures of REST
	tab.Eval(`document.querySelector("#use-table").open = true`, nil)
	tab.Until(`document.querySelectorAll("#use-table tbody tr").length > 0`)
	var row, tip []string
	tab.Eval(`[...document.querySelectorAll("#use-table tbody tr:first-child td")].map((c) => c.textContent)`, &row)
	var history struct {
		History struct {
			Series []struct{ GuaranteedMB []int64 }
		}
	}
	if err := json.Unmarshal([]byte(ask(t, at+"/ws/v1/heddle/history?from=1h")), &history); err != nil {
		t.Fatal(err)
	}
	if s := history.History.Series; len(s) != 1 || s[0].GuaranteedMB[len(s[0].GuaranteedMB)-1] != 8192 || len(row) != 3 || row[1] != "0 MB" || row[2] != "8 GB" {
		t.Errorf("the table has %q, and REST %+v", row, history)
	}
	// by keyboard, too
	tab.Eval(`{ const p = document.querySelector("#use .plot"); p.focus(); p.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true })); }`, nil)
	tab.Eval(`[...document.querySelectorAll("#use .tip > *")].map((c) => c.textContent)`, &tip)
	if got := fmt.Sprint(tip); !strings.Contains(got, "root.default 0 MB") || !strings.Contains(got, "all there is 8 GB") {
		t.Errorf("at the last point it says %s", got)
	}
	if err := apps.Kill(t.Context(), large, ""); err != nil {
		t.Fatal(err)
	}
	tab.Until(`document.body.textContent.includes("No application waits")`)
	if said := tab.Errors(); len(said) > 0 {
		t.Errorf("the page said %q", said)
	}
}

// The map shows each node, and leads to its page by a click and by the keyboard.
func TestMapOfNodes(t *testing.T) {
	c := minicluster.Start(t, 1, map[string]string{"heddle.scheduler.node-speeds": "*=0.5"})
	node := c.Node(minicluster.NodeOptions{})
	tab := Open(t, 360, 700)
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/nodes/map?by=suspended")
	tab.Until(`document.querySelector("#nodes-map canvas")?.style.height && document.querySelector("#nodes-map .plot").getAttribute("aria-label").startsWith("1 node in 1 rack, 0 lost")`)
	var wide bool
	tab.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide)
	if wide {
		t.Error("at 360 pixels the page scrolls sideways")
	}
	c.Until("the speed of the node is known", func() bool {
		return strings.Contains(ask(t, "http://"+c.Conf.Text(rm.WebAddress)+"/ws/v1/heddle/node-map"), `"speedClass":[1]`)
	})
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/nodes/map?by=speed")
	tab.Until(`document.querySelector("#nodes-map canvas")?.style.height`)
	tab.Until(`(document.querySelector("#nodes-map .plot").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })), document.querySelector("#nodes-map").textContent.includes("speed class 1"))`)
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/nodes/map?by=staged")
	tab.Until(`document.querySelector("#nodes-map canvas")?.style.height && document.body.textContent.includes("the stronger, the more: input in memory")`)
	tab.Eval(`{ const p = document.querySelector("#nodes-map .plot"); for (const key of ["ArrowRight", "Enter"]) p.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }`, nil)
	tab.Until(`document.querySelector("h1")?.textContent === "` + node.ID.String() + `" && document.body.textContent.includes("No container that you may see lives here")`)
	var said []string // by a map that isn't laid out yet, and when its figures change, a node goes, and another goes
	tab.Eval(`import(new URL("/cluster/static/heatmap.js", location).href).then(({ heatMap }) => {
		const spec = (...nodes) => ({ id: "new", racks: [{ name: "/r", nodes }], by: "use", label: "new", look: () => ({ part: 0 }), tell: (n) => [n.id, n.use] });
		const place = heatMap(spec({ id: "a", use: 1 }, { id: "b", use: 1 }));
		document.querySelector("main").append(place);
		place.querySelector(".plot").dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
		const tip = () => place.querySelector(".tip").textContent;
		return [tip(), ...[[{ id: "a", use: 2 }, { id: "b", use: 2 }], [{ id: "b", use: 3 }], [{ id: "c", use: 4 }]].map((nodes) => (heatMap(spec(...nodes)), tip()))];
	})`, &said)
	if got := strings.Join(said, " "); got != "b1 b2 b3 " {
		t.Errorf("of its last node a new map says %q, want it to follow the node's figures", got)
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, `"source":"network"`) { // the node has no web port
			t.Errorf("the page said %q", s)
		}
	}
}

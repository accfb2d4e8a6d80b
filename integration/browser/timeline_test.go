package browser

import (
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// An application's containers are drawn over time, with a table behind; ten thousand of them at once don't hold the reader up.
func TestContainersOverTime(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	id := submit(t, apps, client.Submission{Name: "job", MaxAttempts: 1})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/app/" + id.String() + "?lanes=stage&size=dense")
	tab.Until(`document.querySelector("#timeline canvas")?.style.height`)
	tab.Eval(`document.querySelector("#timeline-table").open = true`, nil)
	tab.Until(`document.querySelector("#timeline-table tbody tr")?.textContent.includes("container_")`)
	var tip string
	tab.Eval(`{ const p = document.querySelector("#timeline .plot"); p.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true })); document.querySelector("#timeline .tip").textContent; }`, &tip)
	if !strings.Contains(tip, "container_") || !strings.Contains(tip, "granted") {
		t.Errorf("of the first container it says %q", tip)
	}
	if said := tab.Errors(); len(said) > 0 {
		t.Errorf("the page said %q", said)
	}
	var ms []float64
	tab.Eval(`import(new URL("/cluster/static/timeline.js", location).href).then(async ({ barOf, timeline }) => {
		const bars = Array.from({ length: 10000 }, (_, i) => barOf({ containerId: "c" + i, nodeId: "n" + (i % 500), priority: i % 3, asked: i * 7 + 1, granted: i * 7 + 20, started: i * 7 + 90, ended: i * 7 + 4000 + i % 977, exitStatus: i % 50 ? 0 : 1 }, 1e5));
		const begun = performance.now();
		const place = timeline({ id: "many", bars, laneOf: (b) => b.c.nodeId, row: 3, from: 0, to: 1e5, label: "many" });
		document.querySelector("main").append(place);
		const laid = performance.now();
		const box = place.querySelector(".plot");
		await new Promise(requestAnimationFrame);
		const before = performance.now();
		for (let i = 0; i < 50; i++) { box.scrollTop = i * 40; box.onscroll?.(); box.dispatchEvent(new Event("scroll")); }
		return [laid - begun, (performance.now() - before) / 50, place.querySelector("canvas").height];
	})`, &ms)
	t.Logf("10,000 containers: laid out in %.0f ms, a frame in %.1f ms", ms[0], ms[1])
	if ms[0] > 1000 || ms[1] > 100 || ms[2] > 2000 {
		t.Errorf("layout %.0f ms, frame %.1f ms, canvas %.0f px high", ms[0], ms[1], ms[2])
	}
}

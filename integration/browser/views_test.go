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

// A reader without a mouse hides a column, keeps a view by a name, and moves and prioritises several applications; what is refused is said of each.
func TestViewsAndSeveralApplicationsByKeyboard(t *testing.T) {
	const queues = "yarn.scheduler.capacity.root."
	c := minicluster.Start(t, 1, map[string]string{queues + "queues": "default,other", queues + "default.capacity": "50", queues + "other.capacity": "50", "yarn.cluster.max-application-priority": "9"})
	c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	for i := range 3 {
		submit(t, apps, client.Submission{Name: fmt.Sprintf("job %d", i), Unmanaged: true})
	}
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/apps?q=job&sort=name")
	saysWho(tab, "alice")
	tab.Until(`document.querySelectorAll("tbody tr").length === 3`)

	// columns and views
	heads := func() (all []string) {
		tab.Eval(`[...document.querySelectorAll("thead th")].map((h) => h.textContent)`, &all)
		return all
	}
	tab.TabTo("#views summary")
	tab.Press("Enter")
	tab.TabTo("#column-holds")
	tab.Press(" ")
	tab.Until(`location.search.includes("hide=holds") && ![...document.querySelectorAll("thead th")].some((h) => h.textContent === "Holds")`)
	tab.TabTo("#view-name")
	tab.Eval(`0`, nil)
	tab.Type("#view-name", `jobs<b>`+"\u202e")
	tab.Press("Enter")
	tab.Until(`document.querySelector("#kept-views li bdi")?.textContent === "jobs<b>\u202e"`)
	tab.Go(at + "/cluster/apps")
	tab.Until(`document.querySelector("#kept-views") && document.querySelectorAll("tbody tr").length === 3`)
	if all := strings.Join(heads(), "|"); !strings.Contains(all, "Holds") {
		t.Errorf("without the view there are %s", all)
	}
	tab.Click("#kept-views a")
	tab.Until(`location.search === "?q=job&sort=name&hide=holds"`)
	tab.Click("#all-columns")
	tab.Until(`location.search === "?q=job&sort=name" && document.querySelector("#column-holds").checked`)
	tab.Click("#kept-views button")
	tab.Until(`!document.querySelector("#kept-views")`)

	// several applications
	tab.TabTo("#pick-all")
	tab.Press(" ")
	tab.Until(`document.querySelector("#several")?.textContent.includes("3 applications chosen")`)
	do := func(field, value, said string) {
		t.Helper()
		tab.TabTo(field)
		tab.Eval(`document.activeElement.select()`, nil)
		tab.Type(field, value)
		tab.Press("Enter")
		tab.Until(`[...document.querySelectorAll("main [role=status]")].some((e) => e.textContent.startsWith(` + fmt.Sprintf("%q", said) + `))`)
	}
	do("#several-queue", "nowhere", "0 applications moved.")
	do("#several-queue", "other", "3 applications moved.")
	tab.TabTo("#pick-all")
	tab.Press(" ")
	tab.Until(`document.querySelector("#several")?.textContent.includes("3 applications chosen")`)
	do("#several-priority", "7", "3 applications changed.")
	var list struct {
		Apps struct {
			App []struct {
				Queue    string
				Priority int
			}
		}
	}
	if err := json.Unmarshal([]byte(ask(t, at+"/ws/v1/cluster/apps")), &list); err != nil || len(list.Apps.App) != 3 {
		t.Fatal(err, list)
	}
	for _, a := range list.Apps.App {
		if !strings.HasSuffix(a.Queue, "other") || a.Priority != 7 {
			t.Errorf("%+v", a)
		}
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, `"source":"network"`) { // refusals are such
			t.Errorf("the page said %q", s)
		}
	}
}

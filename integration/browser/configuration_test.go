package browser

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/minicluster"
	"heddle/rm"
)

// An operator finds a key by a part of it, sees which settings have no effect, and takes the list along; a secret isn't in it, and a hostile value is text.
func TestConfigurationPage(t *testing.T) {
	c := minicluster.Start(t, 1, map[string]string{"yarn.acl.enable": "false", "my.password": "hush", "my.note": hostile, "yarn.webapp.ui2.enable": "true"})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/overview")
	tab.Until(`document.querySelector("nav a[href$='/cluster/configuration']")`)
	tab.Eval(`{ document.querySelector("nav a[href$='/cluster/configuration']").focus(); 0 }`, nil)
	tab.Press("Enter")
	tab.Until(`document.querySelectorAll("tbody tr").length === 100 && document.querySelector("#next-page")`)
	tab.Eval(`{ document.querySelector("#set-true").focus(); 0 }`, nil)
	tab.Press("Enter")
	tab.Until(`location.search === "?set=true" && document.querySelector("tr[data-key='my.password']")?.textContent.includes("<redacted>")`)
	tab.Until(`document.querySelector("tr[data-key='my.note']")?.textContent.includes("onerror") && !document.querySelector("main img")`)
	tab.Type("#filter-q", "ui2.enable")
	tab.Until(`document.querySelectorAll("tbody tr").length === 1 && document.querySelector("tbody tr").textContent.includes("no effect")`)
	var link string
	tab.Eval(`document.querySelector("#as-csv").href`, &link)
	rows, err := csv.NewReader(strings.NewReader(ask(t, link))).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != "yarn.webapp.ui2.enable" {
		t.Errorf("%v, %v", rows, err)
	}
	tab.Type("#filter-q", "\b"+strconv.Itoa(1<<40)) // nothing has it
	tab.Until(`document.querySelector(".none")?.textContent.includes("is admitted by these filters")`)
	if text := ask(t, at+"/ws/v1/heddle/configuration?limit=1000&q=hush"); strings.Contains(text, "hush") {
		t.Error("a secret shows")
	}
	accessible(t, tab, "configuration")
	for _, width := range []int{360, 1400} {
		wide := Open(t, width, 800)
		wide.Go(at + "/cluster/configuration?set=true")
		wide.Until(`document.querySelector("tr[data-key='my.note']")`)
		var over int
		if wide.Eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over); over > 0 {
			t.Errorf("at %d pixels the page is %d too wide", width, over)
		}
		accessible(t, wide, "configuration")
	}
}

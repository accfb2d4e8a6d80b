package browser

import (
	"fmt"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// A reader filters, sorts and turns pages; all of it stands in the address, and going back works. While he reads, rows change where they are: what he
// has selected, focused and opened stays, and rows that stay are the same elements.
func TestAReaderOfLists(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	var ids []records.ApplicationID
	for i := range 120 {
		ids = append(ids, submit(t, apps, client.Submission{Name: fmt.Sprintf("job %03d", i), Unmanaged: true}))
	}
	tab := Open(t, 1400, 900)
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/apps")
	const names = `[...document.querySelectorAll("tbody bdi.lines")].map((x) => x.textContent)`
	tab.Until(names + `.length === 100 && ` + names + `[0] === "job 119"`)
	tab.Click("#next-page")
	tab.Until(names + `.length === 20 && ` + names + `[0] === "job 019" && document.body.textContent.includes("101–120 of 120")`)
	tab.Click("#prev-page")
	tab.Until(names + `[0] === "job 119"`)
	tab.Click("#sort-name")
	tab.Until(names + `[0] === "job 000" && location.search === "?sort=name"`)
	tab.Type("#filter-q", "JOB 01")
	tab.Until(names + `.length === 10 && location.search === "?sort=name&q=JOB+01"`)
	tab.Eval("history.back()", nil)
	tab.Until(names + `[0] === "job 119"`)

	// what a reader does with the page stays while it changes
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/apps?sort=name&q=job+11")
	tab.Until(names + `.length === 10`)
	tab.Eval(`{
		window.row = document.querySelector("tr[data-key='`+ids[117].String()+`']");
		document.querySelector("#filter-user").focus();
		document.querySelector("#filter-user").value = "half ty";
		getSelection().selectAllChildren(row.querySelector("bdi.lines"));
		document.querySelector(".scroll").scrollLeft = 3; scrollTo(0, 40);
		window.was = [scrollX, scrollY].join();
	}`, nil)
	if err := apps.Kill(t.Context(), ids[117], ""); err != nil {
		t.Fatal(err)
	}
	tab.Until(`row.isConnected && row.textContent.includes("KILLED")`)
	submit(t, apps, client.Submission{Name: "job 11x", Unmanaged: true})
	tab.Until(names + `.length === 11`)
	var kept []any
	tab.Eval(`[row.isConnected, getSelection().toString(), document.activeElement.id, document.activeElement.value, [scrollX, scrollY].join() === was,
		document.querySelectorAll("tr.fresh").length]`, &kept)
	if got := fmt.Sprint(kept); got != "[true job 117 filter-user half ty true 1]" {
		t.Errorf("after the page had changed: %s", got)
	}
	if said := tab.Errors(); len(said) > 0 {
		t.Errorf("the page said %q", said)
	}
}

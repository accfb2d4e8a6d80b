package browser

import (
	"net/http"
	"strings"
	"testing"

	"heddle/integration/minicluster"
	"heddle/rm"
)

// The queue editor stages changes, has the server try them, applies them as one and undoes them. What another administrator changes meanwhile is seen, and stays.
func TestQueueEditor(t *testing.T) {
	c := minicluster.Start(t, 1, map[string]string{"yarn.scheduler.configuration.store.class": "memory", "yarn.admin.acl": "*"})
	c.Node(minicluster.NodeOptions{})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/scheduler/edit")
	tab.Until(`document.querySelector("#who summary") && document.querySelector("#edit-root")`)
	set := func(id, value string) {
		t.Helper()
		tab.Until(`document.getElementById("` + id + `")`)
		tab.Eval(`{ const i = document.getElementById("`+id+`"); i.closest("details")?.setAttribute("open", ""); i.value = "`+value+`"; i.dispatchEvent(new Event("change")); i.form?.requestSubmit(); 0 }`, nil)
	}
	press := func(id, then string) {
		t.Helper()
		tab.Until(`document.getElementById("` + id + `")?.disabled === false`)
		tab.Eval(`document.getElementById("`+id+`").click()`, nil)
		tab.Until(then)
	}
	status := func(text string) string {
		return `document.querySelector("main [role=status]")?.textContent.includes("` + text + `")`
	}
	conf := func() string { return ask(t, at+"/ws/v1/cluster/scheduler-conf?user.name=x") }

	set("add-to-root-name", "default")
	set("add-to-root-name", "new")
	set("set-root.default-capacity", "40")
	set("set-root.new-capacity", "70")
	press("try", status("Illegal capacity sum"))
	var off bool
	if tab.Eval(`document.getElementById("apply").disabled`, &off); !off {
		t.Error("what the server refuses may be applied")
	}
	set("set-root.new-capacity", "60")
	press("try", `document.querySelector("#outcome")?.textContent.includes("The server would take it")`)
	press("apply", status("The changes hold."))
	if got := conf(); !strings.Contains(got, `"yarn.scheduler.capacity.root.new.capacity","value":"60"`) {
		t.Fatalf("%s", got)
	}

	set("set-root.new-capacity", "50")
	set("set-root.default-capacity", "50")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, at+"/ws/v1/cluster/scheduler-conf?user.name=other", strings.NewReader(`{"global-updates":[{"entry":[{"key":"yarn.scheduler.capacity.maximum-applications","value":"77"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err, resp)
	}
	_ = resp.Body.Close()
	tab.Until(status("Somebody else has changed the queues"))
	press("try", `document.querySelector("#outcome")?.textContent.includes("The server would take it")`)
	press("apply", status("The changes hold."))
	if got := conf(); !strings.Contains(got, `root.new.capacity","value":"50"`) || !strings.Contains(got, `"77"`) {
		t.Errorf("one of two changes is lost: %s", got)
	}
	tab.Eval(axe+";0", nil)
	var found []string
	tab.Eval(`axe.run({}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes[0].html))`, &found)
	if len(found) > 0 {
		t.Errorf("axe: %q", found)
	}
	tab.Eval(`{ window.confirm = () => true; 0 }`, nil)
	press("undo", status("It was undone."))
	if got := conf(); !strings.Contains(got, `root.new.capacity","value":"60"`) || !strings.Contains(got, `"77"`) {
		t.Errorf("after the undoing: %s", got)
	}
	var wide bool
	tab.Size(360, 700)
	if tab.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		t.Error("at 360 pixels the page scrolls sideways")
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, `"source":"network"`) {
			t.Errorf("the page said %q", s)
		}
	}
}

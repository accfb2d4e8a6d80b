package browser

import (
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// A reader says once who he is, and may then do what YARN's access control lists say: what he may not isn't offered, and what the server refuses is said in its words.
func TestAReaderSaysWhoHeIsAndActs(t *testing.T) {
	c := minicluster.Start(t, 1, map[string]string{
		"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " ",
	})
	c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	id := submit(t, apps, client.Submission{Name: "job", Unmanaged: true})
	tab := Open(t, 1400, 900)
	page := "http://" + c.Conf.Text(rm.WebAddress) + "/cluster/app/" + id.String()
	tab.Go(page)
	say := func(name string) {
		t.Helper()
		saysWho(tab, name)
	}
	tab.Until(`document.body.textContent.includes("To change something, say who you are")`)
	say("bob")
	tab.Until(`document.querySelector("dl")`)
	var offered bool
	if tab.Eval(`!!document.querySelector("#kill")`, &offered); offered {
		t.Error("bob is offered to kill what is alice's")
	}
	tab.Click("#who summary")
	tab.Click("#who form button") // somebody else
	say("alice")
	tab.Until(`document.querySelector("#kill")`)
	tab.Type("#to-queue", "root.nowhere")
	tab.Click("#move button")
	tab.Until(`document.querySelector(".notice.bad")?.textContent.includes("Unauthorized attempt to move appid ` + id.String() + ` by remote user alice")`)
	var said string
	tab.Eval(`document.querySelector(".notice.bad").textContent`, &said)
	if strings.Contains(said, "Exception") {
		t.Errorf("it names a class: %s", said)
	}
	tab.Type("#to-hours", "2")
	tab.Click("#limit button")
	tab.Until(`document.body.textContent.includes("Its lifetime was changed.")`)
	var asked string
	tab.Eval(`{ window.asked = ""; window.confirm = (text) => { window.asked = text; return true; }; 0; }`, nil)
	tab.Click("#kill button")
	tab.Until(`[...document.querySelectorAll(".badge")].some((b) => b.textContent === "KILLED") && !document.querySelector("#kill")`)
	if tab.Eval("asked", &asked); asked != "Kill "+id.String()+"?" {
		t.Errorf("before it killed it asked %q", asked)
	}
	// several at once: what is refused is said application by application
	mine := submit(t, apps, client.Submission{Name: "mine", Unmanaged: true})
	cluster, _ := alice(t, c)
	carls, err := cluster.Applications("carl")
	if err != nil {
		t.Fatal(err)
	}
	other := submit(t, carls, client.Submission{Name: "carl's", Unmanaged: true})
	tab.Go("http://" + c.Conf.Text(rm.WebAddress) + "/cluster/apps")
	tab.Until(`document.querySelectorAll(".pick").length === 2`)
	tab.Click("#pick-all")
	tab.Until(`document.querySelector("#several")?.textContent.includes("2 applications chosen")`)
	tab.Eval(`{ window.confirm = () => true; 0; }`, nil)
	tab.Click("#kill-several button")
	tab.Until(`document.querySelector("main [role=status].notice.bad")?.textContent.startsWith("1 application killed.") && document.querySelector("#several")?.textContent.includes("1 application chosen")`)
	tab.Eval(`document.querySelector("main [role=status].notice.bad").textContent`, &said)
	if !strings.Contains(said, other.String()+": Unauthorized attempt to") || strings.Contains(said, mine.String()) {
		t.Errorf("it says %s", said)
	}
	tab.Eval(axe+";0", nil)
	var found []string
	tab.Eval(`axe.run({}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes[0].html))`, &found)
	if len(found) > 0 {
		t.Errorf("axe: %q", found)
	}
	for _, s := range tab.Errors() {
		if !strings.Contains(s, `"source":"network"`) { // refusals are such
			t.Errorf("the page said %q", s)
		}
	}
}

// saysWho gives a reader a name, on a page that asks for one.
func saysWho(tab *Tab, name string) {
	tab.t.Helper()
	tab.Until(`document.querySelector("#who summary")?.textContent === "Who are you?"`)
	tab.Click("#who summary")
	tab.Type("#who input", name)
	tab.Click("#who form button")
	tab.Until(`document.querySelector("#who summary")?.textContent === "` + name + `" && document.querySelector("h1")`)
}

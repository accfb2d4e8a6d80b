package browser

import (
	"strings"
	"testing"

	"heddle/integration/minicluster"
	"heddle/rm"
)

// An administrator hands leadership over and removes a member on the page of the group. Others aren't offered that.
func TestMembersPage(t *testing.T) {
	c := minicluster.Start(t, 3, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss"})
	ids := c.Conf.RMIDs()
	leads, next, third := ids[c.Leader()], ids[(c.Leader()+1)%3], ids[(c.Leader()+2)%3]
	web := func(id string) string { return "http://" + c.Conf.Text(rm.WebAddress+"."+id) }
	tab := Open(t, 1400, 900)
	tab.Go(web(leads) + "/cluster/cluster")
	saysWho(tab, "bob")
	tab.Until(`document.querySelectorAll("tbody tr").length === 3`)
	var offered bool
	if tab.Eval(`!!document.querySelector("form.action button.danger")`, &offered); offered {
		t.Error("bob is offered to remove a member")
	}
	tab.Click("#who summary")
	tab.Click("#who form button")
	saysWho(tab, "boss")
	tab.Until(`document.querySelectorAll("form.action button.danger").length === 2`) // not the leader
	accessible(t, tab, "members")
	tab.Eval(`{ window.confirm = () => true; 0 }`, nil)
	tab.Click("#remove-" + third + " button")
	tab.Until(`document.querySelector("main .notice")?.textContent === "` + third + ` was removed." && document.querySelectorAll("tbody tr").length === 2`)
	tab.Click("#lead-" + next + " button")
	tab.Until(`document.querySelector("main .notice")?.textContent === "` + next + ` leads."`)
	c.Until("the member leads that was chosen", func() bool { return ids[c.Leader()] == next })
	if members := ask(t, web(next)+"/ws/v1/heddle/members"); strings.Contains(members, `"id":"`+third+`"`) || !strings.Contains(members, `"leader":"`+next+`"`) {
		t.Errorf("the group is %s", members)
	}
	tab.Size(360, 700)
	var wide bool
	if tab.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		t.Error("at 360 pixels the page scrolls sideways")
	}
}

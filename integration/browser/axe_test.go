package browser

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// Readers who use a keyboard, a screen reader or strong contrast can use every page, in both themes: axe-core finds nothing wrong. The script says what it checks:
// names of controls, contrast, headings, tables, order.
func TestPagesAreAccessible(t *testing.T) {
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(axe))); sum != axeSum {
		t.Fatalf("axe.min.js has the checksum %s", sum)
	}
	c := minicluster.Start(t, 1, nil)
	node := c.Node(minicluster.NodeOptions{})
	_, apps := alice(t, c)
	id := submit(t, apps, client.Submission{Name: `<b>"waits"</b>`, Unmanaged: true})
	submit(t, apps, client.Submission{Name: "", Unmanaged: true})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	tab := Open(t, 1400, 900)
	for path, ready := range map[string]string{
		"/cluster/overview":                     "#use canvas",
		"/cluster/apps":                         "tbody tr",
		"/cluster/app/" + id.String():           "dl",
		"/cluster/waiting":                      "tbody tr",
		"/cluster/scheduler":                    "summary",
		"/cluster/users":                        "tbody tr",
		"/cluster/configuration":                "tbody tr",
		"/cluster/configuration?effect=none":    "tbody tr",
		"/cluster/nodes":                        "tbody tr",
		"/cluster/nodes/map":                    "#nodes-map canvas",
		"/cluster/preemptions":                  ".none",
		"/cluster/nodelabels":                   "tbody tr",
		"/cluster/queue/root.default":           "dl",
		"/cluster/user/alice":                   ".tile",
		"/cluster/node/" + node.ID.String():     "dl",
		"/cluster/cluster":                      "tbody tr",
		"/cluster/apps/FINISHED":                ".none",
		"/cluster/logs/" + id.String():          ".none",
		"/cluster/logs/container_1_1_1_1":       ".notice.bad",
		"/cluster/app/application_1_0001":       ".notice.bad",
		"/cluster/container/container_1_1_1_1":  "dl",
		"/cluster/appattempt/appattempt_1_1_01": ".notice.bad",
	} {
		tab.Go(at + path)
		tab.Until(fmt.Sprintf("document.querySelector(%q)", ready))
		accessible(t, tab, path)
	}
}

package tabs_test

import (
	"testing"
	"time"

	"heddle/integration/load/tabs"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// Tabs ask what the page asks, all of which is answered.
func TestTabs(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	open := tabs.Open(t.Context(), "http://"+c.Conf.Text(rm.WebAddress), 5)
	c.Until("tabs ask", func() bool { return open.Bytes() > 1000 })
	c.Node(minicluster.NodeOptions{}) // an event has all refresh
	before := open.Bytes()
	begun := time.Now()
	c.Until("an event has tabs ask again", func() bool { return open.Bytes() > before+1000 })
	if _, err := open.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("after %v", time.Since(begun))
	broken := tabs.Open(t.Context(), "http://127.0.0.1:1", 1)
	c.Until("a question fails", func() bool { return broken.Failed() > 0 })
	if _, err := broken.Close(); err == nil {
		t.Error("no error of a ResourceManager that doesn't answer")
	}
}

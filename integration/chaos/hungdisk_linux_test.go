package chaos

import (
	"os"
	"slices"
	"strings"
	"testing"

	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/hungdisk"
)

// The leader's disk doesn't answer any more: writes wait, and the process can't even be killed. Others lead, and clients that go on submitting are served.
// When the disk answers again, the old leader has ended, and can be started again. Nothing that was acknowledged is lost.
func TestTheDiskOfTheLeaderHangs(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can mount disks and freeze them")
	}
	freeze, thaw := map[string]func(){}, map[string]func(){}
	w := newWorld(t, func(c *daemons.Cluster) {
		for _, id := range c.ResourceManagers {
			freeze[id], thaw[id] = hungdisk.Freezable(t, c.Home(id))
		}
	})
	old := w.leader("")
	w.work()
	freeze[old]()
	t.Cleanup(thaw[old]) // before the daemons are killed, which would wait for it
	next := w.leader(old)
	w.ForgetGrants()
	w.work()
	if w.Leads(t.Context(), old) {
		t.Errorf("%s says that it leads, and so does %s", old, next)
	}
	thaw[old]()
	var ended []daemons.Ended
	await.Until(t, "the old leader's end", func() bool {
		ended = append(ended, w.Ended()...)
		return slices.ContainsFunc(ended, func(e daemons.Ended) bool { return e.Name == old })
	})
	if len(ended) != 1 || !strings.Contains(ended[0].Said, "doesn't answer") {
		t.Errorf("ended by themselves: %v", ended)
	}
	if err := w.Start(old); err != nil {
		t.Fatal(err)
	}
	w.work()
	// The one that was away has all there is: with another member lost it makes a majority.
	w.Kill(next)
	if third := w.leader(next); third == "" {
		t.Error("nobody leads")
	}
	w.ForgetGrants()
	w.work()
	if err := w.Start(next); err != nil {
		t.Fatal(err)
	}
	w.rest()
	if err := w.LookForAll(t.Context()); err != nil {
		t.Error(err)
	}
	checked, err := w.Check()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d acknowledged submissions, all there; %d containers", checked.Acknowledged, checked.Containers)
}

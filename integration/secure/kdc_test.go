package secure

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// requests counts a KDC's requests of an account in the lines of a log: for tickets of its own (AS), and for tickets of services (TGS).
func requests(log, account string) (as, tgs int) {
	for line := range strings.Lines(log) {
		switch {
		case !strings.Contains(line, " "+account+" for "):
		case strings.Contains(line, "AS_REQ"):
			as++
		case strings.Contains(line, "TGS_REQ"):
			tgs++
		}
	}
	return as, tgs
}

// running fails unless the ResourceManager's page says that all its nodes run, which it says of no node that was silent for nodeExpiry.
func running(t *testing.T, l *hadooplab.Lab) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(fmt.Sprintf("http://localhost:%d/ws/v1/cluster/nodes", l.Port("rm-http")))
	if err != nil {
		t.Fatalf("the ResourceManager's web port: %v", err)
	}
	defer resp.Body.Close()
	var all struct {
		Nodes struct{ Node []struct{ State string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil || len(all.Nodes.Node) == 0 {
		t.Fatalf("nodes: %+v, %v", all, err)
	}
	for _, n := range all.Nodes.Node {
		if n.State != "RUNNING" {
			t.Errorf("a node is %s", n.State)
		}
	}
}

// nodeExpiry are 10 s.
const nodeExpiry = "10000"

// While daemons log in again at a KDC that is slow, and then silent, heartbeats come, pages are shown, and applications are submitted and run.
func TestASlowKDCUnderWholeDaemons(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r := newRealm(t, 90*time.Second)
	way := r.Slow(t)
	t.Setenv("KRB5_CONFIG", way.Conf)
	site := maps.Clone(r.site)
	site["yarn.nm.liveness-monitor.expiry-interval-ms"] = nodeExpiry
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site})
	t.Setenv("KRB5_CONFIG", r.Conf) // the users have a quick one
	items := l.Dir() + "/items"
	write(t, items, "an item\n")
	var slowest time.Duration
	works := func() {
		t.Helper()
		begun := time.Now()
		running(t, l)
		r.as(t, "alice")
		if out, err := command(t, l, "xargs", "-a", items, "echo", "ran"); err != nil || !strings.Contains(out, "ran an item") {
			t.Errorf("xargs: %v\n%s", err, out)
		}
		slowest = max(slowest, time.Since(begun))
	}
	node := "nm/localhost@" + r.Realm
	before, _ := requests(r.Log(), node)
	way.Delay(4 * time.Second)
	await.Slowly(t, "the node has logged in slowly", func() bool {
		works()
		now, _ := requests(r.Log(), node)
		return now > before
	})
	way.Silent(true)
	await.Slowly(t, "the node has failed to log in", func() bool {
		works()
		return strings.Contains(l.Daemon("nodemanager1").Log(), "the login to Kerberos can't be renewed")
	})
	t.Logf("the slowest round of a page and a job took %v", slowest)
	if slowest > 20*time.Second {
		t.Errorf("a round of a page and a job took %v", slowest)
	}
}

// A node asks the KDC for one ticket of its own in 70 to 80 % of a ticket's life, and for one of each service that it calls with that. It goes on for three lives: with
// tickets of ten hours the same requests come in thirty.
func TestRequestsToTheKDC(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const life, nodes, lives = 90 * time.Second, 2, 3
	r := newRealm(t, life)
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: nodes, Heddle: heddle, Site: maps.Clone(r.site)})
	node, first := "nm/localhost@"+r.Realm, len(r.Log())
	begun := time.Now()
	await.Slowly(t, "the nodes have logged in again", func() bool { return time.Since(begun) > lives*life })
	as, tgs := requests(r.Log()[first:], node)
	of := func(n int) float64 { return float64(n) / (nodes * lives) }
	t.Logf("in %v: %d AS, %d TGS of %d nodes; for one node %.2f AS and %.2f TGS in a ticket's life, which is %.2f and %.2f an hour with tickets of 10 hours",
		time.Since(begun).Round(time.Second), as, tgs, nodes, of(as), of(tgs), of(as)/10, of(tgs)/10)
	if most := 1/0.7 + 1.0/lives; of(as) > most || as == 0 {
		t.Errorf("%.2f AS for a node in a ticket's life, want at most %.2f", of(as), most)
	}
	if of(tgs) > of(as) {
		t.Errorf("%.2f TGS for a node in a ticket's life, more than it has tickets", of(tgs))
	}
	running(t, l)
}

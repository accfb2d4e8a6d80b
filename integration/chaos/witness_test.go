package chaos

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/rm"
)

// harms are what happens to a member beside a witness, and how it is undone.
var harms = []struct {
	name   string
	strike func(*daemons.Cluster, string) error
	mend   func(*daemons.Cluster, string) error
}{
	{"killed", func(c *daemons.Cluster, id string) error { c.Kill(id); return nil }, (*daemons.Cluster).Start},
	{"stopped", (*daemons.Cluster).Stop, (*daemons.Cluster).Start},
	{
		"emptied", func(c *daemons.Cluster, id string) error {
			c.Kill(id)
			return os.RemoveAll(filepath.Join(c.Home(id), "state"))
		}, (*daemons.Cluster).Start,
	},
	{
		"frozen", func(c *daemons.Cluster, id string) error { c.Signal(id, syscall.SIGSTOP); return nil },
		func(c *daemons.Cluster, id string) error { c.Signal(id, syscall.SIGCONT); return nil },
	},
	{
		"cut off", func(c *daemons.Cluster, id string) error { c.Isolate(id); return nil },
		func(c *daemons.Cluster, id string) error { c.Join(id); return nil },
	},
}

// groupsWithWitness is how many groups are harmed; each loses each of the three by each harm, 15 times in all. A group's applications stay until it
// ends, so that more of them beat many losses of one.
func groupsWithWitness() int {
	if hadooplab.Full() {
		return 7
	}
	return 1
}

// Two ResourceManagers and a witness survive the loss of each one of them, whatever happens to it, and nothing that was acknowledged is lost.
// Between two losses all have caught up. With HEDDLE_TEST_FULL there are 105 losses.
func TestEachOfTwoResourceManagersAndTheirWitnessIsLost(t *testing.T) {
	for range groupsWithWitness() {
		t.Run("group", loseEach)
	}
}

// loseEach loses each of a group's three by each harm.
func loseEach(t *testing.T) {
	w := worldOf(t, daemons.Options{ResourceManagers: 2, Witness: true})
	var takeovers, others []time.Duration
	for round := range 3 * len(harms) {
		harm := harms[round/3%len(harms)]
		w.whole()
		lead := w.leader("")
		victim := []string{lead, w.ResourceManagers[1-slices.Index(w.ResourceManagers, lead)], daemons.Witness}[round%3]
		w.work()
		began := time.Now()
		if err := harm.strike(w.Cluster, victim); err != nil {
			t.Fatal(err)
		}
		next := lead
		if victim == lead {
			next = w.leader(lead)
		}
		w.ForgetGrants()
		select {
		case <-w.Granted():
		case <-time.After(patience):
			t.Fatalf("round %d: no container was granted within %v after %s was %s; %s leads", round, patience, victim, harm.name, next)
		}
		took := time.Since(began)
		if victim == lead {
			takeovers = append(takeovers, took)
		} else {
			others = append(others, took)
		}
		w.work() // without the one that is away
		if err := harm.mend(w.Cluster, victim); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %2d: %s %s, %s leads; the next container came after %v", round, victim, harm.name, next, took.Round(time.Millisecond))
	}
	w.whole()
	w.rest()
	w.report(takeovers)
	slices.Sort(others)
	t.Logf("loss of the others: median %v, worst %v", others[len(others)/2].Round(time.Millisecond), others[len(others)-1].Round(time.Millisecond))
	w.restarted(w.Members())
}

// membersAnswer is the answer of /ws/v1/heddle/members, as far as tests look at it.
type membersAnswer struct {
	Members struct {
		Leader  string
		OneDisk bool
		Warning string
		Member  []struct {
			ID               string
			Voter, Reachable bool
			Behind           *uint64
		}
	}
}

// ask returns what a ResourceManager says of the group.
func (w *world) ask(id string) (a membersAnswer, ok bool) {
	r, err := http.Get("http://" + w.Address(id, rm.WebAddress) + "/ws/v1/heddle/members")
	if err != nil {
		return a, false
	}
	defer r.Body.Close()
	return a, json.NewDecoder(r.Body).Decode(&a) == nil && r.StatusCode == http.StatusOK
}

// whole waits until all members have a vote and all entries, but for those on their way.
func (w *world) whole() {
	w.tb.Helper()
	await.Until(w.tb, "all members have a vote and have caught up", func() bool {
		a, ok := w.ask(w.leader(""))
		if !ok || a.Members.OneDisk || len(a.Members.Member) != len(w.Members()) {
			return false
		}
		for _, m := range a.Members.Member {
			if !m.Voter || !m.Reachable || m.Behind == nil || *m.Behind > 50 {
				return false
			}
		}
		return true
	})
}

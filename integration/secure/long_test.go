package secure

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A node logs in again before its ticket ends, at most once a minute, and says why where it can't. Its connection outlives the ticket, and it registers with a new
// one where the ResourceManager was away.
func TestShortTickets(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r := newRealm(t, 90*time.Second)
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: maps.Clone(r.site)})
	logins := func() (n int) {
		for line := range strings.Lines(r.Log()) {
			if strings.Contains(line, "AS_REQ") && strings.Contains(line, ": ISSUE:") && strings.Contains(line, "nm/localhost@"+r.Realm) {
				n++
			}
		}
		return n
	}
	began := time.Now()
	await.Slowly(t, "the node has logged in twice more", func() bool { return logins() >= 3 })
	if most := int(time.Since(began)/time.Minute) + 1; logins() > most {
		t.Errorf("%d logins in %v", logins(), time.Since(began))
	}
	if err := l.Daemon("resourcemanager").Restart(); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the node is back", func() bool {
		r.as(t, "alice")
		out, err := command(t, l, "node", "-list")
		return err == nil && strings.Contains(out, "RUNNING")
	})
	keytab := r.site["yarn.nodemanager.keytab"]
	if err := os.Rename(keytab, keytab+".away"); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the node says why it can't log in", func() bool {
		log := l.Daemon("nodemanager1").Log()
		return strings.Contains(log, "the login to Kerberos can't be renewed") && strings.Contains(log, keytab)
	})
}

// The members of a group know each other by Kerberos, and commands find the one that leads, whichever that is.
func TestGroupWithKerberos(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r := newRealm(t, 10*time.Hour)
	site := maps.Clone(r.site)
	site["hadoop.rpc.protection"] = "privacy"
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, ResourceManagers: 3, NodeManagers: 1, Heddle: heddle, Site: site})
	list := func() bool {
		out, err := command(t, l, "node", "-list")
		return err == nil && strings.Contains(out, "RUNNING")
	}
	await.Slowly(t, "the node is listed", list)
	r.as(t, "yarn")
	for _, id := range []string{"1", "2", "3"} {
		if out, err := command(t, l, "rmadmin", "-getServiceState", "rm"+id); err != nil || strings.TrimSpace(out) != "active" {
			continue
		}
		l.Daemon("resourcemanager" + id).Kill()
		r.as(t, "alice")
		await.Slowly(t, "the node is listed by another leader", list)
		return
	}
	t.Error("no member is active")
}

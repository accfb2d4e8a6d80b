package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

var memberState = regexp.MustCompile(`(?m)^(localhost:\d+) +(active|standby) *$`)

// TestMembers: an administrator looks at three ResourceManagers, and has one after the other lead, with Hadoop's rmadmin.
func TestMembers(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := hadooplab.Start(t, hadooplab.Options{
		ResourceManager: true, ResourceManagers: 3, NodeManagers: 1, Heddle: heddle,
		Site: map[string]string{"yarn.resourcemanager.ha.automatic-failover.enabled": "false"}, // else rmadmin itself refuses
	})
	sh, err := l.NewShell()
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	admin := func(args ...string) hadooplab.Result {
		t.Helper()
		r, err := sh.Try(append([]string{"yarn", "rmadmin"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ids := []string{"rm1", "rm2", "rm3"}
	// leads waits until one member leads and the others know that they don't.
	leads := func() string {
		t.Helper()
		var r hadooplab.Result
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
			r = admin("-getAllServiceState")
			var active []string
			found := memberState.FindAllStringSubmatch(r.Stdout, -1)
			for i, m := range found {
				if m[2] == "active" {
					active = append(active, ids[i])
				}
			}
			if r.Code == 0 && len(found) == len(ids) && len(active) == 1 {
				return active[0]
			}
		}
		t.Fatalf("no single leader: %+v", r)
		return ""
	}
	other := func(id string) string {
		if id == "rm1" {
			return "rm2"
		}
		return "rm1"
	}

	first := leads()
	for _, id := range ids {
		if r := admin("-checkHealth", id); r.Code != 0 {
			t.Errorf("%s: %+v", id, r)
		}
		want := "standby"
		if id == first {
			want = "active"
		}
		if r := admin("-getServiceState", id); r.Code != 0 || strings.TrimSpace(r.Stdout) != want {
			t.Errorf("%s is not %s: %+v", id, want, r)
		}
	}
	if r := admin("-transitionToActive", first); r.Code != 0 {
		t.Errorf("the one that leads: %+v", r)
	}
	if r := admin("-transitionToActive", other(first)); r.Code != 255 || !strings.Contains(r.Stderr, "is already active") {
		t.Errorf("while another one leads: %+v", r)
	}
	if now := leads(); now != first {
		t.Errorf("%s leads, though nobody asked %s to stop", now, first)
	}
	if r := admin("-transitionToStandby", first); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	second := leads()
	if second == first {
		t.Errorf("%s leads, whatever it was told", first)
	}
	if r := admin("-transitionToActive", "--forceactive", other(second)); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	if now := leads(); now != other(second) {
		t.Errorf("%s leads, not %s", now, other(second))
	}
	for _, args := range [][]string{{"-getServiceState", "rm7"}, {"-checkHealth", "rm7"}, {"-failover", "rm1", "rm2"}} {
		if r := admin(args...); r.Code != 255 {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r, err := sh.Try("yarn", "node", "-list"); err != nil || r.Code != 0 || !strings.Contains(r.Stdout, "Total Nodes:1") {
		t.Errorf("the node, afterwards: %+v, %v", r, err)
	}
}

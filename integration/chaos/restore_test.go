package chaos

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/internal/await"
)

// All members lose their disks. A copy of one member's folder, taken while that member was stopped, brings back what it held; the others
// begin empty. This is the procedure of docs/deployment.md.
func TestRestoreFromTheCopyOfOneMember(t *testing.T) {
	c := cluster.Start(t, daemons.Options{Binary: binary, Dir: t.TempDir(), ResourceManagers: 3})
	w := &world{Cluster: c, tb: t}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before := []string{w.submit(), w.submit(), w.submit()}

	follower := ""
	for _, id := range c.ResourceManagers {
		if id != w.leader("") {
			follower = id
		}
	}
	copied := filepath.Join(t.TempDir(), "copy")
	must(c.Stop(follower))
	must(os.CopyFS(copied, os.DirFS(filepath.Join(c.Home(follower), "state"))))
	must(c.Start(follower))
	after := w.submit()

	for _, id := range c.ResourceManagers {
		c.Kill(id)
		must(os.RemoveAll(filepath.Join(c.Home(id), "state")))
	}
	must(os.CopyFS(filepath.Join(c.Home(follower), "state"), os.DirFS(copied)))
	must(c.StartAll())
	w.force(follower)
	list := w.heddle("app", "-list", "-appStates", "ALL")
	for _, id := range before {
		if !strings.Contains(list, id) {
			t.Errorf("%s was there when the copy was taken, and isn't now:\n%s", id, list)
		}
	}
	next := w.submit()
	if slices.Contains(append(before, after), next) {
		t.Errorf("the id %s was given out twice", next)
	}
	t.Logf("%s was submitted after the copy was taken, %s after all was restored", after, next)

	// Once the others have the log and a vote, any of them may lead without the one that was restored.
	for _, id := range c.ResourceManagers {
		w.caughtUp(id)
	}
	c.Kill(follower)
	if list = w.heddle("app", "-list", "-appStates", "ALL"); !strings.Contains(list, before[0]) || !strings.Contains(list, next) {
		t.Errorf("without %s the others know:\n%s", follower, list)
	}
}

// force makes a member lead without the others, as an administrator does when no majority is left, and starts it again.
func (w *world) force(id string) {
	w.tb.Helper()
	await.Until(w.tb, id+" is forced to lead", func() bool { // it may not have started yet
		out, err := exec.CommandContext(w.tb.Context(), binary, "rmadmin", "-forceLeader", id, "--lose", "-conf", w.Conf()).CombinedOutput()
		if err == nil {
			w.tb.Logf("%s", out)
		}
		return err == nil
	})
	await.Until(w.tb, id+" ends", func() bool {
		return slices.ContainsFunc(w.Ended(), func(e daemons.Ended) bool { return e.Name == id })
	})
	if err := w.Start(id); err != nil {
		w.tb.Fatal(err)
	}
}

// heddle runs a command of the binary as soon as somebody leads.
func (w *world) heddle(args ...string) string {
	w.tb.Helper()
	w.leader("")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "-conf", w.Conf())...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		w.tb.Fatalf("heddle %q: %v\n%s%s", args, err, out, complaints.String())
	}
	return string(out)
}

// submit submits an application that waits for ever, as there are no nodes, and returns its id.
func (w *world) submit() string {
	w.tb.Helper()
	file := filepath.Join(w.tb.TempDir(), "app.json")
	const app = `{"application-name":"kept","am-container-spec":{"commands":{"command":"true"}},"resource":{"memory":512,"vCores":1}}`
	if err := os.WriteFile(file, []byte(app), 0o600); err != nil {
		w.tb.Fatal(err)
	}
	out := strings.Fields(w.heddle("app", "-submit", file))
	if len(out) == 0 || !strings.HasPrefix(out[len(out)-1], "application_") {
		w.tb.Fatalf("submitting printed %q", out)
	}
	return out[len(out)-1]
}

package jobs

import (
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
)

// Who presses Ctrl-C while no ResourceManager answers doesn't wait for one: the application is left to a process that ends it later.
func TestXargsEndsWithoutAResourceManager(t *testing.T) {
	c := startCluster(t, 1, 1, map[string]string{"heddle.probes.memory-mb": "1024", "heddle.probes.vcores": "2"})
	var all []*xargs
	for _, mode := range []string{"--no-bar", "--probes"} {
		x := c.xargs(mode, "--line-buffer", "-n1", "sh", "-c", "echo begun; sleep 1000")
		x.feed(0, 1)
		await.Slowly(t, "its command runs", func() bool { return strings.Contains(x.stdout.String(), "begun") })
		all = append(all, x)
	}
	c.Kill("rm1")
	for _, x := range all {
		if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := x.code(); code == 0 || !strings.Contains(x.stderr.String(), "ResourceManager doesn't answer") {
			t.Errorf("exit code %d: %s", code, x.stderr)
		}
	}
	c.start("rm1")
	await.Slowly(t, "the applications have ended", func() bool {
		list, err := c.applications().List(t.Context(), nil)
		if err != nil || len(list) != 2 {
			return false
		}
		for _, a := range list {
			if a.Final == 0 || a.State.String() == "RUNNING" || a.State.String() == "ACCEPTED" {
				return false
			}
		}
		return true
	})
}

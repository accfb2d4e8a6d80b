package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"heddle/internal/await"
)

// Short tasks that run on a node which is decommissioned gracefully end there, and the others elsewhere: none begins twice. The node goes when the application has ended.
func TestShortTasksEndOnANodeThatLeaves(t *testing.T) {
	list := filepath.Join(t.TempDir(), "exclude")
	exclude := func(hosts string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(hosts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exclude("")
	c := startCluster(t, 1, 2, map[string]string{
		"heddle.probes.memory-mb": "1024", "heddle.probes.vcores": "2", "yarn.resourcemanager.nodes.exclude-path": list,
	}, "127.0.0.2")
	heddle := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(c.binary, append([]string{args[0], "--conf", c.conf}, args[1:]...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	states := func(state string) bool {
		for line := range strings.Lines(heddle("node", "-list", "-all")) {
			if strings.Contains(line, "127.0.0.2:") {
				return strings.Contains(line, " "+state) || strings.Contains(line, "\t"+state)
			}
		}
		return false
	}
	begun, end := t.TempDir(), filepath.Join(t.TempDir(), "end")
	x := c.xargs("--probes", "-P", "8", "-I{}", "sh", "-c", "echo $NM_HOST >> "+begun+"/{}; while ! test -e "+end+"; do sleep 0.05; done; echo {}")
	x.feed(0, 8)
	on := func(host string) (n int) {
		for i := range 8 {
			b, _ := os.ReadFile(filepath.Join(begun, strconv.Itoa(i)))
			n += strings.Count(string(b), host)
		}
		return n
	}
	await.Slowly(t, "two commands run on each node", func() bool { return on("127.0.0.2") == 2 && on("127.0.0.1") == 2 })
	exclude("127.0.0.2\n")
	heddle("rmadmin", "-refreshNodes", "-g", "100", "-server")
	await.Slowly(t, "the node leaves", func() bool { return states("DECOMMISSIONING") })
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.eachOnce(8)
	if there, all := on("127.0.0.2"), on("127.0.0."); there < 2 || all != 8 {
		t.Errorf("of 8 commands %d were begun, %d on the node that leaves", all, there)
	}
	await.Slowly(t, "the node has gone", func() bool { return states("DECOMMISSIONED") })
}

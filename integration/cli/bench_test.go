package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A load that somebody ends with Ctrl-C left its false nodes and applications on the cluster. A terminal interrupts the keeper, too.
func TestAnInterruptedLoadLeavesNothingBehind(t *testing.T) {
	if !hadooplab.OnHeddle() {
		return // a stock ResourceManager forgets nodes when they have been silent for minutes
	}
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, Heddle: heddle})
	lives := func() (nodes, apps int) {
		var m struct {
			ClusterMetrics struct {
				ActiveNodes, AppsRunning, AppsPending int
			} `json:"clusterMetrics"`
		}
		if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/metrics", &m); err != nil {
			t.Fatal(err)
		}
		return m.ClusterMetrics.ActiveNodes, m.ClusterMetrics.AppsRunning + m.ClusterMetrics.AppsPending
	}
	cmd := exec.Command(heddle, "bench", "rm", "--conf", l.Conf(), "--nodes", "7", "--ams", "2", "--duration", "1h")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell starts it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	await.Slowly(t, "the load has registered everything", func() bool {
		nodes, apps := lives()
		return nodes == 7 && apps == 2
	})
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	t.Logf("%v\n%s", err, &said)
	if nodes, apps := lives(); nodes != 0 || apps != 0 {
		t.Errorf("%d nodes and %d applications live when the command has ended", nodes, apps)
	}
	await.Slowly(t, "the keeper has ended", func() bool { return len(keepers(t)) == 0 })
}

// keepers are the processes that take back what a load of this test's program has registered.
func keepers(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, _ := os.ReadFile(name) // it may have ended
		if line := strings.ReplaceAll(string(raw), "\x00", " "); strings.HasPrefix(line, heddle+"-lab bench rm keep") {
			out = append(out, line)
		}
	}
	return out
}

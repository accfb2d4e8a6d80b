package nm

import (
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/hungdisk"
	"heddle/nm/container"
	"heddle/yarn/pb"
)

// A node with one local and one log disk that hang starts, says which they are, and runs containers on the others. It also ends.
func TestANodeStartsWhileADiskHangs(t *testing.T) {
	l := newLab(t)
	hungdisk.Mount(t, l.dir+"/hung")
	l.set = append(l.set, "yarn.nodemanager.local-dirs="+l.dir+"/hung/local,"+l.dir+"/good/local",
		"yarn.nodemanager.log-dirs="+l.dir+"/hung/log,"+l.dir+"/good/log", "heddle.nodemanager.disk-patience-ms=2000",
		"heddle.nodemanager.jvm-archive.enabled=true")
	l.up()
	l.rm.seen("the report of the disks", func(beats []*pb.NodeHeartbeatRequest) bool {
		h := beats[len(beats)-1].GetNodeStatus().GetNodeHealthStatus()
		return h.GetIsNodeHealthy() && strings.Contains(h.GetHealthReport(), l.dir+"/hung/local : Directory does not answer") &&
			strings.Contains(h.GetHealthReport(), l.dir+"/hung/log : Directory does not answer")
	})
	for n := range int64(3) {
		c := l.run(containerID(1, n+1), "true")
		await.Until(t, "the end", func() bool { return c.State() == container.Done })
		if s := c.Status(); s.ExitCode != 0 || !strings.HasPrefix(s.WorkDir, l.dir+"/good/") {
			t.Errorf("exit code %d in %s: %s", s.ExitCode, s.WorkDir, s.Diagnostics)
		}
	}
}

func TestTheStateFolderIsADiskToWatch(t *testing.T) {
	waited := time.Duration(0)
	d := withState{fine{}, "/state", func() time.Duration { return waited }, 10 * time.Second}
	if ok, report := d.Healthy(); !ok || report != "" {
		t.Errorf("%v, %q", ok, report)
	}
	waited = 75 * time.Second
	if ok, report := d.Healthy(); ok || report != "State folder /state (heddle.state.dir) does not answer: a write has waited for 1m15s" {
		t.Errorf("%v, %q", ok, report)
	}
}

type fine struct{}

func (fine) Check() bool             { return false }
func (fine) Healthy() (bool, string) { return true, "" }

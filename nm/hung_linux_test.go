package nm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/hungdisk"
	"heddle/nm/container"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// A node with one local and one log disk that hang starts, says which they are, and runs containers on the others. It also ends.
func TestANodeStartsWhileADiskHangs(t *testing.T) {
	l := newLab(t)
	release := hungdisk.Mount(t, l.dir+"/hung")
	l.set = append(l.set, "yarn.nodemanager.local-dirs="+l.dir+"/hung/local,"+l.dir+"/good/local",
		"yarn.nodemanager.log-dirs="+l.dir+"/hung/log,"+l.dir+"/good/log", "heddle.nodemanager.disk-patience-ms=2000",
		"heddle.nodemanager.jvm-archive.enabled=true", "yarn.nodemanager.disk-health-checker.interval-ms=200")
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
	release()
	l.rm.seen("the disks' answer", func(beats []*pb.NodeHeartbeatRequest) bool {
		report := beats[len(beats)-1].GetNodeStatus().GetNodeHealthStatus().GetHealthReport()
		return strings.Contains(report, l.dir+"/hung/local") && !strings.Contains(report, "does not answer")
	})
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

// While the state's disk doesn't answer, heartbeats go on, say so, and what they are told is done.
func TestHeartbeatsAndKillsWaitForNoDisk(t *testing.T) {
	l := newLab(t, "heddle.nodemanager.disk-patience-ms=50", "yarn.nodemanager.sleep-delay-before-sigkill.ms=20")
	l.rm.interval = 50
	l.up()
	one, two := l.run(containerID(1, 1), "sleep 600; :"), l.run(containerID(2, 1), "sleep 600; :")
	done := l.run(containerID(3, 1), "true")
	l.running(one)
	l.running(two)
	await.Until(t, "the end", func() bool { return done.State() == container.Done })
	release := l.node.state.Hold()
	defer release()
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		m.SetContainersToCleanup(ids(one.ID()))
		m.SetApplicationsToCleanup([]*pb.ApplicationId{two.ID().Attempt.App.PB()})
		m.SetContainersToBeRemovedFromNm(ids(done.ID()))
		m.SetContainerTokenMasterKey(token.NewMasterKey(5, []byte("12345678")).PB())
		m.SetNmTokenMasterKey(token.NewMasterKey(6, []byte("12345678")).PB())
	})
	for _, c := range []*container.Container{one, two} {
		await.Until(t, "the end of the processes of "+c.String(), func() bool {
			g := c.Group()
			if g == nil {
				return true
			}
			pids, err := g.Processes()
			return err != nil || len(pids) == 0
		})
	}
	l.rm.seen("heartbeats with the new keys that tell of the disk", func(beats []*pb.NodeHeartbeatRequest) bool {
		last := beats[len(beats)-1]
		h := last.GetNodeStatus().GetNodeHealthStatus()
		return last.GetLastKnownContainerTokenMasterKey().GetKeyId() == 5 && last.GetLastKnownNmTokenMasterKey().GetKeyId() == 6 &&
			!h.GetIsNodeHealthy() && strings.Contains(h.GetHealthReport(), "does not answer")
	})
	release()
	// That of an application which is over may be forgotten before it is told.
	l.rm.seen("the end of the container, of a healthy node", func(beats []*pb.NodeHeartbeatRequest) bool {
		told := slices.ContainsFunc(beats, func(b *pb.NodeHeartbeatRequest) bool {
			return slices.ContainsFunc(b.GetNodeStatus().GetContainersStatuses(), func(s *pb.ContainerStatus) bool {
				return s.GetState() == pb.ContainerState_C_COMPLETE && records.ContainerIDFrom(s.GetContainerId()) == one.ID()
			})
		})
		return told && beats[len(beats)-1].GetNodeStatus().GetNodeHealthStatus().GetIsNodeHealthy()
	})
}

package suspended

import (
	"slices"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/yarn/pb"
)

// An ApplicationMaster is killed while containers of its application are suspended. As running ones, they end with the attempt. Nothing is left, and the
// room that they had counts for the next attempt.
func TestTheMasterOfSuspendedContainersDies(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 512<<20)
	l := start(t, 1, 1, nil)
	m := l.submit(nil)
	ws := m.work(4, 512)
	for i, level := range []string{"frozen", "reclaimed", "shrunk"} {
		args := []string{"-level", level}
		if level == "shrunk" {
			args = append(args, "-hold", "memory-mb=128,vcores=0")
		} else {
			args = append(args, "-breathe", "never")
		}
		ws[i].grow(64)
		l.suspend(ws[i].node, ws[i].id, args...)
	}
	m.dies()
	m.enter(2)
	if len(m.previous) > 0 {
		t.Errorf("the next attempt has containers %v", m.previous)
	}
	await.Slowly(t, "the containers of the first attempt are gone", func() bool {
		for _, p := range l.Strays() {
			if p.Container() != m.masterID(2) {
				return false
			}
		}
		return len(l.frozen()) == 0
	})
	// All of the node fits again.
	m.work(3, 1024)
	if out, err := l.heddle("container", "-listSuspended"); err != nil || !strings.Contains(out, "containers :0") {
		t.Errorf("%v: %s", err, out)
	}
	m.finish()
	l.empty()
}

// The same where containers are kept: suspended ones stay so, for the next attempt, until they are resumed, and lose nothing.
func TestSuspendedContainersAreKeptForTheNextMaster(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 512<<20)
	l := start(t, 1, 1, nil)
	m := l.submit(func(s *client.Submission) { s.KeepContainers = true })
	ws := m.work(4, 512)
	for i, level := range []string{"frozen", "reclaimed"} {
		ws[i].grow(64)
		l.suspend(ws[i].node, ws[i].id, "-level", level, "-breathe", "never")
	}
	l.suspend(ws[2].node, ws[2].id, "-level", "shrunk", "-hold", "memory-mb=128,vcores=0")
	m.dies()
	m.enter(2)
	for i, w := range ws {
		if !slices.Contains(m.previous, w.id) {
			t.Errorf("container %d isn't among those that the next attempt is told of: %v", i, m.previous)
		}
	}
	for i, level := range []string{"FROZEN", "RECLAIMED", "SHRUNK", "RUNNING"} {
		if b, known := l.box(ws[i].id); !known || b.Level != level {
			t.Errorf("container %d is %+v, want %s", i, b, level)
		}
	}
	if n := len(l.frozen()); n != 2 {
		t.Errorf("%d groups are frozen", n)
	}
	ws[3].progress()
	// One that its new master releases ends while it is suspended, others resume.
	release := &pb.AllocateRequest{}
	release.SetRelease([]*pb.ContainerId{containerID(t, ws[1].id)})
	m.allocate(release)
	m.ends(ws[1])
	for _, i := range []int{0, 2} {
		await.Slowly(t, "it resumes", func() bool { _, err := l.heddle("container", "-resume", ws[i].id); return err == nil })
		l.running(ws[i].node, ws[i].id)
		ws[i].progress()
		ws[i].intact()
	}
	// The last attempt dies with one suspended: nothing is kept for nobody.
	l.suspend(ws[0].node, ws[0].id, "-level", "reclaimed", "-breathe", "5s")
	m.dies()
	m.enter(3)
	if b, known := l.box(ws[0].id); !known || b.Level != "RECLAIMED" {
		t.Errorf("under the third attempt it is %+v", b)
	}
	m.dies()
	await.Slowly(t, "the application has failed", func() bool {
		r, err := l.apps.Report(t.Context(), m.id)
		return err == nil && r.State == pb.YarnApplicationState_FAILED
	})
	l.empty()
}

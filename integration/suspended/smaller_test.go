package suspended

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/yarn/pb"
)

// offers has a node offer so much from now on, by REST or as an administrator does.
func (l *lab) offers(name string, mb, vcores int, byREST bool) {
	l.t.Helper()
	id := l.Address(name, "yarn.nodemanager.address")
	if byREST {
		body := fmt.Sprintf(`{"resource":{"memory":%d,"vCores":%d},"overCommitTimeout":-1}`, mb, vcores)
		if text, err := l.ask(http.MethodPost, "/ws/v1/cluster/nodes/"+id+"/resource?user.name=root", body, nil); err != nil {
			l.t.Fatalf("%v: %s", err, text)
		}
	} else if out, err := l.heddle("rmadmin", "-updateNodeResource", id, fmt.Sprint(mb), fmt.Sprint(vcores)); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	await.Slowly(l.t, "it offers that", func() bool {
		n := l.node(name)
		return n.TotalResource.Memory == int64(mb) && n.TotalResource.VCores == int64(vcores)
	})
}

func (m *master) release(workers ...*worker) {
	m.t.Helper()
	req := &pb.AllocateRequest{}
	var ids []*pb.ContainerId
	for _, w := range workers {
		ids = append(ids, containerID(m.t, w.id))
	}
	req.SetRelease(ids)
	m.allocate(req)
	m.ends(workers...)
}

// resumes has a container go on, as soon as the ResourceManager allows that.
func (m *master) resumes(w *worker) {
	m.t.Helper()
	var said string
	defer func() {
		if m.t.Failed() {
			m.t.Logf("-resume says %s", said)
		}
	}()
	await.Slowly(m.t, w.id+" resumes", func() bool {
		var err error
		said, err = m.heddle("container", "-resume", w.id)
		return err == nil
	})
	m.running(w.node, w.id)
	w.progress()
	w.intact()
}

// A node is made so small that containers that people have suspended there don't fit any more. Each goes on when nothing runs there that could make room
// for it: their own ApplicationMaster runs there and waits for them, so that it won't.
func TestSuspendedOnANodeThatIsMadeSmaller(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, nil)
	for _, level := range []string{"reclaimed", "frozen", "shrunk"} {
		if !t.Run(level, func(t *testing.T) {
			defer func(was *testing.T) { l.t = was }(l.t)
			l.t = t
			m := l.submit(nil)
			large, small := m.work(1, 2048)[0], m.work(1, 1024)[0]
			for _, w := range []*worker{large, small} {
				w.grow(200)
				args := []string{"-level", level}
				if level == "shrunk" {
					args = append(args, "-hold", "memory-mb=64,vcores=0")
				} else {
					args = append(args, "-breathe", "never")
				}
				l.suspend(w.node, w.id, args...)
			}
			l.offers("nm1", 1000, 8, level == "reclaimed")
			if b, known := l.box(large.id); !known || !strings.Contains(b.Suspension.Text, "too small") {
				t.Errorf("it is said of it: %+v", b.Suspension)
			}
			m.resumes(large)
			// The other one waits for that one, which ends some day.
			if out, err := l.heddle("container", "-resume", small.id); err == nil || !strings.Contains(out, "can't resume") {
				t.Errorf("%v: %s", err, out)
			}
			m.release(large)
			m.resumes(small)
			m.release(small)
			l.offers("nm1", 4096, 8, true)
			m.finish()
			l.empty()
		}) {
			return
		}
	}
}

// The same with containers that preemption has suspended, on two nodes whose ApplicationMasters wait for each other's: they return by themselves.
func TestPreemptedOnANodeThatIsMadeSmaller(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 2, preempting("suspend-immediate"))
	m := l.submit(func(s *client.Submission) { s.Queue = "long" })
	ws := m.work(6, 1280)
	for _, w := range ws {
		w.grow(64)
	}
	short := l.submit(func(s *client.Submission) { s.Queue = "short" })
	guests := short.work(2, 1024)
	var down []*worker
	for _, w := range ws {
		if b, known := l.box(w.id); known && b.Suspended {
			down = append(down, w)
		}
	}
	if len(down) == 0 {
		t.Fatal("nobody was suspended")
	}
	for _, name := range l.nodes {
		l.offers(name, 1000, 8, false)
	}
	short.release(guests...)
	short.finish()
	for _, w := range ws {
		if b, known := l.box(w.id); known && !b.Suspended {
			m.release(w)
		}
	}
	for len(down) > 0 {
		var next *worker
		await.Slowly(t, "one of them returns", func() bool {
			for i, w := range down {
				if b, known := l.box(w.id); known && b.State == "RUNNING" {
					next = w
					down = append(down[:i:i], down[i+1:]...)
					return true
				}
			}
			return false
		})
		l.running(next.node, next.id)
		next.progress()
		next.intact()
		m.release(next)
	}
	for _, name := range l.nodes {
		l.offers(name, 4096, 8, true)
	}
	m.finish()
	l.empty()
}

// preempting is two queues with half of the cluster each, of which one may have all. preemption is how the other one gets its half.
func preempting(preemption string) map[string]string {
	return map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": "true", "heddle.scheduler.preemption": preemption,
		"yarn.scheduler.capacity.root.queues":        "long,short",
		"yarn.scheduler.capacity.root.long.capacity": "50", "yarn.scheduler.capacity.root.long.user-limit-factor": "4",
		"yarn.scheduler.capacity.root.short.capacity": "50", "yarn.scheduler.capacity.root.short.user-limit-factor": "4",
	}
}

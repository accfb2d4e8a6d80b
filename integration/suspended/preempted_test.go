package suspended

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// fate is how containers end while preemption takes from them. away is whether it ends the node of some, which is to be back afterwards.
type fate struct {
	name  string
	falls func(long *master, ws []*worker)
	away  string // a node that is gone for a while
	over  bool   // the long application has ended by it
}

var fates = []fate{
	{name: "released", falls: func(m *master, ws []*worker) {
		req := &pb.AllocateRequest{}
		var ids []*pb.ContainerId
		for _, w := range ws[:len(ws)/2] {
			ids = append(ids, containerID(m.t, w.id))
		}
		req.SetRelease(ids)
		m.allocate(req)
		m.ends(ws[:len(ws)/2]...)
	}},
	{name: "killed", falls: func(m *master, ws []*worker) {
		for _, p := range m.Strays() {
			for _, w := range ws[:len(ws)/2] {
				if p.Container() == w.id {
					_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended
				}
			}
		}
		m.ends(ws[:len(ws)/2]...)
	}},
	{name: "their master ends", falls: func(m *master, ws []*worker) { m.dies(); m.enter(2) }},
	{name: "their application is killed", falls: func(m *master, _ []*worker) { m.killed(true) }, over: true},
	{name: "their node is lost", away: "nm2", falls: func(m *master, ws []*worker) {
		m.Kill("nm2")
		await.Slowly(m.t, "the node is lost", func() bool { return m.node("nm2").State == "LOST" })
	}},
}

// Containers end, are killed or lost at any moment of the steps that preemption has begun. Whoever preempts gets his containers; afterwards nothing is left,
// nothing stands still, and all sums are right.
func TestEndOnTheirWay(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	const rounds = 3
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, means := range []string{"suspend", "suspend-immediate"} {
		if !t.Run(means, func(t *testing.T) {
			set := preempting(means)
			set["yarn.nm.liveness-monitor.expiry-interval-ms"] = "3000"
			l := start(t, 1, 2, set)
			for _, f := range fates {
				for round := range rounds {
					after := time.Duration(random.IntN(400)) * time.Millisecond
					if !t.Run(fmt.Sprintf("%s, round %d, after %v", f.name, round, after), func(t *testing.T) {
						defer func(was *testing.T) { l.t = was }(l.t)
						l.t = t
						l.endOnTheirWay(f, after)
					}) {
						return
					}
				}
			}
		}) {
			return
		}
	}
}

func (l *lab) endOnTheirWay(f fate, after time.Duration) {
	l.t.Helper()
	long := l.submit(func(s *client.Submission) { s.Queue = "long" })
	ws := long.work(6, 1216)
	for _, w := range ws {
		w.grow(128)
	}
	short := l.submit(func(s *client.Submission) { s.Queue = "short" })
	if f.away != "" && short.nameOf(short.masterNode()) == f.away || f.away != "" && long.nameOf(long.masterNode()) == f.away {
		f.away = ""
		f.falls = fates[1].falls // an ApplicationMaster is there: its containers are killed instead
	}
	granted := short.allocate(peer.Ask(2, records.NewResource(1024, 1))).GetAllocatedContainers()
	await.Slowly(l.t, "preemption has begun", func() bool {
		for _, w := range ws {
			if b, known := l.box(w.id); known && b.Level != "RUNNING" {
				return true
			}
		}
		return false
	})
	<-time.After(after) // the moment at which it befalls them
	f.falls(long, ws)
	await.Slowly(l.t, "the short application has its containers", func() bool {
		granted = append(granted, short.allocate(&pb.AllocateRequest{}).GetAllocatedContainers()...)
		return len(granted) >= 2 || f.away != "" && len(granted)+len(short.Completed) >= 2
	})
	if f.away != "" {
		if err := l.Start(f.away); err != nil {
			l.t.Fatal(err)
		}
		await.Slowly(l.t, "the node is back", func() bool { return l.active() == len(l.nodes) })
	} else {
		short.release(short.begin(granted)...)
	}
	short.finish()
	if f.over {
		l.empty()
		return
	}
	// Who is left goes on, and has lost nothing.
	for _, w := range ws {
		long.allocate(&pb.AllocateRequest{})
		if _, known := l.box(w.id); known && long.Completed[must(records.ParseContainerID(w.id))] == nil {
			l.running(w.node, w.id)
			w.progress()
			w.intact()
		}
	}
	if n := len(l.frozen()); n != 0 {
		l.t.Errorf("%d groups are frozen", n)
	}
	long.finish()
	l.empty()
}

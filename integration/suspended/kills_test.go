package suspended

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"heddle/am/client"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// flight is a step of the ladder, and when it is under way.
type flight struct {
	name  string
	from  []string // options with which the container is suspended before, if it is
	to    []string // options of the step; nil: it resumes
	under func(s, before onNode) bool
}

var flights = []flight{
	{"freezing", nil, []string{"-level", "frozen", "-breathe", "never"}, func(s, _ onNode) bool { return s.WantedLevel != "running" }},
	{"reclaiming", nil, []string{"-level", "reclaimed", "-breathe", "never"}, func(s, _ onNode) bool { return s.WantedLevel == "reclaimed" }},
	{"half reclaimed", nil, []string{"-level", "reclaimed", "-breathe", "never"}, func(s, _ onNode) bool { return s.SwappedBytes > 16<<20 }},
	{"resuming", []string{"-level", "reclaimed", "-breathe", "never"}, nil, func(s, _ onNode) bool { return s.WantedLevel == "running" }},
	{"half resumed", []string{"-level", "reclaimed", "-breathe", "never"}, nil, func(s, before onNode) bool { return s.SwappedBytes < before.SwappedBytes }},
	{"breathing", nil, []string{"-level", "reclaimed", "-breathe", "5s"}, func(s, _ onNode) bool { return s.LastBreathTime > 0 }},
	{"shrinking", nil, []string{"-level", "shrunk", "-hold", "memory-mb=64,vcores=0"}, func(s, _ onNode) bool { return s.WantedLevel == "shrunk" }},
}

// begin has a worker's container take a step, and returns when that is under way. end waits for the command, which may well fail.
func (m *master) flies(w *worker, f flight) (end func()) {
	m.t.Helper()
	args := []string{"-resume", w.id}
	if f.to != nil {
		args = append([]string{"-suspend", w.id}, f.to...)
	}
	if f.from != nil {
		m.suspend(w.node, w.id, f.from...)
	}
	before, _ := m.onNode(w.node, w.id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if out, err := m.heddle("container", args...); err != nil {
			m.t.Logf("%v: %s", args, out)
		}
	}()
	at := await.Value(m.t, "it is "+f.name, func() (onNode, bool) {
		s, known := m.onNode(w.node, w.id)
		return s, known && f.under(s, before)
	})
	m.t.Logf("%+v", at)
	return func() { <-done }
}

// killed kills the application, by the command or by REST.
func (m *master) killed(byREST bool) {
	m.t.Helper()
	if byREST {
		await.Slowly(m.t, "the application is killed", func() bool {
			text, err := m.ask(http.MethodPut, "/ws/v1/cluster/apps/"+m.id.String()+"/state?user.name=root", `{"state":"KILLED"}`, nil)
			if err != nil {
				m.t.Logf("%v: %s", err, text)
			}
			return err == nil
		})
	} else if out, err := m.heddle("app", "-kill", m.id.String()); err != nil {
		m.t.Errorf("%v: %s", err, out)
	}
	await.Slowly(m.t, "the application has ended", func() bool {
		r, err := m.apps.Report(m.t.Context(), m.id)
		return err == nil && r.State == pb.YarnApplicationState_KILLED
	})
}

// An application is killed while one of its containers is on its way down the ladder, or up. Nothing is left of it.
func TestKilledOnTheWay(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, nil)
	for i, f := range flights {
		for _, byREST := range []bool{false, true} {
			if !t.Run(fmt.Sprintf("%s, by REST %v", f.name, byREST), func(t *testing.T) {
				defer func(was *testing.T) { l.t = was }(l.t)
				l.t = t
				m := l.submit(nil)
				ws := m.work(2, 1024)
				for _, w := range ws {
					w.grow(256)
				}
				l.suspend(ws[1].node, ws[1].id, "-level", []string{"frozen", "reclaimed"}[i%2], "-breathe", "never")
				end := m.flies(ws[0], f)
				m.killed(byREST)
				end()
				l.empty()
			}) {
				return
			}
		}
	}
}

// away is how a node is not there for a while.
type away struct {
	name       string
	goes, back func(l *lab, node string) error
}

var aways = []away{
	{
		"stopped", func(l *lab, node string) error { l.Signal(node, syscall.SIGSTOP); return nil },
		func(l *lab, node string) error { l.Signal(node, syscall.SIGCONT); return nil },
	},
	{
		"cut off", func(l *lab, node string) error { l.Isolate(node); return nil },
		func(l *lab, node string) error { l.Join(node); return nil },
	},
	{
		"dead", func(l *lab, node string) error { l.Kill(node); return nil },
		func(l *lab, node string) error { return l.Start(node) },
	},
}

// A node is lost while containers on it are suspended, and one is on its way. They end like running ones; their application is killed meanwhile, or goes
// on. When the node is back nothing of them is left there, and all of its room counts.
func TestTheNodeIsLost(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 2, map[string]string{"yarn.nm.liveness-monitor.expiry-interval-ms": "3000"})
	steps := []flight{flights[2], flights[4], flights[6]}
	for i, a := range aways {
		for k, kill := range []bool{false, true} {
			if !t.Run(fmt.Sprintf("%s, killed %v", a.name, kill), func(t *testing.T) {
				defer func(was *testing.T) { l.t = was }(l.t)
				l.t = t
				m := l.submit(func(s *client.Submission) { s.MaxAttempts = 1 })
				home := m.nameOf(m.masterNode())
				ws := m.work(6, 1024)
				var there []*worker
				for _, w := range ws {
					w.grow(64)
					if w.node != home {
						there = append(there, w)
					}
				}
				if len(there) < 3 {
					t.Fatalf("%d containers aren't on the node of the ApplicationMaster", len(there))
				}
				lost := there[0].node
				there[2].grow(256)
				l.suspend(lost, there[0].id, "-level", "frozen", "-breathe", "never")
				l.suspend(lost, there[1].id, "-level", "reclaimed", "-breathe", "5s")
				end := m.flies(there[2], steps[(i+k)%len(steps)])
				if err := a.goes(l, lost); err != nil {
					t.Fatal(err)
				}
				await.Slowly(t, "the node is lost", func() bool { return l.node(lost).State == "LOST" })
				end()
				if kill {
					m.killed(i%2 == 0)
				} else {
					m.ends(there...)
					for _, w := range there {
						if s := m.completed(w.id); s.GetExitStatus() != records.ExitAborted {
							t.Errorf("%s ended with %v", w.id, s)
						}
					}
					if n := l.node(home); n.NumContainers != 1+len(ws)-len(there) {
						t.Errorf("the other node has %+v", n)
					}
				}
				if m, err := l.metrics(); err != nil || m.AvailableMB+m.AllocatedMB != 4096 {
					t.Errorf("the ResourceManager counts %+v (%v)", m, err)
				}
				if err := a.back(l, lost); err != nil {
					t.Fatal(err)
				}
				await.Slowly(t, "the node is back", func() bool { return l.active() == 2 })
				await.Slowly(t, "nothing of them is left there", func() bool {
					for _, p := range l.Strays() {
						for _, w := range there {
							if p.Container() == w.id {
								return false
							}
						}
					}
					return len(l.frozen()) == 0
				})
				if !kill {
					m.work(4, 1024) // all of the node
					m.finish()
				}
				l.empty()
			}) {
				return
			}
		}
	}
}

// masterNode is the node of the ApplicationMaster.
func (m *master) masterNode() *pb.NodeId {
	m.t.Helper()
	var answer struct {
		Container struct{ NodeID string }
	}
	if err := m.get("/ws/v1/heddle/containers/"+m.masterID(m.Attempt.Attempt)+"?user.name=root", &answer); err != nil {
		m.t.Fatal(err)
	}
	id, err := records.ParseNodeID(answer.Container.NodeID)
	if err != nil {
		m.t.Fatal(errors.Join(err, errors.New(answer.Container.NodeID)))
	}
	return id.PB()
}

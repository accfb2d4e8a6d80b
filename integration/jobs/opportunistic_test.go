package jobs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/unmanaged"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// script is an ApplicationMaster that a test directs. Its containers append a line to a file of their own every 50 ms.
type script struct {
	*am.Master
	dir string

	mu      sync.Mutex
	began   []records.ContainerID
	kinds   map[records.ContainerID]client.ExecutionType
	ended   map[records.ContainerID]int32
	running *unmanaged.Running
}

func (c *cluster) script() *script {
	c.t.Helper()
	s := &script{dir: c.t.TempDir(), kinds: map[records.ContainerID]client.ExecutionType{}, ended: map[records.ContainerID]int32{}}
	ready := make(chan *am.Master, 1)
	s.running = c.unmanaged(unmanaged.Options{Type: "SCRIPT"}, 256, func(m *am.Master) am.Callbacks {
		s.Master = m
		ready <- m
		return am.Callbacks{ContainersAllocated: s.allocated, ContainerCompleted: s.completed}
	})
	<-ready
	return s
}

func (s *script) file(id records.ContainerID) string { return filepath.Join(s.dir, id.String()) }

func (s *script) allocated(e am.ContainersAllocated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range e.Containers {
		s.began = append(s.began, c.ID)
		s.kinds[c.ID] = c.ExecutionType
		s.Start(c.ID, am.Launch{Command: []string{fmt.Sprintf("while sleep 0.05; do echo x >> %s; done", s.file(c.ID))}})
	}
}

func (s *script) completed(e am.ContainerCompleted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[e.ID] = e.ExitStatus
}

// next asks for a container and returns it.
func (s *script) next(t testing.TB, kind client.ExecutionType, mb int64) records.ContainerID {
	t.Helper()
	s.mu.Lock()
	n := len(s.began)
	s.mu.Unlock()
	if _, err := s.Request(am.Request{Priority: 1, Resource: records.NewResource(mb, 1), ExecutionType: kind}); err != nil {
		t.Fatal(err)
	}
	var id records.ContainerID
	await.Slowly(t, fmt.Sprintf("a container, %v", kind), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.began) > n {
			id = s.began[n]
		}
		return len(s.began) > n
	})
	if got := s.kinds[id]; got != kind {
		t.Errorf("container %v is %v, not %v", id, got, kind)
	}
	return id
}

func (s *script) lines(id records.ContainerID) int64 {
	info, err := os.Stat(s.file(id))
	if err != nil {
		return 0
	}
	return info.Size()
}

func (s *script) advances(t testing.TB, id records.ContainerID) {
	t.Helper()
	from := s.lines(id)
	await.Slowly(t, fmt.Sprintf("%v makes progress", id), func() bool { return s.lines(id) > from })
}

// stands waits until a container makes no progress for a while.
func (s *script) stands(t testing.TB, id records.ContainerID) int64 {
	t.Helper()
	last, since := s.lines(id), time.Now()
	await.Slowly(t, fmt.Sprintf("%v stands still", id), func() bool {
		if now := s.lines(id); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
	return last
}

// A guaranteed container takes the room of an opportunistic one, which is paused, over a change of leaders and a kill -9 of its node, and goes on afterwards.
// Another one waits in the node's queue meanwhile. Nothing ends that nobody has ended.
func TestOpportunisticContainersArePausedAndContinue(t *testing.T) {
	c := startCluster(t, 3, 1, map[string]string{
		"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true", "yarn.nodemanager.opportunistic-containers-max-queue-length": "5",
		"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption": "true",
		"yarn.nodemanager.resource.memory-mb":                                "4096", "yarn.scheduler.minimum-allocation-mb": "256",
	})
	s := c.script()
	first := s.next(t, client.Opportunistic, 3072)
	s.advances(t, first)
	waits := s.next(t, client.Opportunistic, 3072)
	master := s.next(t, client.Guaranteed, 3072)
	s.advances(t, master)
	stopped := s.stands(t, first)

	c.Kill(c.leader())
	c.Kill("nm1")
	c.start("nm1")
	s.advances(t, master)
	c.leader()
	if n := s.lines(first); n != stopped || s.lines(waits) != 0 {
		t.Errorf("they run beside the guaranteed one: %d and %d bytes, before %d", n, s.lines(waits), stopped)
	}
	s.Stop(master)
	s.advances(t, first)
	if s.lines(waits) != 0 {
		t.Error("the one that waits runs beside it")
	}
	s.Stop(first)
	s.advances(t, waits)
	ended := func() map[records.ContainerID]int32 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(s.ended)
	}
	if all := ended(); len(all) > 2 {
		t.Errorf("ended: %v", all)
	}
	s.Stop(waits)
	await.Slowly(t, "all have ended", func() bool { return len(ended()) == 3 }) // nothing is left on the machine
}

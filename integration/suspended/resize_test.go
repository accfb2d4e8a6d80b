package suspended

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// change asks the ResourceManager for another size of a container. It returns when it has an answer: what came of it, or why it is refused.
func (m *master) change(w *worker, kind pb.ContainerUpdateType, mb int64) (*pb.Container, string) {
	m.t.Helper()
	u := &pb.UpdateContainerRequest{}
	b, _ := m.box(w.id)
	u.SetContainerVersion(w.version)
	u.SetContainerId(containerID(m.t, w.id))
	u.SetUpdateType(kind)
	size := &pb.Resource{}
	size.SetMemory(mb)
	size.SetVirtualCores(int32(b.Resource.VCores))
	u.SetCapability(size)
	req := &pb.AllocateRequest{}
	req.SetUpdateRequests([]*pb.UpdateContainerRequest{u})
	m.updated, m.refused = nil, nil
	await.Slowly(m.t, "an answer to a change of size", func() bool {
		m.allocate(req)
		req = &pb.AllocateRequest{}
		return len(m.updated)+len(m.refused) > 0
	})
	if len(m.refused) > 0 {
		return nil, m.refused[0].GetReason()
	}
	w.version++
	return m.updated[0].GetContainer(), ""
}

// tells brings a container's node word of its new size.
func (m *master) tells(c *pb.Container) error {
	req := &pb.ContainerUpdateRequest{}
	req.SetUpdateContainerToken([]*pb.Token{c.GetContainerToken()})
	resp, err := protocol.UpdateContainer.Call(m.t.Context(), m.Node(c), req)
	if err == nil && len(resp.GetFailedRequests()) > 0 {
		err = fmt.Errorf("%v", resp.GetFailedRequests()[0].GetException().GetMessage())
	}
	return err
}

// limit is the memory in MB beyond which the kernel ends a container; -1 where it has no group for that.
func (l *lab) limit(id string) int64 {
	l.t.Helper()
	for _, file := range []string{"memory/*/*/*/memory.limit_in_bytes", "*/*/*/memory.max"} {
		for _, name := range must(filepath.Glob(filepath.Join("/sys/fs/cgroup", file))) {
			if strings.Contains(name, l.group) && strings.Contains(name, id) {
				b, err := os.ReadFile(name)
				if n, err2 := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && err2 == nil {
					return n >> 20
				}
			}
		}
	}
	return -1
}

// sized waits until a container's node holds it to a size.
func (l *lab) sized(w *worker, mb int64) {
	l.t.Helper()
	var at int64
	defer func() {
		if l.t.Failed() {
			l.t.Logf("its limit is %d MB", at)
		}
	}()
	await.Slowly(l.t, fmt.Sprintf("%s is held to %d MB", w.id, mb), func() bool { at = l.limit(w.id); return at == mb })
}

const more, less = pb.ContainerUpdateType_INCREASE_RESOURCE, pb.ContainerUpdateType_DECREASE_RESOURCE

// The size of a container that uses much of its memory changes, in both directions. A size below what it uses isn't enforced until it uses less: the
// kernel ends nobody at a limit that was lowered below his use.
func TestSizesChangeUnderPressure(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := start(t, 1, 1, map[string]string{
		"yarn.nodemanager.resource.memory.enabled": "true", "yarn.nodemanager.resource.memory.enforced": "true",
	})
	m := l.submit(nil)
	w := m.work(1, 1024)[0]
	w.grow(700)
	l.sized(w, 1024)
	c, why := m.change(w, more, 1536)
	if why != "" {
		t.Fatal(why)
	}
	if err := m.tells(c); err != nil {
		t.Fatal(err)
	}
	l.sized(w, 1536)
	w.grow(300)
	// Less than it uses: the ResourceManager takes it down, and its node can't yet.
	if _, why := m.change(w, less, 512); why != "" {
		t.Fatal(why)
	}
	await.Slowly(t, "its node has refused", func() bool {
		b, err := os.ReadFile(l.LogFile(w.node))
		return err == nil && strings.Contains(string(b), "change the size of container "+w.id)
	})
	for range 3 {
		w.progress()
		w.intact()
	}
	if s := m.completed(w.id); s != nil {
		t.Fatalf("it has ended: %v", s)
	}
	// It gives memory back, and is held to its size then.
	w.shrink()
	l.sized(w, 512)
	w.progress()
	if b, known := l.box(w.id); !known || b.Resource.Memory != 512 {
		t.Errorf("%+v", b)
	}
	if n := l.node(w.node); n.UsedMemoryMB != 512+128 {
		t.Errorf("%+v", n)
	}
	// Beyond that it ends as it would have without all this.
	w.write("grow", "700")
	m.ends(w)
	if s := m.completed(w.id).GetExitStatus(); s != records.ExitKilledExceededPMem {
		t.Errorf("it ended with %d", s)
	}
	m.finish()
	l.empty()
}

// A suspended container is to have less than it has in memory and paged out. It goes on with what it had, and gets its new size when it gives memory back.
func TestSizesChangeWhileSuspended(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, map[string]string{
		"yarn.nodemanager.resource.memory.enabled": "true", "yarn.nodemanager.resource.memory.enforced": "true",
	})
	m := l.submit(nil)
	w := m.work(1, 1024)[0]
	w.grow(400)
	l.suspend(w.node, w.id, "-level", "reclaimed", "-breathe", "never")
	if _, why := m.change(w, less, 256); why != "" {
		t.Fatal(why)
	}
	await.Slowly(t, "its node has refused", func() bool {
		b, err := os.ReadFile(l.LogFile(w.node))
		return err == nil && strings.Contains(string(b), "change the size of container "+w.id)
	})
	m.resumes(w)
	w.shrink()
	l.sized(w, 256)
	w.progress()
	m.finish()
	l.empty()
}

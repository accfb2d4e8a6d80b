package container

import (
	"testing"

	"heddle/internal/await"
	"heddle/yarn/records"
)

// hung is a store whose disk doesn't answer until it is let go.
type hung struct {
	Bucket
	answer chan struct{} // nil: it answers
}

func (h *hung) when(done <-chan error) <-chan error {
	if h.answer == nil {
		return done
	}
	answer, out := h.answer, make(chan error, 1)
	go func() {
		<-answer
		out <- <-done
	}()
	return out
}

func (h *hung) Begin(key string, value []byte) <-chan error {
	return h.when(h.Bucket.Begin(key, value))
}

func (h *hung) BeginAll(values map[string][]byte) <-chan error {
	return h.when(h.Bucket.BeginAll(values))
}

func (h *hung) BeginDelete(key string) <-chan error { return h.when(h.Bucket.BeginDelete(key)) }

// Nothing that heartbeats do waits for the disk of the state, and kills reach processes whatever else waits for it.
func TestTheDiskOfTheStateHangs(t *testing.T) {
	h := &hung{}
	l := newLab(t, quickly, func(o *Options) {
		h.Bucket, o.ContainerRecords = o.ContainerRecords, h
	})
	var all []*Container
	for n := range int64(3) {
		c := l.run(job{id: containerID(int32(n+1), 1), command: "sleep 600; :"})
		await.Until(t, "RUNNING", func() bool { return c.State() == Running && c.Status().PID != 0 })
		all = append(all, c)
	}
	ended := l.run(job{id: containerID(4, 1), command: "true"})
	waitDone(t, ended)
	h.answer = make(chan struct{})
	suspended := make(chan error, 1)
	go func() { suspended <- all[0].Suspend(t.Context()) }()
	await.Until(t, "PAUSING", func() bool { return all[0].State() == Pausing })

	// what a heartbeat tells, and what its answer asks for
	for _, c := range l.node.Containers() {
		c.Status()
	}
	l.node.Applications()
	l.node.Counts()
	all[0].Kill(records.ExitKilledByResourceManager, "")
	all[1].Kill(records.ExitKilledByResourceManager, "")
	l.node.FinishApplication(appID(3), "because")
	l.node.Forget(ended.ID())
	if _, err := l.node.Container(ended.ID()); err == nil {
		t.Error("what the ResourceManager has taken note of is still here")
	}
	for _, c := range all {
		await.Until(t, "the end of the processes of "+c.String(), func() bool {
			g := c.Group()
			if g == nil {
				return true
			}
			pids, err := g.Processes()
			return err != nil || len(pids) == 0
		})
	}
	await.Until(t, "room", func() bool {
		return l.node.room.Used().IsZero()
	})
	close(h.answer)
	if err := <-suspended; err == nil {
		t.Error("a container that was killed was suspended")
	}
	for _, c := range all {
		if s := waitDone(t, c); s.Suspended {
			t.Errorf("%+v", s)
		}
	}
}

package shorttasks

import (
	"sync"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// One connection that answers each ask with "no task", and sends another probe, had all turns of a node for ever.
func TestASchedulerWithoutTasksStarvesNobody(t *testing.T) {
	for name, early := range map[string]bool{"late binding": false, "early binding": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			l.run = runAll
			idle := l.schedulerOf("anna", "idle")
			var answering sync.WaitGroup
			defer answering.Wait()
			defer idle.Close()
			probes := of(1, 100, 9)
			probes.Early = early
			say(t, idle, probes)
			hear[*wire.Ask](t, idle)
			answering.Go(func() {
				next := uint64(1)
				for m, err := idle.Receive(); err == nil; m, err = idle.Receive() {
					if ask, ok := m.(*wire.Ask); ok {
						next = max(next, ask.ID)
						one := of(1, 1, 9)
						one.Early = early
						_ = idle.Send(one) // if it fails, Receive does
						_ = idle.Send(&wire.NoTask{ID: ask.ID, Left: 9})
					}
				}
			})
			say(t, idle, &wire.NoTask{ID: 1, Left: 9})
			busy := l.schedulerOf("ben", "busy")
			say(t, busy, of(1, 20, 20))
			done := make(chan struct{})
			answering.Go(func() {
				ended := 0
				for m, err := busy.Receive(); err == nil; m, err = busy.Receive() {
					switch m := m.(type) {
					case *wire.Ask:
						_ = busy.Send(&wire.Task{ID: m.ID, Args: []string{"x"}, Left: 19})
					case *wire.Ended:
						if ended++; ended == 20 {
							close(done)
							return
						}
					}
				}
			})
			defer busy.Close()
			await.Until(t, "the other user's tasks have run", func() bool {
				select {
				case <-done:
					return true
				default:
					return false
				}
			})
		})
	}
}

package queueconf

import (
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/queue"
)

// As in a stock ResourceManager there is a round of deletion each queue-expiration-time: the first marks an idle leaf, the second deletes it, and its parent follows
// two rounds later. Ticks vary by milliseconds under load. A round that waited for the tick behind its time put off all that follow: a parent stayed for 16 s instead of 12.
func TestRoundsOfDeletionKeepTheirPace(t *testing.T) {
	run(t, false, func(b *bench) {
		const prefix = queue.Prefix
		b.files.settings = map[string]string{
			prefix + "root.queues": "a,b", prefix + "root.a.capacity": "1w", prefix + "root.b.capacity": "1w",
			prefix + "root.a.auto-queue-creation-v2.enabled":        "true",
			prefix + "auto-queue-creation-v2.queue-expiration-time": "3",
			"yarn.resourcemanager.scheduler.monitor.enable":         "true",
			"yarn.resourcemanager.scheduler.monitor.policies":       "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy",
		}
		b.lead()
		b.loop.State.Version = ledger.QueuesVersion
		began := time.Now()
		tick := func(at time.Duration) { _ = b.loop.Do(func() error { b.admin.Tick(began.Add(at)); return nil }) }
		tick(0)
		_ = b.loop.Do(func() error {
			with, _, made, err := b.scheduler.tree.For(queue.App{User: "ann"}, "root.a.p.leaf", false)
			if err != nil {
				return err
			}
			return b.admin.Create(with, made, "ann")
		})
		for second := range 13 {
			late := time.Duration(12-second) * time.Millisecond // each less late than the one before
			tick(time.Duration(second)*time.Second + late)
			want := "root.a root.a.p root.a.p.leaf root.b"
			switch {
			case second >= 12:
				want = "root.a root.b"
			case second >= 6:
				want = "root.a root.a.p root.b"
			}
			if got := names(b.scheduler.tree); got != want {
				t.Errorf("after %d s there are %s, not %s", second, got, want)
			}
		}
	})
}

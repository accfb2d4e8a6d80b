package stage

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLargeJob has 900 slots on 300 nodes do 10,000 maps of 20 s each, with a report every 3 s, and 100 reduces. It tells
// which part of a processor core the decisions would take, and what a Step costs.
func BenchmarkLargeJob(b *testing.B) {
	const slots, maps, reduces, length, every = 900, 10_000, 100, 20 * time.Second, 3 * time.Second
	steps := 0
	var simulated time.Duration
	b.ReportAllocs()
	for b.Loop() {
		m := New(Job{
			Maps: maps, Reduces: reduces, Tries: [2]int{4, 4}, NodeFailures: 3, Starter: afterMaps{},
			Hosts: func(i int) []string {
				return []string{fmt.Sprint("h", i%300), fmt.Sprint("h", (i+7)%300), fmt.Sprint("h", (i+13)%300)}
			},
		})
		doing := make([]AttemptID, slots)
		busy := make([]bool, slots)
		given, over := 0, false
		var asks []RequestID
		now := time.Duration(0)
		step := func(e Event) {
			steps++
			for _, a := range m.Step(now, e) {
				switch a := a.(type) {
				case Want:
					asks = append(asks, a.Request)
				case Launch:
					doing[a.Slot], busy[a.Slot] = a.Attempt, true
				case End:
					over = true
				}
			}
		}
		step(Nodes{300})
		step(Tick{})
		for given < slots {
			step(Granted{Request: asks[given], Slot: SlotID(given), Host: fmt.Sprint("h", given%300)})
			given++
		}
		for s := range slots {
			step(Ready{SlotID(s)})
		}
		for !over {
			for at := every; at < length; at += every {
				now += every
				for s := range slots {
					if busy[s] {
						step(Progressed{Slot: SlotID(s), Attempt: doing[s], Done: int64(at), Total: int64(length)})
					}
				}
				for range every / time.Second {
					step(Tick{})
				}
			}
			now += length % every
			for s := range slots {
				if busy[s] {
					busy[s] = false
					step(Finished{Slot: SlotID(s), Attempt: doing[s], OutBytes: 1000})
					step(Ready{SlotID(s)})
				}
			}
		}
		simulated += now
	}
	b.ReportMetric(100*b.Elapsed().Seconds()/simulated.Seconds(), "%core")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}

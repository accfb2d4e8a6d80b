package whatif_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/nm/proc"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/yarn/records"
)

// A day of a busy cluster with a million containers, whose queues preempt, is answered for in a minute, or two for 10,000 nodes, within 4 GB, with the same bytes each time.
func TestADayIsAnsweredForInAMinute(t *testing.T) {
	long(t)
	for _, c := range []struct {
		nodes int
		most  time.Duration
	}{{2_000, time.Minute}, {10_000, 2 * time.Minute}} {
		t.Run(fmt.Sprint(c.nodes), func(t *testing.T) {
			file := day(t, c.nodes)
			first := ""
			for range 2 {
				begun := time.Now()
				out, err := heddle("-record", file, "-set", queue.Prefix+"root.a.capacity=30", "-set", queue.Prefix+"root.b.capacity=40", "-json")
				took := time.Since(begun)
				if err != nil {
					t.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
				}
				at := strings.Index(out, "{") // what is before says how long it took
				sum := fmt.Sprintf("%x", sha256.Sum256([]byte(out[at:strings.LastIndex(out, "}")])))
				peak, err := proc.PeakMemory(os.Getpid())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d nodes: %.1f s, at most %d MB with the recording before it, %d bytes of JSON with the sum %s", c.nodes, took.Seconds(), peak>>20, len(out), sum[:12])
				if took > c.most || peak > 4<<30 || first != "" && sum != first {
					t.Errorf("the answer took %v, at most %d MB, and its sum is %s, which was %q before", took, peak>>20, sum, first)
				}
				first = sum
			}
		})
	}
}

// day is the record of a day of nodes with eight slots each, nine tenths of which are in use.
func day(t *testing.T, nodes int) string {
	t.Helper()
	const tasks, slots = 1_000_000, 8
	keys := map[string]string{queue.SchedulerClass: "capacity", queue.Prefix + "root.queues": "a,b,c,d", "yarn.resourcemanager.scheduler.monitor.enable": "true"}
	for i, name := range []string{"a", "b", "c", "d"} {
		path := queue.Prefix + "root." + name
		keys[path+".capacity"], keys[path+".user-limit-factor"] = fmt.Sprint(40-10*i), "10"
	}
	d, file := recordtest.Driver(t, &eventlog.Source{Keys: keys}, 0)
	slot := records.NewResource(1024, 1)
	mean := 24 * time.Hour * time.Duration(nodes*slots) / tasks
	jobs := sim.Generate(sim.Workload{
		Tasks: tasks, PerJob: 100, Mean: sim.Time(mean), Load: 0.9, Slots: nodes * slots, Resource: slot, Queues: []string{"root.a", "root.b", "root.c", "root.d"}, Users: 20,
	}, 3)
	recordtest.Play(t, d, sim.Nodes{Count: nodes, Capacity: slot.Times(slots), PerRack: 40}, jobs)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs, a record of %d MB", len(jobs), info.Size()>>20)
	return file
}

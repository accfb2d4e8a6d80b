package whatif_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/nm/proc"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/yarn/records"
)

// answered is what an answer took.
type answered struct {
	cpu  time.Duration // of all threads
	peak int64         // bytes: the most memory that the process has had so far
	sum  string        // of the JSON
}

// answerTwice asks twice about a day with other shares of its queues. Both answers must be the same bytes.
func answerTwice(t *testing.T, file string) (most answered) {
	t.Helper()
	for range 2 {
		before := cpu(t)
		out, err := heddle("-record", file, "-set", queue.Prefix+"root.a.capacity=30", "-set", queue.Prefix+"root.b.capacity=40", "-json")
		if err != nil {
			t.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
		}
		a := answered{cpu: cpu(t) - before}
		if a.peak, err = proc.PeakMemory(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		_, json, _ := strings.Cut(out, "{") // how long it took stands before it
		a.sum = fmt.Sprintf("%x", sha256.Sum256([]byte(json)))[:12]
		t.Logf("%.1f s of processors, at most %d MB of memory, %d bytes of JSON with the sum %s", a.cpu.Seconds(), a.peak>>20, len(json), a.sum)
		if most.sum != "" && most.sum != a.sum {
			t.Errorf("the answer's sum is %s, and was %s before", a.sum, most.sum)
		}
		most = answered{max(most.cpu, a.cpu), max(most.peak, a.peak), a.sum}
	}
	return most
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A day of a million containers, whose queues preempt, takes less than a minute of a processor, or two for 10,000 nodes, and 4 GB.
func TestADayIsAnsweredForInAMinute(t *testing.T) {
	long(t)
	for nodes, most := range map[int]time.Duration{2_000: time.Minute, 10_000: 2 * time.Minute} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			file := busy(t, nodes, 1_000_000, 24*time.Hour)
			debug.FreeOSMemory()
			if a := answerTwice(t, file); a.cpu > most || a.peak > 4<<30 {
				t.Errorf("%v of processors, %d MB", a.cpu, a.peak>>20)
			}
		})
	}
}

// An hour of it has the same bytes when it is asked about again.
func TestAnHourIsAnsweredTheSame(t *testing.T) { answerTwice(t, busy(t, 200, 4000, time.Hour)) }

// busy is the record of so many containers of nodes with eight slots each, nine tenths of which are in use for a time.
func busy(t *testing.T, nodes, tasks int, lasts time.Duration) string {
	t.Helper()
	const slots = 8
	keys := map[string]string{queue.SchedulerClass: "capacity", queue.Prefix + "root.queues": "a,b,c,d", "yarn.resourcemanager.scheduler.monitor.enable": "true"}
	queues := []string{"root.a", "root.b", "root.c", "root.d"}
	for i, path := range queues {
		keys[queue.Prefix+path+".capacity"], keys[queue.Prefix+path+".user-limit-factor"] = fmt.Sprint(40-10*i), "10"
	}
	d, file := recordtest.Recorder(t, &eventlog.Source{Keys: keys}, 0)
	slot := records.NewResource(1024, 1)
	mean := lasts * time.Duration(nodes*slots) / time.Duration(tasks)
	jobs := sim.Generate(sim.Workload{
		Tasks: tasks, PerJob: 100, Mean: sim.Time(mean), Load: 0.9, Slots: nodes * slots, Resource: slot, Queues: queues, Users: 20,
	}, 3)
	recordtest.Play(t, d, sim.Nodes{Count: nodes, Capacity: slot.Times(slots), PerRack: 40}, jobs)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes, %d jobs, a record of %d MB", nodes, len(jobs), info.Size()>>20)
	return file
}

package staging_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/nm/staging"
)

// table has the sizes of inputs; a task that was started doesn't wait.
type table struct {
	sizes   []int64
	started map[int32]bool
}

func (t *table) Tasks() int            { return len(t.sizes) }
func (t *table) Waits(task int32) bool { return !t.started[task] }

func (t *table) Next(task int32) int32 {
	for int(task) < t.Tasks() && t.started[task] {
		task++
	}
	return task
}
func (t *table) Size(task int32) int64 { return t.sizes[task] }

func tableOf(sizes ...int64) *table { return &table{sizes, map[int32]bool{}} }

type node struct {
	*staging.Manager
	t      *testing.T
	copies []staging.Action // under way
	disk   map[staging.Action]bool
}

func newNode(t *testing.T, cfg staging.Config, seed uint64) *node {
	return &node{Manager: staging.New(cfg, rand.New(rand.NewPCG(seed, 0))), t: t, disk: map[staging.Action]bool{}}
}

// step does what is to be done, but leaves copies under way.
func (n *node) step() *node {
	for {
		a, ok := n.Next()
		if !ok {
			return n
		}
		if a.Delete {
			delete(n.disk, staging.Action{Job: a.Job, Task: a.Task})
			continue
		}
		n.copies = append(n.copies, a)
	}
}

// copied ends a copy. One that fails leaves a part of the file.
func (n *node) copied(a staging.Action, ok bool) {
	n.disk[a] = true
	n.Copied(a.Job, a.Task, ok)
}

// finish ends the copies under way.
func (n *node) finish(ok bool) *node {
	all := n.copies
	n.copies = nil
	for _, a := range all {
		n.copied(a, ok)
	}
	return n.step()
}

func (n *node) staged(job staging.Job, want ...int32) {
	n.t.Helper()
	got := n.Staged(job, nil)
	if slices.Sort(got); !slices.Equal(got, want) {
		n.t.Errorf("job %d: %v are in memory, not %v", job, got, want)
	}
}

// isUnknown checks that nothing of a job is copied.
func (n *node) isUnknown(job staging.Job) {
	n.t.Helper()
	n.Wanted(job, 0, false)
	if n.step(); len(n.copies) != 0 || n.Took(job, 0, nil) {
		n.t.Errorf("job %d is known, and %v are copied", job, n.copies)
	}
}

var study = staging.Config{Concurrent: 10, PerProbe: 2, Capacity: 1000}

func TestAProbeStagesTwoTasks(t *testing.T) {
	n := newNode(t, study, 1)
	tab := tableOf(1, 1, 1, 1, 1)
	tab.started[0], tab.started[1], tab.started[2] = true, true, true
	n.Probed(7, tab)
	n.step()
	if len(n.copies) != 2 {
		t.Fatalf("%d copies", len(n.copies))
	}
	n.staged(7)
	n.finish(true).staged(7, 3, 4)
	n.Probed(7, tab)
	if n.step(); len(n.copies) != 0 {
		t.Errorf("%v is staged twice", n.copies)
	}
}

// At most CM copies are made for waiting probes; the fast lane doesn't wait.
func TestQueueAndFastLane(t *testing.T) {
	n := newNode(t, study, 1)
	for job := range staging.Job(8) {
		n.Probed(job, tableOf(1, 1, 1, 1))
	}
	if n.step(); len(n.copies) != 10 {
		t.Fatalf("%d copies at a time", len(n.copies))
	}
	tab := tableOf(1, 1, 1, 1)
	tab.started[0] = true
	if n.Took(7, 0, tab) {
		t.Error("a task reads a copy that isn't there")
	}
	if n.step(); len(n.copies) != 11 || n.copies[10].Job != 7 {
		t.Fatalf("the fast lane waits: %v", n.copies)
	}
	n.Copied(n.copies[10].Job, n.copies[10].Task, true)
	if n.copies = n.copies[:10]; len(n.step().copies) != 10 {
		t.Error("the end of a copy in the fast lane lets another one of the queue begin")
	}
	if n.finish(true); len(n.copies) != 6 {
		t.Errorf("then %d copies", len(n.copies))
	}
}

func TestATaskReadsItsCopy(t *testing.T) {
	n := newNode(t, study, 1)
	tab := tableOf(1, 1)
	n.Probed(1, tab)
	n.step().finish(true).staged(1, 0, 1)
	tab.started[1] = true
	if !n.Took(1, 1, tab) {
		t.Error("the copy isn't read")
	}
	n.staged(1, 0)
	n.Ended(1, 1)
	n.step()
	if n.Used() != 1 {
		t.Errorf("%d bytes are used after the end", n.Used())
	}
	n.Released(1)
	if n.step(); n.Used() != 0 || len(n.disk) != 0 {
		t.Errorf("after the last probe %d bytes are used, %v are left", n.Used(), n.disk)
	}
}

// A request whose task has started meanwhile isn't carried out.
func TestLateRequestsAreDropped(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, PerProbe: 2, Capacity: 9}, 1)
	tab := tableOf(1, 1)
	n.Probed(1, tab)
	n.step()
	tab.started[1-n.copies[0].Task] = true
	if n.finish(true); len(n.copies) != 0 {
		t.Errorf("%v is copied", n.copies)
	}
}

// The RAM disk has a hard size: what was read goes first, then what started elsewhere; else there is no copy.
func TestEviction(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 1, Capacity: 10}, 1)
	tabs := map[staging.Job]*table{}
	probe := func(job staging.Job, size int64) {
		tabs[job] = tableOf(size)
		n.Probed(job, tabs[job])
		n.step().finish(true)
	}
	probe(1, 5)
	probe(2, 4)
	probe(3, 2)
	n.staged(3) // neither of the others may go
	tabs[1].started[0], tabs[2].started[0] = true, true
	n.Took(2, 0, tabs[2])
	probe(4, 11)
	n.staged(4) // larger than the disk
	if !n.disk[staging.Action{Job: 1}] {
		t.Error("a copy went for one that never fits")
	}
	probe(5, 5)
	n.staged(5, 0)
	n.staged(1) // it started elsewhere
	if !n.disk[staging.Action{Job: 2}] {
		t.Error("what a task may be reading is deleted")
	}
	n.Read(2, 0)
	probe(6, 2)
	n.staged(6, 0)
	if n.disk[staging.Action{Job: 2}] || n.Used() != 7 {
		t.Errorf("what was read stays; %d bytes are used", n.Used())
	}
}

// The copies of two jobs fill the RAM disk, and a third one comes. What was read goes first, then what started elsewhere, the oldest job's before others'.
func TestWhatMakesRoom(t *testing.T) {
	for name, c := range map[string]struct {
		states [2]string
		size   int64
		stay   [2]bool
	}{
		"read first":       {[2]string{"elsewhere", "read"}, 5, [2]bool{true, false}},
		"then elsewhere":   {[2]string{"here", "elsewhere"}, 5, [2]bool{true, false}},
		"not what waits":   {[2]string{"waits", "elsewhere"}, 5, [2]bool{true, false}},
		"the oldest read":  {[2]string{"read", "read"}, 5, [2]bool{false, true}},
		"the oldest":       {[2]string{"elsewhere", "elsewhere"}, 5, [2]bool{false, true}},
		"both":             {[2]string{"elsewhere", "elsewhere"}, 10, [2]bool{false, false}},
		"both in any way":  {[2]string{"elsewhere", "read"}, 10, [2]bool{false, false}},
		"no room for both": {[2]string{"here", "waits"}, 5, [2]bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 1, Capacity: 10}, 1)
			jobs := [2]staging.Job{9, 3} // the higher number came first
			for i, state := range c.states {
				tab := tableOf(5)
				n.Probed(jobs[i], tab)
				n.step().finish(true)
				if tab.started[0] = state != "waits"; state == "here" || state == "read" {
					n.Took(jobs[i], 0, tab)
				}
				if state == "read" {
					n.Read(jobs[i], 0)
				}
			}
			n.Probed(5, tableOf(c.size))
			n.step().finish(true)
			for i, stays := range c.stay {
				if n.disk[staging.Action{Job: jobs[i]}] != stays {
					t.Errorf("copy %d stays: %t", i, !stays)
				}
			}
			if n.disk[staging.Action{Job: 5}] == (c.stay == [2]bool{true, true}) {
				t.Errorf("%v are there", n.disk)
			}
		})
	}
}

func TestFailedCopies(t *testing.T) {
	n := newNode(t, study, 1)
	tab := tableOf(3, 0)
	n.Probed(1, tab)
	if n.step(); len(n.copies) != 1 {
		t.Fatalf("a task without an input is staged: %v", n.copies)
	}
	n.finish(false).staged(1)
	if n.Used() != 0 || len(n.disk) != 0 {
		t.Errorf("%d bytes are used, %v are left", n.Used(), n.disk)
	}
	n.Probed(1, tab)
	if n.step(); len(n.copies) != 0 {
		t.Error("a copy that failed is tried again")
	}
	n.Copied(9, 9, true) // nobody knows it
}

// A copy that is under way when the last probe leaves is deleted when it is made.
func TestCopiesOfJobsThatAreGone(t *testing.T) {
	for _, ok := range []bool{true, false} {
		n := newNode(t, study, 1)
		n.Probed(1, tableOf(3))
		n.step().Released(1)
		n.step().finish(ok).staged(1)
		if n.Used() != 0 || len(n.disk) != 0 {
			t.Errorf("%d bytes are used, %v are left", n.Used(), n.disk)
		}
		n.isUnknown(1)
	}
}

// What waits goes with its job, though another copy is under way, and what failed is tried for the job's next probe.
func TestJobsThatComeAgainWhileTheyAreCopied(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, Capacity: 9, Named: true}, 1)
	tab := tableOf(1, 1, 1)
	n.Probed(1, tab)
	for task := range int32(3) {
		n.Wanted(1, task, false)
	}
	n.step().finish(false).Released(1) // task 0 has failed, 1 is copied, and 2 waits
	n.Probed(1, tab)
	n.Wanted(1, 0, true)
	if n.step(); len(n.copies) != 2 || n.copies[1].Task != 0 {
		t.Errorf("%v are copied", n.copies)
	}
	n.finish(true).staged(1, 0, 1)
}

// A copy that is made only when its task has ended is of use to nobody, though the job has others here.
func TestCopiesOfTasksThatHaveEnded(t *testing.T) {
	n := newNode(t, study, 1)
	tab := tableOf(3, 4)
	n.Probed(1, tab)
	n.step()
	tab.started[0] = true
	if n.Took(1, 0, tab) {
		t.Error("a copy is read before it is made")
	}
	n.Ended(1, 0)
	n.step().finish(true).staged(1, 1)
	if n.Used() != 4 || len(n.disk) != 1 {
		t.Errorf("%d bytes are used, %v are left", n.Used(), n.disk)
	}
}

// Whatever happens, no more is used than there is, and nothing is left in the end.
func TestSizeIsKept(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		cfg := staging.Config{Concurrent: 1 + rng.IntN(3), PerProbe: rng.IntN(3), Capacity: 20}
		n := newNode(t, cfg, seed)
		tabs, refs := map[staging.Job]*table{}, map[staging.Job]int{}
		for job := range staging.Job(5) {
			tabs[job] = tableOf(rng.Int64N(9), rng.Int64N(9), rng.Int64N(9))
		}
		for range 200 {
			job, task := staging.Job(rng.IntN(5)), int32(rng.IntN(3))
			switch rng.IntN(7) {
			case 0, 1:
				n.Probed(job, tabs[job])
				refs[job]++
			case 2:
				if refs[job] > 0 {
					tabs[job].started[task] = true
					n.Took(job, task, tabs[job])
				}
			case 3:
				n.Read(job, task)
			case 4:
				n.Ended(job, task)
			case 5:
				if refs[job] > 0 {
					refs[job]--
					n.Released(job)
				}
			case 6:
				if len(n.copies) > 0 {
					a := n.copies[0]
					n.copies = n.copies[1:]
					n.copied(a, rng.IntN(4) > 0)
				}
			}
			n.step()
			if n.Used() > cfg.Capacity || n.Used() < 0 {
				t.Fatalf("seed %d: %d bytes are used", seed, n.Used())
			}
			sum := int64(0)
			for a := range n.disk {
				sum += tabs[a.Job].sizes[a.Task]
			}
			for _, a := range n.copies {
				sum += tabs[a.Job].sizes[a.Task]
			}
			if sum != n.Used() {
				t.Fatalf("seed %d: %d bytes are used, but %d counted", seed, sum, n.Used())
			}
		}
		for job, k := range refs {
			for range k {
				n.Released(job)
			}
		}
		if n.step().finish(true); n.Used() != 0 || len(n.disk) != 0 {
			t.Fatalf("seed %d: in the end %d bytes are used, %v are left", seed, n.Used(), n.disk)
		}
	}
}

// What fits exactly is staged, and nothing goes that needn't.
func TestRoomIsUsedUp(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 1, Capacity: 10}, 1)
	first, second := tableOf(5), tableOf(5)
	n.Probed(1, first)
	n.step().finish(true)
	n.Read(1, 0) // it hasn't started here: that isn't so
	first.started[0] = true
	n.Took(1, 0, first)
	n.Read(1, 0)
	n.Probed(2, second)
	n.step().finish(true).staged(2, 0)
	if !n.disk[staging.Action{Job: 1}] || n.Used() != 10 {
		t.Errorf("a copy went for nothing; %d bytes are used", n.Used())
	}
	n.Probed(3, tableOf(10))
	if n.step(); len(n.copies) != 0 || n.disk[staging.Action{Job: 1}] {
		t.Errorf("%v is copied", n.copies)
	}
	n.Released(2)
	n.Probed(3, tableOf(10))
	n.step().finish(true).staged(3, 0)
}

func TestReadingWhatHasNotStarted(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 1, Capacity: 5}, 1)
	n.Probed(1, tableOf(5))
	n.step().finish(true)
	n.Read(1, 0)
	n.Probed(2, tableOf(5))
	n.step().finish(true).staged(1, 0)
	n.staged(2)
}

// The copies of a job stay until its last probe has left; then the job is new.
func TestLastProbe(t *testing.T) {
	n := newNode(t, study, 1)
	tab := tableOf(2, 2)
	n.Probed(1, tab)
	n.Probed(1, tab)
	n.step().finish(true)
	n.Released(1)
	n.step().staged(1, 0, 1)
	n.Released(1)
	n.step().staged(1)
	n.isUnknown(1)
	n.Released(1)
	n.Probed(1, tab)
	if n.step(); len(n.copies) != 2 {
		t.Errorf("%d copies are made anew", len(n.copies))
	}
	n.finish(false)
	n.Released(1)
	n.step()
	n.Probed(1, tab)
	if n.step(); len(n.copies) != 2 {
		t.Errorf("after failures and the last probe: %v", n.copies)
	}
}

// A node follows the newest table; a job without tasks has nothing to stage.
func TestNewestTable(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 0, Capacity: 100}, 1)
	n.Probed(1, tableOf(1, 1, 1))
	n.Probed(2, tableOf())
	newest := tableOf(1, 1, 1)
	newest.started[0], newest.started[1], newest.started[2] = true, true, true
	n.Took(1, 0, newest)
	n.Took(2, 0, tableOf())
	if n.step(); len(n.copies) != 0 {
		t.Errorf("%v is copied", n.copies)
	}
	// The only task that waits is found among many.
	many := tableOf(slices.Repeat([]int64{1}, 200)...)
	for i := range int32(199) {
		many.started[i] = true
	}
	n.Took(1, 0, many)
	if n.step(); len(n.copies) != 1 || n.copies[0].Task != 199 {
		t.Errorf("%v is copied", n.copies)
	}
	n.Copied(1, 7, true) // nobody copies that
	if got := n.Staged(9, []int32{4}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// A caller that names what is to be staged gets that, once, and nothing that is drawn.
func TestNamedInputs(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, PerProbe: 2, Capacity: 10, Named: true}, 1)
	all := tableOf(1, 1, 1, 0, 1)
	n.Probed(1, all)
	n.step().finish(true)
	n.staged(1)
	all.started[2] = true
	n.Wanted(1, 2, false) // has started
	n.Wanted(1, 3, false) // has nothing to be staged
	n.Wanted(2, 0, false) // a job that isn't here
	if n.Waiting() {
		t.Error("something waits")
	}
	n.Wanted(1, 1, true)
	if !n.Waiting() {
		t.Error("the fast lane isn't looked at")
	}
	n.Wanted(1, 0, false)
	n.step()
	if len(n.copies) != 2 || n.Waiting() { // one of the queue, and the fast lane's
		t.Errorf("%+v are copied", n.copies)
	}
	if n.Wanted(1, 0, false); n.Waiting() {
		t.Error("what is copied is to be copied once more")
	}
	n.copied(n.copies[0], true)
	n.copies = n.copies[1:]
	n.staged(1, 1)
	n.finish(true).staged(1, 0, 1)
	n.Took(1, 0, all)
	n.step()
	if len(n.copies) != 0 {
		t.Errorf("%+v are copied, which nobody has named", n.copies)
	}
}

// The task of which nobody has asked for a copy is found among others, whatever is drawn.
func TestTheLastTaskIsFound(t *testing.T) {
	for seed := range uint64(100) {
		n := newNode(t, study, seed)
		tab := tableOf(1, 1, 0, 1, 1)
		tab.started[0], tab.started[1] = true, true
		n.Probed(1, tab)
		n.step().finish(true).staged(1, 3, 4)
		tab.started[0] = false
		n.Probed(1, tab)
		n.step().finish(true).staged(1, 0, 3, 4)
	}
}

// Each task is drawn as often as others.
func TestTasksAreDrawnByChance(t *testing.T) {
	const draws = 3000
	var count [3]int
	for seed := range uint64(draws) {
		n := newNode(t, staging.Config{Concurrent: 1, PerProbe: 1, Capacity: 1}, seed)
		n.Probed(1, tableOf(1, 1, 1))
		count[n.step().copies[0].Task]++
	}
	for task, k := range count {
		if k < draws/4 {
			t.Errorf("task %d is drawn %d times of %d", task, k, draws)
		}
	}
}

// One that has started takes no room, and lets a larger one behind it be copied. One that has ended isn't copied, though it failed and waits again.
func TestRequestsThatAreOver(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, Capacity: 9, Named: true}, 1)
	tab := tableOf(1, 1, 2, 1)
	n.Probed(1, tab)
	for task := range int32(4) {
		n.Wanted(1, task, false)
	}
	n.step()
	tab.started[1] = true
	n.Ended(1, 3)
	if n.finish(true); len(n.copies) != 1 || n.copies[0].Task != 2 {
		t.Fatalf("%v are copied", n.copies)
	}
	n.finish(true).staged(1, 0, 2)
}

// That a copy was made is taken in once.
func TestCopiesAreToldOfTwice(t *testing.T) {
	for _, ok := range []bool{true, false} {
		n := newNode(t, study, 1)
		n.Probed(1, tableOf(3))
		n.step().finish(true)
		n.Copied(1, 0, ok)
		n.step().staged(1, 0)
		if n.Used() != 3 || len(n.disk) != 1 {
			t.Errorf("%v: %d bytes are used, and %d inputs are there", ok, n.Used(), len(n.disk))
		}
	}
}

// A limit holds for the copies of waiting probes at once.
func TestALimitOfCopies(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 10, PerProbe: 5, Capacity: 1 << 30, Named: true}, 1)
	n.Limit(2)
	n.Probed(1, tableOf(1, 1, 1, 1, 1, 1))
	for i := range int32(6) {
		n.Wanted(1, i, false)
	}
	if n.step(); len(n.copies) != 2 {
		t.Errorf("%d copies instead of 2", len(n.copies))
	}
	if each, _ := n.Soon(1, time.Second); each != 4*time.Second {
		t.Errorf("a copy behind six others, two at a time, is made in %v", each)
	}
	n.Limit(3)
	if n.step(); len(n.copies) != 3 {
		t.Errorf("%d copies instead of 3", len(n.copies))
	}
	n.Limit(0)
	if n.step(); len(n.copies) != 6 {
		t.Errorf("%d copies without a limit", len(n.copies))
	}
}

// Nothing is used when no probe is left and no request waits, though copies may be under way. With their ends all is as at first.
func TestUnused(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, PerProbe: 2, Capacity: 10}, 1)
	is := func(want bool, when string) {
		t.Helper()
		if n.Unused() != want {
			t.Errorf("%s: %v", when, !want)
		}
	}
	is(true, "at first")
	n.Probed(1, tableOf(1, 1))
	is(false, "a probe is there")
	n.step()
	n.Released(1)
	is(false, "a request waits")
	n.step()
	if n.finish(true); len(n.copies) != 0 || n.Used() != 0 {
		t.Errorf("%v under way, %d bytes", n.copies, n.Used())
	}
	is(true, "at the end")
	n.Probed(2, tableOf(1))
	n.step()
	n.Released(2)
	is(true, "a copy is under way that nobody reads")
}

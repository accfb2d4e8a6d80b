package hopper_test

import (
	"math"
	"strings"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/hopper"
	"heddle/rm/scheduler/policy/leaf"
)

// Algorithm 2 with f = 6: the third job has its floor although the two others could use all slots, and others get what the first one doesn't use.
func TestFloors(t *testing.T) {
	a, b, c := newJob("A", 0, same(4, 9000)...), newJob("B", 0, same(100, 9000)...), newJob("C", 0, same(120, 9000)...)
	w := newWorld(t, 20, nil, a, b, c)
	w.run(0)
	if a.held != 4 || c.held != 6 || b.held != 10 {
		t.Errorf("A, B and C hold %d, %d and %d of 20 slots, want 4, 10 and 6", a.held, b.held, c.held)
	}
	fair := newWorld(t, 20, map[string]string{"root.a.ordering-policy.hopper.epsilon": "1"}, newJob("A", 0, same(4, 9000)...), newJob("B", 0, same(100, 9000)...), newJob("C", 0, same(120, 9000)...))
	fair.run(0)
	if n := fair.jobs[2].held; n != 0 {
		t.Errorf("without a floor C holds %d slots beside a smaller job that can use all of them", n)
	}
}

// What is kept for the copies of a larger job, and what it would keep once its tasks run, holds up no smaller one that has less than its slots: as
// the slots of a third one, which it had, come free, the smallest gets them first, then come its copies, and then the next job.
func TestNothingIsKeptFromSmallerJobs(t *testing.T) {
	lengths := make([]int64, 20) // one ends every second, from 2 s on
	for i := range lengths {
		lengths[i] = int64(i+2) * 1000
	}
	x, b, a := newJob("X", 0, append(lengths, same(100, 60_000)...)...), newJob("B", 1000, same(8, 50_000)...), newJob("A", 1000, same(4, 50_000)...)
	for _, j := range []*job{a, b} {
		j.seen, j.reports = 50_000, true
	}
	w := newWorld(t, 20, map[string]string{"root.a.ordering-policy.hopper.epsilon": "1"}, x, b, a)
	w.watch = func(now int64) {
		// A has 4 tasks in 6.7 slots, and B 8 in 13.3; A's first 4 slots come by 5 s, then 2 or 3 are kept for its copies.
		wantA := min(4, max(0, now/1000-1))
		wantB := min(8, max(0, now/1000-8))
		if now <= 20_000 && (int64(a.held) != wantA || int64(b.held) < wantB || int64(b.held) > wantB+1 && now > 5000) {
			t.Errorf("at %d A holds %d slots, and B %d; want %d and %d", now, a.held, b.held, wantA, wantB)
		}
	}
	w.run(20_000)
}

// A job that comes later gets its slots as tasks of others end; nothing is taken back.
func TestNothingIsTakenBack(t *testing.T) {
	a, b := newJob("A", 0, same(40, 4000)...), newJob("B", 1000, same(4, 1000)...)
	w := newWorld(t, 10, nil, a, b)
	w.watch = func(now int64) {
		if now == 3000 && (a.held != 10 || b.held != 0) {
			t.Errorf("before A's tasks end A and B hold %d and %d slots", a.held, b.held)
		}
		if now == 4000 && (a.held != 6 || b.held != 4) {
			t.Errorf("after A's tasks have ended A and B hold %d and %d slots", a.held, b.held)
		}
	}
	w.run(60_000)
	if b.ended != 5000 {
		t.Errorf("B ends at %d", b.ended)
	}
}

// An ApplicationMaster that makes its application small is believed only as far as what it holds and asks for allows. The others have their floors
// whatever it says, and so they end no later than with floors alone.
func TestAMThatLiesAboutItsTasks(t *testing.T) {
	run := func(lie func(leaf.TaskReport) leaf.TaskReport) (ends []int64, said string) {
		liar := newJob("L", 0, same(200, 1000)...)
		liar.seen, liar.reports, liar.lie = 500, true, lie
		jobs := []*job{newJob("A", 0, same(60, 1000)...), liar, newJob("B", 0, same(60, 1000)...)}
		w := newWorld(t, 20, nil, jobs...)
		w.watch = func(now int64) {
			if now == 0 {
				said = w.driver.StandingOf(liar.handle)
			}
			if jobs[0].ended >= 0 || jobs[2].ended >= 0 || liar.ended >= 0 {
				return
			}
			for _, j := range []*job{jobs[0], jobs[2]} {
				waiting, _, _, _ := j.counts(now)
				if j.held < 6 && waiting > 0 {
					t.Errorf("at %d the liar holds %d slots, and %s only %d, with %d tasks that wait; its floor is 6", now, liar.held, j.name, j.held, waiting)
				}
			}
		}
		w.run(600_000)
		for _, j := range jobs {
			if j.ended < 0 {
				t.Fatalf("%s never ends", j.name)
			}
			ends = append(ends, j.ended)
		}
		return ends, said
	}
	honest, _ := run(nil)
	for name, lie := range map[string]func(leaf.TaskReport) leaf.TaskReport{
		"one task left": func(r leaf.TaskReport) leaf.TaskReport { r.Left = 1; return r },
		"none left":     func(r leaf.TaskReport) leaf.TaskReport { r.Left = 0; return r },
		"very many":     func(r leaf.TaskReport) leaf.TaskReport { r.Left = math.MaxInt64; return r },
		"always young": func(r leaf.TaskReport) leaf.TaskReport {
			return leaf.TaskReport{Left: 1, Copies: true, Young: math.MaxInt64, Detection: math.MaxInt64}
		},
		"much to read": func(r leaf.TaskReport) leaf.TaskReport {
			r.ToRead, r.ToMake, r.Ended, r.Beta = math.MaxInt64, 1, math.MaxInt64, 1e-300
			return r
		},
	} {
		ends, said := run(lie)
		if strings.Contains(said, " 1 tasks") || strings.Contains(said, " 0 tasks") {
			t.Errorf("%s: the scheduler believes %q", name, said)
		}
		for i, end := range ends { // 60 tasks with a floor of 6 slots
			if i != 1 && end > 11_000 {
				t.Errorf("%s: job %d ends at %d; honest are %v", name, i, end, honest)
			}
		}
	}
}

// Of a flood of tiny jobs, which come faster than they can be served, a large one gets its floor, which is below one container, in time.
func TestNoFloodStarvesALargeJob(t *testing.T) {
	large := newJob("L", 0, same(12, 1000)...)
	jobs := []*job{large}
	for at := int64(0); at < 120_000; at += 1000 {
		for range 3 { // of 2 tasks each, in 4 slots
			jobs = append(jobs, newJob("t", at, 1000, 1000))
		}
	}
	w := newWorld(t, 4, nil, jobs...)
	w.run(119_000)
	if _, _, left, _ := large.counts(119_000); left > 6 {
		t.Errorf("after two minutes of the flood the large job has %d of its 12 tasks left", left)
	}
}

// However many decisions a leaf with many jobs makes, it is divided ten times a second.
func TestManyJobsAreDividedTenTimesASecond(t *testing.T) {
	const n = 1000
	p := hopper.New()
	view := func(h handle.App) leaf.App {
		return leaf.App{Handle: h, Seq: int64(h), Containers: 1, User: "u", Used: &slot, Pending: new(slot.Times(int64(h)))}
	}
	for h := range handle.App(n) {
		p.Asked(leaf.Ask{App: view(h), Priority: 1, Count: int32(h), Capability: slot})
	}
	changed := 0
	for i := range 100_000 {
		h := handle.App(i % n)
		if h == 0 { // one comes and goes all the time
			p.Left(h)
		}
		note := leaf.Note(0)
		p.Granted(view(h), leaf.Grant{Container: handle.Container(i), Note: &note, Resource: slot, Ask: leaf.Ask{App: view(h), Priority: 1, Count: 9, Capability: slot}})
		p.Ended(view(h), leaf.Node{}, leaf.Outcome{Container: handle.Container(i), Note: note, Resource: slot})
		changed += len(p.Tick(1000+int64(i)/100, leaf.Queue{Used: slot.Times(n), Free: slot.Times(int64(i % 7)), Types: 2})) // 100 a ms
	}
	if changed > 11*n {
		t.Errorf("in a second %d applications have changed, of %d", changed, n)
	}
	if due := p.Due(); due > 2000+100 || due == 0 {
		t.Errorf("the last division is due at %d", due)
	}
}

// One job of 100,000 tasks beside a small one.
func TestJobOf100000Tasks(t *testing.T) {
	large, small := newJob("L", 0), newJob("S", 0, same(3, 1000)...)
	large.tasks = []task{{original: 1000, copy: 1000, runs: [2]handle.Container{nothing, nothing}}}
	large.asks = 99_999
	w := newWorld(t, 10, nil, large, small)
	w.run(0)
	if small.held != 3 || large.held != 7 {
		t.Errorf("the large job holds %d slots, the small one %d", large.held, small.held)
	}
}

// Switched on while jobs run, it knows what they ask for and how much they hold; switched off it is gone.
func TestSwitchedOnAndOff(t *testing.T) {
	a, b := newJob("A", 0, same(40, 4000)...), newJob("B", 0, same(8, 4000)...)
	w := newWorld(t, 12, map[string]string{"root.a.ordering-policy": "fifo"}, a, b)
	w.run(0)
	if a.held != 12 || w.driver.StandingOf(b.handle) != "" {
		t.Fatalf("in order A holds %d slots, and B is told %q", a.held, w.driver.StandingOf(b.handle))
	}
	if err := w.driver.SetTree(treeOf(t, map[string]string{"root.a.ordering-policy.hopper.beta": "1.6"})); err != nil {
		t.Fatal(err)
	}
	w.driver.Step(1000)
	if got := w.driver.StandingOf(a.handle); !strings.Contains(got, "40 tasks, β 1.6") && !strings.Contains(got, "39 tasks, β 1.6") { // the first container may be its ApplicationMaster's
		t.Errorf("A is told %q", got)
	}
	if got := w.driver.StandingOf(b.handle); !strings.HasPrefix(got, "virtual size 10.0: 8 tasks") {
		t.Errorf("B is told %q", got)
	}
	if err := w.driver.SetTree(treeOf(t, map[string]string{"root.a.ordering-policy.hopper.beta": "1.2"})); err != nil {
		t.Fatal(err)
	}
	w.driver.Step(2000)
	if got := w.driver.StandingOf(b.handle); !strings.HasPrefix(got, "virtual size 13.3: 8 tasks") {
		t.Errorf("with another β B is told %q", got)
	}
	if err := w.driver.SetTree(treeOf(t, map[string]string{"root.a.ordering-policy": "fifo"})); err != nil {
		t.Fatal(err)
	}
	if got := w.driver.StandingOf(b.handle); got != "" {
		t.Errorf("switched off it tells %q", got)
	}
}

package probe

import (
	"math"
	"testing"
)

// Probes of a job that come together are one entry, as long as their number fits into it.
func TestProbesOfAJobAreOneEntry(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{}, jobs, Amount{MemoryMB: 1, VCores: 1})
	a := jobs.Add(Job{Left: 9, Size: Amount{MemoryMB: 1, VCores: 1}})
	for range 10 {
		w.Add(a)
	}
	l := &w.classes[0].users[0].line
	if l.len() != 1 || l.all()[0].more != 9 {
		t.Errorf("ten probes are %+v", l.all())
	}
	for _, c := range []struct {
		before  int32
		entries int
	}{{math.MaxInt32 - 1, 1}, {math.MaxInt32, 2}} {
		l.all()[0].more = c.before
		if w.Add(a); l.len() != c.entries || l.all()[0].more != math.MaxInt32 {
			t.Errorf("one more than %d: %+v", c.before, l.all())
		}
	}
}

// Numbers of probes begin anew when they are used up. A claim has none, and isn't taken for the probe with the number 0.
func TestClaimsAreNoProbes(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{}, jobs, Amount{MemoryMB: 9, VCores: 9})
	w.numbers = math.MaxUint32
	size := Amount{MemoryMB: 1, VCores: 1}
	w.Add(jobs.Add(Job{Left: 9, Size: size}))
	claim, _ := w.Claim(0, jobs.Add(Job{Left: 9, Size: size, Early: true}))
	w.Bind(claim.Slot, None)
	if all, waiting := w.Queued(); all != 1 || waiting != 1 {
		t.Errorf("of a queue of one probe %d are left, %d wait", all, waiting)
	}
}

// A probe whose job was launched before its queue was long is found when its turn comes, though nobody was told.
func TestShortQueuesBecomeLong(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{Ranking: Shortest}, jobs, Amount{MemoryMB: 1})
	var all []Handle
	for range few + 1 {
		all = append(all, jobs.Add(Job{Estimate: 1, Left: 1}))
		w.Add(all[len(all)-1])
	}
	w.Next(0) // looks at all
	for _, h := range all[1 : few-2] {
		w.Cancel(h)
	}
	jobs.SetLaunched(all[few-1])
	if a, ok := w.Next(0); !ok || a.Job != all[few-2] {
		t.Fatalf("%+v, %v", a, ok)
	}
	if d := w.Dropped(); len(d) != 1 || d[0] != all[few-1] {
		t.Errorf("%v are dropped, not %v", d, all[few-1])
	}
}

// The same for a probe that was put to one of the last entry while another entry was in two parts.
func TestQueuesBecomeLongByParts(t *testing.T) {
	for _, again := range []bool{false, true} {
		becomeLongByParts(t, again)
	}
}

// becomeLongByParts has a queue become long, perhaps once more.
func becomeLongByParts(t *testing.T, again bool) {
	t.Helper()
	jobs := &Jobs{}
	w := New(&Config{Ranking: Shortest, Bound: 1}, jobs, Amount{MemoryMB: 9})
	known := func(left int) Handle { return jobs.Add(Job{Estimate: 10, Left: left, Size: Amount{MemoryMB: 1}}) }
	for range few + 1 {
		if again {
			w.Add(known(1))
		}
	}
	w.StealAny(nil, 2*few)
	first, last := known(1), known(2)
	w.Add(first)
	w.Add(first)
	for range few - 2 {
		w.Add(known(9))
	}
	w.Add(last)
	next := func(want Handle) Slot {
		a, ok := w.Next(0)
		if !ok || a.Job != want {
			t.Fatalf("%+v, %v", a, ok)
		}
		return a.Slot
	}
	next(first)
	w.Add(last)
	next(first)
	w.Bind(next(last), Task) // no other one may overtake
	jobs.SetLaunched(last)
	next(last + 1)
	if d := w.Dropped(); len(d) != 1 || d[0] != last {
		t.Errorf("%v are dropped, not %v", d, last)
	}
}

// Nobody is told of a launched job whose user has left the node meanwhile.
func TestWatchersOfUsersThatLeft(t *testing.T) {
	for _, back := range []bool{false, true} {
		watchersOfUserThatLeft(t, back)
	}
}

// watchersOfUserThatLeft has a user leave, and perhaps come back with a short queue.
func watchersOfUserThatLeft(t *testing.T, back bool) {
	t.Helper()
	jobs := &Jobs{}
	w := New(&Config{Ranking: Shortest, Bound: 5}, jobs, Amount{MemoryMB: 1})
	var last Handle
	for range few + 2 {
		last = jobs.Add(Job{Left: 1, User: 1})
		w.Add(last)
	}
	w.StealAny(nil, 2*few)
	other := jobs.Add(Job{Left: 1, User: 2})
	w.Add(other)
	if back {
		w.Add(jobs.Add(Job{Left: 1, User: 1}))
	}
	jobs.SetLaunched(last)
	if a, ok := w.Next(0); !ok || a.Job != other {
		t.Errorf("%+v, %v", a, ok)
	}
}

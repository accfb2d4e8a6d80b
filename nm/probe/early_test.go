package probe

import (
	"testing"
	"time"
)

// A claimed task needs memory alone, whatever uses the vcores, and leaves them to late binding.
func TestClaimsShareProcessors(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{Sticky: true}, jobs, Amount{MemoryMB: 3, VCores: 1})
	size := Amount{MemoryMB: 1, VCores: 1}
	late := jobs.Add(Job{Left: 9, Size: size})
	early := jobs.Add(Job{Left: 9, Size: size, Early: true})
	var slots []Slot
	for i := range 2 {
		a, load := w.Claim(0, early)
		if w.Early(a.Slot) || a.Job != early {
			t.Errorf("claim %d has no room", i)
		}
		if load != (Load{Bound: int64(i), Of: 1}) {
			t.Errorf("claim %d is told of %+v", i, load)
		}
		w.Bind(a.Slot, Task)
		slots = append(slots, a.Slot)
	}
	if _, used := w.Use(); used != (Amount{MemoryMB: 2, VCores: 1}) {
		t.Errorf("%+v is used", used)
	}
	w.Add(late)
	a, ok := w.Next(0)
	if !ok || a.Job != late {
		t.Fatal("a late one has no room beside early ones")
	}
	w.Bind(a.Slot, Task)
	// The memory is used up. The next claim waits for room, and gets it when a task ends.
	x, load := w.Claim(0, early)
	if load.Bound != 3 {
		t.Errorf("%+v", load)
	}
	w.Bind(x.Slot, Task)
	if _, ok := w.Start(0); ok {
		t.Error("there is room without memory")
	}
	if !w.Early(x.Slot) || w.Hopeless(x.Slot) {
		t.Errorf("it waits: %t, without hope: %t", w.Early(x.Slot), w.Hopeless(x.Slot))
	}
	w.Free(time.Second, slots[0])
	if s, ok := w.Start(time.Second); !ok || s != x.Slot {
		t.Errorf("%d starts, %t", s, ok)
	}
	w.Lend(Amount{})
	y, load := w.Claim(0, early)
	if load != (Load{Bound: 3, Of: 1}) {
		t.Errorf("when nothing is lent: %+v", load)
	}
	for s, want := range map[Slot]bool{x.Slot: false, y.Slot: true} {
		if w.Early(s) != want || w.Hopeless(s) != want {
			t.Errorf("slot %d waits: %t, without hope: %t", s, w.Early(s), w.Hopeless(s))
		}
	}
	if w.Bind(y.Slot, None); w.bound != 3 {
		t.Errorf("%d vcores are bound after a claim without a task", w.bound)
	}
	for _, s := range []Slot{slots[1], x.Slot, y.Slot, a.Slot} {
		w.Free(2*time.Second, s)
	}
	w.Cancel(late)
	if _, used := w.Use(); used != (Amount{}) || w.bound != 0 || w.Running() != 0 {
		t.Errorf("%+v is used, %d vcores are bound, %d run", used, w.bound, w.Running())
	}
	swept := 0
	jobs.Sweep(func(Handle) { swept++ })
	if swept != 2 {
		t.Errorf("%d of 2 jobs are forgotten", swept)
	}
}

// Claims without room count against the limits of the queue.
func TestClaimsAreLimited(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{Probes: 4, PerUser: 2}, jobs, Amount{MemoryMB: 1, VCores: 1})
	a := jobs.Add(Job{Left: 9, Size: Amount{MemoryMB: 1, VCores: 1}, Early: true, User: 1})
	b := jobs.Add(Job{Left: 9, Size: Amount{MemoryMB: 1, VCores: 1}, Early: true, User: 2})
	w.Claim(0, a) // has room
	w.Claim(0, b)
	for _, want := range []Verdict{Accepted, Accepted, UserIsFull} {
		v := w.Offer(a)
		if v != want {
			t.Fatalf("%v, not %v", v, want)
		}
		if v == Accepted {
			w.Claim(0, a)
		}
	}
	w.Claim(0, b)
	if v := w.Offer(b); v != Full {
		t.Errorf("%v, not full", v)
	}
}

// A small claim doesn't overtake a large one that waits for memory.
func TestClaimsDoNotOvertake(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{}, jobs, Amount{MemoryMB: 3, VCores: 1})
	large := jobs.Add(Job{Left: 9, Size: Amount{MemoryMB: 2, VCores: 1}, Early: true})
	small := jobs.Add(Job{Left: 9, Size: Amount{MemoryMB: 1, VCores: 1}, Early: true})
	w.Claim(0, large)
	for _, h := range []Handle{large, small} {
		if a, _ := w.Claim(0, h); !w.Early(a.Slot) {
			t.Errorf("job %d has room before one that came earlier", h)
		}
	}
}

// Claimed tasks take no slot from late ones, so that these wait for none of them; and vcores that aren't lent are no hindrance for a claim.
func TestClaimsDoNotDelayLateTasks(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{}, jobs, Amount{MemoryMB: 2, VCores: 1})
	size := Amount{MemoryMB: 1, VCores: 1}
	early := jobs.Add(Job{Left: 9, Size: size, Early: true, Estimate: time.Hour})
	a, _ := w.Claim(0, early)
	w.Bind(a.Slot, Task)
	if q := w.Quote(jobs.Add(Job{Left: 9, Size: size})); q != (Quote{}) {
		t.Errorf("beside a claimed task %+v", q)
	}
	w.Lend(Amount{MemoryMB: 1})
	if b, _ := w.Claim(0, early); !w.Early(b.Slot) || w.Hopeless(b.Slot) {
		t.Error("without vcores a claim has no hope")
	}
}

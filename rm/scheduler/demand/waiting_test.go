package demand

import (
	"fmt"
	"slices"
	"testing"
)

// waits is a demand that wants a container on the host, and is blocked.
func waits(id int64, why Blocked) *Demand {
	d := &Demand{RequestID: id, Pending: 1, Why: why}
	d.Prefer(host, 1, true)
	return d
}

// log collects the ids of demands that are woken.
type log []int64

func (l *log) wake(d *Demand) {
	*l = append(*l, d.RequestID)
	d.Why = Untried
}

func (l *log) expect(t *testing.T, when string, want ...int64) {
	t.Helper()
	if !slices.Equal(*l, want) {
		t.Errorf("%s: %v are woken, not %v", when, *l, want)
	}
	*l = nil
}

// At a name, those are woken that no place had room for, or that were behind others of their application. All are told to look there again.
func TestDemandsAreAwaitedByName(t *testing.T) {
	var w Awaited
	var woken log
	w.Grow(4)
	if w.At(host) {
		t.Error("somebody waits at first")
	}
	all := map[Blocked]*Demand{}
	for why := Untried; why <= BehindOwn; why++ {
		all[why] = waits(int64(why), why)
		w.Await(host, all[why])
		w.Await(host, all[why]) // again
	}
	none := &Demand{RequestID: 99, Why: NoPlace}
	none.Prefer(host, 0, true)
	w.Await(host, none) // wants nothing there
	if !w.At(host) || w.At(rack) {
		t.Error("they wait elsewhere")
	}
	w.Wake(host, true, woken.wake)
	woken.expect(t, "a host has room", int64(NoPlace), int64(BehindOwn))
	for why, d := range all {
		if !d.Hosts || d.Racks {
			t.Errorf("blocked by %d: hosts %t, racks %t", why, d.Hosts, d.Racks)
		}
	}
	all[NoPlace].Why, all[NoPlace].gone = NoPlace, true
	all[BehindOwn].Why = BehindOwn
	w.Wake(host, false, woken.wake)
	woken.expect(t, "a rack has room, and one is gone", int64(BehindOwn))
	if !all[Waits].Racks || all[NoPlace].Racks {
		t.Error("told the wrong ones of the rack")
	}
	for _, d := range all {
		d.gone = true
	}
	w.Wake(host, true, woken.wake)
	if w.At(host) {
		t.Error("a name has waiters after all are gone")
	}
}

// Those that want nothing at a name any more are forgotten while others come, so that the list doesn't grow for good.
func TestAwaitedForgetsThoseThatWaitNoMore(t *testing.T) {
	var w Awaited
	w.Grow(4)
	keeps := waits(1_000_000, NoPlace)
	w.Await(host, keeps)
	for i := range int64(10_000) {
		d := waits(i, NoPlace)
		w.Await(host, d)
		if i%2 == 0 {
			d.gone = true
		} else {
			d.Prefer(host, 0, true)
		}
	}
	if n := len(w.waiters[host].list); n > 2*minWaiters {
		t.Errorf("%d wait, of which one wants anything", n)
	}
	var woken log
	w.Wake(host, true, woken.wake)
	if !slices.Contains(woken, keeps.RequestID) {
		t.Error("the one that waits was forgotten")
	}
	again := waits(5, NoPlace) // and one that was forgotten may wait again
	again.Prefer(host, 0, true)
	w.Await(host, again)
	again.Prefer(host, 1, true)
	w.Await(host, again)
	again.Why = NoPlace
	w.Wake(host, true, woken.wake)
	if !slices.Contains(woken, again.RequestID) {
		t.Error("one that wants a place again isn't woken")
	}
	w.Forget(host)
	if w.At(host) || w.waiters[host].list != nil {
		t.Error("a name is not forgotten")
	}
}

func TestParkedDemands(t *testing.T) {
	var p Parked
	var woken log
	all := map[Blocked]*Demand{}
	for why := Untried; why <= BehindOwn; why++ {
		all[why] = waits(int64(why), why)
		p.Add(all[why])
		p.Add(all[why])
	}
	if got := fmt.Sprint(len(p.list)); got != "3" { // those that are untried leave at the first look
		t.Errorf("%s are parked", got)
	}
	no := func(*Demand) bool { return false }
	p.Wake(no, woken.wake)
	woken.expect(t, "nothing has changed")
	p.Wake(func(d *Demand) bool { return d.Why == NoRoom }, woken.wake)
	woken.expect(t, "there is room", int64(NoRoom))
	if p.Empty() {
		t.Error("one that is over its limit isn't parked any more")
	}
	all[NoRoom].Why = NoRoom
	p.Add(all[NoRoom])
	all[OverLimit].gone = true
	p.Wake(func(*Demand) bool { return true }, woken.wake)
	woken.expect(t, "all may be tried, and one is gone", int64(NoRoom))
	if !p.Empty() {
		t.Error("some are left")
	}
}

func TestTimedDemands(t *testing.T) {
	var l Timed
	var woken log
	var later []int64
	first, second, other, lost := waits(1, NoPlace), waits(2, Waits), waits(3, NoRoom), waits(4, NoPlace)
	for i, d := range []*Demand{first, second, other, lost} {
		l.Add(d, int64(10+i))
		d.Racks = false
	}
	lost.gone = true
	l.Add(first, 12) // it waits for longer
	l.Wake(11, woken.wake, func(at int64) { later = append(later, at) })
	woken.expect(t, "at 11", 2)
	if !slices.Equal(later, []int64{12, 12}) {
		t.Errorf("the next are due at %v", later)
	}
	if second.Until != 0 || !second.Racks {
		t.Errorf("one that was woken: %+v", second)
	}
	l.Wake(12, woken.wake, func(int64) { t.Error("something is left") })
	woken.expect(t, "at 12", 1) // the third has become blocked by something else meanwhile
	if other.Until != 0 || other.Racks || len(l.list) != 0 {
		t.Errorf("one that waits for something else: %+v", other)
	}
}

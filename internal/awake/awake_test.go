package awake

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimersCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-1, 0, time.Millisecond, look, look + 1, 90 * time.Minute} {
			began, called := time.Now(), make(chan time.Duration, 2)
			x := AfterFunc(d, func() { called <- time.Since(began) })
			if took := <-called; took != max(d, 0) {
				t.Errorf("%v: called after %v", d, took)
			}
			if x.Stop() {
				t.Errorf("%v: stopped when it was over", d)
			}
			time.Sleep(2 * look)
			if len(called) > 0 {
				t.Errorf("%v: called twice", d)
			}
		}
	})
}

func TestStoppedTimersDontCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := AfterFunc(3*look, func() { t.Error("called") })
		time.Sleep(2*look + look/2)
		if !x.Stop() || x.Stop() {
			t.Error("it is stopped once")
		}
		time.Sleep(9 * look)
	})
}

// What passes between two looks that are far apart doesn't count, however often that happens.
func TestStandstillsDontCount(t *testing.T) {
	x := &Timer{left: time.Minute, next: look}
	for range 100 {
		x.count(look + late)
		x.count(time.Hour)
	}
	if x.left != time.Minute {
		t.Errorf("%v are left", x.left)
	}
	if x.count(look + late - 1); x.left != time.Minute-look-late+1 {
		t.Errorf("a late look doesn't count: %v are left", x.left)
	}
}

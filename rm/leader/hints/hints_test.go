package hints

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/yarn/records"
)

func gb(n int64) records.Resource { return records.NewResource(n<<10, n) }

// sample measures the queue "a" with some applications.
func sample(m *Meters, now time.Duration, apps ...*app) {
	m.sample()
	for _, a := range apps {
		m.add("a", a)
	}
	m.close(now)
}

// A queue with 8 containers of 1 GB, of which 2 are reduces that wait for maps, and an application with 4 of 2 GB. In 10 s five of the former end
// and, as their ApplicationMaster says, ten tasks in the latter.
func TestSection431(t *testing.T) {
	var m Meters
	if m.due(time.Second); (m.queues["a"] != nil) || m.of("a", &app{containers: 1, used: gb(1)}) != (Hints{}) {
		t.Error("nobody wants to know, and it is measured")
	}
	m.Ended("a", &records.Resource{1 << 20, 1})
	m.Want("a", time.Second)
	small := &app{containers: 8, maps: 6, used: gb(8), reduces: gb(2)}
	large := &app{containers: 4, used: gb(8), report: &Report{Released: 7, Available: 3}, before: 7}
	idle := &app{}
	if !m.due(time.Second) {
		t.Error("a queue isn't measured at once")
	}
	sample(&m, time.Second, small, large, idle)
	if h := m.of("a", small); h != (Hints{}) {
		t.Errorf("before a window is over: %+v", h)
	}
	for range 5 {
		one := gb(1)
		m.Ended("a", &one)
		m.Ended("other", &one)
	}
	large.report = &Report{Released: 17, Available: 3}
	if m.due(10*time.Second) || !m.due(11*time.Second) {
		t.Error("measured when?")
	}
	sample(&m, 11*time.Second, small, large, idle)
	// 25 GB in 10 s are released; of 16 GB 2 wait and 2 are no slots.
	if h, want := m.of("a", small), (Hints{Frequency: 2.5, Available: 12, Jobs: 2}); !h.Near(want) {
		t.Errorf("in containers of 1 GB: %+v, want %+v", h, want)
	}
	if h, want := m.of("a", large), (Hints{Frequency: 1.25, Available: 6, Jobs: 2}); !h.Near(want) {
		t.Errorf("in containers of 2 GB: %+v, want %+v", h, want)
	}
	if h := m.of("a", idle); h != (Hints{}) {
		t.Errorf("an application without containers is told %+v", h)
	}
	if m.due(time.Hour); m.queues["a"] != nil {
		t.Error("a queue is measured for ever")
	}
}

func TestNear(t *testing.T) {
	h := Hints{Frequency: 10, Available: 100, Jobs: 3, Bandwidth: 1000, Divides: true, Copies: 4}
	change := func(f func(*Hints)) Hints {
		o := h
		f(&o)
		return o
	}
	for _, o := range []Hints{change(func(o *Hints) { o.Frequency = 10.4 }), change(func(o *Hints) { o.Available, o.Bandwidth = 104, 960 })} {
		if !h.Near(o) || !o.Near(h) {
			t.Errorf("%+v isn't near", o)
		}
	}
	for _, o := range []Hints{
		change(func(o *Hints) { o.Frequency = 10.6 }), change(func(o *Hints) { o.Available = 106 }), change(func(o *Hints) { o.Jobs = 2 }),
		change(func(o *Hints) { o.Bandwidth = 1060 }), change(func(o *Hints) { o.Copies = 5 }), change(func(o *Hints) { o.Divides = false }),
		{},
	} {
		if h.Near(o) || o.Near(h) {
			t.Errorf("%+v is near", o)
		}
	}
}

// Whatever ApplicationMasters say, hints are numbers, and nobody makes the queue faster than its containers can be.
func TestAnyReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meters
		now := time.Duration(0)
		m.Want("a", now)
		a := &app{containers: 3, used: gb(3)}
		for range rapid.IntRange(2, 9).Draw(t, "samples") {
			now += time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second
			a.report = &Report{rapid.Int64().Draw(t, "released"), rapid.Int64().Draw(t, "available")}
			sample(&m, now, a)
			a.before = a.report.Released
			h := m.of("a", a)
			if !(h.Frequency >= 0 && h.Available >= 0 && h.Available <= 3+1e-9) || math.IsInf(h.Frequency, 0) || h.Jobs < 0 || h.Jobs > 1 {
				t.Fatalf("hints %+v", h)
			}
		}
	})
}

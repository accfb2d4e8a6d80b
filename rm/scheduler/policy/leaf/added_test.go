package leaf_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

var gb = schedulertest.GB

// smallestFirst serves the application first that asks for least, lets each have 2 GB, and holds what is asked for at priority 10 until
// second 5, and at 11 until second 8, if the application has nothing yet. It is a leaf policy that comes in without a change anywhere else.
type smallestFirst struct {
	open    bool
	started map[handle.App]bool
	changed []handle.App
	log     []string
}

func (p *smallestFirst) Ratio(a leaf.App) float64 { return float64(a.Pending[records.Memory]) }

func (p *smallestFirst) Cap(leaf.App) records.Resource { return gb(2) }

func (p *smallestFirst) Hold(k leaf.Ask) (held bool, until int64) {
	if p.started[k.App.Handle] || p.open {
		return false, 0
	}
	return k.Priority == 10 || k.Priority == 11, map[int32]int64{10: 5000, 11: math.MaxInt64}[k.Priority]
}

func (p *smallestFirst) Granted(a leaf.App, g leaf.Grant) {
	p.started[a.Handle] = true
	p.changed = append(p.changed, a.Handle)
	p.log = append(p.log, fmt.Sprint("granted on ", g.Node.Handle))
}

func (p *smallestFirst) Ended(_ leaf.App, n leaf.Node, _ leaf.Outcome) {
	p.log = append(p.log, fmt.Sprint("ended on ", n.Handle))
}

func (p *smallestFirst) Left(a handle.App) {
	delete(p.started, a)
	p.log = append(p.log, "left")
}

func (p *smallestFirst) Tick(now int64, _ leaf.Queue) []handle.App {
	changed := p.changed
	p.changed = nil
	if now >= 8000 && !p.open {
		p.open = true
		changed = append(changed, 0, 1, 2) // those that there aren't do no harm
	}
	return changed
}

// hostile does what no policy may: it answers anything at all, and mostly that everybody has to wait for ever.
type hostile struct{ n uint64 }

// next is anything, the same in each run. Answers change although nothing was told, which policies promise not to do.
func (p *hostile) next(n uint64) uint64 {
	p.n = p.n*6364136223846793005 + 1442695040888963407
	return p.n >> 33 % n
}

func (p *hostile) Ratio(leaf.App) float64 {
	return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1}[p.next(6)]
}

func (p *hostile) Cap(leaf.App) records.Resource {
	return []records.Resource{{}, gb(-1), {math.MinInt64, math.MinInt64}}[p.next(3)]
}

func (p *hostile) Hold(leaf.Ask) (held bool, until int64) {
	return p.next(8) > 0, []int64{math.MaxInt64, math.MinInt64, 0, 1}[p.next(4)]
}
func (p *hostile) Granted(leaf.App, leaf.Grant)            {}
func (p *hostile) Ended(leaf.App, leaf.Node, leaf.Outcome) {}
func (p *hostile) Left(handle.App)                         {}
func (p *hostile) Tick(int64, leaf.Queue) []handle.App {
	return []handle.App{handle.App(p.next(9)), -1, math.MaxInt32}
}

// changing holds requests of priority 10 back from when it is told to.
type changing struct{ holds bool }

func (*changing) Ratio(leaf.App) float64                    { return 0 }
func (*changing) Cap(leaf.App) records.Resource             { return leaf.Uncapped() }
func (p *changing) Hold(k leaf.Ask) (bool, int64)           { return p.holds && k.Priority == 10, math.MaxInt64 }
func (*changing) Granted(leaf.App, leaf.Grant)              {}
func (*changing) Ended(leaf.App, leaf.Node, leaf.Outcome)   {}
func (*changing) Left(handle.App)                           {}
func (*changing) Tick(int64, leaf.Queue) (all []handle.App) { return []handle.App{0, 1} }

var (
	latest *smallestFirst
	minded *changing
)

func init() {
	leaf.Register("changing", func() leaf.Policy {
		minded = &changing{}
		return minded
	})
	leaf.Register("smallest-first", func() leaf.Policy {
		latest = &smallestFirst{started: map[handle.App]bool{}}
		return latest
	})
	leaf.Register("hostile", func() leaf.Policy { return &hostile{n: 1} })
}

func tree(t rapid.TB, policy string) *queue.Tree {
	t.Helper()
	x, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": policy, "root.a.user-limit-factor": "100",
		"maximum-am-resource-percent": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func driver(t rapid.TB, policy string, size int64) *drive.Driver {
	d := drive.New(scheduler.Config{Tree: tree(t, policy), Minimum: gb(1), Heartbeat: time.Second})
	d.AddNode(scheduler.NodeSpec{Host: "n0", Rack: "/r", Capability: gb(size)})
	return d
}

func app(d *drive.Driver, seq int64) handle.App {
	return d.AddApp(drive.AppSpec{
		AppSpec: scheduler.AppSpec{Seq: seq, Queue: "root.a", User: "u", AM: gb(1)}, ID: records.ApplicationID{ID: int32(seq)},
	})
}

func row(priority, count int32, size int64) scheduler.Ask {
	return scheduler.Ask{Priority: priority, Name: scheduler.Any, Count: count, Capability: gb(size), RelaxLocality: true}
}

// grants returns the applications that get containers at a time, and the containers.
func grants(d *drive.Driver, now int64) (apps []handle.App, held []handle.Container) {
	for _, x := range d.Step(now) {
		if x.Kind == drive.Allocate {
			apps, held = append(apps, x.App), append(held, x.Container)
		}
	}
	return apps, held
}

func TestOrderAndCapOfAnAddedPolicy(t *testing.T) {
	d := driver(t, "smallest-first", 3)
	large, small := app(d, 1), app(d, 2)
	d.UpdateAsks(large, []scheduler.Ask{row(1, 4, 1)})
	d.UpdateAsks(small, []scheduler.Ask{row(1, 3, 1)})
	got, held := grants(d, 0)
	if want := []handle.App{small, small, large}; !slices.Equal(got, want) {
		t.Fatalf("%v are served, not %v", got, want)
	}
	d.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: gb(9)})
	if got, _ = grants(d, 1); !slices.Equal(got, []handle.App{large}) {
		t.Fatalf("beside the caps %v are served", got)
	}
	r := d.Explain(small)
	if len(r) != 1 || r[0].Limit != explain.LeafPolicy || r[0].Bound != gb(2) || r[0].Used != gb(2) || r[0].Short != records.NewResource(1<<10, 0) ||
		!strings.Contains(r[0].Text, "leaf policy smallest-first of queue root.a lets the application have") {
		t.Errorf("explained as %+v", r)
	}
	if room := d.HeadroomOf(small); room[records.Memory] != 0 {
		t.Errorf("at its cap the application's headroom is %v", room)
	}
	d.Free(held[0])
	if got, _ = grants(d, 2); !slices.Equal(got, []handle.App{small}) {
		t.Errorf("below the cap %v are served", got)
	}
	want := []string{"granted on 0", "granted on 0", "granted on 0", "granted on 1", "ended on 0"}
	if len(latest.log) != 6 || !slices.Equal(latest.log[:5], want) {
		t.Errorf("the policy was told %q", latest.log)
	}
}

// A cap holds for no longer than the application may wait, counted from when it began to.
func TestHowLongACapHolds(t *testing.T) {
	g := leaf.New("smallest-first")
	for _, c := range []struct {
		since, now int64
		most       records.Resource
		until      int64
	}{
		{0, 5000, gb(2), 5000 + leaf.Bound}, // it doesn't wait
		{1000, 5000, gb(2), 1000 + leaf.Bound},
		{1000, 999 + leaf.Bound, gb(2), 1000 + leaf.Bound},
		{1000, 1000 + leaf.Bound, leaf.Uncapped(), 1000 + leaf.Bound},
	} {
		if most, until := g.Cap(leaf.App{}, c.since, c.now); most != c.most || until != c.until {
			t.Errorf("waiting since %d, at %d: %v until %d, want %v until %d", c.since, c.now, most, until, c.most, c.until)
		}
	}
}

// A request is held until the time that the policy says, at which the driver asks to be called; or until the policy says so.
func TestHoldOfAnAddedPolicy(t *testing.T) {
	d := driver(t, "smallest-first", 9)
	reduces := app(d, 1)
	d.UpdateAsks(reduces, []scheduler.Ask{row(10, 1, 1)})
	if got, _ := grants(d, 100); len(got) > 0 {
		t.Fatalf("%v are served at once", got)
	}
	r := d.Explain(reduces)
	if len(r) != 1 || r[0].Limit != explain.LeafPolicy || r[0].Until != 5000 || !strings.Contains(r[0].Text, "holds it back, for 4.9s at the most") {
		t.Errorf("explained as %+v", r)
	}
	now := int64(100)
	for range 10 {
		next := d.NextWake()
		if next <= now {
			t.Fatalf("at %d the next wake-up is at %d", now, next)
		}
		now = next
		if got, _ := grants(d, now); len(got) > 0 {
			break
		}
	}
	if now != 5000 {
		t.Errorf("it was served at %d", now)
	}
	both := app(d, 2)
	d.UpdateAsks(both, []scheduler.Ask{row(11, 1, 1), row(20, 1, 1)})
	var priorities []int32
	for _, x := range d.Step(5001) {
		priorities = append(priorities, x.Priority)
	}
	if want := []int32{0, 20, 11}; !slices.Equal(priorities, want) { // the first one makes the application active
		t.Errorf("priorities %v are served, not %v", priorities, want)
	}
}

// A reservation that was made before its request is held isn't filled: others get the room, until the request may go on.
func TestHoldAfterAReservation(t *testing.T) {
	for _, holds := range []bool{false, true} {
		d := driver(t, "changing", 3)
		d.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: gb(3)})
		other, reduces := app(d, 1), app(d, 2)
		d.UpdateAsks(other, []scheduler.Ask{row(1, 2, 2)})
		_, held := grants(d, 1)
		d.UpdateAsks(reduces, []scheduler.Ask{row(10, 1, 2)})
		reserved := false
		for _, x := range d.Step(2) {
			reserved = reserved || x.Kind == drive.Reserve && x.App == reduces
		}
		if len(held) != 2 || !reserved {
			t.Fatalf("%d containers run, and a node is reserved: %v", len(held), reserved)
		}
		minded.holds = holds
		d.Free(held[0])
		d.Free(held[1])
		d.UpdateAsks(other, []scheduler.Ask{row(1, 2, 3)})
		got, _ := grants(d, 3)
		want := []handle.App{reduces, other}
		if holds {
			want = []handle.App{other, other}
		}
		if !slices.Equal(got, want) {
			t.Errorf("held %v: %v are served, want %v", holds, got, want)
		}
	}
}

// What Tick says of an application holds with the same call of Step.
func TestTickOfAnAddedPolicy(t *testing.T) {
	d := driver(t, "smallest-first", 9)
	h := app(d, 1)
	grants(d, 6000)
	d.UpdateAsks(h, []scheduler.Ask{row(11, 1, 1)})
	for now := int64(6001); now < 8000; now = d.NextWake() {
		if got, _ := grants(d, now); len(got) > 0 {
			t.Fatalf("%v are served at %d", got, now)
		}
	}
	if got, _ := grants(d, d.NextWake()); !slices.Equal(got, []handle.App{h}) {
		t.Errorf("at %d %v are served", d.NextWake(), got)
	}
}

// A policy that wants nobody served can delay each container by leaf.Bound, and no more.
func TestNoPolicyStarvesAnybody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := driver(t, "hostile", rapid.Int64Range(4, 6).Draw(t, "node"))
		pending := map[handle.App]int64{}
		total := int64(0)
		for i := range rapid.Int64Range(1, 3).Draw(t, "applications") {
			h := app(d, i+1)
			for k := range rapid.Int32Range(1, 2).Draw(t, "requests") {
				n := rapid.Int32Range(1, 2).Draw(t, "containers")
				d.UpdateAsks(h, []scheduler.Ask{row(k, n, rapid.Int64Range(1, 2).Draw(t, "size"))})
				pending[h], total = pending[h]+int64(n), total+int64(n)
			}
		}
		late := rapid.SampledFrom([]int64{0, leaf.Interval, leaf.Bound / 20, leaf.Bound}).Draw(t, "how late the owner calls")
		served := map[handle.App]int64{}
		for now := int64(0); total > 0; now = max(now+late, d.NextWake()) {
			got, held := grants(d, now)
			for i, h := range got {
				d.Free(held[i])
				pending[h]--
				served[h] = now
			}
			total -= int64(len(got))
			for h, n := range pending {
				if waited := now - served[h]; n > 0 && waited > leaf.Bound+leaf.Interval+late {
					t.Fatalf("application %d has waited for %d ms, for %d containers: %+v", h, waited, n, d.Explain(h))
				}
			}
			if total > 0 && len(got) == 0 && d.NextWake() <= now {
				t.Fatalf("at %d, with %d containers pending, the next wake-up is at %d", now, total, d.NextWake())
			}
		}
	})
}

// A leaf may get another policy while applications wait in it; what the one before held is free.
func TestAnotherPolicyForALeaf(t *testing.T) {
	d := driver(t, "smallest-first", 9)
	h := app(d, 1)
	d.UpdateAsks(h, []scheduler.Ask{row(10, 1, 1)})
	if got, _ := grants(d, 1); len(got) > 0 {
		t.Fatalf("%v are served", got)
	}
	if err := d.SetTree(tree(t, "fifo")); err != nil {
		t.Fatal(err)
	}
	if got, _ := grants(d, 2); !slices.Equal(got, []handle.App{h}) {
		t.Errorf("by fifo %v are served", got)
	}
	if err := d.SetTree(tree(t, "smallest-first")); err != nil {
		t.Fatal(err)
	}
	d.UpdateAsks(h, []scheduler.Ask{row(10, 1, 1)})
	if got, _ := grants(d, 3); len(got) > 0 {
		t.Errorf("by the new policy %v are served", got)
	}
}

// All policies are known to package queue, which refuses others with the list of them.
func TestUnknownPolicy(t *testing.T) {
	for _, name := range leaf.Names() {
		tree(t, name)
	}
	_, err := queue.ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": "lottery"})
	if err == nil || !strings.Contains(err.Error(), strings.Join(leaf.Names(), ", ")) {
		t.Errorf("got %v, which doesn't name %v", err, leaf.Names())
	}
	for _, f := range map[string]func(){
		"twice":   func() { leaf.Register("fifo", nil) },
		"unknown": func() { leaf.Rule("lottery") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			f()
		}()
	}
}

// Who waits for too long is found also where the policy hears of something with each step, and so is told the time more often than each
// Interval.
func TestWaitingIsBoundedInABusyLeaf(t *testing.T) {
	d := driver(t, "smallest-first", 2)
	large, small := app(d, 1), app(d, 2)
	d.UpdateAsks(large, []scheduler.Ask{row(1, 5, 2)})
	d.UpdateAsks(small, []scheduler.Ask{row(1, 1, 2)})
	now := int64(0)
	for ; now <= leaf.Bound+leaf.Interval; now += 100 {
		got, held := grants(d, now)
		if len(got) != 1 {
			t.Fatalf("%v are served at %d", got, now)
		}
		d.Free(held[0])
		if got[0] == large {
			break
		}
		d.UpdateAsks(small, []scheduler.Ask{row(1, 1, 2)})
	}
	if now < leaf.Bound || now > leaf.Bound+leaf.Interval {
		t.Errorf("the application whose turn never comes is served after %d ms", now)
	}
}

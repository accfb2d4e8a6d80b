package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// suspendingTree draws queues from which resources are taken by suspension.
func suspendingTree(t *rapid.T) *queue.Tree {
	share := rapid.IntRange(5, 95).Draw(t, "share")
	tree, err := queue.ParseCapacity(map[string]string{
		"maximum-am-resource-percent": "1", "root.queues": "a,b", "root.a.user-limit-factor": "9", "root.b.user-limit-factor": "9",
		"root.a.capacity": fmt.Sprint(share), "root.b.capacity": fmt.Sprint(100 - share), "root.b.maximum-capacity": fmt.Sprint(rapid.IntRange(100-share, 100).Draw(t, "most")),
		"root.a.heddle-preemption": rapid.SampledFrom([]string{"suspend", "suspend-immediate"}).Draw(t, "means"),
		"root.b.heddle-preemption": rapid.SampledFrom([]string{"suspend", "suspend-immediate", "none", "kill"}).Draw(t, "other means"),
		"resource-calculator":      "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	})
	if err != nil {
		t.Fatal(err)
	}
	preempt(tree, every, wait, false)
	s := &tree.Settings.Suspension
	s.Tries, s.Ranking = rapid.IntRange(0, 3).Draw(t, "tries"), suspension.Ranking(rapid.IntRange(0, 2).Draw(t, "order"))
	s.Step, s.Longest = gb(rapid.Int64Range(1, 2).Draw(t, "step")), time.Duration(rapid.IntRange(0, 30).Draw(t, "longest"))*time.Second
	s.Most = rapid.IntRange(0, 3).Draw(t, "most")
	return tree
}

// place is a container that lives, as its leader knows it.
type place struct {
	app, node int
	claim     records.Resource
	number    int64
}

// leading drives a Driver as leaders do, one after the other.
type leading struct {
	d     *drive.Driver
	tree  *queue.Tree
	now   int64
	ids   int64
	nodes map[int]scheduler.NodeHandle
	sizes map[int]records.Resource
	able  map[int]drive.Ability
	apps  map[int]scheduler.AppHandle
	where map[int]string // queues of applications
	live  map[scheduler.ContainerHandle]place
	over  map[int]bool   // nodes that may hold more than they have: they said so, or were made smaller
	by    map[int64]bool // numbers of containers that people have suspended: they don't resume by themselves
	// stopped are those that their ApplicationMasters have frozen: they are never chosen.
	stopped map[int64]bool
	next    int
	log     []string
	kinds   map[drive.Kind]int
}

func sorted[K ~int | ~int32, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (l *leading) fault(format string, args ...any) {
	l.log = append(l.log, fault+fmt.Sprintf(format, args...))
}

func (l *leading) addApp(i int) {
	l.apps[i] = l.d.AddApp(drive.AppSpec{
		AppSpec: scheduler.AppSpec{Seq: int64(i), Queue: l.where[i], User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: int32(i)},
	})
}

func (l *leading) addNode(i int) {
	l.nodes[i] = l.d.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("n", i), Rack: "/r", Capability: l.sizes[i]})
	l.d.SetAbility(l.nodes[i], l.able[i])
}

// takeOver has a new leader go on with what is on record.
func (l *leading) takeOver() {
	was, held := l.live, map[scheduler.ContainerHandle]records.Resource{}
	for h := range was {
		held[h] = l.d.Held(h)
	}
	l.d = drive.New(scheduler.Config{Tree: l.tree, Minimum: gb(1), Heartbeat: time.Second})
	l.live = map[scheduler.ContainerHandle]place{}
	for _, i := range sorted(l.nodes) {
		l.addNode(i)
	}
	for _, i := range sorted(l.apps) {
		l.addApp(i)
	}
	for _, h := range sorted(was) {
		c := was[h]
		k := l.d.Restore(l.apps[c.app], l.nodes[c.node], c.claim, drive.Container{Attempt: 1, ID: c.number, Since: l.now})
		if l.by[c.number] {
			l.d.SetPast(k, 1, l.now)
			if !l.d.Of(k).NoteHeld(k, held[h]) {
				l.fault("%v can't hold %v of %v", l.d.ContainerID(k), held[h], c.claim)
			}
		} else if held[h] != c.claim && !l.d.WasSuspended(k, held[h], l.now, "root.b") {
			l.fault("%v can't have been suspended with %v of %v", l.d.ContainerID(k), held[h], c.claim)
		}
		if l.stopped[c.number] {
			l.d.SetStopped(k, true)
		}
		l.live[k] = c
	}
}

func (l *leading) step(t *rapid.T) {
	draw := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	var h scheduler.ContainerHandle
	var c place
	if all := sorted(l.live); len(all) > 0 {
		h = rapid.SampledFrom(all).Draw(t, "container")
		c = l.live[h]
	}
	switch event := draw("event", 30); {
	case event == 0 || len(l.nodes) == 0:
		l.next++
		l.sizes[l.next] = gb(int64(2 + draw("size", 8)))
		l.able[l.next] = drive.Ability{Suspend: draw("suspends", 5) > 0, Shrink: draw("shrinks", 2) > 0, Reclaim: draw("reclaims", 2) > 0}
		l.addNode(l.next)
	case event == 1 || len(l.apps) == 0:
		l.next++
		l.where[l.next] = rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "queue")
		l.addApp(l.next)
	case event <= 6:
		size := gb(int64(1 + draw("gb", 3)))
		if draw("cores alone", 9) == 0 {
			size[records.Memory] = 0
		}
		l.d.UpdateAsks(l.apps[rapid.SampledFrom(sorted(l.apps)).Draw(t, "app")], []scheduler.Ask{{
			Priority: 1, Count: int32(draw("count", 6)), Name: scheduler.Any, Capability: size, RelaxLocality: true,
		}})
	case event == 7:
		l.d.SetProgress(l.apps[rapid.SampledFrom(sorted(l.apps)).Draw(t, "app")], float64(draw("percent", 100))/100)
	case event == 8 && draw("whether", 3) == 0:
		n := rapid.SampledFrom(sorted(l.nodes)).Draw(t, "node")
		for _, h := range sorted(l.live) {
			if l.live[h].node == n {
				l.d.Free(h)
				delete(l.live, h)
			}
		}
		l.d.RemoveNode(l.nodes[n])
		delete(l.nodes, n)
	case event == 9 && draw("whether", 2) == 0:
		l.takeOver()
	case event == 10:
		i := rapid.SampledFrom(sorted(l.apps)).Draw(t, "app")
		l.where[i] = rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "queue")
		l.d.MoveApp(l.apps[i], l.where[i])
	case event == 26 || event == 27:
		n := rapid.SampledFrom(sorted(l.nodes)).Draw(t, "node")
		l.sizes[n] = gb(int64(draw("new size", 10)))
		l.d.At(l.nodes[n]).SetCapability(l.nodes[n], l.sizes[n])
		l.over[n] = true
	case event == 28:
		l.tree = suspendingTree(t)
		if err := l.d.SetTree(l.tree); err != nil {
			t.Fatal(err)
		}
	case c.number == 0:
	case event == 11 || event == 12:
		l.d.Free(h)
		delete(l.live, h)
	case event == 13:
		if l.d.Return(h, false) {
			delete(l.by, c.number)
			l.mayExceed(h)
		}
	case event == 17:
		if _, _, chosen := l.d.Suspended(h); !chosen && l.d.Held(h) == c.claim {
			to := c.claim
			to[records.VCores], to[records.Memory] = 0, int64(draw("kept", int(c.claim[records.Memory])))
			l.by[c.number] = l.d.Of(h).SetHeld(h, to)
		}
	case event == 20:
		if _, _, chosen := l.d.Suspended(h); !chosen {
			l.stopped[c.number] = !l.stopped[c.number]
			l.d.SetStopped(h, l.stopped[c.number])
		}
	case event == 18:
		l.d.SetMemory(h, int64(draw("bytes", 1<<30)))
	case event == 19:
		l.d.Took(h, int64(draw("took", 10_000)))
	case event == 23 || event == 24:
		_ = l.d.Swap(h, 1, int64(draw("request", 1))-1)
	case event == 25:
		l.d.Unswap(h)
	case event == 14:
		delete(l.by, c.number)
		if l.d.Refused(h, true); l.d.Held(h) != c.claim {
			l.fault("a node refuses to suspend %v, which holds %v", l.d.ContainerID(h), l.d.Held(h))
		}
		l.over[c.node] = true
	case event == 15:
		l.d.Grow(h, c.claim.Add(gb(1)))
	case event == 16 && c.claim[records.VCores] > 1:
		if to := c.claim.Sub(gb(1)).Max(records.Resource{}); l.d.Of(h).ResizeContainer(h, to) {
			c.claim = to
			l.live[h] = c
		}
	default:
		l.now += int64(draw("ms", 2500))
	}
	for l.decide() {
		continue
	}
	l.check()
}

func (l *leading) decide() (again bool) {
	var kill []scheduler.ContainerHandle
	for _, d := range l.d.Step(l.now) {
		l.kinds[d.Kind]++
		l.log = append(l.log, fmt.Sprintf("%d: %+v", l.now, d))
		c, live := l.live[d.Container]
		switch d.Kind {
		case drive.Allocate:
			l.ids++
			c = place{claim: d.Resource, number: l.ids}
			for i, h := range l.apps {
				if h == d.App {
					c.app = i
				}
			}
			for i, h := range l.nodes {
				if h == d.Node {
					c.node = i
				}
			}
			l.d.Identify(1, l.ids, false, d.Container)
			l.live[d.Container] = c
		case drive.Grow:
			c.claim = d.Resource
			l.live[d.Container] = c
		case drive.Suspend, drive.Shrink, drive.Resume:
			if !live || d.App != l.apps[c.app] || d.Reason == "" {
				l.fault("%+v; there is %+v", d, c)
			}
			if l.stopped[c.number] {
				l.fault("%+v: it stands still because somebody else wants that", d)
			}
			if strings.HasSuffix(d.Reason, "another container of its application makes way") {
				l.mayExceed(d.Container)
			}
			if whole := d.Resource == c.claim; whole != (d.Kind == drive.Resume) {
				l.fault("%+v of %v", d, c.claim)
			}
			if able := l.able[c.node]; d.Kind == drive.Suspend && !able.Suspend || d.Kind == drive.Suspend && !able.Reclaim && d.Resource[records.Memory] != c.claim[records.Memory] && d.Resource[records.Memory] > 64 {
				l.fault("a node that can %+v is to take %+v", able, d)
			}
		case drive.Charge:
			if d.Reason == "nothing else runs where it lacks room" {
				l.mayExceed(d.Container)
			}
			if !live || !d.Resource.FitsIn(c.claim) || d.Resource == c.claim {
				l.fault("%+v; there is %+v", d, c)
			}
		case drive.Kill:
			kill = append(kill, d.Container)
		}
	}
	for _, h := range kill {
		l.d.Free(h)
		delete(l.live, h)
	}
	return len(kill) > 0
}

// mayExceed notes that a container may bring its node above what it has, if all others there stand still.
func (l *leading) mayExceed(h scheduler.ContainerHandle) {
	at := l.live[h].node
	for k, c := range l.live {
		if k != h && c.node == at && l.d.Held(k) == c.claim && !l.stopped[c.number] {
			return
		}
	}
	l.over[at] = true
}

// check compares what nodes, queues and users are charged to what containers claim and hold.
func (l *leading) check() {
	onNode, held, claims := map[int]records.Resource{}, map[string]records.Resource{}, map[string]records.Resource{}
	for _, h := range sorted(l.live) {
		c := l.live[h]
		has := l.d.Held(h)
		_, _, suspended := l.d.Suspended(h)
		if l.d.Claim(h) != c.claim || !has.FitsIn(c.claim) || has != c.claim && !suspended && !l.by[c.number] || suspended && l.by[c.number] {
			l.fault("%v holds %v of %v, suspended: %v", l.d.ContainerID(h), has, c.claim, suspended)
		}
		q := l.where[c.app]
		onNode[c.node], held[q], claims[q] = onNode[c.node].Add(has), held[q].Add(has), claims[q].Add(c.claim)
	}
	for i := range l.nodes {
		if !onNode[i].FitsIn(l.sizes[i]) && !l.over[i] {
			l.fault("node %d of %v has %v", i, l.sizes[i], onNode[i])
		}
	}
	for _, path := range []string{"root.a", "root.b"} {
		v, _ := l.d.Queue(path)
		if used := v.Used.Sub(v.Reserved); used != held[path] || l.d.Withheld(path) != claims[path].Sub(held[path]) {
			l.fault("%s is charged %v, and lacks %v; its containers hold %v of %v", path, used, l.d.Withheld(path), held[path], claims[path])
		}
		for _, u := range v.Users {
			if used := u.Used.Sub(u.Reserved); used != claims[path] {
				l.fault("%s has %v in %s, the containers claim %v", u.Name, used, path, claims[path])
			}
		}
	}
}

// pass lets time pass, a heartbeat at a time.
func (l *leading) pass(heartbeats int) {
	for range heartbeats {
		l.now += 1000
		for l.decide() {
			continue
		}
	}
	l.check()
}

// runs is who may end by himself: of those who run with what they claim one, else one who runs with less.
func (l *leading) runs() (one scheduler.ContainerHandle, ok bool) {
	whole := false
	for _, h := range sorted(l.live) {
		c := l.live[h]
		_, _, suspended := l.d.Suspended(h)
		switch {
		case l.by[c.number] || l.stopped[c.number]:
		case !suspended:
			one, ok, whole = h, true, true
		case !whole && l.d.Held(h)[records.VCores] > 0:
			one, ok = h, true
		}
	}
	return one, ok
}

// rest has those that run end, one after the other: then each suspended container has its claim again, whatever nodes and queues have become.
func (l *leading) rest() {
	for _, i := range sorted(l.apps) {
		l.d.ClearAsks(l.apps[i])
	}
	tries := l.tree.Settings.Suspension.Tries + 2
	l.pass(2 * (len(l.live) + 1) * tries)
	for _, h := range sorted(l.live) {
		_, _, suspended := l.d.Suspended(h)
		if c := l.live[h]; suspended && l.d.Of(h).CanHold(h, c.claim) {
			l.fault("%v has room for its claim, and holds %v of %v", l.d.ContainerID(h), l.d.Held(h), c.claim)
		}
	}
	for h, ok := l.runs(); ok; h, ok = l.runs() {
		l.d.Free(h)
		delete(l.live, h)
		l.pass(tries)
	}
	l.nobodyWaits()
}

func (l *leading) nobodyWaits() {
	for _, h := range sorted(l.live) {
		if _, _, suspended := l.d.Suspended(h); suspended {
			l.fault("%v holds %v of %v, and nobody runs who could make room for it", l.d.ContainerID(h), l.d.Held(h), l.live[h].claim)
		}
	}
}

// Whatever happens, claims and held amounts sum up everywhere, a container that is suspended resumes when there is room for it for good, and
// the same events lead to the same decisions.
func TestSuspensionAddsUp(t *testing.T) {
	kinds := map[drive.Kind]int{}
	history := rapid.Custom(func(t *rapid.T) []string {
		tree := suspendingTree(t)
		l := &leading{
			d: drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second}), tree: tree, now: 1000,
			nodes: map[int]scheduler.NodeHandle{}, sizes: map[int]records.Resource{}, able: map[int]drive.Ability{},
			apps: map[int]scheduler.AppHandle{}, where: map[int]string{}, live: map[scheduler.ContainerHandle]place{}, over: map[int]bool{}, by: map[int64]bool{}, stopped: map[int64]bool{}, kinds: kinds,
		}
		for range 80 {
			l.step(t)
		}
		l.rest()
		return l.log
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<20).Draw(t, "seed")
		once, again := history.Example(n), history.Example(n)
		if diff := cmp.Diff(once, again); diff != "" {
			t.Fatal(diff)
		}
		for i, line := range once {
			if strings.HasPrefix(line, fault) {
				t.Fatal(strings.Join(once[max(0, i-30):i+1], "\n"))
			}
		}
	})
	for _, k := range []drive.Kind{drive.Suspend, drive.Shrink, drive.Resume, drive.Charge, drive.Grow} {
		if kinds[k] == 0 {
			t.Errorf("the histories are of no use: %v decisions by kind", kinds)
		}
	}
}

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
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

const (
	every = time.Second
	wait  = 2 * time.Second
)

// trees draw queues with rounds of preemption.
var trees = map[string]func(*rapid.T) *queue.Tree{
	"capacity": func(t *rapid.T) *queue.Tree { return capacityTree(t, false) },
	"lazy":     func(t *rapid.T) *queue.Tree { return capacityTree(t, true) },
	"fair":     fairTree,
}

func capacityTree(t *rapid.T, lazy bool) *queue.Tree {
	share := rapid.IntRange(1, 99).Draw(t, "share")
	settings := map[string]string{
		"maximum-am-resource-percent": "1", "root.queues": "a,b", "root.a.user-limit-factor": "9", "root.b.user-limit-factor": "9",
		"root.a.capacity": fmt.Sprint(share), "root.b.capacity": fmt.Sprint(100 - share),
		"root.a.ordering-policy": rapid.SampledFrom([]string{"fifo", "fair"}).Draw(t, "ordering"),
	}
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	preempt(tree, every, wait, lazy)
	p := &tree.Settings.Preemption
	p.Intra.Enabled, p.Underused.Enabled, p.Underused.Move = rapid.Bool().Draw(t, "intra"), rapid.Bool().Draw(t, "underused"), true
	p.Underused.Delay, p.ForReserved = 0, rapid.Bool().Draw(t, "for reserved")
	return tree
}

func fairTree(t *rapid.T) *queue.Tree {
	policy := rapid.SampledFrom([]string{"fair", "drf", "fifo"}).Draw(t, "policy")
	tree, err := queue.ParseFair([]byte(fmt.Sprintf(`<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault>
		<defaultFairSharePreemptionTimeout>1</defaultFairSharePreemptionTimeout>
		<defaultFairSharePreemptionThreshold>1</defaultFairSharePreemptionThreshold>
		<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
		<queue name="a"><weight>%d</weight><schedulingPolicy>%s</schedulingPolicy></queue><queue name="b"/></allocations>`,
		rapid.IntRange(1, 3).Draw(t, "weight"), policy)))
	if err != nil {
		t.Fatal(err)
	}
	preempt(tree, every, wait, false)
	return tree
}

// world drives a Driver through random events, as a leader would.
type world struct {
	d       *drive.Driver
	tree    func(*rapid.T) *queue.Tree
	now     int64
	nodes   []scheduler.NodeHandle
	apps    []scheduler.AppHandle
	spared  map[scheduler.AppHandle]bool
	seq     int64
	ids     int64
	live    map[scheduler.ContainerHandle]drive.Decision
	masters map[scheduler.ContainerHandle]bool
	told    map[records.ContainerID]int64
	log     []string
	kinds   map[drive.Kind]int
}

func newWorld(t *rapid.T, tree func(*rapid.T) *queue.Tree, kinds map[drive.Kind]int) *world {
	return &world{
		d: drive.New(scheduler.Config{Tree: tree(t), Minimum: gb(1), Heartbeat: 100 * time.Millisecond}), tree: tree,
		spared: map[scheduler.AppHandle]bool{}, live: map[scheduler.ContainerHandle]drive.Decision{},
		masters: map[scheduler.ContainerHandle]bool{}, told: map[records.ContainerID]int64{}, kinds: kinds,
	}
}

func (w *world) step(t *rapid.T) {
	queues := []string{"root.a", "root.b"}
	switch event := rapid.IntRange(0, 14).Draw(t, "event"); {
	case event == 0 || len(w.nodes) == 0:
		w.nodes = append(w.nodes, w.d.AddNode(scheduler.NodeSpec{
			Host: fmt.Sprint("n", len(w.nodes)), Rack: "/r", Capability: gb(rapid.Int64Range(1, 8).Draw(t, "size")),
		}))
	case event == 1 || len(w.apps) == 0:
		w.seq++
		spared := rapid.Bool().Draw(t, "spared")
		h := w.d.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: w.seq, Queue: rapid.SampledFrom(queues).Draw(t, "queue"), User: "u", AM: gb(1)},
			ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(w.seq)}, SpareMaster: spared,
		})
		w.apps, w.spared[h] = append(w.apps, h), spared
	case event <= 5:
		w.d.UpdateAsks(rapid.SampledFrom(w.apps).Draw(t, "app"), []scheduler.Ask{{
			Priority: rapid.Int32Range(0, 1).Draw(t, "priority"), Count: rapid.Int32Range(0, 6).Draw(t, "count"), Name: scheduler.Any,
			Capability: gb(rapid.Int64Range(1, 4).Draw(t, "gb")), RelaxLocality: true,
		}})
	case event == 6:
		if all := w.containers(); len(all) > 0 {
			w.free(rapid.SampledFrom(all).Draw(t, "container"))
		}
	case event == 7:
		a := rapid.SampledFrom(w.apps).Draw(t, "app")
		for _, h := range w.containers() {
			if w.live[h].App == a {
				w.free(h)
			}
		}
		w.d.RemoveApp(a)
		w.apps = slices.DeleteFunc(w.apps, func(h scheduler.AppHandle) bool { return h == a })
	case event == 8:
		w.d.MoveApp(rapid.SampledFrom(w.apps).Draw(t, "app"), rapid.SampledFrom(queues).Draw(t, "queue"))
	case event == 14:
		if all := w.containers(); len(all) > 0 {
			h := rapid.SampledFrom(all).Draw(t, "container")
			w.d.Grow(h, w.live[h].Resource.Add(gb(rapid.Int64Range(1, 4).Draw(t, "growth"))))
		}
	case event == 9 && rapid.IntRange(0, 5).Draw(t, "whether") == 0:
		if err := w.d.SetTree(w.tree(t)); err != nil {
			t.Fatal(err)
		}
	default:
		w.now += rapid.Int64Range(0, 1500).Draw(t, "ms")
	}
	for w.decide(t) {
		continue
	}
}

// containers are those that live, in order.
func (w *world) containers() []scheduler.ContainerHandle {
	all := make([]scheduler.ContainerHandle, 0, len(w.live))
	for h := range w.live {
		all = append(all, h)
	}
	slices.Sort(all)
	return all
}

func (w *world) free(h scheduler.ContainerHandle) {
	w.d.Free(h)
	delete(w.live, h)
	delete(w.masters, h)
}

// decide carries decisions out, and reports whether containers had to end.
func (w *world) decide(t *rapid.T) bool {
	var kill []scheduler.ContainerHandle
	for _, d := range w.d.Step(w.now) {
		w.kinds[d.Kind]++
		w.log = append(w.log, fmt.Sprintf("%d: %+v", w.now, d))
		switch d.Kind {
		case drive.Allocate:
			w.ids++
			master := !slices.ContainsFunc(w.containers(), func(h scheduler.ContainerHandle) bool { return w.live[h].App == d.App })
			if rapid.IntRange(0, 9).Draw(t, "named") > 0 {
				w.d.Identify(1, w.ids, master, d.Container)
			}
			w.live[d.Container], w.masters[d.Container] = d, master
		case drive.Grow:
			c := w.live[d.Container]
			if c.Resource == d.Resource || !c.Resource.FitsIn(d.Resource) {
				w.fault("%v grows from %v to %v", w.d.ContainerID(d.Container), c.Resource, d.Resource)
			}
			c.Resource = d.Resource
			w.live[d.Container] = c
		case drive.Tell, drive.Killable, drive.Kill:
			w.chosen(&d)
		}
		if d.Kind == drive.Kill {
			kill = append(kill, d.Container)
		}
	}
	for _, h := range kill {
		w.free(h)
	}
	return len(kill) > 0
}

// fault notes something that must not be. An example that fails would only be drawn anew.
func (w *world) fault(format string, args ...any) {
	w.log = append(w.log, fault+fmt.Sprintf(format, args...))
}

const fault = "fault: "

// chosen checks what preemption does to a container.
func (w *world) chosen(d *drive.Decision) {
	id := w.d.ContainerID(d.Container)
	c, live := w.live[d.Container]
	switch {
	case !live || c.App != d.App || c.Resource != d.Resource:
		w.fault("%v is preempted: %+v; there is %+v", id, d, c)
	case id.ID == 0:
		w.fault("a container is preempted that has no name: %+v", d)
	case d.Reason == "":
		w.fault("%v is preempted for no reason", id)
	case w.masters[d.Container] && w.spared[d.App]:
		w.fault("%v runs an ApplicationMaster that is spared", id)
	}
	if d.Kind == drive.Tell {
		w.told[id] = w.now
		return
	}
	at, told := w.told[id]
	if !told || w.now-at < wait.Milliseconds() {
		w.fault("%v is chosen at %d, and its ApplicationMaster was told at %d (%v)", id, w.now, at, told)
	}
}

// Two Drivers that see the same events decide the same, with the same reasons, rounds of preemption included. Nobody loses a
// container without a warning.
func TestSameEventsSameDecisions(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			kinds := map[drive.Kind]int{}
			history := rapid.Custom(func(t *rapid.T) []string {
				w := newWorld(t, tree, kinds)
				for range 80 {
					w.step(t)
				}
				return w.log
			})
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(0, 1<<20).Draw(t, "seed")
				once, again := history.Example(n), history.Example(n)
				if diff := cmp.Diff(once, again); diff != "" {
					t.Fatal(diff)
				}
				for i, line := range once {
					if strings.HasPrefix(line, fault) {
						t.Fatal(strings.Join(once[:i+1], "\n"))
					}
				}
			})
			if kinds[drive.Tell] == 0 {
				t.Errorf("the histories are of no use: %v decisions by kind", kinds)
			}
		})
	}
}

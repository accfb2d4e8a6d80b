package opportunity_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"heddle/rm/leader/division"
	"heddle/rm/leader/level"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/opportunity"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a node with an ApplicationMaster (1) and containers with long tasks (2, 3, and 4 that is larger, and isn't started), and what is between the node and Dice.
type world struct {
	*looptest.Loop
	*opportunity.Preemption
	t       *testing.T
	node    records.NodeID
	attempt records.AttemptID
	log     *logtest.Hook

	asked, may, lends, settled bool
	refuses                    error // why containers can't be suspended, and can't resume

	room  records.Resource
	ready bool
	long  bool
}

var (
	small = records.NewResource(1024, 1)
	large = records.NewResource(2048, 1)
	least = records.NewResource(64, 0)
)

func begin(t *testing.T, features ...string) *world {
	w := &world{Loop: looptest.New(t), t: t, node: records.NodeID{Host: "n1", Port: 1}, asked: true, may: true, lends: true, settled: true}
	w.attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	settings := &division.Settings{Settings: partition.Eagle(time.Minute, 0)}
	settings.Dice = partition.Study(0)
	log, hook := logtest.NewNullLogger()
	w.log = hook
	w.Preemption = opportunity.New(w.State, opportunity.Config{
		Settings: settings, Levels: w, Loans: w, Asked: func(records.NodeID) bool { return w.asked },
		Long: func(records.ApplicationID) (bool, bool) { return true, w.may }, Now: w.Loop.Now, Log: logrus.NewEntry(log),
	})
	grant := func(id int64, size records.Resource, am bool) *ledgerpb.Command {
		return &ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(w.attempt), Grants: []*ledgerpb.Grant{{
			Id: id, Node: ledger.NodeRef(w.node), Resource: ledger.Amounts(size), Am: am, AllocationRequestId: -1,
		}}}}
	}
	w.do(func() {
		for _, c := range []*ledgerpb.Command{
			{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}},
			{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
			{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}},
			{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(w.node), Capability: ledger.Amounts(records.NewResource(8192, 8)), Features: features}},
			{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
				App: ledger.AppRef(w.attempt.App), User: "u", Queue: "root.a", MaxAttempts: 1, Context: &pb.ApplicationSubmissionContext{}, AmResource: ledger.Amounts(small),
			}},
			{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(w.attempt)}},
			grant(1, large, true),
			{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: ledger.AttemptRef(w.attempt)}},
			grant(2, small, false), grant(3, small, false), grant(4, large, false),
			{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(w.id(1), w.id(2), w.id(3))}},
		} {
			w.Enter(c)
		}
	})
	return w
}

func (w *world) id(i int64) records.ContainerID {
	return records.ContainerID{Attempt: w.attempt, ID: i}
}

func (w *world) do(f func()) {
	w.t.Helper()
	if err := w.Do(func() error { f(); return nil }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) change(c *ledger.Container, l ledgerpb.Level, held records.Resource, by string) {
	w.Enter(c.ChangeLevel(l, held, ledger.Cause{User: by}))
}

func (w *world) Take(c *ledger.Container, by string) error {
	if w.refuses == nil {
		w.change(c, ledgerpb.Level_RECLAIMED, least, by)
	}
	return w.refuses
}

func (w *world) Give(c *ledger.Container) error {
	if w.refuses == nil {
		w.change(c, ledgerpb.Level_RUNNING, c.Resource, "")
	}
	return w.refuses
}

func (w *world) Lends(records.NodeID) bool   { return w.lends }
func (w *world) Settled(records.NodeID) bool { return w.settled }
func (w *world) SetRoom(_ records.NodeID, room records.Resource, ready bool) {
	w.room, w.ready = room, ready
}
func (w *world) SetLong(_ records.NodeID, long bool) { w.long = long }

// hears passes on what the node says.
func (w *world) hears(waiting int, reports ...level.Report) {
	w.t.Helper()
	w.do(func() { w.Heard(w.node, waiting, reports) })
}

func (w *world) ticks(changed ...records.NodeID) {
	w.t.Helper()
	w.do(func() { w.Tick(changed) })
}

// suspended are the containers that stand still for short tasks.
func (w *world) suspended() (ids []int64) {
	for i := int64(1); i <= 4; i++ {
		if c := w.State.Container(w.id(i)); c != nil && c.Suspended() && c.Suspension().User == ledger.ForShortTasks {
			ids = append(ids, i)
		}
	}
	return ids
}

func (w *world) expect(what string, ids ...int64) {
	w.t.Helper()
	if got := w.suspended(); !slices.Equal(got, ids) {
		w.t.Errorf("%s: suspended are %v, not %v", what, got, ids)
	}
}

// there is what the node says of a container whose room is there.
func (w *world) there(i int64) level.Report {
	return level.Report{Container: w.id(i), Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED}
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// Of containers that run, those are taken first that were suspended for short tasks least often, then the largest, then the oldest. None is taken a third time.
func TestWhichContainerIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		again := func(ids ...int64) {
			t.Helper()
			w.hears(1)
			w.expect("in turn", ids...)
			time.Sleep(100 * time.Second)
			w.ticks(w.node) // it resumes
			w.expect("after 100 s")
			w.hears(0)
			w.ticks(w.node) // another window
		}
		w.hears(0)
		w.ticks(w.node)
		w.expect("while nobody waits")
		for _, id := range []int64{2, 3} {
			again(id)
		}
		w.do(func() {
			w.Enter(&ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(w.id(4))}})
		})
		for _, ids := range [][]int64{{4}, {4}, {2}, {3}, {}} {
			again(ids...)
		}
	})
}

// Each of these forbids it, and nothing else does.
func TestWhatForbidsSuspension(t *testing.T) {
	for name, forbid := range map[string]func(w *world){
		"":                           func(*world) {},
		"it wasn't asked":            func(w *world) { w.asked = false },
		"nothing is lent":            func(w *world) { w.lends = false },
		"tasks can't stand still":    func(w *world) { w.may = false },
		"without Dice":               func(w *world) { w.Settings.Dice = nil },
		"it has no room":             func(w *world) { w.refuses = errors.New("no swap") },
		"somebody has one suspended": func(w *world) { w.change(w.State.Container(w.id(3)), ledgerpb.Level_FROZEN, small, "ann") },
		"it is drained": func(w *world) {
			w.State.Nodes[w.node].State = pb.NodeState_NS_DECOMMISSIONING
		},
	} {
		bubble(t, func(t *testing.T) {
			w := begin(t, level.FeatureSuspend, level.FeatureLevels)
			w.do(func() { forbid(w) })
			w.hears(1)
			if got := len(w.suspended()) == 1; got != (name == "") {
				t.Errorf("%q: suspended are %v", name, w.suspended())
			}
			if name == "it has no room" && (w.log.LastEntry().Message != "can't be suspended for short tasks" || w.room != (records.Resource{})) {
				t.Errorf("%q, and %v is lent", w.log.LastEntry().Message, w.room)
			}
			if said := len(w.log.AllEntries()); said != 1 && (name == "" || name == "it has no room") || said > 0 && name == "nothing is lent" {
				t.Errorf("%q: %d lines in the log", name, said)
			}
		})
	}
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend)
		w.hears(1)
		w.expect("a node that knows no levels")
	})
}

// Room is lent when the node says of this container that it is there, and not any more when it is to resume. The container waits for what runs there, and for room.
func TestRoomOfASuspendedContainer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.hears(1)
		lent := func(what string, room records.Resource, ready bool) {
			t.Helper()
			if w.room != room || w.ready != ready {
				t.Errorf("%s: %v, ready %v", what, w.room, w.ready)
			}
		}
		all := small.Sub(least)
		lent("at once", all, false)
		other, refused, way := w.there(3), w.there(2), w.there(2)
		refused.Reason, way.Level = "no swap", pb.ContainerLevel_LEVEL_FROZEN
		w.hears(1, level.Report{Container: w.id(2), Wanted: pb.ContainerLevel_LEVEL_RUNNING, Level: pb.ContainerLevel_LEVEL_RUNNING})
		lent("it hasn't heard of it", all, false)
		w.hears(1, other)
		lent("another one is there", all, false)
		w.hears(1, refused)
		lent("it has no room", all, false)
		w.hears(1, way)
		lent("it is on its way", all, false)
		w.hears(1, w.there(2))
		lent("it is there", all, true)
		if w.long {
			t.Error("short tasks avoid the node")
		}
		w.do(func() { w.NodeRegistered(w.node) })
		lent("it has registered", all, false)
		w.hears(0, w.there(2))
		lent("it says so again", all, true)
		time.Sleep(100*time.Second - time.Millisecond)
		w.ticks()
		lent("before it is due", all, true)
		w.settled = false
		time.Sleep(time.Millisecond)
		w.ticks()
		lent("when it is due", records.Resource{}, false)
		w.expect("while short tasks run there", 2)
		w.settled, w.refuses = true, errors.New("no room")
		w.ticks()
		w.expect("without room", 2)
		w.refuses, w.asked = nil, false
		w.ticks()
		if w.expect("with room"); !w.long {
			t.Error("it runs, and short tasks don't avoid the node")
		}
		w.asked = true
		w.hears(1)
		w.expect("in the same window")
		w.asked = false
		w.ticks(w.node)
		w.hears(1)
		if w.expect("in a window in which it isn't asked"); !w.long {
			t.Error("short tasks don't avoid the node")
		}
		w.asked = true
		w.ticks(w.node)
		w.expect("in a window in which it is asked again", 3)
		if w.long {
			t.Error("short tasks avoid the node")
		}
	})
}

// A container that somebody else has resumed, or that has ended, leaves no room. Neither does a node that is gone. Where Dice is switched off a container resumes.
func TestRoomThatIsGone(t *testing.T) {
	for name, x := range map[string]struct {
		do   func(w *world)
		want []int64
	}{
		"resumed": {func(w *world) { w.change(w.State.Container(w.id(2)), ledgerpb.Level_RUNNING, small, "") }, []int64{}},
		"ended": {func(w *world) {
			w.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: ledger.ContainerRef(w.id(2))}}}})
		}, []int64{}},
		"Dice is off": {func(w *world) { w.Settings.Dice = nil }, []int64{}},
	} {
		bubble(t, func(t *testing.T) {
			w := begin(t, level.FeatureSuspend, level.FeatureLevels)
			w.hears(1)
			w.hears(0, w.there(2))
			w.do(func() { x.do(w) })
			w.ticks()
			if w.expect(name, x.want...); w.room != (records.Resource{}) || w.ready {
				t.Errorf("%s: %v is lent", name, w.room)
			}
		})
	}
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.hears(1)
		w.do(func() { delete(w.State.Nodes, w.node) })
		w.room = large
		w.ticks(w.node)
		w.hears(1)
		if w.room != large {
			t.Error("something is said of a node that is gone")
		}
	})
}

// A tick finds the nodes that are asked while short tasks wait there already.
func TestNodesThatAreAskedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.asked = false
		w.hears(1)
		w.asked = true
		w.do(func() { w.NodeRegistered(records.NodeID{Host: "n2"}) })
		w.ticks()
		w.expect("asked", 2)
	})
}

// What somebody else has suspended neither counts nor resumes.
func TestSuspensionsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		others := func(l ledgerpb.Level) {
			for i := int64(2); i <= 3; i++ {
				w.do(func() { w.change(w.State.Container(w.id(i)), l, w.State.Container(w.id(i)).Resource, "ann") })
				time.Sleep(time.Second)
			}
		}
		for range 2 {
			others(ledgerpb.Level_FROZEN)
			w.hears(1)
			time.Sleep(200 * time.Second)
			w.ticks(w.node)
			if !w.State.Container(w.id(2)).Suspended() || w.room != (records.Resource{}) {
				t.Errorf("it resumes for short tasks; %v is lent", w.room)
			}
			w.hears(0)
			others(ledgerpb.Level_RUNNING)
		}
		w.hears(1)
		w.expect("nobody has suspended anything for short tasks", 2)
	})
}

// The container that an earlier leader has suspended resumes when its room is free, before its time is up, also where nothing is long any more.
func TestSuspensionsOfAnEarlierLeader(t *testing.T) {
	for _, cutoff := range []time.Duration{time.Minute, 0} {
		bubble(t, func(t *testing.T) {
			w := begin(t, level.FeatureSuspend, level.FeatureLevels)
			w.hears(1)
			w.Settings.Cutoff = cutoff
			w.Preemption = opportunity.New(w.State, w.Config)
			w.settled = false
			w.hears(1, w.there(2))
			if w.expect("its room is used", 2); w.room != (records.Resource{}) {
				t.Errorf("%v is lent", w.room)
			}
			w.settled = true
			w.ticks()
			w.expect("its room is free")
		})
	}
}

// A container that somebody else had resume isn't taken again before Dice asks once more, and no other one is.
func TestSomebodyElseHasItResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.hears(1)
		w.expect("at first", 2)
		w.do(func() { _ = w.Give(w.State.Container(w.id(2))) })
		w.hears(2)
		w.ticks()
		if w.expect("in the same window"); w.room != (records.Resource{}) {
			t.Errorf("%v is lent", w.room)
		}
		w.ticks(w.node)
		w.expect("in the next one", 3)
		time.Sleep(100 * time.Second)
		w.ticks() // it resumes
		w.expect("when its time is up")
		w.ticks(w.node)
		w.expect("and when it has resumed by itself", 2)
	})
}

// Short tasks avoid nodes where containers with long tasks live, ApplicationMasters apart, if the rules are so.
func TestWhatShortTasksAvoid(t *testing.T) {
	ends := func(w *world, ids ...int64) {
		for _, id := range ids {
			w.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: ledger.ContainerRef(w.id(id))}}}})
		}
	}
	for name, x := range map[string]struct {
		do   func(w *world)
		says bool // something is said at all
		want bool
	}{
		"long tasks":                {func(*world) {}, true, true},
		"an ApplicationMaster only": {func(w *world) { ends(w, 2, 3, 4) }, true, false},
		"a container that begins":   {func(w *world) { ends(w, 2, 3) }, true, true},
		"asked":                     {func(w *world) { w.asked = true }, true, false},
		"Hawk":                      {func(w *world) { w.Settings.Rules.AvoidLong = false; ends(w, 2, 3, 4) }, false, false},
		"no cutoff":                 {func(w *world) { w.Settings.Cutoff = 0; ends(w, 2, 3, 4) }, false, false},
	} {
		bubble(t, func(t *testing.T) {
			w := begin(t, level.FeatureSuspend, level.FeatureLevels)
			w.asked = false
			w.do(func() { x.do(w) })
			w.long = !x.want
			w.hears(0)
			if got := w.long; got != (x.want == x.says) {
				t.Errorf("%s: avoided %v", name, got)
			}
		})
	}
}

// A container whose short tasks have had their time is said to have resumed after so long.
func TestWhatTheLogSaysOfSuspensions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.hears(7)
		time.Sleep(101 * time.Second)
		w.ticks()
		var said []string
		for _, e := range w.log.AllEntries() {
			said = append(said, e.Message)
		}
		if want := []string{"suspended for 7 short tasks that wait there", "resumed after 101 s, as short tasks have had their time"}; !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
	})
}

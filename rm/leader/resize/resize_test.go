package resize

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

const more, less = pb.ContainerUpdateType_INCREASE_RESOURCE, pb.ContainerUpdateType_DECREASE_RESOURCE

var (
	app  = records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	node = records.NodeID{Host: "n1", Port: 1}
	task = records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: 2}
)

// world is a ledger with a container of 1000 MB that runs, and stands in for the driver, which knows it as 7, and for requests.
type world struct {
	*Sizes
	*testing.T
	loop    *looptest.Loop
	master  session.MasterBox
	node    *session.NodeBox
	growing bool
	full    bool // the driver refuses to resize
	unknown bool // the driver doesn't know the container
	asked   []records.Resource
}

func run(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, loop: looptest.New(t), node: &session.NodeBox{}}
		w.master = session.NewMasterBox(&session.NodeNews{})
		w.master.Open(session.NewBell())
		log := logrus.New()
		log.SetOutput(io.Discard)
		w.Sizes = New(w.loop, w.loop.State, Config{
			Scheduler: w, Requests: w, Expiry: time.Minute, Log: logrus.NewEntry(log),
			HandleOf: func(*ledger.Container) (scheduler.ContainerHandle, bool) { return 7, !w.unknown },
			ToMaster: func(records.ApplicationID) *session.MasterBox { return &w.master },
			ToNode:   func(records.NodeID) *session.NodeBox { return w.node },
		})
		attempt := ledger.AttemptRef(task.Attempt)
		for _, c := range []*ledgerpb.Command{
			{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
			{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}},
			{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(node), Rack: "/r", Capability: ledger.Amounts(mb(8192))}},
			{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{App: ledger.AppRef(app), User: "alice", Queue: "root.default", MaxAttempts: 2}},
			{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: attempt}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: attempt, Grants: []*ledgerpb.Grant{
				{Id: 1, Node: ledger.NodeRef(node), Resource: ledger.Amounts(mb(100)), Am: true},
			}}},
			{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: attempt}},
			{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: attempt}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: attempt, Grants: []*ledgerpb.Grant{
				{Id: task.ID, Node: ledger.NodeRef(node), Resource: ledger.Amounts(mb(1000))},
			}}},
			{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(task)}},
		} {
			w.do(func() { w.loop.Enter(c) })
		}
		if c := w.container(); c == nil || c.Confirmed() != mb(1000) {
			t.Fatalf("%+v", c)
		}
		test(w)
	})
}

func mb(n int64) records.Resource { return records.NewResource(n, 1) }

func (w *world) do(f func()) { _ = w.loop.Do(func() error { f(); return nil }) }

func (w *world) container() *ledger.Container { return w.loop.State.Container(task) }

// ContainerID implements Scheduler, as do the following.
func (w *world) ContainerID(scheduler.ContainerHandle) records.ContainerID { return task }

func (w *world) Growing(scheduler.ContainerHandle) bool { return w.growing }

func (w *world) Apply(e *eventlog.Event) bool {
	if e.Op == eventlog.Grow {
		w.asked = append(w.asked, records.Resource(e.Resource))
		return e.Container == 7
	}
	return e.Container == 7 && !w.full
}

// Size implements Requests, as do Maximum and Normalize, which rounds up to hundreds.
func (w *world) Size(m *pb.Resource) (r records.Resource, err error) {
	return records.ResourceTypes{}.From(m)
}

func (w *world) Maximum() records.Resource { return mb(4000) }

func (w *world) Normalize(r, maximum records.Resource) (records.Resource, error) {
	if r[records.Memory] = (r[records.Memory] + 99) / 100 * 100; !r.FitsIn(maximum) {
		return r, refusal.New(refusal.InvalidResource, "too large")
	}
	return r, nil
}

func (w *world) wish(change func(*Wish)) []Refused {
	u := Wish{ID: task, Version: w.container().Version, Kind: less, Capability: records.ResourceTypes{}.PB(mb(500))}
	change(&u)
	var refused []Refused
	w.do(func() { refused = w.Sizes.Apply(w.loop.State.Apps[app], []Wish{u}) })
	return refused
}

// grow has the driver decide that the container has more.
func (w *world) grow(to int64) {
	w.do(func() { w.Grown(&drive.Decision{Container: 7, Resource: mb(to)}) })
}

// told returns the sizes of which the ApplicationMaster and the node have learned since it was called last.
func (w *world) told() string {
	var master, nodes []int64
	for _, r := range w.master.Deliver().Resized {
		master = append(master, r.Grant.Resource.MemoryMB())
	}
	if w.node != nil {
		for _, g := range w.node.Deliver().Resized {
			nodes = append(nodes, g.Resource.MemoryMB())
		}
	}
	return fmt.Sprint(master, nodes)
}

func (w *world) expect(when string, size, confirmed int64, told string) {
	w.Helper()
	c := w.container()
	if got := w.told(); c.Resource != mb(size) || c.Confirmed() != mb(confirmed) || got != told {
		w.Errorf("%s: %v, of which %v is confirmed; told %s, not %s", when, c.Resource, c.Confirmed(), got, told)
	}
}

func TestContainersShrinkAtOnce(t *testing.T) {
	run(t, func(w *world) {
		if refused := w.wish(func(u *Wish) { u.Capability = records.ResourceTypes{}.PB(mb(450)) }); len(refused) != 0 {
			t.Fatalf("%+v", refused)
		}
		w.expect("rounded up", 500, 500, "[500] [500]")
		w.full = true
		w.wish(func(u *Wish) { u.Capability = records.ResourceTypes{}.PB(mb(200)) })
		w.expect("the driver refuses", 500, 500, "[] []")
	})
}

// A container grows when the driver says so. The ApplicationMaster brings the node word of it, and the node confirms it.
func TestContainersGrowWhenTheDriverDecides(t *testing.T) {
	run(t, func(w *world) {
		if refused := w.wish(func(u *Wish) { u.Kind, u.Capability = more, records.ResourceTypes{}.PB(mb(2000)) }); len(refused) != 0 {
			t.Fatalf("%+v", refused)
		}
		w.expect("wished for", 1000, 1000, "[] []")
		if !slices.Equal(w.asked, []records.Resource{mb(2000)}) {
			t.Errorf("the driver was asked for %v", w.asked)
		}
		w.grow(2000)
		w.expect("decided", 2000, 1000, "[2000] []")
		confirm := func(size int64) { w.do(func() { w.Confirm(w.container(), records.ResourceTypes{}.PB(mb(size))) }) }
		confirm(1500)
		w.expect("confirmed in part", 2000, 1500, "[] []")
		confirm(1200)
		w.expect("confirmed late", 2000, 1500, "[] []")
		confirm(2500)
		w.expect("the node gives more", 2000, 2000, "[] [2000]")
		time.Sleep(time.Hour)
		w.do(func() { w.Tick(time.Now()) })
		w.expect("long after", 2000, 2000, "[] []")
		w.node = nil
		confirm(2500)
		w.do(func() { w.Confirm(w.container(), proto.CloneOf(records.ResourceTypes{}.PB(mb(-1)))) })
		w.expect("of a node that is gone, or tells nonsense", 2000, 2000, "[] []")
	})
}

func TestGrowthsThatAreNeverConfirmedAreTakenBack(t *testing.T) {
	run(t, func(w *world) {
		w.grow(2000)
		time.Sleep(30 * time.Second)
		w.grow(3000)
		w.told()
		expire := func() { w.do(func() { w.Tick(time.Now()) }) }
		time.Sleep(30*time.Second + time.Nanosecond)
		expire()
		w.expect("the time began anew", 3000, 1000, "[] []")
		time.Sleep(30 * time.Second)
		expire()
		w.expect("its time is up", 1000, 1000, "[1000] [1000]")
	})
}

// A new leader gives growths that weren't confirmed their time anew.
func TestGrowthsOfAnEarlierLeadership(t *testing.T) {
	run(t, func(w *world) {
		w.grow(2000)
		w.told()
		w.grown = grownList{}
		w.do(func() { w.Restore(w.container()) })
		time.Sleep(time.Minute)
		w.do(func() { w.Tick(time.Now()) })
		w.expect("within a minute", 2000, 1000, "[] []")
		time.Sleep(time.Nanosecond)
		w.do(func() { w.Tick(time.Now()) })
		w.expect("after a minute", 1000, 1000, "[1000] [1000]")
		w.do(func() { w.Restore(w.container()) })
		if len(w.grown.list) != 0 {
			t.Error("a container without a growth has one")
		}
	})
}

func TestWishesThatAreRefused(t *testing.T) {
	resource := func(n int64) *pb.Resource { return records.ResourceTypes{}.PB(mb(n)) }
	for name, test := range map[string]struct {
		change func(w *world, u *Wish)
		want   string
	}{
		"an unknown container":         {func(_ *world, u *Wish) { u.ID.ID = 99 }, unknownID},
		"an old version":               {func(_ *world, u *Wish) { u.Version = 5 }, wrongVersion},
		"while it grows":               {func(w *world, _ *Wish) { w.growing = true }, outstanding},
		"another type of execution":    {func(_ *world, u *Wish) { u.Kind = pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE }, typesStayFixed},
		"the type that it has":         {func(_ *world, u *Wish) { u.Kind = pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE }, ""},
		"less that is more":            {func(_ *world, u *Wish) { u.Capability = resource(1001) }, outOfRange},
		"more that is less":            {func(_ *world, u *Wish) { u.Kind = more }, outOfRange},
		"more than the maximum":        {func(_ *world, u *Wish) { u.Kind, u.Capability = more, resource(4001) }, outOfRange},
		"as much":                      {func(_ *world, u *Wish) { u.Kind, u.Capability = more, resource(1000) }, ""},
		"one that the driver has lost": {func(w *world, u *Wish) { w.unknown, w.growing = true, true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				refused := w.wish(func(u *Wish) { test.change(w, u) })
				if test.want == "" && len(refused) != 0 || test.want != "" && (len(refused) != 1 || refused[0].Reason != test.want || refused[0].Index != 0) {
					t.Errorf("%+v, not %q", refused, test.want)
				}
				if test.want != "" {
					w.expect("refused", 1000, 1000, "[] []")
				}
			})
		})
	}
}

// A container that has ended is nobody's to change.
func TestEndedContainersStayAsTheyAre(t *testing.T) {
	run(t, func(w *world) {
		w.grow(2000)
		w.told()
		w.do(func() {
			w.loop.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{
				{Container: ledger.ContainerRef(task)},
			}}})
		})
		w.grow(3000)
		time.Sleep(time.Hour)
		w.do(func() { w.Tick(time.Now()) })
		if refused := w.wish(func(*Wish) {}); len(refused) != 1 || refused[0].Reason != unknownID {
			t.Errorf("%+v", refused)
		}
		w.expect("ended", 2000, 1000, "[] []")
	})
}

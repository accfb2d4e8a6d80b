package swap_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/swap"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is an application with five containers: 1 runs the ApplicationMaster, 2 to 4 run tasks, 5 isn't started.
type world struct {
	swap.Swaps
	loop *looptest.Loop
	app  *ledger.Application

	refuses map[scheduler.ContainerHandle]bool
	useless map[scheduler.ContainerHandle]bool // what it gives wouldn't be enough
	lost    map[scheduler.ContainerHandle]bool // their node isn't there
	wanted  map[scheduler.ContainerHandle]string
	still   map[scheduler.ContainerHandle]bool
	calls   []string
}

func begin(t *testing.T) *world {
	w := &world{
		loop: looptest.New(t), refuses: map[scheduler.ContainerHandle]bool{}, useless: map[scheduler.ContainerHandle]bool{},
		lost: map[scheduler.ContainerHandle]bool{}, wanted: map[scheduler.ContainerHandle]string{}, still: map[scheduler.ContainerHandle]bool{},
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	w.Swaps = swap.Swaps{
		Scheduler: w, Log: logrus.NewEntry(log),
		HandleOf: func(c *ledger.Container) (scheduler.ContainerHandle, bool) {
			h := scheduler.ContainerHandle(c.ID.ID)
			return h, !w.lost[h]
		},
	}
	node, id, size := records.NodeID{Host: "n", Port: 1}, appID(1), records.NewResource(1024, 1)
	attempt := records.AttemptID{App: id, Attempt: 1}
	var grants []*ledgerpb.Grant
	for n := range int64(4) {
		grants = append(grants, &ledgerpb.Grant{Id: n + 2, Node: ledger.NodeRef(node), Resource: ledger.Amounts(size)})
	}
	w.do(func() {
		for _, c := range []*ledgerpb.Command{
			{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}},
			{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
			{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}},
			{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(node), Capability: ledger.Amounts(size.Times(9))}},
			{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
				App: ledger.AppRef(id), User: "u", Queue: "root.a", MaxAttempts: 1, Context: &pb.ApplicationSubmissionContext{}, AmResource: ledger.Amounts(size),
			}},
			{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(attempt)}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: []*ledgerpb.Grant{
				{Id: 1, Node: ledger.NodeRef(node), Resource: ledger.Amounts(size), Am: true},
			}}},
			{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: ledger.AttemptRef(attempt)}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: grants}},
			{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(w.id(2), w.id(3), w.id(4))}},
		} {
			w.loop.Enter(c)
		}
		w.app = w.loop.State.Apps[id]
	})
	return w
}

func appID(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

func (*world) id(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: appID(1), Attempt: 1}, ID: n}
}

func (w *world) do(f func()) { _ = w.loop.Do(func() error { f(); return nil }) }

// record has it be on record that a container stands still for an application.
func (w *world) record(n int64, by records.ApplicationID) {
	w.still[scheduler.ContainerHandle(n)] = true
	w.do(func() {
		c := w.app.Containers.Get(w.id(n))
		w.loop.Enter(c.ChangeLevel(ledgerpb.Level_FROZEN, c.Resource.Sub(records.NewResource(0, 1)), ledger.Cause{Queue: "root.a", App: by}))
	})
}

// runs has it be on record that a container runs again.
func (w *world) runs(n int64) {
	delete(w.still, scheduler.ContainerHandle(n))
	w.do(func() {
		c := w.app.Containers.Get(w.id(n))
		w.loop.Enter(c.ChangeLevel(ledgerpb.Level_RUNNING, c.Resource, ledger.Cause{}))
	})
}

func (w *world) Apply(e *eventlog.Event) bool {
	h := e.Container
	switch {
	case e.Op == eventlog.Unswap:
		delete(w.wanted, h)
		w.calls = append(w.calls, fmt.Sprint(h, " goes on"))
	case w.refuses[h]:
		e.Err = errors.New("it may not")
		return false
	default:
		w.wanted[h] = fmt.Sprintf("%d for %d/%d", h, e.Priority, e.Request)
	}
	return true
}

func (w *world) Suspended(h scheduler.ContainerHandle) (int64, string, bool) {
	return 0, "root.a", w.still[h]
}

// decide is a step of the driver.
func (w *world) decide() {
	for h, what := range w.wanted {
		if !w.useless[h] {
			w.still[h] = true
		}
		w.calls = append(w.calls, what)
	}
	clear(w.wanted)
}

// allocate does with wishes what the leader does in an allocate call.
func (w *world) allocate(wishes []swap.Wish, decide func()) []swap.Refused {
	asked, refused := w.Enter(w.app, wishes)
	decide()
	return append(refused, w.Undecided(w.app, asked)...)
}

// carry has wishes carried out, and compares what the driver did, and what was refused.
func (w *world) carry(t *testing.T, wishes []swap.Wish, want []string, refused ...string) {
	t.Helper()
	w.calls = nil
	var got []string
	w.do(func() {
		for _, r := range w.allocate(wishes, w.decide) {
			got = append(got, fmt.Sprint(r.Container.ID, ": ", r.Reason))
		}
	})
	slices.Sort(w.calls)
	if !slices.Equal(w.calls, want) || !slices.Equal(got, refused) {
		t.Errorf("did %q, refused %q; want %q and %q", w.calls, got, want, refused)
	}
}

func TestWishes(t *testing.T) {
	w := begin(t)
	of := func(n int64) swap.Wish { return swap.Wish{Container: w.id(n), Priority: 20, Request: 3} }
	on := func(n int64) swap.Wish { return swap.Wish{Container: w.id(n), Resume: true} }
	w.carry(t, nil, nil)
	w.refuses[4], w.useless[3] = true, true
	w.carry(t, []swap.Wish{of(2), of(3), of(4), of(5), of(6)}, []string{"2 for 20/3", "3 for 20/3"}, "4: it may not", "5: it has not been started yet",
		"6: it is no container of the application, or has ended", "3: that would not make enough room for the request, or it has been served")
	other := of(2)
	other.Container.Attempt.App = appID(2)
	w.carry(t, []swap.Wish{other}, nil, "2: it is no container of the application, or has ended")
	// The last word on a container holds, and one that isn't the application's doesn't matter.
	w.useless[3] = false
	other.Resume = true
	w.carry(t, []swap.Wish{of(3), on(3), other, on(5), on(7)}, []string{"3 goes on", "5 goes on"})
}

// What is told again, as an answer or a leader was lost, changes nothing.
func TestWishesAreRepeated(t *testing.T) {
	w := begin(t)
	w.record(2, appID(1))
	w.carry(t, []swap.Wish{{Container: w.id(2), Priority: 20, Request: 3}}, nil)
	w.carry(t, []swap.Wish{{Container: w.id(2), Resume: true}}, []string{"2 goes on"})
}

// Only what stands still for the application itself goes on as it wants, and when its ApplicationMaster is gone.
func TestOthersSuspensions(t *testing.T) {
	w := begin(t)
	w.record(2, appID(1))
	w.record(3, appID(2))
	w.refuses[3] = true
	w.carry(t, []swap.Wish{{Container: w.id(3), Resume: true}, {Container: w.id(3)}}, nil, "3: it may not")
	w.do(func() { w.Abandon(w.app) })
	if !slices.Equal(w.calls, []string{"2 goes on"}) {
		t.Errorf("%q", w.calls)
	}
}

// A container that was suspended for others, and runs again, is its application's to have stand still and go on. Earlier releases don't record
// for whom a container stands still: then the driver knows.
func TestWhoseSuspensionItIs(t *testing.T) {
	w := begin(t)
	w.record(3, appID(2))
	w.runs(3)
	w.carry(t, []swap.Wish{{Container: w.id(3)}, {Container: w.id(3), Resume: true}}, []string{"3 goes on"})
	w.record(2, records.ApplicationID{})
	w.carry(t, []swap.Wish{{Container: w.id(2), Resume: true}}, []string{"2 goes on"})
}

// While its node isn't there, nothing is done to a container: the driver doesn't know it.
func TestNodesThatAreAway(t *testing.T) {
	w := begin(t)
	w.record(3, appID(1))
	w.lost[2], w.lost[3] = true, true
	w.carry(t, []swap.Wish{{Container: w.id(2)}, {Container: w.id(3), Resume: true}}, nil, "2: its node isn't there")
	w.do(func() { w.Abandon(w.app) })
	if w.calls != nil {
		t.Errorf("%q", w.calls)
	}
}

// A container that ends as the driver decides needs no room any more, and the ApplicationMaster learns of its end anyway.
func TestEndsMeanwhile(t *testing.T) {
	w := begin(t)
	w.useless[2], w.useless[3] = true, true
	w.do(func() {
		got := w.allocate([]swap.Wish{{Container: w.id(2)}, {Container: w.id(3)}, {Container: w.id(3)}}, func() {
			w.decide()
			w.loop.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: ledger.ContainerRef(w.id(2))}}}})
		})
		if len(got) != 1 || got[0].Container != w.id(3) {
			t.Errorf("refused %v, and once for container 3 is enough", got)
		}
	})
}

func TestTooManyAtOnce(t *testing.T) {
	w := begin(t)
	wishes := make([]swap.Wish, swap.MaxTogether+1)
	for i := range wishes {
		wishes[i] = swap.Wish{Container: w.id(99)}
	}
	wishes[swap.MaxTogether].Container = w.id(2)
	var got []swap.Refused
	w.do(func() { got = w.allocate(wishes, w.decide) })
	if n := len(got); n != len(wishes) || got[n-1].Reason != "a call may name at most 64 containers" {
		t.Errorf("%v", got)
	}
	// However many there are, what is to go on does.
	wishes[swap.MaxTogether].Resume = true
	w.calls = nil
	w.do(func() { got = w.allocate(wishes, w.decide) })
	if len(got) != swap.MaxTogether || !slices.Equal(w.calls, []string{"2 goes on"}) {
		t.Errorf("did %q, refused %v", w.calls, got)
	}
}

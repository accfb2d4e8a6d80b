package level_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// logs returns what the world logs from now on, a line an entry.
func (w *world) logs() *strings.Builder {
	var b strings.Builder
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.AddHook(&lines{&b})
	w.Log = logrus.NewEntry(log)
	return &b
}

type lines struct{ *strings.Builder }

func (lines) Levels() []logrus.Level { return logrus.AllLevels }

func (l lines) Fire(e *logrus.Entry) error {
	_, err := fmt.Fprintln(l, e.Message)
	return err
}

// An account says whose room was taken for whom, and when; the log says what it cost.
func TestAccountsSayForWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		log := w.logs()
		least, quote := records.NewResource(64, 0), preempt.Quote{Suspend: preempt.Price{Room: 2, Moved: 960 << 20, Back: 3}}
		w.held, w.chosenBy = least, "root.b"
		other := records.ApplicationID{ClusterTimestamp: 1, ID: 9}
		w.do(func() {
			w.Decided(&drive.Decision{Kind: drive.Suspend, Container: 7, Resource: least, For: "root.b", ForApp: other, Reason: "why", Quote: &quote})
		})
		synctest.Wait()
		a, _ := w.only()
		want := level.Account{
			Time: w.Now().UnixMilli(), Container: w.task, Node: w.node, Queue: "root.b", App: other, Held: least, Reason: "why", Quote: quote,
			Out: -1, Moved: -1, Lasted: -1, Back: -1,
		}
		if diff := cmp.Diff(want, a, cmpopts.IgnoreUnexported(level.Account{})); diff != "" {
			t.Errorf("(- wanted, + recorded)\n%s", diff)
		}
		w.hear(level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED, Held: least, Took: 2500, Swapped: 900 << 20})
		time.Sleep(41 * time.Second)
		w.decide(drive.Resume, claim)
		w.hear(level.Report{Version: 2, Wanted: pb.ContainerLevel_LEVEL_RUNNING, Level: pb.ContainerLevel_LEVEL_RUNNING, Held: claim, Took: 300})
		for _, line := range []string{
			"suspended: why; " + quote.String(),
			"resources freed in 2500 ms (estimated 2000 ms); paged out 900 of 960 MB",
			"resumed: why",
			"container resumed in 300 ms (estimated 3000 ms) after 41 s",
		} {
			if !strings.Contains(log.String(), line+"\n") {
				t.Errorf("no line %q in\n%s", line, log)
			}
		}
	})
}

// What took no time is known all the same: later reports don't replace it.
func TestAccountsOfWhatTookNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		down := level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED, Held: w.held}
		w.hear(down)
		down.Took = 44
		w.hear(down)
		w.decide(drive.Resume, claim)
		up := level.Report{Version: 2, Wanted: pb.ContainerLevel_LEVEL_RUNNING, Level: pb.ContainerLevel_LEVEL_RUNNING, Held: claim}
		w.hear(up)
		up.Took = 55
		w.hear(up)
		if a, _ := w.only(); a.Out != 0 || a.Lasted != 0 || a.Back != 0 {
			t.Errorf("%+v", a)
		}
		time.Sleep(time.Second)
		w.decide(drive.Resume, claim)
		if a, sums := w.only(); a.Lasted != 0 || sums.Resumes != 1 {
			t.Errorf("it resumed a second time: %+v, %+v", a, sums)
		}
	})
}

// A shrunk container is accounted for, and isn't counted as a suspended one. A container that resumed before its resources were there has none
// to be measured.
func TestOnlySuspensionsAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		quote := preempt.Quote{Suspend: preempt.Price{Room: 1, Moved: 5}}
		w.held = half
		w.do(func() {
			w.Decided(&drive.Decision{Kind: drive.Shrink, Container: 7, Resource: half, For: "root.b", Reason: "why", Quote: &quote})
		})
		synctest.Wait()
		w.hear(level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_SHRUNK, Level: pb.ContainerLevel_LEVEL_SHRUNK, Held: half, Took: 7, Swapped: 8})
		if a, sums := w.only(); a.Out != 7 || a.Moved != 8 || sums != (level.Totals{}) || w.took != 0 {
			t.Errorf("%+v, %+v; the driver hears of %d ms", a, sums, w.took)
		}
		w.decide(drive.Resume, claim)
		w.hear(level.Report{Version: 2, Wanted: pb.ContainerLevel_LEVEL_SHRUNK, Level: pb.ContainerLevel_LEVEL_SHRUNK, Held: half, Took: 99})
		if a, _ := w.only(); a.Out != 7 || a.Back != -1 {
			t.Errorf("%+v", a)
		}
	})
}

// Where a container runs as it should nothing is charged anew, nor for what fits what it is to hold.
func TestRunningContainersAreChargedTheirClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.hear(level.Report{Wanted: pb.ContainerLevel_LEVEL_RUNNING, Level: pb.ContainerLevel_LEVEL_RUNNING, Held: claim, Reason: "swap is full"})
		w.expect(ledgerpb.Level_RUNNING, claim, 0)
		w.decide(drive.Shrink, half)
		w.hear(level.Report{Version: 1, Held: half, Reason: "swap is full"})
		w.expect(ledgerpb.Level_SHRUNK, half, 1)
	})
}

// A container whose memory comes back in part stays charged until all of it has come. A shrunk one that holds all of its claim has a MB less
// on record, as it would count as running otherwise.
func TestMemoryThatComesBackInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.decide(drive.Shrink, records.NewResource(512, 2))
		w.hear(level.Report{Version: 1, Held: claim, Reason: "swap is full"})
		w.expect(ledgerpb.Level_SHRUNK, records.NewResource(1023, 2), 2)
		w.hear(level.Report{Version: 1, Held: records.NewResource(513, 2)})
		w.expect(ledgerpb.Level_SHRUNK, records.NewResource(1023, 2), 2)
		w.hear(level.Report{Version: 1, Held: records.NewResource(512, 2)})
		w.expect(ledgerpb.Level_SHRUNK, records.NewResource(512, 2), 3)
	})
}

// Pressures differ from 20 points on, in both directions, and rates beyond a quarter.
func TestWhichReportsOfMemoryDiffer(t *testing.T) {
	for x, want := range map[[2]level.Memory]bool{
		{{Pressure: 10}, {Pressure: 29}}: false, {{Pressure: 10}, {Pressure: 30}}: true, {{Pressure: 30}, {Pressure: 10}}: true,
		{{In: 100}, {In: 125}}: false, {{Out: 125}, {Out: 100}}: false, {{Out: 100}, {}}: true,
	} {
		if x[0].Differs(x[1]) != want {
			t.Errorf("%+v and %+v", x[0], x[1])
		}
	}
}

// What nodes can do is shown anew, as they said last, when the ledger's version is raised; before levels can be recorded it is nothing. A node
// that is gone isn't shown any more.
func TestAbilitiesFollowTheVersionOfTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.do(func() {
			w.Show(w.node, 3, level.Memory{Out: 8, Pressure: 3})
			w.State.Version = 2
			w.ShowAll()
		})
		if w.able != (drive.Ability{}) {
			t.Errorf("in version 2: %+v", w.able)
		}
		w.do(func() {
			w.State.Version = 3
			w.ShowAll()
		})
		if want := (drive.Ability{Suspend: true, Shrink: true, Reclaim: true, Out: 8, Pressure: 3}); w.able != want {
			t.Errorf("in version 3: %+v", w.able)
		}
		w.able = drive.Ability{In: 1}
		w.do(func() {
			w.Show(w.node, 3, level.Memory{Out: 8, Pressure: 3})
			if w.able != (drive.Ability{In: 1}) {
				t.Error("the same is shown twice")
			}
			w.Show(w.node, 4, level.Memory{Out: 8, Pressure: 3})
			if w.able.Out != 8 {
				t.Error("a node that came back isn't shown")
			}
			w.able = drive.Ability{}
			w.NodeLeft(w.node)
			w.State.Version = 2
			w.ShowAll()
			w.State.Version = 3
			w.ShowAll()
			w.Show(records.NodeID{Host: "none"}, 5, level.Memory{})
		})
		if w.able != (drive.Ability{}) {
			t.Errorf("a node that is gone, or was never there, is shown: %+v", w.able)
		}
	})
}

// Before the ledger knows levels it records which containers stand still, and before it knows causes no cause.
func TestEarlierVersionsOfTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.do(func() { w.State.Version = 2 })
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		if c := w.State.Container(w.task); !c.Suspended() {
			t.Error("it isn't suspended on record")
		}
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		if c := w.State.Container(w.task); c.Suspended() || c.Level != ledgerpb.Level_RUNNING {
			t.Errorf("it goes on, and on record is %v", c.Level)
		}
		w.do(func() { w.State.Version = 3 })
		w.decide(drive.Shrink, half)
		if c := w.State.Container(w.task); c.Level != ledgerpb.Level_SHRUNK || c.Held() != half || c.Suspension().Cause != (ledger.Cause{}) {
			t.Errorf("%v with %v, for %+v", c.Level, c.Held(), c.Suspension().Cause)
		}
	})
}

// An order that isn't answered is sent again 5 s after it was decided, and then 5 s after each failure; a node has 10 s to answer.
func TestWhenOrdersAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.answers(errors.New("connection reset"))
		w.suspend(preempt.Quote{})
		for i, x := range []struct {
			after time.Duration
			sent  int
		}{{4999 * time.Millisecond, 1}, {time.Millisecond, 2}, {4999 * time.Millisecond, 2}, {time.Millisecond, 3}} {
			if w.later(x.after); len(w.sent()) != x.sent {
				t.Errorf("step %d: sent %d times", i, len(w.sent()))
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Levels.Nodes = func() level.Nodes { return silent{w} }
		began := time.Now()
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// silent are nodes that never answer.
type silent struct{ *world }

func (silent) Order(ctx context.Context, _ records.NodeID, _ level.Order) error {
	<-ctx.Done()
	return ctx.Err()
}

// The answer to an order that a later one has replaced changes nothing.
func TestAnswersThatComeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		s := slow{w, make(chan struct{})}
		w.Levels.Nodes = func() level.Nodes { return s }
		w.answers(refusal.New(refusal.Refused, "no"))
		w.decide(drive.Shrink, half)
		w.decide(drive.Suspend, records.NewResource(64, 0))
		s.answer <- struct{}{} // one of the two, and both are refused
		s.answer <- struct{}{}
		synctest.Wait()
		w.expect(ledgerpb.Level_RUNNING, claim, 3)
		if len(w.calls) != 1 {
			t.Errorf("the driver hears %v", w.calls)
		}
	})
}

// A container that ends while its order is under way isn't brought back, and nobody is told of it.
func TestContainersThatEndUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		s := slow{w, make(chan struct{})}
		w.Levels.Nodes = func() level.Nodes { return s }
		w.answers(refusal.New(refusal.Refused, "it has ended"))
		var told []bool
		w.Tell = func(_ *ledger.Container, suspended bool) { told = append(told, suspended) }
		w.decide(drive.Suspend, records.NewResource(64, 0))
		w.ends()
		close(s.answer)
		synctest.Wait()
		w.do(func() {})
		if len(w.calls) > 0 || !slices.Equal(told, []bool{true}) {
			t.Errorf("the driver hears %v; told %v", w.calls, told)
		}
		w.later(time.Minute)
		if len(w.sent()) != 1 {
			t.Errorf("sent %v", w.sent())
		}
	})
}

// A container that runs with no vcore at all can do as little as one that stands still, and whoever waits for it is told so.
func TestStarvedContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		var told []bool
		w.Tell = func(_ *ledger.Container, suspended bool) { told = append(told, suspended) }
		w.decide(drive.Shrink, half)
		w.decide(drive.Shrink, records.NewResource(64, 0))
		w.decide(drive.Resume, claim)
		told = slices.Compact(told)
		if want := []bool{false, true, false}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

// A shrunk container that its node can't suspend counts as shrunk again, not as running.
func TestRefusalsLeaveTheLevelBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK, User: "ann"}); err != nil {
			t.Fatal(err)
		}
		w.answers(refusal.New(refusal.Refused, "no"))
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_FROZEN, User: "ann"}), "no")
		if c := w.State.Container(w.task); c.Level != ledgerpb.Level_SHRUNK || c.LevelVersion != 3 {
			t.Errorf("%v, version %d", c.Level, c.LevelVersion)
		}
	})
}

// Containers that have not been started can't be suspended, nor those on nodes that are gone.
func TestContainersThatCannotBeAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.do(func() { w.State.Container(w.task).State = ledger.ContainerAllocated })
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "has not been started by its ApplicationMaster yet: suspend it when it runs")
		w.do(func() {
			w.State.Container(w.task).State = ledger.ContainerRunning
			w.State.Nodes[w.node].Features = []string{level.FeatureLevels}
		})
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "can't suspend containers, nor resume them: its machine lacks a cgroup freezer (it is a test). Mount cgroups there, or end the container")
		w.do(func() { w.State.Nodes[w.node].Features = nil })
		w.refused(w.Levels.Resume(t.Context(), w.task), "it is a NodeManager of Hadoop's. Run one of Heddle's there (heddle nm), or end the container")
		w.do(func() { delete(w.State.Nodes, w.node) })
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "can't suspend containers")
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		w.expect(ledgerpb.Level_RUNNING, claim, 0)
	})
}

// A refusal names what the node has free, and for how long somebody has the container stand still.
func TestWordsOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{User: "ann"}); err != nil {
			t.Fatal(err)
		}
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "is reclaimed already for 0 s, by user ann: resume it first")
		time.Sleep(61 * time.Second)
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{}), "is reclaimed already for 61 s, by user ann: resume it first")
		w.refused(w.Levels.Resume(t.Context(), w.task), "holds <memory:64, vCores:0> of <memory:1024, vCores:2>, and node n1:1 has <memory:1984, vCores:4> free")
	})
}

// A step takes cores down to one, and nothing where no step is set.
func TestStepsOfCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Step = func() records.Resource { return records.NewResource(0, 5) }
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK}); err != nil {
			t.Fatal(err)
		}
		w.expect(ledgerpb.Level_SHRUNK, records.NewResource(1024, 1), 1)
		w.Step = nil
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK}), "can't be shrunk by nothing")
	})
}

// What the scheduler doesn't know, as it is being restored, is brought to its level all the same; the driver isn't told of it.
func TestContainersThatTheSchedulerDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.HandleOf = func(*ledger.Container) (scheduler.ContainerHandle, bool) { return -1, false }
		w.answers(refusal.New(refusal.Refused, "no"))
		w.decide(drive.Suspend, records.NewResource(64, 0))
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		w.answers(nil)
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); err != nil {
			t.Error(err)
		}
		w.hear(level.Report{Version: 3, Held: half, Reason: "swap is full"})
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 3)
		w.do(func() { w.Levels.SetMemory(w.task, 5) })
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		w.expect(ledgerpb.Level_RUNNING, claim, 4)
		if w.used != 0 || len(w.calls) > 0 || w.stopped || w.past != [2]int64{} {
			t.Errorf("the driver hears of it: %d, %v, %t, %v", w.used, w.calls, w.stopped, w.past)
		}
	})
}

// A node may name its containers in another order, or fewer of them.
func TestNewsInAnotherOrder(t *testing.T) {
	id := func(n int64) records.ContainerID { return records.ContainerID{ID: n} }
	before := []level.Report{{Container: id(1), Version: 1}, {Container: id(2), Version: 2}, {Container: id(3), Version: 3}}
	now := []level.Report{{Container: id(3), Version: 3}, {Container: id(1), Version: 1}, {Container: id(2), Version: 9}}
	if got := level.News(before, now); !slices.Equal(got, now[2:]) {
		t.Errorf("%+v", got)
	}
	if got := level.News(before[1:], now[:2]); !slices.Equal(got, now[1:2]) {
		t.Errorf("%+v", got)
	}
}

// What a node says of another container, or of one that runs while it is to stand still, is no answer to what a suspension came to.
func TestReportsThatMeasureNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		other := w.task
		other.ID = 1
		const reclaimed, running = pb.ContainerLevel_LEVEL_RECLAIMED, pb.ContainerLevel_LEVEL_RUNNING
		w.do(func() {
			w.Heard([]level.Report{{Container: other, Version: 1, Wanted: reclaimed, Level: reclaimed, Held: half, Took: 5}})
		})
		w.hear(level.Report{Version: 1, Wanted: running, Level: running, Held: claim, Took: 6})
		if a, sums := w.only(); a.Out != -1 || a.Back != -1 || sums.Took != 0 {
			t.Errorf("%+v, %+v", a, sums)
		}
	})
}

// remember are nodes that write down which of them got an order.
type remember struct {
	*world
	to *[]records.NodeID
}

func (r remember) Order(ctx context.Context, n records.NodeID, o level.Order) error {
	*r.to = append(*r.to, n)
	return r.world.Order(ctx, n, o)
}

// Orders go to the container's node, whoever gives them.
func TestOrdersGoToTheNodeOfTheContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		var to []records.NodeID
		w.Levels.Nodes = func() level.Nodes { return remember{w, &to} }
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_FROZEN}); err != nil {
			t.Fatal(err)
		}
		w.decide(drive.Resume, claim)
		if !slices.Equal(to, []records.NodeID{w.node, w.node}) {
			t.Errorf("they went to %v", to)
		}
	})
}

// A container that has ended, or of an application that is gone, is neither decided on nor charged, nor is anybody told of it.
func TestContainersThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		log := w.logs()
		w.ends()
		w.suspend(preempt.Quote{})
		w.decide(drive.Charge, half)
		if len(w.Accounts()) > 0 || len(w.sent()) > 0 || log.Len() > 0 {
			t.Errorf("%v; sent %v; %s", w.Accounts(), w.sent(), log)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		s := slow{w, make(chan struct{})}
		w.Levels.Nodes = func() level.Nodes { return s }
		w.answers(refusal.New(refusal.Refused, "it is gone"))
		w.suspend(preempt.Quote{})
		w.do(func() { delete(w.State.Apps, w.task.Attempt.App) })
		close(s.answer)
		synctest.Wait()
		w.later(time.Minute)
		w.suspend(preempt.Quote{})
		w.hear(level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED, Took: 5})
		if a, sums := w.only(); sums.Took != 0 || a.Refused || len(w.sent()) != 1 || len(w.calls) > 0 {
			t.Errorf("%+v, %+v; sent %v; the driver hears %v", a, sums, w.sent(), w.calls)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.Tell = func(*ledger.Container, bool) { t.Error("somebody is told of a container that has ended by then") }
		w.do(func() {
			w.Decided(&drive.Decision{Kind: drive.Suspend, Container: 7, Resource: half, For: "root.b"})
			w.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: ledger.ContainerRef(w.task)}}}})
		})
		synctest.Wait()
	})
}

// Memory that can't be taken counts as it grows, until what was to be taken first is taken. The log says so.
func TestMemoryThatGrowsWhileItCannotBeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		log := w.logs()
		w.suspend(preempt.Quote{})
		for _, x := range []struct {
			held, charged int64
			reason        string
		}{{500, 500, "swap is full"}, {700, 700, "swap is full"}, {600, 700, ""}, {64, 64, ""}} {
			w.hear(level.Report{Version: 1, Held: records.NewResource(x.held, 0), Reason: x.reason})
			w.do(func() {
				if got := w.State.Container(w.task).Held().MemoryMB(); got != x.charged {
					t.Errorf("it holds %d MB, and is charged %d", x.held, got)
				}
			})
		}
		if n := strings.Count(log.String(), "its memory can't be taken, and counts as held: swap is full"); n != 2 {
			t.Errorf("%d times in\n%s", n, log)
		}
	})
}

// stubborn is a scheduler that charges nothing.
type stubborn struct{ *world }

func (s stubborn) Apply(e *eventlog.Event) bool { return e.Op != eventlog.NoteHeld && s.world.Apply(e) }

// What the scheduler doesn't charge isn't on record either.
func TestChargesThatTheSchedulerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.suspend(preempt.Quote{})
		w.Scheduler = stubborn{w}
		w.hear(level.Report{Version: 1, Held: half, Reason: "swap is full"})
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 1)
	})
}

// The log says what was shrunk, and what a node couldn't do.
func TestDecisionsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		log := w.logs()
		w.answers(refusal.New(refusal.Refused, "no"))
		w.decide(drive.Shrink, half)
		if got := log.String(); got != "shrunk: why\nits node can't bring it to level SHRUNK\n" {
			t.Errorf("%q", got)
		}
	})
}

// How long an ApplicationMaster had a container stand still counts, when it goes on.
func TestSuspensionsByApplicationsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		time.Sleep(3 * time.Second)
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		if w.past != [2]int64{1, 3000} {
			t.Errorf("the driver counts %v", w.past)
		}
	})
}

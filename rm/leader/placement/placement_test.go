package placement

import (
	"errors"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/kept"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// world is a working copy with applications, and stands in for the driver.
type world struct {
	*Placement
	loop  *looptest.Loop
	apps  map[records.ApplicationID]scheduler.AppHandle
	tree  *queue.Tree
	views map[string]scheduler.QueueView
	moved map[scheduler.AppHandle]string
	uses  []scheduler.Use // of each application
}

func newWorld(t *testing.T, settings map[string]string) *world {
	t.Helper()
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, tree)
}

func worldOf(t *testing.T, tree *queue.Tree) *world {
	w := &world{
		loop: looptest.New(t), apps: map[records.ApplicationID]scheduler.AppHandle{}, tree: tree,
		views: map[string]scheduler.QueueView{}, moved: map[scheduler.AppHandle]string{},
	}
	w.Placement = New(w.loop, w.loop.State, Config{Scheduler: w, Apps: w, Queues: func() *queue.Tree { return tree }, Live: queue.NewLive(tree)})
	return w
}

func appID(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

// app puts an application that runs into a queue.
func (w *world) app(n int32, user, path string) *kept.Application {
	id := appID(n)
	w.loop.State.Apps[id] = &ledger.Application{ID: id, User: user, Queue: path, State: ledger.AppRunning, Attempts: []*ledger.Attempt{{}}}
	counted := &kept.Application{}
	w.loop.State.Kept.Put(counted, kept.What{User: user, Queue: path, Taken: true})
	w.apps[id] = scheduler.AppHandle(n)
	return counted
}

// TakesApps implements Scheduler, as do Queue, UsesOf and MoveApp.
func (w *world) TakesApps(path string) bool { return w.views[path].Leaf }

func (w *world) Queue(path string) (v scheduler.QueueView, ok bool) {
	v, ok = w.views[path]
	return v, ok
}

func (w *world) UsesOf(scheduler.AppHandle) []scheduler.Use { return w.uses }

func (w *world) Apply(e *eventlog.Event) bool {
	w.moved[e.App] = e.Queue
	return true
}

// Count implements Apps, as do App and Live.
func (w *world) Count() int { return len(w.apps) }

func (w *world) App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool) {
	h, ok = w.apps[id]
	return h, 0, ok
}

func (w *world) Live(id records.ApplicationID) (*ledger.Application, error) {
	if app := w.loop.State.Apps[id]; app != nil {
		return app, nil
	}
	return nil, refusal.New(refusal.NoSuchApplication, "there is no %v", id)
}

func halves() map[string]string {
	return map[string]string{"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50"}
}

// An application whose queue is wrong is accepted and fails, as with Hadoop. One that a mapping rejects isn't accepted.
func TestApplicationsFindTheirQueues(t *testing.T) {
	stopped, mapped := halves(), halves()
	stopped["root.b.state"] = "STOPPED"
	mapped["queue-mappings"], mapped["queue-mappings-override.enable"] = "u:%user:%user", "true"
	for name, x := range map[string]struct {
		settings      map[string]string
		user, queue   string
		path, against string
		err           string
	}{
		"a leaf":            {stopped, "alice", "a", "root.a", "", ""},
		"an unknown queue":  {stopped, "alice", "nowhere", "nowhere", "application_1_0001 submitted by user alice to unknown queue: nowhere", ""},
		"a stopped queue":   {stopped, "alice", "b", "root.b", "root.b is STOPPED. Cannot accept submission of application: application_1_0001", ""},
		"mapped":            {mapped, "b", "a", "root.b", "", ""},
		"mapped to nowhere": {mapped, "alice", "a", "a", "", "rejected by a mapping rule"},
	} {
		to, err := newWorld(t, x.settings).Place(appID(1), x.user, "sleep", x.queue, nil)
		path, against := to.Path, to.Against
		if path != x.path || !strings.Contains(against, x.against) || (against == "") != (x.against == "") {
			t.Errorf("%s: %q, %q", name, path, against)
		}
		if x.err == "" && err != nil || x.err != "" && (!refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fairTree has rules by which applications find their queues.
func fairTree(t *testing.T, rules string) *queue.Tree {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := queue.FairFromText(c, "<allocations><queuePlacementPolicy>"+rules+"</queuePlacementPolicy></allocations>")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// A rule by groups takes the user's first one. Where they can't be found, the application isn't accepted.
func TestRulesByGroups(t *testing.T) {
	w := worldOf(t, fairTree(t, "<rule name='primaryGroup'/>"))
	w.cfg.Groups = func(string) ([]string, error) { return nil, errors.New("no answer from the directory") }
	if to, err := w.Place(appID(1), "alice", "sleep", "a", nil); to.Against != "" || !refusal.Is(err, refusal.Refused) || err.Error() != "Group resolution failed" {
		t.Errorf("%+v, %v", to, err)
	}
	w.cfg.Groups = func(string) ([]string, error) { return []string{"staff"}, nil }
	if to, err := w.Place(appID(1), "alice", "sleep", "a", nil); to.Path != "root.staff" || to.Against != "" || err != nil {
		t.Errorf("%+v, %v", to, err)
	}
}

// A queue is full by its applications, and for a user by the user's. Those that have ended don't count.
func TestFullQueues(t *testing.T) {
	settings := halves()
	settings["root.a.maximum-applications"] = "4"
	settings["root.a.minimum-user-limit-percent"] = "50" // two for each user
	w := newWorld(t, settings)
	w.app(1, "alice", "root.a")
	w.app(2, "bob", "root.a")
	w.app(3, "alice", "root.b")
	w.loop.State.Kept.Remove(w.app(4, "alice", "root.a")) // it has ended
	if against := w.Full(appID(9), "alice", "root.a"); against != "" {
		t.Errorf("a queue with 2 of 4 is full: %s", against)
	}
	w.app(5, "alice", "root.a")
	if against := w.Full(appID(9), "alice", "root.a"); !strings.Contains(against, "already has 2 applications from user alice") {
		t.Errorf("a user with 2 of 2: %q", against)
	}
	if against := w.Full(appID(9), "bob", "root.a"); against != "" {
		t.Errorf("another user with 1 of 2: %s", against)
	}
	w.app(6, "bob", "root.a")
	if against := w.Full(appID(9), "carol", "root.a"); !strings.Contains(against, "already has 4 applications") {
		t.Errorf("a queue with 4 of 4: %q", against)
	}
	if against := w.Full(appID(9), "alice", "root.nowhere"); against != "" {
		t.Errorf("an unknown queue is full: %s", against)
	}
	w.apps[appID(7)] = 7 // one that the ledger has lost sight of belongs to no queue
	if against := w.Full(appID(9), "carol", "root.b"); against != "" {
		t.Errorf("the queue with one application: %s", against)
	}
}

// A Fair queue takes applications if the scheduler has it as a leaf, however many there are. FIFO queues take all.
func TestQueuesWithoutLimitsOfApplications(t *testing.T) {
	fair := worldOf(t, queue.Default(queue.Fair))
	fair.views["root.default"] = view("root.default", "root", true, 9, records.Resource{})
	fair.views["root.above"] = view("root.above", "root", false, 0, records.Resource{})
	if against := fair.Full(appID(9), "alice", "root.default"); against != "" {
		t.Errorf("a leaf: %s", against)
	}
	if against := fair.Full(appID(9), "alice", "root.above"); against != "root.above is not a leaf queue" {
		t.Errorf("a queue with others below it: %q", against)
	}
	if against := worldOf(t, queue.Default(queue.FIFO)).Full(appID(9), "alice", "root.default"); against != "" {
		t.Errorf("of FIFO: %s", against)
	}
}

func TestClosedQueuesAreNamedAsTheyWereAskedFor(t *testing.T) {
	w := newWorld(t, halves())
	for asked, want := range map[string]string{"a": "a", "root.a": "root.a", "b": "root.a", "nowhere": "root.a"} {
		if got := w.closed("root.a", asked); got != want {
			t.Errorf("asked for %s: %s, not %s", asked, got, want)
		}
	}
	fair := worldOf(t, queue.Default(queue.Fair))
	if got := fair.closed("root.default.alice", "alice"); got != "root.default.alice denied by ACL for queue root.default" {
		t.Errorf("of Fair queues: %s", got)
	}
}

func TestApplicationsMove(t *testing.T) {
	w := newWorld(t, halves())
	w.app(1, "alice", "root.a")
	if path, err := w.Move(appID(1), "root.a"); path != "root.a" || err != nil || len(w.moved) != 0 {
		t.Errorf("to where it is: %q, %v, %v", path, err, w.moved)
	}
	if path, err := w.Move(appID(1), "b"); path != "root.b" || err != nil || w.moved[1] != "root.b" || w.loop.State.Apps[appID(1)].Queue != "root.b" {
		t.Errorf("to another queue: %q, %v, %v", path, err, w.moved)
	}
	delete(w.apps, appID(1)) // it ends right now, so the scheduler has it no more
	clear(w.moved)
	if path, err := w.Move(appID(1), "a"); path != "root.a" || err != nil || len(w.moved) != 0 || w.loop.State.Apps[appID(1)].Queue != "root.a" {
		t.Errorf("unknown to the scheduler: %q, %v, %v", path, err, w.moved)
	}
}

// A move that is refused says why, and changes nothing.
func TestMovesThatAreRefused(t *testing.T) {
	settings := map[string]string{
		"root.queues": "a,stopped,full", "root.a.capacity": "40", "root.stopped.capacity": "30", "root.full.capacity": "30",
		"root.stopped.state": "STOPPED", "root.full.maximum-applications": "1", "root.full.accessible-node-labels": "x",
	}
	fifo := worldOf(t, queue.Default(queue.FIFO))
	w := newWorld(t, settings)
	for _, w := range []*world{w, fifo} {
		w.app(1, "alice", "root.a")
		w.app(2, "alice", "root.a")
		w.app(3, "bob", "root.full")
		w.loop.State.Apps[appID(2)].State = ledger.AppFinished
	}
	asks := newWorld(t, settings)
	asks.app(1, "alice", "root.a")
	asks.app(3, "bob", "root.full")
	asks.uses = []scheduler.Use{{Asked: true}, {Label: "lent"}, {Label: "x", Asked: true}, {Label: "y", Asked: true}, {Label: "z", Asked: true}}
	for name, x := range map[string]struct {
		*world
		app  int32
		to   string
		kind refusal.Reason
		text string
	}{
		"to no queue":         {w, 1, "", refusal.Refused, "The specified Queue:  doesn't exist"},
		"to an unknown queue": {w, 1, "nowhere", refusal.Refused, "The specified Queue: nowhere doesn't exist"},
		"to a parent":         {w, 1, "root", refusal.Refused, "The specified Queue: root is not a Leaf Queue."},
		"to a stopped queue":  {w, 1, "stopped", refusal.Refused, "root.stopped is STOPPED. Cannot accept submission of application: application_1_0001"},
		"to a full queue":     {w, 1, "full", refusal.Refused, "root.full already has 1 applications, cannot accept submission of application: application_1_0001"},
		"without its labels": {
			asks, 1, "full", refusal.Refused, // before its limits
			"Specified queue=root.full can't satisfy following apps label expressions =[y, z] accessible node labels =[x]",
		},
		"one that has ended": {w, 2, "a", refusal.Refused, "state cannot be moved"},
		"an unknown one":     {w, 7, "a", refusal.NoSuchApplication, "there is no application_1_0007"},
		"in a FIFO tree":     {fifo, 1, "default", refusal.Refused, "FifoScheduler does not support"},
	} {
		if path, err := x.Move(appID(x.app), x.to); path != "" || !refusal.Is(err, x.kind) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %q, %v", name, path, err)
		}
		if len(x.moved) != 0 || x.loop.State.Apps[appID(1)].Queue != "root.a" {
			t.Errorf("%s: it has moved nevertheless: %v", name, x.moved)
		}
	}
}

// A move to the queue where an application is changes nothing, and is no submission: the queue may be stopped or full.
func TestApplicationsMayStayInClosedQueues(t *testing.T) {
	w := newWorld(t, map[string]string{
		"root.queues": "stopped,full", "root.stopped.capacity": "50", "root.full.capacity": "50",
		"root.stopped.state": "STOPPED", "root.full.maximum-applications": "0",
	})
	for n, path := range []string{1: "root.stopped", 2: "root.full"} {
		if path == "" {
			continue
		}
		w.app(int32(n), "alice", path)
		if got, err := w.Move(appID(int32(n)), path); got != path || err != nil || len(w.moved) != 0 {
			t.Errorf("to %s, where it is: %q, %v, %v", path, got, err, w.moved)
		}
	}
}

// An application that runs may move among Fair queues within the limits of those to which it doesn't count yet.
func TestFairQueuesLimitMoves(t *testing.T) {
	amount := records.NewResource
	const from, to, above = "root.from", "root.above.to", "root.above"
	for name, test := range map[string]struct {
		change func(w *world)
		text   string
	}{
		"there is room":                {func(*world) {}, ""},
		"too many run there":           {func(w *world) { w.views[to] = view(to, above, true, 2, amount(0, 0)) }, "maxRunningApps"},
		"too many run above":           {func(w *world) { w.views[above] = view(above, "root", false, 2, amount(0, 0)) }, "constraints on queue root.above"},
		"too much is used there":       {func(w *world) { w.views[to] = view(to, above, true, 0, amount(7, 0)) }, "maxShare"},
		"too much is used at the root": {func(w *world) { w.views["root"] = view("root", "", false, 9, amount(9, 9)) }, ""},
		"it doesn't run yet": {func(w *world) {
			w.views[to] = view(to, above, true, 2, amount(9, 9))
			w.loop.State.Apps[appID(1)].State = ledger.AppAccepted
		}, ""},
		"it is no leaf":                 {func(w *world) { w.views[to] = view(to, above, false, 0, amount(0, 0)) }, "Target queue above.to not found or is not a leaf queue."},
		"it isn't there":                {func(w *world) { delete(w.views, to) }, "Target queue above.to not found or is not a leaf queue."},
		"the queues above aren't known": {func(w *world) { delete(w.views, above) }, ""},
		"the queue was made for another application": {func(w *world) {
			made := view(to, above, true, 9, amount(0, 0))
			made.Queue = nil
			w.views[to] = made
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, queue.Default(queue.Fair))
			w.app(1, "alice", from)
			w.loop.State.Apps[appID(1)].Used = amount(2, 1)
			w.views["root"], w.views[from] = view("root", "", false, 0, amount(0, 0)), view(from, "root", true, 0, amount(0, 0))
			w.views[above], w.views[to] = view(above, "root", false, 0, amount(0, 0)), view(to, above, true, 0, amount(6, 1))
			test.change(w)
			path, err := w.Move(appID(1), "above.to")
			if test.text == "" && (err != nil || path != to || w.moved[1] != to) || test.text != "" && (!refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), test.text) || len(w.moved) != 0) {
				t.Errorf("%q, %v, %v", path, err, w.moved)
			}
		})
	}
}

// view is a queue that may have 8 MB and 2 cores, and 2 applications at once.
func view(path, parent string, leaf bool, runnable int, used records.Resource) scheduler.QueueView {
	return scheduler.QueueView{
		Path: path, Parent: parent, Leaf: leaf, Runnable: runnable, Used: used, Maximum: records.NewResource(8, 2), Queue: &queue.Queue{MaxParallelApps: 2},
	}
}

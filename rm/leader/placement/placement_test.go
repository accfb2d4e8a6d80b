package placement

import (
	"iter"
	"maps"
	"strings"
	"testing"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
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
func (w *world) app(n int32, user, path string) {
	id := appID(n)
	w.loop.State.Apps[id] = &ledger.Application{ID: id, User: user, Queue: path, State: ledger.AppRunning, Attempts: []*ledger.Attempt{{}}}
	w.apps[id] = scheduler.AppHandle(n)
}

// TakesApps implements Scheduler, as do Queue and MoveApp.
func (w *world) TakesApps(path string) bool { return w.views[path].Leaf }

func (w *world) Queue(path string) (v scheduler.QueueView, ok bool) {
	v, ok = w.views[path]
	return v, ok
}

func (w *world) MoveApp(h scheduler.AppHandle, path string) { w.moved[h] = path }

// Count implements Apps, as do IDs, App and Live.
func (w *world) Count() int { return len(w.apps) }

func (w *world) IDs() iter.Seq[records.ApplicationID] { return maps.Keys(w.apps) }

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

func TestApplicationsFindTheirQueues(t *testing.T) {
	settings := halves()
	settings["root.b.state"] = "STOPPED"
	w := newWorld(t, settings)
	if path, against, err := w.Place(appID(1), "alice", "sleep", "a"); path != "root.a" || against != "" || err != nil {
		t.Errorf("%q, %q, %v", path, against, err)
	}
	if _, against, err := w.Place(appID(1), "alice", "sleep", "nowhere"); against == "" && err == nil {
		t.Errorf("into a queue that isn't there: %q, %v", against, err)
	}
	if _, against, err := w.Place(appID(1), "alice", "sleep", "b"); against == "" && !refusal.Is(err, refusal.Refused) {
		t.Errorf("into a stopped queue: %q, %v", against, err)
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
	w.app(4, "alice", "root.a")
	w.loop.State.Apps[appID(4)].State = ledger.AppFinished
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
}

func TestClosedQueuesAreNamedAsTheyWereAskedFor(t *testing.T) {
	w := newWorld(t, halves())
	for asked, want := range map[string]string{"a": "a", "root.a": "root.a", "b": "root.a", "nowhere": "root.a"} {
		if got := w.Closed("root.a", asked); got != want {
			t.Errorf("asked for %s: %s, not %s", asked, got, want)
		}
	}
	fair := worldOf(t, queue.Default(queue.Fair))
	if got := fair.Closed("root.default.alice", "alice"); got != "root.default.alice denied by ACL for queue root.default" {
		t.Errorf("of Fair queues: %s", got)
	}
}

func TestApplicationsMove(t *testing.T) {
	w := newWorld(t, halves())
	w.app(1, "alice", "root.a")
	w.app(2, "alice", "root.a")
	w.loop.State.Apps[appID(2)].State = ledger.AppFinished
	if path, err := w.Move(appID(1), "root.a"); path != "root.a" || err != nil || len(w.moved) != 0 {
		t.Errorf("to where it is: %q, %v, %v", path, err, w.moved)
	}
	for name, text := range map[string]string{
		"": "The specified Queue:  doesn't exist", "nowhere": "The specified Queue: nowhere doesn't exist", "root": "The specified Queue: root is not a Leaf Queue.",
	} {
		if _, err := w.Move(appID(1), name); !refusal.Is(err, refusal.Refused) || err.Error() != text {
			t.Errorf("to %q: %v", name, err)
		}
	}
	if _, err := w.Move(appID(2), "b"); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "state cannot be moved") {
		t.Errorf("one that has ended: %v", err)
	}
	if _, err := w.Move(appID(7), "b"); !refusal.Is(err, refusal.NoSuchApplication) {
		t.Errorf("an unknown one: %v", err)
	}
	w.loop.State.Apps[appID(1)].State = ledger.AppRunning
	if path, err := w.Move(appID(1), "b"); path != "root.b" || err != nil || w.moved[1] != "root.b" || w.loop.State.Apps[appID(1)].Queue != "root.b" {
		t.Errorf("to another queue: %q, %v, %v", path, err, w.moved)
	}
	fifo := worldOf(t, queue.Default(queue.FIFO))
	fifo.app(1, "alice", "root.default")
	if _, err := fifo.Move(appID(1), "default"); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "FifoScheduler") {
		t.Errorf("in a FIFO tree: %v", err)
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
		"it is no leaf":  {func(w *world) { w.views[to] = view(to, above, false, 0, amount(0, 0)) }, "Target queue above.to not found or is not a leaf queue."},
		"it isn't there": {func(w *world) { delete(w.views, to) }, "Target queue above.to not found or is not a leaf queue."},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, queue.Default(queue.Fair))
			w.app(1, "alice", from)
			w.loop.State.Apps[appID(1)].Used = amount(2, 1)
			w.views["root"], w.views[from] = view("root", "", false, 0, amount(0, 0)), view(from, "root", true, 0, amount(0, 0))
			w.views[above], w.views[to] = view(above, "root", false, 0, amount(0, 0)), view(to, above, true, 0, amount(6, 1))
			test.change(w)
			path, err := w.Move(appID(1), "above.to")
			if test.text == "" && (err != nil || path != to || w.moved[1] != to) || test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text) || len(w.moved) != 0) {
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

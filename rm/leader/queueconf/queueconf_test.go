package queueconf

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/queue/edit"
	"heddle/yarn/records"
)

// files are a member's files of queues.
type files struct {
	mutable  bool
	settings map[string]string
	changed  time.Time
	err      error
}

func (f *files) Mutable() bool { return f.mutable }

func (f *files) Read() (map[string]string, time.Time, error) {
	return maps.Clone(f.settings), f.changed, f.err
}

func (f *files) Build(settings map[string]string) (*queue.Tree, error) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		return nil, err
	}
	return queue.CapacityFromConf(c.WithValues(queue.CapacityFile, maps.Clone(settings)))
}

// scheduler holds a tree, or refuses to.
type scheduler struct {
	tree     *queue.Tree
	settings map[string]string
	err      error
}

func (s *scheduler) Tree() *queue.Tree { return s.tree }

func (s *scheduler) SetTree(tree *queue.Tree, settings map[string]string) error {
	if s.err == nil {
		s.tree, s.settings = tree, settings
	}
	return s.err
}

type bench struct {
	*testing.T
	loop      *looptest.Loop
	files     *files
	scheduler *scheduler
	published string // queues
	admin     *Admin
}

// queues are settings with some leaves below the root, of equal capacity.
func queues(names ...string) map[string]string {
	out := map[string]string{queue.Prefix + "root.queues": strings.Join(names, ",")}
	for _, name := range names {
		out[queue.Prefix+"root."+name+".capacity"] = map[int]string{1: "100", 2: "50"}[len(names)]
	}
	return out
}

func names(t *queue.Tree) string {
	var out []string
	for _, q := range t.Queues()[1:] {
		out = append(out, q.Path)
	}
	return strings.Join(out, " ")
}

func run(t *testing.T, mutable bool, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, loop: looptest.New(t), files: &files{mutable: mutable, settings: queues("a", "b"), changed: time.Now()}}
		b.lead()
		b.expect("at the beginning", "root.a root.b")
		test(b)
	})
}

// lead begins a leadership with what is in the ledger.
func (b *bench) lead() {
	log := logrus.New()
	log.SetOutput(io.Discard)
	b.scheduler = &scheduler{tree: queue.Default(queue.Capacity)}
	b.published = ""
	b.admin = New(b.loop, b.loop.State, Config{
		Source: b.files, Scheduler: b.scheduler, Log: logrus.NewEntry(log), Publish: func(t *queue.Tree) { b.published = names(t) },
	})
	_ = b.loop.Do(func() error { b.admin.Begin(); return nil })
}

// expect checks that queues hold, and are shown.
func (b *bench) expect(when, want string) {
	b.Helper()
	if got := names(b.scheduler.tree); got != want || b.published != want {
		b.Errorf("%s: the scheduler has %q and %q is shown, not %q", when, got, b.published, want)
	}
}

func value(s string) *string { return &s }

// addC is a change that adds a queue c, with a share of its own.
func addC(capacity string) *edit.Change {
	set := func(name, capacity string) edit.Queue {
		return edit.Queue{Path: "root." + name, Params: []edit.Setting{{Key: "capacity", Value: value(capacity)}}}
	}
	return &edit.Change{Add: []edit.Queue{set("c", capacity)}, Update: []edit.Queue{set("a", "25"), set("b", "25")}}
}

func TestRefreshReadsTheFiles(t *testing.T) {
	run(t, false, func(b *bench) {
		b.files.settings = queues("a", "c")
		if err := b.admin.Refresh(); err == nil {
			t.Error("a queue is removed without being stopped")
		}
		b.files.settings = queues("a", "b")
		b.files.settings[queue.Prefix+"root.b.maximum-capacity"] = "70"
		if err := b.admin.Refresh(); err != nil {
			t.Fatal(err)
		}
		if q := b.loop.State.Queues; !q.FromFile || q.Version != 1 || !maps.Equal(q.Settings, b.files.settings) || !maps.Equal(b.scheduler.settings, b.files.settings) {
			t.Errorf("on record: %+v; the scheduler has %v", q, b.scheduler.settings)
		}
		if err := b.admin.Refresh(); err != nil || b.loop.State.Queues.Version != 1 {
			t.Errorf("files that haven't changed: version %d, %v", b.loop.State.Queues.Version, err)
		}
		b.files.err = errors.New("capacity-scheduler.xml:7: not a number")
		var wrong *Error
		if err := b.admin.Refresh(); !errors.As(err, &wrong) || !errors.Is(err, b.files.err) {
			t.Errorf("files that can't be read: %v", err)
		}
		for _, err := range []error{b.admin.Change(addC("50")), b.admin.Format()} {
			if !errors.Is(err, ErrFixed) {
				t.Errorf("queues of files are changed: %v", err)
			}
		}
	})
}

// The files of the next leader's member count if they are younger than what is on record.
func TestTheYoungestFilesHold(t *testing.T) {
	run(t, false, func(b *bench) {
		b.files.settings = queues("a", "b")
		b.files.settings[queue.Prefix+"root.b.state"] = "STOPPED"
		time.Sleep(time.Hour)
		if err := b.admin.Refresh(); err != nil {
			t.Fatal(err)
		}
		b.files = &files{settings: queues("other"), changed: time.Now().Add(-time.Minute)}
		b.lead()
		b.expect("with older files", "root.a root.b")
		b.files.err = errors.New("no such file")
		b.files.changed = time.Now().Add(time.Minute)
		b.lead()
		b.expect("with files that can't be read", "root.a root.b")
		b.files.err = nil
		b.lead()
		b.expect("with younger files", "root.other")
	})
}

func TestChange(t *testing.T) {
	run(t, true, func(b *bench) {
		if err := b.admin.Refresh(); !refusal.Is(err, refusal.Refused) {
			t.Errorf("files are read over what is changed at run time: %v", err)
		}
		var wrong *Error
		if err := b.admin.Change(addC("70")); !errors.As(err, &wrong) {
			t.Errorf("capacities that don't add up: %v", err)
		}
		b.expect("after what was refused", "root.a root.b")
		settings, err := b.admin.CheckChange(addC("50"))
		if err != nil || settings[queue.Prefix+"root.c.capacity"] != "50" {
			t.Errorf("%v, %v", settings, err)
		}
		b.expect("after a check", "root.a root.b")
		if err := b.admin.Change(addC("50")); err != nil {
			t.Fatal(err)
		}
		b.expect("after the change", "root.a root.b root.c")
		if conf, err := b.admin.Recorded(); err != nil || conf.Version != 2 || !maps.Equal(conf.Settings, settings) {
			t.Errorf("on record: %+v, %v", conf, err)
		}
		b.lead()
		b.expect("with the next leader", "root.a root.b root.c")
	})
}

func TestApplicationsStandInTheWay(t *testing.T) {
	run(t, true, func(b *bench) {
		remove := &edit.Change{Remove: []string{"root.b"}, Update: []edit.Queue{
			{Path: "root.a", Params: []edit.Setting{{Key: "capacity", Value: value("100")}}},
		}}
		stop := &edit.Change{Update: []edit.Queue{{Path: "root.b", Params: []edit.Setting{{Key: "state", Value: value("STOPPED")}}}}}
		if err := b.admin.Change(stop); err != nil {
			t.Fatal(err)
		}
		id := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
		b.loop.State.Apps[id] = &ledger.Application{ID: id, Queue: "root.b", State: ledger.AppAccepted}
		var wrong *Error
		if err := b.admin.Change(remove); !errors.As(err, &wrong) {
			t.Errorf("a queue with an application is removed: %v", err)
		}
		b.loop.State.Apps[id].State = ledger.AppKilled
		if err := b.admin.Change(remove); err != nil {
			t.Errorf("after its end: %v", err)
		}
		b.expect("then", "root.a")
	})
}

func TestFormatReturnsToTheFiles(t *testing.T) {
	run(t, true, func(b *bench) {
		stop := &edit.Change{Update: []edit.Queue{{Path: "root.b", Params: []edit.Setting{{Key: "state", Value: value("STOPPED")}}}}}
		if err := b.admin.Change(stop); err != nil {
			t.Fatal(err)
		}
		b.files.settings = queues("a")
		if err := b.admin.Format(); err != nil {
			t.Fatal(err)
		}
		b.expect("then", "root.a")
		if v := b.loop.State.Queues.Version; v != 1 {
			t.Errorf("version %d", v)
		}
	})
}

// What the scheduler refuses isn't on record, and what can't be in the log doesn't reach the scheduler.
func TestWhatIsRefusedLeavesAllAsItWas(t *testing.T) {
	run(t, true, func(b *bench) {
		b.scheduler.err = errors.New("no room")
		if err := b.admin.Change(addC("50")); !errors.Is(err, b.scheduler.err) {
			t.Errorf("%v", err)
		}
		b.scheduler.err = nil
		change := addC("50")
		change.Global = []edit.Setting{{Key: "heddle.note", Value: value("\xff")}}
		var wrong *Error
		if err := b.admin.Change(change); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%v", err)
		}
		b.expect("then", "root.a root.b")
		if v := b.loop.State.Queues.Version; v != 1 {
			t.Errorf("version %d is on record", v)
		}
	})
}

// Nobody sees queues that aren't committed.
func TestQueuesAreShownWhenTheyAreCommitted(t *testing.T) {
	run(t, true, func(b *bench) {
		_ = b.loop.Operate(func() error { b.loop.Time(); b.admin.publish(queue.Default(queue.Capacity)); return nil })
		if b.published != "root.a root.b" {
			t.Errorf("%s is shown before it is committed", b.published)
		}
		b.loop.Commit()
		if b.published != "root.default" {
			t.Errorf("%s is shown after it is committed", b.published)
		}
	})
}

package rm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/rm/queue"
	"heddle/rm/queue/edit"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// queueNames are the queues that hold at a member, without the root.
func queueNames(m *member) string {
	var names []string
	for _, q := range m.Settings().Live.Tree().Queues()[1:] {
		names = append(names, q.Path)
	}
	return strings.Join(names, " ")
}

func value(s string) *string { return &s }

// Queues that are changed at run time are those of the next leader, and of a restarted member.
func TestChangedQueuesSurvive(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 3)
	c.Set("yarn.scheduler.configuration.store.class", "zk")
	var members []*member
	for i := range 3 {
		members = append(members, startOne(t, c, i))
	}
	lead := leaderOf(t, members)
	l := lead.Leader()
	add := &edit.Change{Add: []edit.Queue{{Path: "root.night", Params: []edit.Setting{{Key: "capacity", Value: value("25")}}}}}
	if err := l.QueueConf().Change(add); err == nil || !strings.Contains(err.Error(), "add up to") {
		t.Errorf("capacities that don't add up: got %v", err)
	}
	if got := queueNames(lead); strings.Contains(got, "night") {
		t.Errorf("what was refused holds: %s", got)
	}
	add.Add = append(add.Add, edit.Queue{Path: "root.default", Params: []edit.Setting{{Key: "capacity", Value: value("75")}}})
	if err := l.QueueConf().Change(add); err != nil {
		t.Fatal(err)
	}
	before, err := l.QueueConf().Recorded()
	if err != nil {
		t.Fatal(err)
	}
	const want = "root.night root.default"
	if got := queueNames(lead); got != want || before.Version != 2 {
		t.Errorf("version %d has %s", before.Version, got)
	}
	lead.halt(t)
	var rest []*member
	for _, m := range members {
		if m != lead {
			rest = append(rest, m)
		}
	}
	next := leaderOf(t, rest)
	if got := queueNames(next); got != want {
		t.Errorf("the next leader has %s", got)
	}
	if after, err := next.Leader().QueueConf().Recorded(); err != nil || after.Version != before.Version {
		t.Errorf("the next leader has version %d, %v", after.Version, err)
	}
	for _, m := range rest {
		m.halt(t)
	}
}

// refreshQueues takes the whole file or nothing of it, and leaves queues alone that are in use.
func TestRefreshQueues(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 1)
	dir := t.TempDir()
	write := func(capacities string) {
		t.Helper()
		text := "<configuration>"
		for kv := range strings.FieldsSeq(capacities) {
			k, v, _ := strings.Cut(kv, "=")
			text += "\n<property><name>yarn.scheduler.capacity.root." + k + "</name><value>" + v + "</value></property>"
		}
		if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(text+"\n</configuration>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("queues=default,b default.capacity=60 b.capacity=40")
	withFile, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"yarn.", "heddle."} {
		for rest, v := range c.WithPrefix(prefix) {
			if c.IsSet(prefix + rest) {
				withFile.Set(prefix+rest, v)
			}
		}
	}
	m := startOne(t, withFile, 0)
	defer m.halt(t)
	leaderOf(t, []*member{m})
	w := newWorld(t, []*member{m})
	admin := w.to(AdminAddress, protocol.Administration, ipc.Identity{User: m.login})
	refresh := func() error {
		_, err := protocol.RefreshQueues.Call(t.Context(), admin, &pb.RefreshQueuesRequest{})
		return err
	}
	w.submit("alice") // to root.default
	for _, step := range []struct{ file, wrong, queues string }{
		{"queues=default,b default.capacity=60 b.capacity=50", "capacity-scheduler.xml:3: yarn.scheduler.capacity.root.default.capacity", "root.default root.b"},
		{"queues=default default.capacity=100", "root.b cannot be deleted", "root.default root.b"},
		{"queues=default,b,c default.capacity=50 b.capacity=40 c.capacity=10 b.state=STOPPED", "", "root.default root.b root.c"},
		{"queues=default,c default.capacity=50 c.capacity=50", "", "root.default root.c"},
		{"queues=c c.capacity=100", "root.default cannot be deleted", "root.default root.c"},
	} {
		write(step.file)
		err := refresh()
		if step.wrong == "" && err != nil || step.wrong != "" && (err == nil || !strings.Contains(err.Error(), step.wrong)) {
			t.Errorf("%s: got %v", step.file, err)
		}
		if got := queueNames(m); got != step.queues {
			t.Errorf("%s: there are %s", step.file, got)
		}
	}
}

// errorsOf counts what a member logs as errors.
type errorsOf struct {
	mu    sync.Mutex
	lines []string
}

func (*errorsOf) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

func (e *errorsOf) Fire(entry *logrus.Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, entry.Message)
	return nil
}

func (e *errorsOf) holds(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.lines, func(line string) bool { return strings.Contains(line, text) })
}

// A FairScheduler's file that was changed holds without anybody asking, a broken one doesn't and is told of, and what is in use stays.
func TestChangedFairFileHolds(t *testing.T) {
	dir := t.TempDir()
	c := settingsFor(t, dir, 1)
	file := filepath.Join(dir, "fair-scheduler.xml")
	c.Set("yarn.resourcemanager.scheduler.class", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler")
	c.Set("yarn.scheduler.fair.allocation.file", file)
	age := time.Hour
	write := func(queues string) { // as if it had been left alone since long ago, each time later
		t.Helper()
		age -= time.Minute
		at := time.Now().Add(-age)
		err := os.WriteFile(file, []byte("<allocations>\n"+queues+"\n</allocations>"), 0o600)
		if err := errors.Join(err, os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write(`<queue name="a"/>`)
	m := newMember(t, c, 0)
	var wrong errorsOf
	m.log.Logger.AddHook(&wrong)
	m.fileInterval = time.Millisecond
	m.run()
	defer m.halt(t)
	leaderOf(t, []*member{m})
	holds := func(names string) {
		t.Helper()
		await.Until(t, "queues "+names, func() bool { return queueNames(m) == names })
	}
	holds("root.a")
	write(`<queue name="a"/><queue name="b"><queue name="c"/></queue>`)
	holds("root.a root.b root.b.c")
	write(`<queue name="a"/><queue name="b"><weight>plenty</weight></queue>`)
	await.Until(t, "a word on the broken file", func() bool { return wrong.holds("<weight>") })
	if got := queueNames(m); got != "root.a root.b root.b.c" {
		t.Errorf("a broken file makes %s", got)
	}
	write(`<queue name="a"`)
	await.Until(t, "a word on what is no XML", func() bool { return wrong.holds("fair-scheduler.xml:3") })
	if got := queueNames(m); got != "root.a root.b root.b.c" {
		t.Errorf("what is no XML makes %s", got)
	}
	write(`<queue name="d"/>`)
	holds("root.d")
}

// The rules that place applications are those of their file when the queues are read. A change of that file alone is a change of the queues.
func TestTheRulesFileIsReadWithTheQueues(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := "<configuration>"
	for key, v := range map[string]string{"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "mapping-rule-format": "json", "mapping-rule-json-file": "rules.json"} {
		text += "<property><name>" + queue.Prefix + key + "</name><value>" + v + "</value></property>"
	}
	write("capacity-scheduler.xml", text+"</configuration>")
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	source := queueSource{c, queue.Capacity}
	for _, want := range []string{"a", "b"} {
		write("rules.json", `{"rules":[{"type":"user","matches":"*","policy":"custom","customPlacement":"`+want+`"}]}`)
		settings, _, err := source.Read()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "rules.json")); err != nil { // another member has none
			t.Fatal(err)
		}
		tree, err := source.Build(settings)
		if err != nil {
			t.Fatal(err)
		}
		if path, err := tree.Place(queue.App{User: "ann", Queue: "default"}, nil); path != "root."+want || err != nil {
			t.Errorf("placed in %q, %v; want %s", path, err, want)
		}
	}
	if _, _, err := source.Read(); err == nil || !strings.Contains(err.Error(), "mapping-rule-json-file") || !strings.Contains(err.Error(), "rules.json") {
		t.Errorf("without the file: %v", err)
	}
	write("rules.json", `{"rules":[{"type":"group","matches":"*","policy":"user"}]}`)
	if _, _, err := source.Read(); err == nil || !strings.Contains(err.Error(), "Cannot match '*' for groups") {
		t.Errorf("a wrong rule: %v", err)
	}
}

package eventlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

var (
	slot   = records.NewResource(1024, 1)
	queues = &eventlog.Source{Keys: map[string]string{
		"yarn.resourcemanager.scheduler.class":             "capacity",
		"yarn.scheduler.capacity.root.queues":              "a,b",
		"yarn.scheduler.capacity.root.a.capacity":          "30",
		"yarn.scheduler.capacity.root.b.capacity":          "70",
		"yarn.scheduler.capacity.root.a.user-limit-factor": "4",
	}}
)

// preempting are queues with rounds of preemption each second, and a second of patience.
var preempting = map[string]*eventlog.Source{
	"capacity": {Keys: capacityKeys("false")},
	"lazy":     {Keys: capacityKeys("true")},
	"suspend":  {Keys: suspendKeys()},
	"stages":   {Keys: stageKeys()},
	"hopper":   {Keys: hopperKeys()},
	"fair": {
		Keys: map[string]string{
			"yarn.resourcemanager.scheduler.class": "fair", "yarn.scheduler.fair.preemption": "true",
			"yarn.scheduler.fair.preemption.cluster-utilization-threshold": "0.1",
			"yarn.scheduler.fair.waitTimeBeforeKill":                       "1000",
			"yarn.scheduler.fair.waitTimeBeforeNextStarvationCheck":        "100",
		},
		Allocation: "<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault><defaultFairSharePreemptionTimeout>0</defaultFairSharePreemptionTimeout>" +
			"<defaultFairSharePreemptionThreshold>1</defaultFairSharePreemptionThreshold><queue name='a'/><queue name='b'/></allocations>",
	},
}

func capacityKeys(lazy string) map[string]string {
	const prefix = "yarn.resourcemanager.monitor.capacity.preemption."
	keys := maps.Clone(queues.Keys)
	maps.Copy(keys, map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": "true", prefix + "monitoring_interval": "1000", prefix + "max_wait_before_kill": "1000",
		prefix + "total_preemption_per_round": "1", prefix + "natural_termination_factor": "1",
		"yarn.scheduler.capacity.lazy-preemption-enabled": lazy, "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
		"yarn.scheduler.capacity.root.b.user-limit-factor": "4",
	})
	return keys
}

func hopperKeys() map[string]string {
	keys := capacityKeys("false")
	for _, q := range []string{"a", "b"} {
		keys["yarn.scheduler.capacity.root."+q+".ordering-policy"] = "hopper"
	}
	keys["heddle.scheduler.hopper.locality-percent"] = "100"
	return keys
}

func stageKeys() map[string]string {
	keys := capacityKeys("false")
	keys["heddle.scheduler.stage-policy"] = "omo"
	keys["yarn.scheduler.capacity.root.b.heddle-stage-policy"] = "fresh"
	return keys
}

func suspendKeys() map[string]string {
	keys := capacityKeys("false")
	keys["heddle.scheduler.preemption"], keys["heddle.scheduler.preemption.unit.memory-mb"] = "suspend", "512"
	keys["heddle.scheduler.preemption.resume-tries"], keys["heddle.scheduler.preemption.max-suspended-ms"] = "2", "5000"
	keys["yarn.scheduler.capacity.root.b.heddle-preemption"] = "suspend-immediate"
	return keys
}

// begin makes a Recorder that records to a buffer.
func begin(t fataler, log io.Writer) *eventlog.Recorder { return beginWith(t, log, queues) }

func beginWith(t fataler, log io.Writer, queues *eventlog.Source) *eventlog.Recorder {
	tree, types, err := queues.Tree()
	if err != nil {
		t.Fatal(err)
	}
	s, err := eventlog.New(scheduler.Config{Tree: tree, Types: types, Minimum: slot}, eventlog.NewWriter(log), queues, eventlog.Header{Heddle: "test", Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type fataler interface{ Fatal(args ...any) }

// play replays to the end, and returns the replay with what stopped it, if something did.
func play(log []byte) (*eventlog.Replay, error) {
	p := eventlog.NewReplay(bytes.NewReader(log))
	for {
		if _, err := p.Step(); errors.Is(err, io.EOF) {
			return p, nil
		} else if err != nil {
			return p, err
		}
	}
}

// live is what a random history knows of.
type live struct {
	s          *eventlog.Recorder
	now        int64
	seq        int64
	ids        int64 // of the next container
	nodes      []scheduler.NodeHandle
	apps       []scheduler.AppHandle
	containers []held
	kinds      map[drive.Kind]int // of decisions
}

type held struct {
	container scheduler.ContainerHandle
	app       scheduler.AppHandle
	node      scheduler.NodeHandle
}

// step does something random.
func (l *live) step(t *rapid.T) {
	app, node := -1, -1
	if len(l.apps) > 0 {
		app = rapid.IntRange(0, len(l.apps)-1).Draw(t, "app")
	}
	if len(l.nodes) > 0 {
		node = rapid.IntRange(0, len(l.nodes)-1).Draw(t, "node")
	}
	switch what := rapid.IntRange(0, 25).Draw(t, "event"); {
	case what == 0 || node < 0:
		l.nodes = append(l.nodes, eventlogtest.AddNode(l.s, scheduler.NodeSpec{
			Host: fmt.Sprint("h", rapid.IntRange(0, 5).Draw(t, "host")), Rack: "/r", Capability: slot.Times(rapid.Int64Range(0, 8).Draw(t, "size")),
		}))
	case what == 1 || app < 0:
		l.seq++
		h := eventlogtest.AddApp(l.s, drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: l.seq, Queue: rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "queue"), User: "u<>&", AM: slot, Type: rapid.SampledFrom([]string{"MAPREDUCE", "SPARK"}).Draw(t, "type")},
			ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(l.seq)}, SpareMaster: rapid.Bool().Draw(t, "spared"),
		})
		l.s.Apply(&eventlog.Event{Op: eventlog.Name, App: h, Name: fmt.Sprint("app", l.seq)})
		l.apps = append(l.apps, h)
	case what <= 5:
		n, work := rapid.Int32Range(0, 9).Draw(t, "count"), rapid.SampledFrom([]scheduler.Work{0, 0, 1}).Draw(t, "work")
		priority := rapid.SampledFrom([]int32{1, 10, 20}).Draw(t, "priority")
		l.s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: l.apps[app], Asks: []scheduler.Ask{
			{Priority: priority, Name: scheduler.Any, Capability: slot, Count: n, RelaxLocality: true, Work: work},
			{Priority: priority, Name: "h1", Capability: slot, Count: n / 2, RelaxLocality: true, Work: work},
		}})
	case what == 6:
		l.s.Apply(&eventlog.Event{Op: eventlog.SetPriority, App: l.apps[app], Priority: rapid.Int32Range(0, 3).Draw(t, "priority")})
	case what == 7:
		l.s.Apply(&eventlog.Event{Op: eventlog.MoveApp, App: l.apps[app], Queue: rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "queue")})
	case what == 8:
		eventlogtest.Open(l.s, l.nodes[node], rapid.SampledFrom([]scheduler.Works{scheduler.AllWork, scheduler.NoWork, scheduler.WorkOf(1)}).Draw(t, "open"))
	case what == 9:
		l.s.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: l.apps[app], Add: []string{"h2"}})
	case what == 10 && len(l.containers) > 0:
		i := rapid.IntRange(0, len(l.containers)-1).Draw(t, "container")
		if rapid.Bool().Draw(t, "fails") {
			l.s.Apply(&eventlog.Event{Op: eventlog.Free, Container: l.containers[i].container, Failed: true})
		} else {
			l.s.Apply(&eventlog.Event{Op: eventlog.Free, Container: l.containers[i].container})
		}
		l.containers = slices.Delete(l.containers, i, i+1)
	case what == 11:
		l.remove(app)
	case what == 12 && len(l.containers) > 0: // as after the node's rack has changed
		c := rapid.SampledFrom(l.containers).Draw(t, "container")
		l.free(c.container)
		l.containers = append(l.containers, held{eventlogtest.Restore(l.s, c.app, c.node, slot, drive.Container{
			Attempt: 1, ID: l.ids, Priority: 1, Since: l.now, AM: rapid.Bool().Draw(t, "master"),
		}), c.app, c.node})
		l.ids++
	case what == 14 && len(l.containers) > 0:
		l.s.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: rapid.SampledFrom(l.containers).Draw(t, "container").container, Resource: eventlog.Amounts(slot.Times(rapid.Int64Range(0, 1).Draw(t, "held")))})
	case what == 15 && len(l.containers) > 0:
		l.s.Apply(&eventlog.Event{Op: eventlog.Grow, Container: rapid.SampledFrom(l.containers).Draw(t, "container").container, Resource: eventlog.Amounts(slot.Times(rapid.Int64Range(2, 4).Draw(t, "growth")))})
	case what == 16:
		l.s.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: l.nodes[node], Ability: &drive.Ability{Suspend: true, Shrink: rapid.Bool().Draw(t, "shrinks"), Reclaim: rapid.Bool().Draw(t, "reclaims"), Out: 1 << 28}})
	case what == 19:
		l.s.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: l.apps[app], Maps: rapid.Int64Range(0, 9).Draw(t, "maps"), Bytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes")})
	case what == 25:
		l.s.Apply(&eventlog.Event{Op: eventlog.NoteTasks, App: l.apps[app], Tasks: &eventlog.Tasks{
			Left: rapid.Int64Range(0, 9).Draw(t, "left"), Copies: rapid.Bool().Draw(t, "makes copies"), Young: rapid.Int64Range(0, 9).Draw(t, "young"),
			Detection: rapid.Int64Range(0, 9000).Draw(t, "detection"), ToRead: rapid.Int64Range(0, 9).Draw(t, "to read"), ToMake: rapid.Int64Range(0, 9).Draw(t, "to make"),
			Ended: rapid.Int64Range(0, 99).Draw(t, "ended"), Beta: rapid.Float64Range(0, 3).Draw(t, "beta"),
		}})
	case what == 24:
		l.s.Apply(&eventlog.Event{Op: eventlog.NoteStaged, App: l.apps[app], Node: l.nodes[node], Maps: rapid.Int64Range(0, 3).Draw(t, "maps")})
	case what == 20:
		l.s.Apply(&eventlog.Event{Op: eventlog.NoteBandwidth, Part: rapid.Float64Range(0, 1e12).Draw(t, "bandwidth")})
	case what == 17:
		l.s.Apply(&eventlog.Event{Op: eventlog.SetProgress, App: l.apps[app], Part: rapid.Float64Range(0, 1).Draw(t, "part")})
	case what == 18 && len(l.containers) > 0:
		h := rapid.SampledFrom(l.containers).Draw(t, "container").container
		switch rapid.IntRange(0, 9).Draw(t, "report") {
		case 6:
			l.s.Apply(&eventlog.Event{Op: eventlog.Swap, Container: h, Priority: rapid.SampledFrom([]int32{1, 10, 20}).Draw(t, "priority"), Request: rapid.Int64Range(-1, 0).Draw(t, "request")})
		case 7:
			l.s.Apply(&eventlog.Event{Op: eventlog.Unswap, Container: h})
		case 4:
			l.s.Apply(&eventlog.Event{Op: eventlog.SetMemory, Container: h, Total: rapid.Int64Range(0, 1<<30).Draw(t, "bytes")})
		case 5:
			l.s.Apply(&eventlog.Event{Op: eventlog.Took, Container: h, Total: rapid.Int64Range(0, 5000).Draw(t, "took")})
		case 0:
			l.s.Apply(&eventlog.Event{Op: eventlog.Refused, Container: h})
		case 8:
			l.s.Apply(&eventlog.Event{Op: eventlog.NotBegun, Container: h})
		case 1:
			l.s.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: h, Resource: eventlog.Amounts(slot.Times(rapid.Int64Range(0, 1).Draw(t, "noted")))})
		case 2:
			l.s.Apply(&eventlog.Event{Op: eventlog.WasSuspended, Container: h, Resource: eventlog.Amounts(slot.Times(rapid.Int64Range(0, 1).Draw(t, "was"))), Since: l.now, Queue: "root.b"})
			l.s.Apply(&eventlog.Event{Op: eventlog.SetPast, Container: h, Times: rapid.IntRange(0, 2).Draw(t, "times"), Total: rapid.Int64Range(0, 100).Draw(t, "total")})
		default:
			l.s.Apply(&eventlog.Event{Op: eventlog.Return, Container: h, Forced: rapid.Bool().Draw(t, "forced")})
		}
	case what == 13 && len(l.containers) > 0:
		l.s.Apply(&eventlog.Event{Op: eventlog.Resize, Container: rapid.SampledFrom(l.containers).Draw(t, "container").container, Resource: eventlog.Amounts(slot.Times(rapid.Int64Range(1, 3).Draw(t, "size")))})
	default:
		l.now += rapid.Int64Range(0, 3000).Draw(t, "ms")
		for l.decide() {
			continue
		}
	}
}

// decide reports whether containers had to end.
func (l *live) decide() (again bool) {
	var kill []scheduler.ContainerHandle
	for _, d := range l.s.Step(l.now) {
		l.kinds[d.Kind]++
		switch d.Kind {
		case drive.Allocate:
			l.containers = append(l.containers, held{d.Container, d.App, d.Node})
			l.s.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: l.ids, Containers: []scheduler.ContainerHandle{d.Container}})
			l.ids++
		case drive.Kill:
			kill = append(kill, d.Container)
		}
	}
	for _, h := range kill {
		l.free(h)
	}
	return len(kill) > 0
}

func (l *live) free(h scheduler.ContainerHandle) {
	l.s.Apply(&eventlog.Event{Op: eventlog.Free, Container: h})
	l.containers = slices.DeleteFunc(l.containers, func(c held) bool { return c.container == h })
}

// remove takes an application out with its containers.
func (l *live) remove(app int) {
	h := l.apps[app]
	l.containers = slices.DeleteFunc(l.containers, func(c held) bool {
		if c.app == h {
			l.s.Apply(&eventlog.Event{Op: eventlog.Free, Container: c.container})
		}
		return c.app == h
	})
	l.s.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: h})
	l.apps = slices.Delete(l.apps, app, app+1)
}

// TestReplayDecidesTheSame records random histories of two leaderships, and replays them.
func TestReplayDecidesTheSame(t *testing.T) {
	for name, queues := range preempting {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var log bytes.Buffer
				var last *eventlog.Recorder
				for range 2 {
					l := &live{s: beginWith(t, &log, queues), now: 1000, kinds: map[drive.Kind]int{}}
					last = l.s
					for range rapid.IntRange(0, 80).Draw(t, "events") {
						l.step(t)
					}
					if err := l.s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				p, err := play(log.Bytes())
				if err != nil {
					t.Fatalf("%v\n%s", err, log.Bytes())
				}
				if p.Sessions != 2 || p.Torn() {
					t.Fatalf("%d sessions, torn: %v", p.Sessions, p.Torn())
				}
				if diff := stateDiff(last.Facts.(*drive.Driver), p.Driver); diff != "" {
					t.Fatalf("the replay leads to another state: %s\n%s", diff, log.Bytes())
				}
			})
		})
	}
}

// TestRoundsAreReplayed: a log holds what rounds decide, and a replay that decides otherwise says so.
func TestRoundsAreReplayed(t *testing.T) {
	for name, queues := range preempting {
		var log bytes.Buffer
		l := &live{s: beginWith(t, &log, queues), kinds: map[drive.Kind]int{}}
		n := eventlogtest.AddNode(l.s, scheduler.NodeSpec{Host: "h", Rack: "/r", Capability: slot.Times(4)})
		l.s.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: n, Ability: &drive.Ability{Suspend: true, Shrink: true, Reclaim: true}})
		for i, queue := range []string{"root.a", "root.b"} {
			h := eventlogtest.AddApp(l.s, drive.AppSpec{
				AppSpec: scheduler.AppSpec{Seq: int64(i), Queue: queue, User: "u", AM: slot},
				ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(i + 1)},
			})
			count := int32(4 - 3*i)
			l.s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: h, Asks: []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: slot, Count: count, RelaxLocality: true}}})
			for range 5 {
				l.now += 1000
				for l.decide() {
					continue
				}
			}
		}
		if err := l.s.Close(); err != nil {
			t.Fatal(err)
		}
		kind := "tell"
		if name == "suspend" {
			kind = "suspend"
		}
		if kind == "suspend" && l.kinds[drive.Suspend] == 0 || kind == "tell" && (l.kinds[drive.Tell] == 0 || l.kinds[drive.Kill] == 0) ||
			(l.kinds[drive.Killable] > 0) != (name == "lazy") {
			t.Fatalf("%s: %v decisions by kind", name, l.kinds)
		}
		if _, err := play(log.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var d *eventlog.Difference
		if _, err := play(bytes.Replace(log.Bytes(), []byte(`"`+kind+`",`), []byte(`"kill",`), 1)); !errors.As(err, &d) {
			t.Errorf("%s: another decision of a round makes no difference: %v", name, err)
		}
	}
}

// TestFirstFormat: logs in which the caller ran the rounds, as Heddle wrote them before, lead to the same decisions.
func TestFirstFormat(t *testing.T) {
	for _, name := range []string{"capacity", "lazy", "fair"} {
		log, err := os.ReadFile(filepath.Join("testdata", "first-format-"+name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := play(log)
		if err != nil || p.Decisions < 25 {
			t.Errorf("%s: %v after %d decisions", name, err, p.Decisions)
		}
		changed := bytes.Replace(log, []byte(`"container":3`), []byte(`"container":4`), 1)
		if _, err := play(changed); err == nil {
			t.Errorf("%s: another container than what was freed or granted makes no difference", name)
		}
	}
}

// recorded is a short log: two nodes, an application, three containers.
func recorded(t fataler) []byte {
	var log bytes.Buffer
	s := begin(t, &log)
	for _, host := range []string{"h1", "h2"} {
		eventlogtest.AddNode(s, scheduler.NodeSpec{Host: host, Rack: "/r", Capability: slot.Times(2)})
	}
	h := eventlogtest.AddApp(s, drive.AppSpec{
		AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: slot}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1},
	})
	s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: h, Asks: []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: slot, Count: 5, RelaxLocality: true}}})
	s.Step(5000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return log.Bytes()
}

// TestDifference: a decision that the log has otherwise is named, with both sides.
func TestDifference(t *testing.T) {
	log := regexp.MustCompile(`(\["allocate",0,1,)1,`).ReplaceAll(recorded(t), []byte(`${1}0,`))
	_, err := play(log)
	var d *eventlog.Difference
	if !errors.As(err, &d) {
		t.Fatalf("the replay of a changed log says %v", err)
	}
	for _, want := range []string{"line 6", "1970-01-01T00:00:05.000Z", "then: allocate", "now:  allocate", "application_1_0001"} {
		if !strings.Contains(d.Error(), want) {
			t.Errorf("%q doesn't say %q", d.Error(), want)
		}
	}
	log = regexp.MustCompile(`\["activate",`).ReplaceAll(recorded(t), []byte(`["reserve",`))
	if _, err := play(log); err == nil {
		t.Error("a log with another kind of decision is replayed")
	}
}

// Why says all that an application waits for, what holds it and would free it, where it must not go, and what is free.
func TestWhy(t *testing.T) {
	var log bytes.Buffer
	s := begin(t, &log)
	eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot.Times(2)})
	h := eventlogtest.AddApp(s, drive.AppSpec{
		AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: slot}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1},
	})
	s.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: h, Add: []string{"h9", "h8"}})
	s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: h, Asks: []scheduler.Ask{{Priority: 4, AllocationRequestID: 6, Name: scheduler.Any, Capability: slot.Times(3), Count: 2, RelaxLocality: true}}})
	s.Step(5000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := play(log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := p.Why(&out, "application_1_0001"); err != nil {
		t.Fatal(err)
	}
	want := `application_1_0001 at 1970-01-01T00:00:05.000Z: waits for 2 containers of <memory:6144, vCores:6> together
  2 of <memory:3072, vCores:3> on * (priority 4, request 6)
  2 of <memory:3072, vCores:3>: no node is large enough for <memory:3072, vCores:3>: h1, the largest, lacks <memory:1024, vCores:0> (would be freed by: a larger node, or a smaller request)
  not on [h8 h9]
  1 open nodes have <memory:2048, vCores:2> free; the largest has <memory:2048, vCores:2>
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := p.Why(&out, "application_1_0002"); err == nil || !strings.Contains(err.Error(), "there is no application application_1_0002 at line") {
		t.Errorf("an application that isn't there: %v", err)
	}
}

// TestTorn: wherever a log ends, what is whole counts, and a log that goes on after a crash is good.
func TestTorn(t *testing.T) {
	log := recorded(t)
	for n := bytes.IndexByte(log, '\n') + 1; n <= len(log); n++ {
		p, err := play(log[:n])
		if err != nil || p.Torn() != (log[n-1] != '\n') {
			t.Fatalf("cut after %d of %d bytes: %v, torn: %v", n, len(log), err, p.Torn())
		}
	}
	name := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(name, log[:len(log)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := eventlog.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Begin(eventlog.Header{Queues: queues}), w.Close()); err != nil {
		t.Fatal(err)
	}
	mended, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := play(mended); err != nil || p.Sessions != 2 {
		t.Fatalf("%v after %d sessions", err, p.Sessions)
	}
}

func TestRefused(t *testing.T) {
	header := recorded(t)[:bytes.IndexByte(recorded(t), '\n')+1]
	for name, c := range map[string]struct{ text, want string }{
		"no header":                {`{"op":"free"}`, "begins with a header"},
		"another format":           {`{"heddle-events":12,"heddle":"7.1"}`, "format is 12"},
		"a name of no application": {string(header) + `{"op":"addApp","queue":"root.a","name":"juggler"}`, "juggler"},
		"a container without one":  {string(header) + `{"op":"identify","containers":[1]}`, "no container 1"},
		"no JSON":                  {string(header) + "{]", "line 2"},
		"an unknown event":         {string(header) + `{"op":"juggle"}`, "juggle"},
		"a container that isn't":   {string(header) + `{"op":"free","container":3}`, "no container 3"},
		"negative amounts":         {string(header) + `{"op":"addNode","host":"h","resource":[-1]}`, "out of range"},
		"too many amounts":         {string(header) + `{"op":"addNode","host":"h","resource":[1,1,1,1,1,1,1,1,1,1]}`, "types of resources"},
		"a negative count":         {string(header) + `{"op":"addApp","queue":"root.a"}` + "\n" + `{"op":"updateAsks","asks":[{"name":"*","count":-1}]}`, "-1 containers"},
	} {
		if _, err := play([]byte(c.text + "\n")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v doesn't say %q", name, err, c.want)
		}
	}
}

// full is a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk: the scheduler goes on when its log can't be written.
func TestFullDisk(t *testing.T) {
	w := eventlog.NewWriter(full{})
	if err := w.Begin(eventlog.Header{}); err == nil {
		t.Error("nothing is said of a full disk")
	}
	w.Append(&eventlog.Event{Op: eventlog.Free})
	if w.Err() == nil {
		t.Error("the error is forgotten")
	}
}

var large = regexp.MustCompile(`[0-9]{5}`)

func FuzzReplay(f *testing.F) {
	good := recorded(f)
	f.Add(uint16(0), uint16(0), []byte(""))
	f.Add(uint16(len(good)-5), uint16(5), []byte(""))
	f.Add(uint16(bytes.Index(good, []byte("addNode"))), uint16(len("addNode")), []byte("setOpen"))
	f.Add(uint16(len(good)), uint16(0), []byte(`{"op":"free","container":1}`+"\n"))
	// An input says what stands in a good log instead of some bytes: a whole log would take a minute to be minimized, in which nothing else
	// is tried.
	f.Fuzz(func(t *testing.T, at, instead uint16, put []byte) {
		from := min(int(at), len(good))
		log := slices.Concat(good[:from], put, good[min(from+int(instead), len(good)):])
		// large numbers make long replays: a billion containers are granted one by one
		if len(log) > 1<<16 || large.Match(log) || bytes.Count(log, []byte("heddle-events")) > 3 {
			return
		}
		_, err := play(log)
		var d *eventlog.Difference
		if err != nil && !errors.As(err, &d) && !strings.Contains(err.Error(), "line ") {
			t.Errorf("the error doesn't say where: %v", err)
		}
		if strings.Contains(fmt.Sprint(err), "panic") {
			t.Errorf("%v\n%s", err, log)
		}
	})
}

// A log holds the keys that say for which asks a FairScheduler reserves nodes, how many, and how often it looks. Without them a replay would
// decide otherwise.
func TestReservationsOfFairQueuesAreReplayed(t *testing.T) {
	for multiple, want := range map[string]int{"1": 2, "2": 0} {
		var log bytes.Buffer
		s := beginWith(t, &log, &eventlog.Source{
			Keys: map[string]string{
				"yarn.resourcemanager.scheduler.class":                    "fair",
				"yarn.scheduler.reservation-threshold.increment-multiple": multiple,
				"yarn.scheduler.fair.reservable-nodes":                    "1.0",
				"yarn.scheduler.fair.update-interval-ms":                  "5",
			},
			Allocation: `<allocations><queue name="a"/><queue name="b"/></allocations>`,
		})
		for i := range 2 {
			eventlogtest.AddNode(s, scheduler.NodeSpec{Host: fmt.Sprint("h", i), Rack: "/r", Capability: slot})
		}
		for i, queue := range []string{"root.a", "root.b"} {
			h := eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: int64(i), Queue: queue, User: "u"}})
			s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: h, Asks: []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 2, RelaxLocality: true}}})
			s.Step(int64(i) * 5)
		}
		if got := len(s.Reservations()); got != want {
			t.Errorf("from %s increments on: %d nodes are reserved, want %d", multiple, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := play(log.Bytes()); err != nil {
			t.Errorf("from %s increments on: %v", multiple, err)
		}
	}
}

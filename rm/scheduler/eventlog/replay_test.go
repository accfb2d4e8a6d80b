package eventlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

// crowded is a log of two nodes of two slots each. An application has containers 0 and 1 there, of one slot each, and a reservation for a container
// of two slots, which has handle 2.
func crowded(t *testing.T) (log []byte) {
	t.Helper()
	var buf bytes.Buffer
	s := begin(t, &buf)
	for _, host := range []string{"h1", "h2"} {
		eventlogtest.AddNode(s, scheduler.NodeSpec{Host: host, Rack: "/r", Capability: slot.Times(2)})
	}
	h := eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u"}})
	s.Apply(&eventlog.Event{Op: eventlog.Name, App: h, Name: "crowd"})
	s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: h, Asks: []scheduler.Ask{
		{Priority: 1, Name: scheduler.Any, Capability: slot, Count: 2, RelaxLocality: true},
		{Priority: 2, Name: scheduler.Any, Capability: slot.Times(2), Count: 1, RelaxLocality: true},
	}})
	s.Step(5000)
	s.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: 1, Containers: []scheduler.ContainerHandle{0, 1}})
	if got := s.Reservations(); len(got) != 1 || got[0].Node != 0 {
		t.Fatalf("%+v is reserved", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Each event whose outcome is in the log differs in a replay in which it comes out otherwise, and the difference names its line.
func TestOutcomesThatDiffer(t *testing.T) {
	log := crowded(t)
	head := bytes.Count(log, []byte("\n"))
	for event, yes := range map[string]bool{
		`"op":"resize","container":0,"resource":[1024,1]`:                     true,
		`"op":"resize","container":0,"resource":[9216,9]`:                     false,
		`"op":"grow","container":0,"resource":[2048,2]`:                       true,
		`"op":"setHeld","container":1,"resource":[512,1]`:                     true,
		`"op":"setHeld","container":1,"resource":[9216,9]`:                    false,
		`"op":"setHeld","container":1,"resource":[0,1]`:                       true,
		`"op":"setHeld","container":1,"resource":[1125899906842624]`:          false,
		`"op":"noteHeld","container":1,"resource":[9216,9]`:                   false,
		`"op":"wasSuspended","container":1,"resource":[512],"queue":"root.a"`: true,
		`"op":"wasSuspended","container":1,"resource":[9216,9]`:               false,
		`"op":"return","container":1`:                                         true,
		`"op":"unreserve","container":2`:                                      true,
		`"op":"unreserve","container":1`:                                      false,
		`"op":"moveReservation","container":2,"node":1`:                       true,
		`"op":"moveReservation","container":1,"node":1`:                       false,
		`"op":"makeKillable","container":1`:                                   true,
		`"op":"makeKillable","container":2`:                                   false,
		`"op":"setTree","queues":{"keys":{"yarn.resourcemanager.scheduler.class":"capacity",` +
			`"yarn.scheduler.capacity.root.queues":"a,b","yarn.scheduler.capacity.root.a.capacity":"50","yarn.scheduler.capacity.root.b.capacity":"50"}}`: true,
		`"op":"setTree","queues":{"keys":{"yarn.resourcemanager.scheduler.class":"fair"}}`: false,
	} {
		for _, logged := range []bool{true, false} {
			line := "{" + event + "}\n"
			if logged {
				line = "{" + event + `,"open":true}` + "\n"
			}
			_, err := play(append(bytes.Clone(log), line...))
			var d *eventlog.Difference
			switch differs := errors.As(err, &d); {
			case logged == yes && err != nil, logged != yes && !differs:
				t.Errorf("%s: with outcome %t in the log: %v", event, logged, err)
			case differs && (d.Line != head+1 || d.Time != 5000 || !strings.Contains(d.What, fmt.Sprintf("%t; now: ", logged))):
				t.Errorf("%s: with outcome %t in the log: %v", event, logged, err)
			}
		}
	}
	for event, want := range map[string]string{
		`"op":"addNode","node":7,"host":"h3"`:                                                  "node 7 of the log is node 2 now",
		`"op":"addApp","app":7,"queue":"root.a"`:                                               "application 7 of the log is application 1 now",
		`"op":"restore","container":7,"resource":[1]`:                                          "container 7 of the log is container 3 now",
		`"op":"step","t":5000,"decisions":[{"kind":"activate"}]`:                               "decision 1: now nothing more is decided\n  then: activate",
		`"op":"schedule","t":6000,"decisions":[{"kind":"allocate"}]`:                           "decision 1: now nothing more is decided\n  then: allocate",
		`"op":"free"}` + "\n" + `{"op":"free","container":1}` + "\n" + `{"op":"step","t":5000`: "decision 1: the log has no more decisions\n  now:  ",
	} {
		_, err := play(append(bytes.Clone(log), "{"+event+"}\n"...))
		var d *eventlog.Difference
		if !errors.As(err, &d) || !strings.Contains(d.What, want) {
			t.Errorf("%s: %v doesn't say %q", event, err, want)
		}
	}
}

// A decision is another one if anything of it is but the words of its reason.
func TestDecisionsThatDiffer(t *testing.T) {
	events, step, _ := strings.Cut(string(crowded(t)), `"decisions"`)
	for old, other := range map[string]string{
		`["activate",`:                     `["tell",`,
		`,1024,1]`:                         `,1024,2]`,
		`,2048,2]`:                         `,-1]`,
		`["allocate",0,0,0,1`:              `["allocate",0,0,0,3`,
		`,2,1024,1]`:                       `,1,1024,1]`,
		`["allocate",0,1,1`:                `["allocate",0,7,1`,
		`["allocate",0,1,1,`:               `["allocate",0,1,0,`,
		`["allocate",0,`:                   `["allocate",5,`,
		`["reserve",0,2,0,2,0,0,`:          `["reserve",0,2,0,2,5,0,`,
		`["allocate",0,0,0,1,0,0,`:         `["allocate",0,0,0,1,0,1,`,
		`["reserve",0,2,0,2,0,0,0,2048,2]`: `{"reason":"in other words","kind":"reserve","container":2,"priority":2,"resource":[2048,2]}`,
	} {
		if !strings.Contains(step, old) {
			t.Fatalf("there is no %s in %s", old, step)
		}
		_, err := play([]byte(events + `"decisions"` + strings.Replace(step, old, other, 1)))
		var d *eventlog.Difference
		switch differs := errors.As(err, &d); {
		case strings.Contains(other, "words"):
			if err != nil {
				t.Errorf("%s: %v", other, err)
			}
		case !differs || !strings.Contains(d.What, ": another decision"):
			t.Errorf("%s: %v", other, err)
		}
	}
}

// Logs of the first format say what rounds of preemption did to the scheduler.
func TestEventsOfTheFirstFormat(t *testing.T) {
	log := crowded(t)
	state := func(events ...string) *drive.Driver {
		t.Helper()
		all := bytes.Clone(log)
		for _, e := range events {
			all = append(all, e+"\n"...)
		}
		p, err := play(all)
		if err != nil {
			t.Fatal(err)
		}
		return p.Driver
	}
	const killable = `{"op":"makeKillable","container":0,"open":true}`
	if got := state(`{"op":"moveReservation","container":2,"node":1,"open":true}`).Reservations(); len(got) != 1 || got[0].Node != 1 {
		t.Errorf("moved: %+v", got)
	}
	if got := state(`{"op":"unreserve","container":2,"open":true}`).Reservations(); len(got) != 0 {
		t.Errorf("undone: %+v", got)
	}
	if got := state(killable); stateDiff(got, state()) == "" {
		t.Error("a container that became killable is what it was")
	}
	state(killable, `{"op":"spareKillable"}`, killable) // it is killable anew
	if diff := stateDiff(state(killable), state(killable, `{"op":"spareKillable"}`)); diff == "" {
		t.Error("what is spared is still killable")
	}
	if diff := stateDiff(state(`{"op":"promise","container":0}`), state()); diff == "" {
		t.Error("room is set aside for nobody")
	}
	if diff := stateDiff(state(`{"op":"promise","container":0,"app":9}`), state()); diff != "" {
		t.Errorf("room is set aside for an application that isn't there: %s", diff)
	}
}

// A log that can't be played says why, and in which line.
func TestLogsThatCantBePlayed(t *testing.T) {
	log := crowded(t)
	line := bytes.Count(log, []byte("\n")) + 1
	for event, want := range map[string]string{
		`{"op":"removeNode"}`:                                       "removeNode: node 0 still has 1 containers",
		`{"op":"removeNode","node":2}`:                              "removeNode: there is no node 2",
		`{"op":"setCapability","node":2}`:                           "setCapability: there is no node 2",
		`{"op":"setAbility"}`:                                       "setAbility: the log doesn't say what the node can do",
		`{"op":"removeApp"}`:                                        "removeApp: application 0 still has 2 containers",
		`{"op":"moveApp","app":1}`:                                  "moveApp: there is no application 1",
		`{"op":"noteOutputs","maps":-1}`:                            "noteOutputs: -1 maps have outputs of 0 bytes",
		`{"op":"noteOutputs","bytes":-1}`:                           "noteOutputs: 0 maps have outputs of -1 bytes",
		`{"op":"updateAsks","asks":[{"name":"*","resource":[-1]}]}`: "updateAsks: amount -1 of resource 0 is out of range",
		`{"op":"restore","app":1,"node":2}`:                         "restore: there is no application 1\nthere is no node 2",
		`{"op":"free","container":4}`:                               "free: there is no container 4",
		`{"op":"promise","container":9}`:                            "promise: there is no container 9",
		`{"op":"identify","containers":[0,9]}`:                      "identify: there is no container 9",
		`{"op":"setTree"}`:                                          "setTree: the log doesn't say what the new queues are",
		`{"op":"setTree","queues":{"keys":{"yarn.resourcemanager.scheduler.class":"juggler"}}}`:                  "setTree: ",
		`{"op":"setCapability","resource":[1125899906842625]}`:                                                   "setCapability: amount 1125899906842625 of resource 0 is out of range",
		`{"heddle-events":4,"minimum":[-1]}`:                                                                     "the session's smallest container: amount -1",
		`{"heddle-events":4,"heartbeat":-1}`:                                                                     "the session's heartbeat is -1 ms",
		`{"heddle-events":4,"heartbeat":3600001}`:                                                                "the session's heartbeat is 3600001 ms",
		`{"heddle-events":4,"queues":{"keys":{"yarn.resourcemanager.scheduler.class":"fair"},"allocation":"<"}}`: "the session's queues: ",
		`{"heddle-events":4,"minimum":1}`:                                                                        "a session's header: ",
		`{"heddle-events":0}`:                                                                                    "the log's format is 0",
		`{"op":1}`:                                                                                               "an event: ",
	} {
		for i, at := range []string{event, "\n \n" + event} { // empty lines count
			_, err := play(append(bytes.Clone(log), at+"\n"...))
			if want := fmt.Sprintf("line %d: %s", line+2*i, want); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v doesn't begin with %q", event, err, want)
			}
		}
	}
}

// What is gone is unknown, and what has no name is called by its number.
func TestReplaysKnowWhatIsThere(t *testing.T) {
	log := string(crowded(t))
	p, err := play([]byte(log))
	if err != nil {
		t.Fatal(err)
	}
	if p.Decisions != 4 || p.Time != 5000 || p.Sessions != 1 || p.Header.Heddle != "test" {
		t.Errorf("%d decisions until %d in %d sessions of %s", p.Decisions, p.Time, p.Sessions, p.Header.Heddle)
	}
	if h, ok := p.Find("crowd"); h != 0 || !ok || p.NameOf(0) != "crowd" || p.NameOf(1) != "application 1" {
		t.Errorf("application %d, %t; %s, %s", h, ok, p.NameOf(0), p.NameOf(1))
	}
	if h, ok := p.Find("juggler"); ok || h != 0 {
		t.Errorf("an application is there that never was: %d", h)
	}
	var why strings.Builder
	if err := p.Why(&why, "crowd"); err != nil || strings.Contains(why.String(), "not on") {
		t.Errorf("%s, %v", why.String(), err)
	}
	for c := range 2 {
		log += fmt.Sprintf(`{"op":"free","container":%d}`, c) + "\n"
	}
	log += `{"op":"clearAsks"}` + "\n" + `{"op":"removeApp"}` + "\n" + `{"op":"removeNode"}` + "\n"
	if p, err = play([]byte(log)); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Find("crowd"); ok || p.NameOf(0) != "application 0" {
		t.Errorf("an application that was removed is there, as %s", p.NameOf(0))
	}
	for event, want := range map[string]string{
		`{"op":"setPriority"}`: "there is no application 0", `{"op":"setOpen"}`: "there is no node 0", `{"op":"refused"}`: "there is no container 0",
	} {
		if _, err := play([]byte(log + event + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v doesn't say %q", event, err, want)
		}
	}
}

// A session's smallest container and heartbeat are those of the driver that wrote it: both change what is decided.
func TestSessionsHaveTheirSizesAndHeartbeats(t *testing.T) {
	var log bytes.Buffer
	tree, types, err := queues.Tree()
	if err != nil {
		t.Fatal(err)
	}
	cfg := scheduler.Config{Tree: tree, Types: types, Minimum: slot.Times(2), Heartbeat: time.Hour}
	s, err := eventlog.New(cfg, eventlog.NewWriter(&log), queues, eventlog.Header{Time: 77})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := play(log.Bytes())
	if err != nil || p.Time != 77 || p.Header.Format != eventlog.Version {
		t.Fatalf("%+v, %v", p.Header, err)
	}
	if diff := stateDiff(s.Facts.(*drive.Driver), p.Driver); diff != "" {
		t.Error(diff)
	}
}

// Without a log the recorder is the driver alone.
func TestWithoutALog(t *testing.T) {
	s, err := eventlog.New(scheduler.Config{Minimum: slot}, nil, nil, eventlog.Header{})
	if err != nil {
		t.Fatal(err)
	}
	plain := drive.New(scheduler.Config{Minimum: slot})
	spec := drive.AppSpec{ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1}}
	node, able := scheduler.NodeSpec{Host: "h", Rack: "/r", Capability: slot.Times(2)}, drive.Ability{Suspend: true}
	asks := []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 2, RelaxLocality: true}}

	n := eventlogtest.AddNode(s, node)
	s.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: n, Ability: &able})
	a := eventlogtest.AddApp(s, spec)
	s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: asks})
	if got := s.Step(1000); len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	s.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: 1, AM: true, Containers: []scheduler.ContainerHandle{0, 1}})
	s.Apply(&eventlog.Event{Op: eventlog.Free, Container: 0, Failed: true})

	plain.SetAbility(plain.AddNode(node), able)
	plain.UpdateAsks(plain.AddApp(spec), asks)
	plain.Step(1000)
	plain.Identify(1, 1, true, 0, 1)
	plain.Fail(0)
	if diff := stateDiff(s.Facts.(*drive.Driver), plain); diff != "" {
		t.Error(diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

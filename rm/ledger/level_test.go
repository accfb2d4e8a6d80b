package ledger

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var half = records.NewResource(256, 1)

func level(to ledgerpb.Level, held *records.Resource, version int32) *ledgerpb.Command {
	c := &ledgerpb.ContainerLevelChanged{Container: ContainerRef(task), Level: to, Version: version}
	if held != nil {
		c.Held = Amounts(*held)
	}
	return &ledgerpb.Command{ContainerLevelChanged: c}
}

// Its node is charged what a container holds, its application what it claims.
func TestLevelsChangeWhatNodesAreCharged(t *testing.T) {
	s := world(t)
	change := func(to ledgerpb.Level, held *records.Resource, version int32, used records.Resource) {
		t.Helper()
		expect(t, s, 100, level(to, held, version), func(want *State) {
			c := want.Container(task)
			c.Level, c.LevelVersion = to, version
			want.Nodes[node1].Suspended, want.Nodes[node1].Lowered = 0, 0
			if c.Suspended() {
				want.Nodes[node1].Suspended = 1
			}
			if to != ledgerpb.Level_RUNNING {
				want.Nodes[node1].Lowered = 1
			}
			e := extras{held: held, suspension: &Suspension{Since: created + 100, Times: 1}}
			if to == ledgerpb.Level_RUNNING {
				e.suspension = &Suspension{Times: 1, Spans: []Span{{From: created + 100, To: created + 100}}}
			}
			c.setExtras(e)
			want.Nodes[node1].Used = used
		})
	}
	change(ledgerpb.Level_FROZEN, nil, 1, small.Times(2))
	change(ledgerpb.Level_RECLAIMED, &records.Resource{}, 2, small)
	change(ledgerpb.Level_SHRUNK, &half, 3, small.Add(half))
	if c := s.Container(task); c.Held() != half || c.Resource != small || c.Suspended() {
		t.Errorf("%v, suspended: %v", c.Held(), c.Suspended())
	}
	change(ledgerpb.Level_RUNNING, nil, 4, small.Times(2))
	if c := s.Container(task); c.Held() != small {
		t.Errorf("%v", c.Held())
	}
	for level, suspended := range map[ledgerpb.Level]bool{
		ledgerpb.Level_RUNNING: false, ledgerpb.Level_SHRUNK: false, ledgerpb.Level_FROZEN: true, ledgerpb.Level_RECLAIMED: true,
	} {
		if c := (&Container{Level: level}); c.Suspended() != suspended {
			t.Errorf("%v counts as suspended: %v", level, c.Suspended())
		}
	}
}

// A change that comes again changes nothing, also behind a later one; one before its turn is refused.
func TestEachChangeOfALevelCountsOnce(t *testing.T) {
	s := world(t)
	refuse(t, s, level(ledgerpb.Level_FROZEN, nil, 2), nil)
	refuse(t, s, level(ledgerpb.Level_FROZEN, nil, 0), nil)
	run(t, s, 100, level(ledgerpb.Level_FROZEN, &half, 1), level(ledgerpb.Level_RUNNING, nil, 2))
	for v := int32(1); v <= 2; v++ {
		expect(t, s, 200, level(ledgerpb.Level_FROZEN, &half, v), func(*State) {})
	}
	c := s.Container(task).ChangeLevel(ledgerpb.Level_SHRUNK, half, Cause{})
	if !proto.Equal(c, level(ledgerpb.Level_SHRUNK, &half, 3)) {
		t.Errorf("the next change is %v", c)
	}
	run(t, s, 300, c)
	if c := s.Container(task).ChangeLevel(ledgerpb.Level_RUNNING, small, Cause{Queue: "root.a"}); !proto.Equal(c, level(ledgerpb.Level_RUNNING, nil, 4)) {
		t.Errorf("the next change is %v", c)
	}
}

// What a container can't hold at a level is refused, by a command and by a snapshot.
func TestLevelsThatCannotBe(t *testing.T) {
	for want, c := range map[string]*ledgerpb.Command{
		"unknown level 4":              level(4, nil, 1),
		"unknown level -1":             level(-1, nil, 1),
		"that is level SHRUNK":         level(ledgerpb.Level_RUNNING, &half, 1),
		"its claim is <memory:512, vC": level(ledgerpb.Level_SHRUNK, &records.Resource{513, 1}, 1),
		"can't hold <memory:-1, vCore": level(ledgerpb.Level_FROZEN, &records.Resource{-1, 1}, 1),
	} {
		s := world(t)
		refuse(t, s, c, nil)
		r := s.Container(task).record()
		r.Level, r.Held = c.ContainerLevelChanged.Level, c.ContainerLevelChanged.Held
		for _, a := range []*ledgerpb.Application{{Containers: []*ledgerpb.Container{r}}, {Past: []*ledgerpb.Container{r}}} {
			a.Submitted = &ledgerpb.ApplicationSubmitted{App: AppRef(app(1))}
			_, err := ReadSnapshot(bytes.NewReader(image(t,
				&ledgerpb.SnapshotRecord{Cluster: s.clusterRecord()}, &ledgerpb.SnapshotRecord{Node: s.Nodes[node1].record()},
				&ledgerpb.SnapshotRecord{Application: a},
			)))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), task.String()) {
				t.Errorf("%q: %v", want, err)
			}
		}
		if err := s.ApplyCommand(created, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	s := world(t)
	run(t, s, 100, complete(task, 0))
	refuse(t, s, level(ledgerpb.Level_FROZEN, nil, 1), nil)
}

// An earlier release doesn't know the command: nobody takes it before all can.
func TestLevelsNeedTheirVersion(t *testing.T) {
	s := world(t)
	s.Version = 2
	refuse(t, s, level(ledgerpb.Level_FROZEN, nil, 1), nil)
}

// A claim that grows leaves what a container holds at a level; one that shrinks below it takes it along.
func TestResizeOfAContainerThatHoldsLess(t *testing.T) {
	s := world(t)
	run(t, s, 100, level(ledgerpb.Level_SHRUNK, &half, 1))
	for _, step := range []struct{ to, held records.Resource }{
		{small.Times(3), half}, {small, half}, {records.NewResource(128, 1), records.NewResource(128, 1)}, {small, small},
	} {
		run(t, s, 200, &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{Container: ContainerRef(task), Resource: Amounts(step.to)}})
		if c, n := s.Container(task), s.Nodes[node1]; c.Held() != step.held || n.Used != small.Add(step.held) || s.Apps[app(1)].Used != small.Add(step.to) {
			t.Errorf("resized to %v it holds %v, its node has %v", step.to, c.Held(), n.Used)
		}
	}
}

// With its end a container holds nothing any more, at no level; what it used is what it claimed.
func TestEndOfAContainerThatHoldsLess(t *testing.T) {
	s := world(t)
	run(t, s, 30, level(ledgerpb.Level_RECLAIMED, &half, 1))
	run(t, s, 1030, complete(task, 0))
	if c, a := s.Container(task), s.Apps[app(1)]; c.extra().held != nil || c.Suspended() || s.Nodes[node1].Used != small || a.Used != small || a.ResourceSeconds != small {
		t.Errorf("%+v, its node has %v, its application %v and used %v", c, s.Nodes[node1].Used, a.Used, a.ResourceSeconds)
	}
}

// Earlier releases wrote a boolean where the level is now.
func TestLevelsOfEarlierReleases(t *testing.T) {
	s := world(t)
	s.Version = 2
	run(t, s, 100, &ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ContainerRefs(task)}})
	frozen, err := proto.Marshal(s.Container(task).record())
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, 200, &ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ContainerRefs(task)}})
	running, err := proto.Marshal(s.Container(task).record())
	if err != nil {
		t.Fatal(err)
	}
	suspended := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), protowire.EncodeBool(true))
	if got := bytes.Replace(frozen, suspended, nil, 1); len(frozen) != len(running)+len(suspended) || !bytes.Equal(got, running) {
		t.Errorf("%x is %x with something else than %x", frozen, running, suspended)
	}
	// They let go on what holds all of its claim.
	s.Version = Version
	run(t, s, 300, level(ledgerpb.Level_FROZEN, &half, 1))
	refuse(t, s, &ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ContainerRefs(task)}}, nil)
	run(t, s, 400, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, false))
}

// A member has each container twice, and there may be 270,000.
func TestContainersStaySmall(t *testing.T) {
	if n := unsafe.Sizeof(Container{}); n > 384 {
		t.Errorf("a container takes %d bytes", n)
	}
}

package feed

import (
	"fmt"
	"strings"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func texts(p Part) (out []string) {
	for _, e := range p.Events {
		out = append(out, e.ID.String()+" "+e.What)
	}
	return out
}

func some(what ...string) (out []Event) {
	for _, w := range what {
		out = append(out, Event{What: w})
	}
	return out
}

// Who follows gets each event once, in order, and goes on at another member where he was.
func TestFollowing(t *testing.T) {
	a, b := New(), New()
	for _, f := range []*Feed{a, b} {
		f.Add(7, some("one", "two"))
		f.Add(8, nil)
		f.Add(9, some("three"))
	}
	if got := fmt.Sprint(texts(a.After(ID{}, 2))); got != "[7-0 one 7-1 two]" {
		t.Error(got)
	}
	p := b.After(ID{7, 1}, 10)
	if got := fmt.Sprint(texts(p)); got != "[9-0 three]" || p.Missed {
		t.Errorf("%s, missed: %v", got, p.Missed)
	}
	p = b.After(ID{9, 0}, 10)
	if len(p.Events) > 0 || p.Missed {
		t.Errorf("%+v", p)
	}
	b.Add(10, some("four"))
	<-p.More
	if got := fmt.Sprint(texts(b.After(ID{9, 0}, 10))); got != "[10-0 four]" {
		t.Error(got)
	}
	p = b.After(ID{10, 0}, 10)
	b.Close()
	if <-p.More; !b.After(ID{10, 0}, 10).Closed {
		t.Error("it isn't closed")
	}
	b.Add(11, some("late")) // the log goes on while the member stops
}

// Who was away for so long that events were forgotten is told so, and so is who followed a member that has got a snapshot instead of the log. Who has seen the
// last one that was forgotten has missed none.
func TestWhatIsMissed(t *testing.T) {
	f := New()
	f.Add(5, some("a"))
	if f.After(ID{5, 0}, 1).Missed {
		t.Error("who has seen the first one has missed nothing")
	}
	if !f.After(ID{4, 9}, 1).Missed {
		t.Error("entry 4 isn't here, and may have had more events")
	}
	for i := range uint64(maxEvents) {
		f.Add(10+i, some("x"))
	}
	first := f.After(ID{}, 1).Events[0].ID
	if len(f.events) > maxEvents || first.Entry < 10 {
		t.Fatalf("%d events from %v on", len(f.events), first)
	}
	if last := (ID{first.Entry - 1, 0}); f.After(last, 1).Missed || !f.After(ID{first.Entry - 2, 0}, 1).Missed {
		t.Errorf("around %v it isn't right what was missed", last)
	}
	f.Jump()
	if p := f.After(ID{20, 0}, 1); p.Missed || len(p.Events) > 0 {
		t.Errorf("nothing is known after a snapshot: %+v", p)
	}
	f.Add(50_000, nil)
	if p := f.After(ID{20, 0}, 1); !p.Missed {
		t.Errorf("what the snapshot replaced was missed: %+v", p)
	}
}

func TestBoundOfBytes(t *testing.T) {
	f := New()
	for i := range uint64(9000) {
		f.Add(i+1, []Event{{Name: strings.Repeat("é", 10_000), Detail: strings.Repeat("x", 5000)}})
	}
	size := 0
	for i := range f.events {
		size += f.events[i].size()
	}
	if size != f.bytes || size > maxBytes {
		t.Errorf("%d events have %d bytes, counted as %d", len(f.events), size, f.bytes)
	}
	if e := f.events[0]; len(e.Name) > maxText+3 || !strings.HasSuffix(e.Name, "é…") {
		t.Errorf("a name of %d bytes: …%q", len(e.Name), e.Name[len(e.Name)-8:])
	}
}

// FuzzParseID: a text is refused, or the one text of a number.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"0-0", "18446744073709551615-4294967295", "1-", "-1-1", "01-1", "+1-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseID(s); err == nil && id.String() != s {
			t.Errorf("%q is read as %v", s, id)
		}
	})
}

// Events say what has become of an application, with what is needed to decide who may see them.
func TestEventsOfABatch(t *testing.T) {
	s := ledger.New()
	id := records.ApplicationID{ClusterTimestamp: 5, ID: 3}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationName("job")
	s.Apps[id] = &ledger.Application{ID: id, User: "ann", Queue: "root.q", Context: ctx, State: ledger.AppFailed}
	n := records.NodeID{Host: "n1", Port: 1}
	s.Nodes[n] = &ledger.Node{ID: n, State: pb.NodeState_NS_UNHEALTHY, HealthReport: "disk"}
	attempt := ledger.AttemptRef(records.AttemptID{App: id, Attempt: 1})
	queue := "root.q"
	var got []string
	for _, e := range Of(&ledgerpb.Batch{Time: 9, Commands: []*ledgerpb.Command{
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: attempt}},
		{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{App: ledger.AppRef(id)}},
		{ApplicationUpdated: &ledgerpb.ApplicationUpdated{App: ledger.AppRef(id), Queue: &queue}},
		{ApplicationUpdated: &ledgerpb.ApplicationUpdated{App: ledger.AppRef(id)}},
		{AttemptEnded: &ledgerpb.AttemptEnded{Attempt: attempt, Diagnostics: "exit 1"}},
		{ApplicationEnded: &ledgerpb.ApplicationEnded{App: ledger.AppRef(id), Diagnostics: "failed"}},
		{ContainerLevelChanged: &ledgerpb.ContainerLevelChanged{Container: &ledgerpb.ContainerRef{Attempt: attempt, Id: 7}, Level: ledgerpb.Level_FROZEN, Cause: &ledgerpb.SuspensionCause{Queue: "root.x"}}},
		{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(n)}},
		{QueuesConfigured: &ledgerpb.QueuesConfigured{}},
		{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm2"}},
		{KeyRolled: &ledgerpb.KeyRolled{}},
	}}, s) {
		if e.Time != 9 || e.App == id && (e.User != "ann" || e.Queue != "root.q" || e.Name != "job") {
			t.Errorf("%+v", e)
		}
		got = append(got, strings.Join([]string{string(e.Kind), e.What, e.Subject, e.State, e.Detail}, "|"))
	}
	want := []string{
		"application|submitted||FAILED|", "application|moved||FAILED|", "attempt|ended|appattempt_5_0003_000001||exit 1", "application|ended||FAILED|failed",
		"container|level changed|container_5_0003_01_000007|FROZEN|for queue root.x", "node|changed|n1:1|UNHEALTHY|disk", "queues|configured|||", "leadership|began|rm2||",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The newest events are found from the end, some at a time, without one that is left out or comes twice.
func TestBefore(t *testing.T) {
	f := New()
	if got := f.Before(ID{}, 3); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for i := range uint64(10) {
		f.Add(5+i, some("a", "b"))
	}
	var got []string
	for at := (ID{}); ; {
		events := f.Before(at, 3)
		if len(events) == 0 {
			break
		}
		for i := len(events) - 1; i >= 0; i-- {
			got = append(got, events[i].ID.String())
		}
		at = events[0].ID
	}
	if len(got) != 20 || got[0] != "14-1" || got[1] != "14-0" || got[19] != "5-0" {
		t.Errorf("%v", got)
	}
	if got := f.Before(ID{7, 0}, 100); len(got) != 4 || got[3].ID != (ID{6, 1}) {
		t.Errorf("%v", got)
	}
}

package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// The encoder writes what encoding/json does, or leaves it to that.
func TestEncoderWritesJSON(t *testing.T) {
	left := 0
	requests := []any{(*scheduler.SchedulingRequest)(nil), &scheduler.SchedulingRequest{Tags: []string{"zk"}, Constraint: &constraint.Constraint{
		Op: constraint.And, Of: []*constraint.Constraint{{Op: constraint.Count, Scope: constraint.Node, Tags: []string{"zk"}}},
	}}}
	usualOrNot := rapid.MakeCustom[Event](rapid.MakeConfig{ // constraints have constraints in them without end
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[*scheduler.SchedulingRequest](): rapid.SampledFrom(requests),
			reflect.TypeFor[*queue.Tree]():                  rapid.Just[any]((*queue.Tree)(nil)), // neither is written
			reflect.TypeFor[error]():                        rapid.Just[any](errors.New("none")),
		},
	})
	rapid.Check(t, func(t *rapid.T) {
		r := usualOrNot.Draw(t, "record")
		if rapid.Bool().Draw(t, "usual") {
			r.Queues, r.Ability, r.Tasks, r.Part, r.Attributes = nil, nil, nil, 0, nil
		}
		if !writesJSON(t, &r) {
			left++
		}
	})
	for _, r := range []Event{
		{Op: Name, Name: "a\"b"},
		{Op: Name, Name: "ü"},
		{Op: SetProgress, Part: .5},
		{Op: SetAttributes, Attributes: map[string]string{}},
		{Op: UpdateAsks, Asks: Asks{{Scheduling: &scheduler.SchedulingRequest{}}}},
	} {
		if _, ok := (&encoder{}).line(nil, &r); ok {
			t.Errorf("%+v is not left to encoding/json", r)
		}
	}
	usual := Event{Op: Step, Time: 5, Decisions: []Decision{{Kind: "allocate", App: 1, Resource: Amounts{1024, 1}, Locality: 2}}}
	if text, ok := (&encoder{}).line(nil, &usual); !ok || string(text) != `{"op":"step","t":5,"decisions":[{"kind":"allocate","app":1,"resource":[1024,1],"locality":2}]}`+"\n" {
		t.Errorf("%s", text)
	}
}

// writesJSON compares what the encoder writes of an event with what encoding/json does. It returns false if the encoder leaves it to that.
func writesJSON(t *rapid.T, r *Event) bool {
	got, ok := (&encoder{}).line(nil, r)
	if !ok {
		return false
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("\n%s%s", got, want.Bytes())
	}
	return true
}

// The encoder knows which members events have that come with each grant, and writes all of these.
func TestFrequentEventsAreWrittenAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		handle := rapid.Int32Range(0, 9)
		var containers []scheduler.ContainerHandle
		for _, h := range rapid.SliceOfN(handle, 0, 3).Draw(t, "containers") {
			containers = append(containers, scheduler.ContainerHandle(h))
		}
		for _, r := range []Event{
			{Op: UpdateAsks, App: scheduler.AppHandle(handle.Draw(t, "app")), Asks: rapid.SliceOfN(rapid.Custom(drawAsk), 0, 3).Draw(t, "asks")},
			{
				Op: Identify, AM: rapid.Bool().Draw(t, "am"), Attempt: rapid.Int32Range(0, 3).Draw(t, "attempt"),
				First: rapid.Int64Range(0, 1<<40).Draw(t, "first"), Containers: containers,
			},
			{Op: Free, Container: scheduler.ContainerHandle(handle.Draw(t, "container")), Failed: rapid.Bool().Draw(t, "failed")},
		} {
			writesJSON(t, &r)
		}
	})
}

// What is written without an Event in between reads as the Event.
func TestShortFormsAreRead(t *testing.T) {
	read := func(t *rapid.T, line []byte) *Event {
		r := NewReader(io.MultiReader(strings.NewReader(fmt.Sprintf(`{"heddle-events":%d}`, Version)+"\n"), bytes.NewReader(line)))
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		e, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return e.Event
	}
	rapid.Check(t, func(t *rapid.T) {
		decisions := rapid.SliceOfN(rapid.Custom(drawDecision), 0, 4).Draw(t, "decisions")
		asks := rapid.SliceOfN(rapid.Custom(drawAsk), 0, 3).Draw(t, "asks")
		handles := rapid.SliceOfN(rapid.Int32Range(1, 1<<30), 1, 3).Draw(t, "containers")
		var containers []scheduler.ContainerHandle
		for _, h := range handles {
			containers = append(containers, scheduler.ContainerHandle(h))
		}
		var log bytes.Buffer
		w := NewWriter(&log)
		for _, x := range []struct {
			write func()
			want  Event
		}{
			{func() { w.step(7, decisions) }, Event{Op: Step, Time: 7, Decisions: decisionsOf(decisions)}},
			{nil, Event{Op: UpdateAsks, App: 3, Asks: asks}},
			{nil, Event{Op: Free, Container: 5, Failed: true}},
			{nil, Event{Op: Identify, Attempt: 2, First: 9, AM: true, Containers: containers}},
		} {
			log.Reset()
			if x.write == nil {
				w.Append(&x.want)
			} else {
				x.write()
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&x.want, read(t, log.Bytes()), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s\n%s", log.Bytes(), diff)
			}
		}
	})
}

func drawDecision(t *rapid.T) drive.Decision {
	return drive.Decision{
		Kind: drive.Kind(rapid.IntRange(int(drive.Allocate), len(kinds)-1).Draw(t, "kind")), App: scheduler.AppHandle(rapid.Int32Range(0, 1<<30).Draw(t, "app")),
		Container: scheduler.ContainerHandle(rapid.Int32Range(0, 1<<30).Draw(t, "container")), Resource: drawAmounts(t), Priority: rapid.Int32().Draw(t, "priority"),
		AllocationRequestID: rapid.Int64().Draw(t, "request"), Locality: scheduler.Locality(rapid.IntRange(0, 2).Draw(t, "locality")),
		Reason: rapid.SampledFrom([]string{"", "", "", "too much", "zu \"groß\""}).Draw(t, "reason"),
	}
}

func drawAsk(t *rapid.T) scheduler.Ask {
	return scheduler.Ask{
		Priority: rapid.Int32().Draw(t, "priority"), Name: rapid.SampledFrom([]string{"*", "h1", "hä"}).Draw(t, "name"), Capability: drawAmounts(t),
		Count: rapid.Int32Range(0, 9).Draw(t, "count"), RelaxLocality: rapid.Bool().Draw(t, "relax"), AllocationRequestID: rapid.Int64().Draw(t, "request"),
	}
}

func drawAmounts(t *rapid.T) (r records.Resource) {
	for i := range rapid.IntRange(0, len(r)).Draw(t, "types") {
		r[i] = rapid.Int64Range(0, maxAmount).Draw(t, "amount")
	}
	return r
}

// Short decisions that make no sense are refused.
func TestShortDecisionsThatMakeNoSense(t *testing.T) {
	for _, text := range []string{"[]", `["allocate"]`, `["allocate",1,2]`, `["?",1,1,1,1,1,1,1]`, `["kill",-1,1,1,1,1,1,1]`, `["kill",1,1,1,1,1,1,256]`, `["kill",1,1,1,1,1,1,1.5]`, `["kill",1,1,1,1,1,1,"1"]`, `["kill",1,1,1,1,1,1,1` + strings.Repeat(",1", 100) + "]"} {
		var d Decision
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is read as %+v", text, d)
		}
	}
}

// BenchmarkGrant is a container from its grant to its end, ten at a time, as a leader has them, with and without a record.
func BenchmarkGrant(b *testing.B) {
	for _, recorded := range []string{"no", "discarded", "folder"} {
		b.Run("recorded="+recorded, func(b *testing.B) {
			var log *Writer
			switch recorded {
			case "discarded":
				log = NewWriter(io.Discard)
			case "folder": // as a leader's
				var err error
				if log, err = OpenDir(DirOptions{Dir: b.TempDir(), MaxFile: 256 << 20}); err != nil {
					b.Fatal(err)
				}
				log.Behind(BehindOptions{})
			}
			slot := records.NewResource(1024, 1)
			d, err := New(scheduler.Config{Minimum: slot}, log, nil, Header{})
			if err != nil {
				b.Fatal(err)
			}
			for i := range 1000 {
				added := Added(scheduler.NodeSpec{Host: fmt.Sprint("h", i), Rack: "/r", Capability: slot.Times(16)})
				d.Apply(&added)
			}
			submitted := Submitted(drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.default", User: "u"}})
			d.Apply(&submitted)
			a := submitted.App
			var held []scheduler.ContainerHandle
			const together = 10
			asks := []scheduler.Ask{{Priority: 20, Name: scheduler.Any, Capability: slot, Count: together, RelaxLocality: true}}
			for i := 0; b.Loop(); i++ {
				d.Apply(&Event{Op: UpdateAsks, App: a, Asks: asks})
				held = held[:0]
				for _, x := range d.Step(int64(i)) {
					if x.Kind == drive.Allocate {
						held = append(held, x.Container)
					}
				}
				d.Apply(&Event{Op: Identify, Attempt: 1, First: int64(i*together) + 1, Containers: held})
				for _, h := range held {
					d.Apply(&Event{Op: Free, Container: h})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/together, "ns/grant")
			if log != nil && log.behind != nil {
				if err := d.Close(); err != nil || log.Status().Gaps > 0 {
					b.Fatalf("%v, %+v", err, log.Status())
				}
				b.ReportMetric(float64(log.Status().Bytes)/float64(b.N)/together, "bytes/grant")
			}
		})
	}
}

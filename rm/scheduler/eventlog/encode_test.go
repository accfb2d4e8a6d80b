package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// The encoder writes what encoding/json does, or leaves it to that.
func TestEncoderWritesJSON(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Make[Record]().Draw(t, "record")
		if rapid.Bool().Draw(t, "usual") {
			r.Queues, r.Ability, r.Tasks, r.Part = nil, nil, nil, 0
		}
		var e encoder
		got, ok := e.line(&r)
		if !ok {
			left++
			return
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&r); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("\n%s%s", got, want.Bytes())
		}
	})
	for _, r := range []Record{{Op: Name, Name: "a\"b"}, {Op: Name, Name: "ü"}, {Op: SetProgress, Part: .5}} {
		if _, ok := (&encoder{}).line(&r); ok {
			t.Errorf("%+v is not left to encoding/json", r)
		}
	}
	usual := Record{Op: Step, Time: 5, Decisions: []Decision{{Kind: "allocate", App: 1, Resource: amounts{1024, 1}, Locality: 2}}}
	if text, ok := (&encoder{}).line(&usual); !ok || string(text) != `{"op":"step","t":5,"decisions":[{"kind":"allocate","app":1,"resource":[1024,1],"locality":2}]}`+"\n" {
		t.Errorf("%s", text)
	}
}

// BenchmarkGrant is a container from its grant to its end, ten at a time, as a leader has them, with and without a record.
func BenchmarkGrant(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprint("recorded=", recorded), func(b *testing.B) {
			var log *Writer
			if recorded {
				log = NewWriter(io.Discard)
			}
			slot := records.NewResource(1024, 1)
			d, err := New(scheduler.Config{Minimum: slot}, log, nil, Header{})
			if err != nil {
				b.Fatal(err)
			}
			for i := range 1000 {
				d.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("h", i), Rack: "/r", Capability: slot.Times(16)})
			}
			a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.default", User: "u"}})
			var held []scheduler.ContainerHandle
			const together = 10
			for i := 0; b.Loop(); i++ {
				d.UpdateAsks(a, []scheduler.Ask{{Priority: 20, Name: scheduler.Any, Capability: slot, Count: together, RelaxLocality: true}})
				held = held[:0]
				for _, x := range d.Step(int64(i)) {
					if x.Kind == drive.Allocate {
						held = append(held, x.Container)
					}
				}
				d.Identify(1, int64(i*together)+1, false, held...)
				for _, h := range held {
					d.Free(h)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/together, "ns/grant")
		})
	}
}

package leader

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
)

// TestRecord: what two leaders' schedulers are told is recorded so that a replay decides the same.
func TestRecord(t *testing.T) {
	var log bytes.Buffer
	run(t, func(w *world) {
		w.depose()
		w.record = eventlog.NewWriter(&log)
		w.lead()
		n := &peer{w: w, node: w.node(1)}
		am := w.am(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetApplicationName("first") })
		r := am.allocate(AllocateCall{Asks: ask(2)})
		n.heartbeat(runs(r.Grants[0].ID), ended(r.Grants[1].ID, 0))
		am.allocate(AllocateCall{Asks: ask(3)})
		w.depose()
		w.lead()
		w.node(1, runs(r.Grants[0].ID))
		w.submit(nil)
		<-w.launched
		if err := w.record.Flush(); err != nil {
			t.Fatal(err)
		}
		p := eventlog.NewReplay(&log)
		named := 0
		for {
			e, err := p.Step()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Event != nil && e.Event.Op == eventlog.AddApp && e.Event.Name != "" {
				named++
			}
		}
		if p.Sessions != 2 || p.Decisions < 6 || named != 3 {
			t.Errorf("%d sessions with %d decisions and %d named applications are replayed", p.Sessions, p.Decisions, named)
		}
	})
}

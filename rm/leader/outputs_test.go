package leader

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/outputs"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// What nodes and ApplicationMasters tell of the outputs of maps reaches the scheduler with the next tick, and is in its log, which replays.
func TestOutputsOfMapsReachTheScheduler(t *testing.T) {
	var log bytes.Buffer
	run(t, func(w *world) {
		w.depose()
		w.record = eventlog.NewWriter(&log)
		w.lead()
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(32768, 32))}
		am := w.am(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetApplicationType("MAPREDUCE") })
		second := w.am(nil)
		beat := func(rate int64, list ...outputs.OfApp) {
			r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
				NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{Healthy: true}, Outputs: list, FetchRate: rate,
			}))
			n.response = r.ResponseID
			time.Sleep(2 * time.Second) // a tick has come
			synctest.Wait()
		}
		of := func(p *peer, maps, bytes int64) outputs.OfApp {
			return outputs.OfApp{App: p.attempt.App, Amount: outputs.Amount{Maps: maps, Bytes: bytes}}
		}
		unknown := of(am, 1, 1)
		unknown.App.ID = 99
		beat(4<<20, of(am, 2, 300), of(second, 1, 7), unknown, of(am, -1, 7))
		beat(0)
		beat(0, of(am, 3, 400))
		second.allocate(AllocateCall{Stages: &StageReport{Outputs: outputs.Amount{Maps: 8, Bytes: 80}}})
		beat(0)
		crowd := slices.Repeat([]outputs.OfApp{of(am, 4, 500)}, outputs.MaxPerCall)
		beat(0, append(crowd, of(am, 5, 600))...)
		if err := w.record.Flush(); err != nil {
			t.Fatal(err)
		}
	})
	type noted struct {
		maps, bytes int64
		rate        float64
	}
	var got []noted
	for p := eventlog.NewReplay(&log); ; {
		e, err := p.Step()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := e.Event; r != nil && (r.Op == eventlog.NoteOutputs || r.Op == eventlog.NoteBandwidth) {
			got = append(got, noted{r.Maps, r.Bytes, r.Part})
		}
	}
	want := []noted{{rate: 4 << 20}, {maps: 2, bytes: 300}, {maps: 1, bytes: 7}, {maps: 3, bytes: 400}, {maps: 8, bytes: 80}, {maps: 4, bytes: 500}}
	if !slices.Equal(got, want) {
		t.Errorf("the scheduler has heard of %v, want %v", got, want)
	}
}

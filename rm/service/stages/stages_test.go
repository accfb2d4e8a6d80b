package stages

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/speed"
	"heddle/rm/leader/swap"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// An answer without news is no longer for that there could be some.
func TestNothingNew(t *testing.T) {
	resp := &pb.AllocateResponse{}
	Hint(resp, &leader.AllocateReply{})
	if proto.Size(resp) > 0 {
		t.Errorf("an answer says %v", resp)
	}
	if OutputsFrom(nil) != nil || ReportFrom(nil) != nil || PerformanceFrom(nil) != nil || SwapsFrom(nil) != nil {
		t.Error("nothing is something")
	}
}

func TestHint(t *testing.T) {
	resp := &pb.AllocateResponse{}
	Hint(resp, &leader.AllocateReply{Hints: hints.Hints{Frequency: 1.5, Available: 2.5, Jobs: 3, Bandwidth: 4}, Classes: []speed.Class{{Host: "n1", Class: 2}}})
	h, l := resp.GetHeddleHints(), resp.GetHeddleLevels()
	if h.GetFrequency() != 1.5 || h.GetAvailable() != 2.5 || h.GetJobs() != 3 || h.GetBandwidth() != 4 || len(l) != 1 || l[0].GetHost() != "n1" || l[0].GetLevel() != 2 {
		t.Errorf("told %v", resp)
	}
}

// Without an allocation request id the room is for whoever is next; 0 is an id.
func TestSwaps(t *testing.T) {
	id := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, Attempt: 3}, ID: 4}
	of := func(set func(*pb.ContainerSwap)) *pb.ContainerSwap {
		m := &pb.ContainerSwap{}
		m.SetContainerId(id.PB())
		set(m)
		return m
	}
	got := SwapsFrom([]*pb.ContainerSwap{
		of(func(m *pb.ContainerSwap) { m.SetPriority(20); m.SetAllocationRequestId(0) }),
		of(func(m *pb.ContainerSwap) { m.SetPriority(20) }), of(func(m *pb.ContainerSwap) { m.SetResume(true) }),
		{},
	})
	want := []swap.Wish{
		{Container: id, Priority: 20},
		{Container: id, Priority: 20, Request: drive.AnyRequest},
		{Container: id, Resume: true, Request: drive.AnyRequest},
		{Request: drive.AnyRequest},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	resp := &pb.AllocateResponse{}
	Hint(resp, &leader.AllocateReply{Unswapped: []swap.Refused{{Container: id, Reason: "why"}}})
	if r := resp.GetHeddleRefusedSwaps(); len(r) != 1 || records.ContainerIDFrom(r[0].GetContainerId()) != id || r[0].GetReason() != "why" {
		t.Errorf("told %v", resp)
	}
}

// What an ApplicationMaster tells of its tasks, and what it is told of copies.
func TestTasksAndCopies(t *testing.T) {
	m := &pb.StageReport{}
	m.SetLeft(1)
	m.SetCopies(true)
	m.SetYoung(2)
	m.SetDetection(3)
	m.SetToRead(4)
	m.SetToMake(5)
	m.SetEnded(6)
	m.SetBeta(1.5)
	want := scheduler.TaskReport{Left: 1, Copies: true, Young: 2, Detection: 3, ToRead: 4, ToMake: 5, Ended: 6, Beta: 1.5}
	if got := ReportFrom(m).Tasks; got != want {
		t.Errorf("got %+v", got)
	}
	for _, h := range []hints.Hints{{Jobs: 1}, {Jobs: 1, Divides: true}, {Divides: true, Copies: 7}} {
		resp := &pb.AllocateResponse{}
		Hint(resp, &leader.AllocateReply{Hints: h})
		if got := resp.GetHeddleHints(); got.HasCopies() != h.Divides || got.GetCopies() != h.Copies {
			t.Errorf("%+v: told %v", h, got)
		}
	}
}

// Any bytes are taken for what they can be, and not for more than one may tell at a time.
func FuzzReports(f *testing.F) {
	r := &pb.StageReport{}
	r.SetMaps(-1)
	r.SetReleased(7)
	p := &pb.NodePerformance{}
	p.SetHost("n1")
	p.SetType(9)
	req := &pb.AllocateRequest{}
	req.SetHeddleStages(r)
	req.SetHeddlePerformance([]*pb.NodePerformance{p})
	req.SetHeddleSwaps([]*pb.ContainerSwap{{}})
	beat := &pb.NodeHeartbeatRequest{}
	for range outputs.MaxPerCall + 1 {
		beat.SetHeddleMapOutputs(append(beat.GetHeddleMapOutputs(), &pb.MapOutputs{}))
	}
	for _, m := range []proto.Message{req, beat} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		req, beat := &pb.AllocateRequest{}, &pb.NodeHeartbeatRequest{}
		if proto.Unmarshal(b, req) == nil {
			if r := ReportFrom(req.GetHeddleStages()); (r != nil) != req.HasHeddleStages() {
				t.Errorf("a report of %v", r)
			}
			if swaps := SwapsFrom(req.GetHeddleSwaps()); len(swaps) != len(req.GetHeddleSwaps()) {
				t.Errorf("%d swaps", len(swaps))
			}
			list := PerformanceFrom(req.GetHeddlePerformance())
			if len(list) != min(len(req.GetHeddlePerformance()), speed.MaxPerCall) {
				t.Errorf("%d reports of nodes", len(list))
			}
			for _, x := range list {
				if x.Type != speed.Map && x.Type != speed.Reduce {
					t.Errorf("a task of type %d", x.Type)
				}
			}
		}
		if proto.Unmarshal(b, beat) == nil && len(OutputsFrom(beat.GetHeddleMapOutputs())) != min(len(beat.GetHeddleMapOutputs()), outputs.MaxPerCall) {
			t.Error("too many applications")
		}
	})
}

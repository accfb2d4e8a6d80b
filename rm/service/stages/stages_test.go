package stages

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/speed"
	"heddle/yarn/pb"
)

// An answer without news is no longer for that there could be some.
func TestNothingNew(t *testing.T) {
	resp := &pb.AllocateResponse{}
	Hint(resp, &leader.AllocateReply{})
	if proto.Size(resp) > 0 {
		t.Errorf("an answer says %v", resp)
	}
	if OutputsFrom(nil) != nil || ReportFrom(nil) != nil || PerformanceFrom(nil) != nil {
		t.Error("nothing is something")
	}
}

func TestHint(t *testing.T) {
	resp := &pb.AllocateResponse{}
	Hint(resp, &leader.AllocateReply{Hints: hints.Hints{Frequency: 1.5, Available: 2.5, Jobs: 3, Bandwidth: 4}, Levels: []speed.Level{{Host: "n1", Level: 2}}})
	h, l := resp.GetHeddleHints(), resp.GetHeddleLevels()
	if h.GetFrequency() != 1.5 || h.GetAvailable() != 2.5 || h.GetJobs() != 3 || h.GetBandwidth() != 4 || len(l) != 1 || l[0].GetHost() != "n1" || l[0].GetLevel() != 2 {
		t.Errorf("told %v", resp)
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

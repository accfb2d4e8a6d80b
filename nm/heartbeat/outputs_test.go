package heartbeat

import (
	"testing"

	"heddle/nm/shuffle"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// left is what maps have left: one application more by each version.
type left struct {
	version, rate int64
	asked         int
}

func (*left) ContainerEnded(records.ApplicationID) {}

func (l *left) Totals(after int64, most int) (list []shuffle.Total, upTo int64) {
	l.asked++
	for ; after < l.version && len(list) < most; after++ {
		list = append(list, shuffle.Total{App: records.ApplicationID{ClusterTimestamp: 1, ID: int32(after + 1)}, Maps: 2, Bytes: 300})
	}
	return list, after
}

func (l *left) FetchRate() int64 { return l.rate }

// A heartbeat tells of outputs until one was answered that told of them, of so many at a time, and of nothing where nothing is new.
func TestOutputsAreToldOnce(t *testing.T) {
	l := &left{version: maxOutputs + 1, rate: 1000}
	o := &outputs{Outputs: l}
	beat := func(answered bool) *pb.NodeHeartbeatRequest {
		req := &pb.NodeHeartbeatRequest{}
		if o.Report(req); answered {
			o.Delivered(nil)
		}
		return req
	}
	for _, answered := range []bool{false, true} {
		req := beat(answered)
		first := req.GetHeddleMapOutputs()[0]
		if n := len(req.GetHeddleMapOutputs()); n != maxOutputs || first.GetMaps() != 2 || first.GetBytes() != 300 || first.GetApplicationId().GetId() != 1 ||
			req.GetHeddleFetchRate() != 1000 {
			t.Errorf("told of %d applications first, of which one is %v, and of a rate of %d", n, first, req.GetHeddleFetchRate())
		}
	}
	req := beat(true)
	if list := req.GetHeddleMapOutputs(); len(list) != 1 || list[0].GetApplicationId().GetId() != maxOutputs+1 || req.HasHeddleFetchRate() {
		t.Errorf("told then: %v", req)
	}
	l.rate = 1099
	if req := beat(true); len(req.GetHeddleMapOutputs()) > 0 || req.HasHeddleFetchRate() {
		t.Errorf("told without news: %v", req)
	}
	l.rate = 1100
	if req := beat(true); req.GetHeddleFetchRate() != 1100 {
		t.Errorf("told of a rate that has grown by a tenth: %v", req)
	}
	o.Registered(nil)
	if req := beat(true); len(req.GetHeddleMapOutputs()) != maxOutputs || req.GetHeddleFetchRate() != 1100 {
		t.Errorf("told after another registration: %v", req)
	}
}

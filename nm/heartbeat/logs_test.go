package heartbeat

import (
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// statuses are reports of log aggregation by application.
type statuses map[records.ApplicationID]pb.LogAggregationStatus

func (statuses) Reports() []*pb.LogAggregationReport { return nil }
func (statuses) Restore([]*pb.LogAggregationReport)  {}

func (s statuses) Last() (all []*pb.LogAggregationReport) {
	for app, status := range s {
		r := &pb.LogAggregationReport{}
		r.SetApplicationId(app.PB())
		r.SetLogAggregationStatus(status)
		all = append(all, r)
	}
	return all
}

// A node names ended applications once a minute while it uploads their logs, so that their tokens aren't cancelled.
func TestTokensAreKeptForLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := func(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }
		of := statuses{id(1): pb.LogAggregationStatus_LOG_RUNNING, id(2): pb.LogAggregationStatus_LOG_SUCCEEDED, id(3): pb.LogAggregationStatus_LOG_RUNNING}
		l := &logs{LogReports: of}
		named := func() int {
			req := &pb.NodeHeartbeatRequest{}
			req.SetNodeStatus(&pb.NodeStatus{})
			l.Report(req)
			for _, m := range req.GetNodeStatus().GetKeepAliveApplications() {
				if records.ApplicationIDFrom(m) != id(1) {
					t.Errorf("it names %v", m)
				}
			}
			return len(req.GetNodeStatus().GetKeepAliveApplications())
		}
		if named() != 0 {
			t.Error("it names applications that live")
		}
		for n := range int32(2) {
			l.AppEnded(id(n + 1))
		}
		l.AppEnded(id(9)) // without logs
		for range 3 {
			if named() != 1 || named() != 0 {
				t.Error("not once a minute")
			}
			time.Sleep(keepPause)
		}
		of[id(1)] = pb.LogAggregationStatus_LOG_FAILED
		if named() != 0 || len(l.ended) != 0 {
			t.Errorf("after the upload: %v", l.ended)
		}
	})
}

package heartbeat

import "heddle/yarn/pb"

// LogReports reports the progress of log aggregation.
type LogReports interface {
	// Reports returns the changes since the previous call, except for Restored ones.
	Reports() []*pb.LogAggregationReport
	// Restore takes back reports that could not be delivered. Reports returns them again.
	Restore(reports []*pb.LogAggregationReport)
	// Last returns the last report of every known application.
	Last() []*pb.LogAggregationReport
}

// logs tells how far the aggregation of logs is.
type logs struct {
	LogReports
	told []*pb.LogAggregationReport // by the heartbeat that is under way
}

func (l *logs) Registering(req *pb.RegisterNodeManagerRequest) {
	req.SetLogAggregationReportsForApps(l.Last())
}

func (l *logs) Report(req *pb.NodeHeartbeatRequest) {
	l.told = l.Reports()
	req.SetLogAggregationReportsForApps(l.told)
}

func (l *logs) Lost() { l.Restore(l.told) }

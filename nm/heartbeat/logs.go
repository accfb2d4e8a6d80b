package heartbeat

import (
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// keepPause is the time between two heartbeats that name applications whose logs are under way. The ResourceManager keeps their tokens for ten minutes by default.
const keepPause = time.Minute

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
	told  []*pb.LogAggregationReport     // by the heartbeat that is under way
	ended map[records.ApplicationID]bool // whose logs may still be under way
	next  time.Time                      // of keepPause
}

func (l *logs) Registering(req *pb.RegisterNodeManagerRequest) {
	req.SetLogAggregationReportsForApps(l.Last())
}

func (l *logs) Report(req *pb.NodeHeartbeatRequest) {
	l.told = l.Reports()
	req.SetLogAggregationReportsForApps(l.told)
	if now := time.Now(); len(l.ended) > 0 && !now.Before(l.next) {
		l.next = now.Add(keepPause)
		req.GetNodeStatus().SetKeepAliveApplications(l.uploading())
	}
}

// AppEnded: the node still needs the application's tokens for its logs.
func (l *logs) AppEnded(app records.ApplicationID) {
	if l.ended == nil {
		l.ended = map[records.ApplicationID]bool{}
	}
	l.ended[app] = true
}

// uploading returns the ended applications whose logs are under way, and forgets the others.
func (l *logs) uploading() (all []*pb.ApplicationId) {
	still := map[records.ApplicationID]bool{}
	for _, r := range l.Last() {
		app := records.ApplicationIDFrom(r.GetApplicationId())
		switch r.GetLogAggregationStatus() {
		case pb.LogAggregationStatus_LOG_NOT_START, pb.LogAggregationStatus_LOG_RUNNING, pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE:
			if l.ended[app] {
				still[app] = true
				all = append(all, app.PB())
			}
		}
	}
	l.ended = still
	return all
}

func (l *logs) Lost() { l.Restore(l.told) }

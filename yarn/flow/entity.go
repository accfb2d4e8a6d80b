package flow

import "heddle/yarn/pb"

// Event is something that has happened to an entity (Hadoop: timelineservice.TimelineEvent).
type Event struct {
	ID   string         `json:"id"`
	At   int64          `json:"timestamp"` // ms since 1970
	Info map[string]any `json:"info"`
}

// Metric holds a figure of an entity, such as its memory or processor time (Hadoop: TimelineMetric).
type Metric struct {
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	Aggregation string          `json:"aggregationOp"`
	Values      map[int64]int64 `json:"values"` // by ms since 1970
}

// Entity holds news of an application, attempt or container (Hadoop: timelineservice.TimelineEntity).
type Entity struct {
	Type    string            `json:"type"`
	ID      string            `json:"id"`
	Created int64             `json:"createdtime,omitempty"` // ms since 1970
	Prefix  int64             `json:"idprefix"`              // by which entities of a type are in order
	Info    map[string]any    `json:"info"`
	Configs map[string]string `json:"configs,omitempty"`
	Metrics []Metric          `json:"metrics"`
	Events  []Event           `json:"events"`
}

// Before reports whether a collector was known before another one of the same application (Hadoop: AppCollectorData.happensBefore).
func Before(a, b *pb.AppCollectorData) bool {
	if a.GetRmIdentifier() != b.GetRmIdentifier() {
		return a.GetRmIdentifier() < b.GetRmIdentifier()
	}
	return a.GetVersion() < b.GetVersion()
}

package logs

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Report is what the ResourceManager gets to know of the aggregation of an application's logs on this node.
type Report struct {
	App         records.ApplicationID
	Status      pb.LogAggregationStatus
	Diagnostics string
}

// PB returns the wire form.
func (r Report) PB() *pb.LogAggregationReport {
	m := &pb.LogAggregationReport{}
	m.SetApplicationId(r.App.PB())
	m.SetLogAggregationStatus(r.Status)
	m.SetDiagnostics(r.Diagnostics)
	return m
}

// maxDiagnostics bounds what a report says.
const maxDiagnostics = 2048

func (a *Aggregator) report(app records.ApplicationID, status pb.LogAggregationStatus, diagnostics string) {
	if len(diagnostics) > maxDiagnostics {
		diagnostics = diagnostics[:maxDiagnostics]
	}
	r := Report{App: app, Status: status, Diagnostics: diagnostics}
	a.mu.Lock()
	a.reports = append(a.reports, r)
	a.statuses[app] = lastStatus{status, a.cfg.Now()}
	a.mu.Unlock()
	if a.cfg.Reported != nil {
		a.cfg.Reported()
	}
}

// TakeReports returns what is to go with the next heartbeat.
func (a *Aggregator) TakeReports() []Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	rs := a.reports
	a.reports = nil
	return rs
}

// PutBack returns reports whose heartbeat failed.
func (a *Aggregator) PutBack(rs []Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports = append(rs[:len(rs):len(rs)], a.reports...)
}

// Statuses returns a report for every application whose logs were aggregated of late, for a registration with a
// ResourceManager that may know nothing of them.
func (a *Aggregator) Statuses() []Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	rs := make([]Report, 0, len(a.statuses))
	oldest := a.cfg.Now().Add(-statusesKept)
	for app, s := range a.statuses {
		if s.at.Before(oldest) && a.apps[app] == nil {
			delete(a.statuses, app)
			continue
		}
		rs = append(rs, Report{App: app, Status: s.status})
	}
	return rs
}

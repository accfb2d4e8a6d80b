package logs

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Report tells the ResourceManager about the aggregation of an application's logs on this node.
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

// maxDiagnostics bounds the text of a report, in bytes.
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

// TakeReports returns the reports for the next heartbeat.
func (a *Aggregator) TakeReports() []Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	rs := a.reports
	a.reports = nil
	return rs
}

// PutBack takes back reports whose heartbeat failed.
func (a *Aggregator) PutBack(rs []Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports = append(rs[:len(rs):len(rs)], a.reports...)
}

// Statuses returns a report for every application whose logs were aggregated recently, for a registration with a
// ResourceManager that may not know them.
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

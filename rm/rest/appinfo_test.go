package rest

import (
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// An unmanaged ApplicationMaster that takes no calls registers with port 0, and with no page. The texts are those of a stock ResourceManager 3.4.2.
func TestAnApplicationMasterWithoutCallsOrPages(t *testing.T) {
	s := &server{Config: Config{View: &view.Viewer{}, Now: time.Now, Queues: queue.NewLive(queue.Default(queue.Capacity))}}
	for _, c := range []struct {
		host          string
		port          int32
		url           string
		address, page string
	}{
		{"localhost", 0, "N/A", "localhost:0", "http://N/A"},
		{"h", 7, "h:8/x", "h:7", "http://h:8/x"},
		{"h", 7, "https://h:8/x", "h:7", "https://h:8/x"},
		{"N/A", -1, "N/A", "", "http://N/A"},
	} {
		a := &view.App{State: ledger.AppRunning, Host: c.host, RPCPort: c.port, TrackingURL: c.url, Attempt: records.AttemptID{Attempt: 1}, Unmanaged: true}
		out := s.appInfo(a, true, nil)
		got := ""
		if out.AMRPCAddress != nil {
			got = *out.AMRPCAddress
		}
		if got != c.address || *out.TrackingURL != c.page {
			t.Errorf("%s:%d, %s: calls go to %q, and the page is %s; want %q and %s", c.host, c.port, c.url, got, *out.TrackingURL, c.address, c.page)
		}
	}
}

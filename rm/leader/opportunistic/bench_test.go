package opportunistic

import (
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// What each call of an ApplicationMaster pays where opportunistic containers are switched off, and where they are on and it asks for none.
func BenchmarkCallWithoutOpportunisticRequests(b *testing.B) {
	app := &ledger.Application{Attempts: []*ledger.Attempt{{State: ledger.AttemptRunning}}}
	asks := []scheduler.Ask{{Name: scheduler.Any, Capability: records.NewResource(1024, 1), Count: 3, RelaxLocality: true}}
	for name, on := range map[string]bool{"off": false, "on": true} {
		b.Run(name, func(b *testing.B) {
			a := New(nil, nil, Config{Settings: Settings{Enabled: on}})
			b.ReportAllocs()
			for b.Loop() {
				if rest, err := a.Serve(app, asks, nil, nil); err != nil || len(rest) != 1 {
					b.Fatal(rest, err)
				}
			}
		})
	}
}

package failures

import (
	"slices"
	"testing"
)

// Hosts that fail are passed over until an ApplicationMaster has its container, unless nearly all have failed; ten launches in a row are excused.
func TestHostsThatFailArePassedOver(t *testing.T) {
	var l Launches
	if got := l.Exclude(); got != nil {
		t.Errorf("at first %v is excluded, want none", got)
	}
	if !l.Failed("h1", 5) || !l.Failed("h2", 5) {
		t.Error("the first two failures aren't excused")
	}
	if got := l.Exclude(); !slices.Equal(got, []string{"h1", "h2"}) {
		t.Errorf("%v is excluded, want h1 and h2", got)
	}
	l.Failed("h3", 3) // the last node
	if got := l.Exclude(); got != nil {
		t.Errorf("%v is excluded when all have failed, want none", got)
	}
	if got := l.Admit(); !slices.Equal(got, []string{"h1", "h2"}) {
		t.Errorf("%v is admitted again, want what was excluded", got)
	}
	if got := l.Admit(); got != nil {
		t.Errorf("%v is admitted twice", got)
	}
	for i := 4; i <= 11; i++ {
		if got, want := l.Failed("h1", 5), i <= maxMisfires; got != want {
			t.Errorf("failure %d in a row is excused: %v, want %v", i, got, want)
		}
	}
	if l.Launched(); !l.Failed("h1", 5) {
		t.Error("a failure after a launch isn't excused")
	}
}

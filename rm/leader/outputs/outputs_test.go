package outputs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// told is what a scheduler has heard since it was last looked at.
type told struct{ list []string }

func (t *told) Apply(e *eventlog.Event) bool {
	switch e.Op {
	case eventlog.NoteOutputs:
		t.list = append(t.list, fmt.Sprintf("%d: %d maps, %d bytes", e.App, e.Maps, e.Bytes))
	case eventlog.NoteBandwidth:
		t.list = append(t.list, fmt.Sprintf("%.0f bytes/s", e.Part))
	}
	return true
}

func appID(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

func node(n int) records.NodeID { return records.NodeID{Host: fmt.Sprint("n", n), Port: 1} }

func check(t *testing.T, when string, o *Outputs, want ...string) {
	t.Helper()
	var s told
	if o.Tell(&s); !slices.Equal(s.list, want) {
		t.Errorf("%s: told %q, want %q", when, s.list, want)
	}
}

func TestSums(t *testing.T) {
	o := New()
	check(t, "at first", o)
	o.Heard(node(1), appID(1), 7, Amount{2, 100})
	o.Heard(node(2), appID(1), 7, Amount{3, 50})
	o.Heard(node(2), appID(2), 8, Amount{1, 1})
	check(t, "two nodes", o, "7: 5 maps, 150 bytes", "8: 1 maps, 1 bytes")
	check(t, "no news", o)
	o.Heard(node(1), appID(1), 7, Amount{4, 300})
	o.Heard(node(1), appID(1), 7, Amount{4, 300}) // a heartbeat that is repeated
	check(t, "one tells more", o, "7: 7 maps, 350 bytes")
	o.NodeLeft(node(2))
	check(t, "one has gone", o, "7: 4 maps, 300 bytes", "8: 0 maps, 0 bytes")
	o.Told(appID(1), 7, Amount{9, 900})
	o.Heard(node(1), appID(1), 7, Amount{5, 400})
	check(t, "the ApplicationMaster tells", o, "7: 9 maps, 900 bytes")
	o.Heard(node(1), appID(2), 8, Amount{5, 400})
	o.AppEnded(appID(2))
	check(t, "an application has ended", o)
	o.Heard(node(1), appID(2), 9, Amount{1, 2}) // its id is never another's, but its handle is
	check(t, "under another handle", o, "9: 1 maps, 2 bytes")
}

func TestAmountsOutOfBounds(t *testing.T) {
	o := New()
	for _, is := range []Amount{{-1, 0}, {0, -1}, {maxMaps + 1, 0}, {0, maxBytes + 1}, {math.MinInt64, math.MaxInt64}} {
		o.Heard(node(1), appID(1), 7, is)
		o.Told(appID(1), 7, is)
	}
	check(t, "nothing that can be", o)
	for i := range 1 << 16 {
		o.Heard(node(i), appID(1), 7, Amount{maxMaps, maxBytes})
	}
	check(t, "the most from the most nodes", o, fmt.Sprintf("7: %d maps, %d bytes", int64(maxMaps)<<16, int64(maxBytes)<<16))
}

func TestBandwidth(t *testing.T) {
	o := New()
	for i := range 9 {
		o.Fetched(node(i), 100<<20)
	}
	check(t, "all alike", o, fmt.Sprintf("%d bytes/s", 100<<20))
	o.Fetched(node(0), 102<<20)
	o.Fetched(node(1), 0)
	o.Fetched(node(2), -5)
	check(t, "a little more", o)
	o.Fetched(node(9), math.MaxInt64)
	if got := o.Bandwidth() / (100 << 20); got > 2.6 || got < 2.4 {
		t.Errorf("one of ten that claims the impossible makes it %.2f times as much", got)
	}
	check(t, "with one far off", o, fmt.Sprintf("%.0f bytes/s", o.Bandwidth()))
	for i := range 10 {
		o.NodeLeft(node(i))
	}
	check(t, "nobody is left", o, "0 bytes/s")
}

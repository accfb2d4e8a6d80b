package bound

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Bound{
		"": {}, "line:1200": {Line: 1200}, "1763622000000": {Time: 1763622000000}, "2026-11-20T08:30:00Z": {Time: 1795163400000}, "1": {Time: 1},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"line:0", "line:-3", "line:x", "0", "-1", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "yesterday"} {
		if got, err := Parse(text); err == nil || got != (Bound{}) || !strings.Contains(err.Error(), "--until "+text) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// A replay ends at a line, at a time, or not before its end: never at both, and never before the first line.
func FuzzReplayBound(f *testing.F) {
	for _, text := range []string{"", "line:1200", "line:0", "1763622000000", "-1", "2026-11-20T08:30:00Z", "0001-01-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(text)
		switch {
		case err != nil && (b != Bound{} || !strings.Contains(err.Error(), text)):
			t.Errorf("%q: %+v, %v", text, b, err)
		case err == nil && (text == "") != (b == Bound{}), b.Line < 0, b.Time < 0, b.Line > 0 && b.Time > 0, (b.Line > 0) != (err == nil && strings.HasPrefix(text, "line:")):
			t.Errorf("%q: %+v", text, b)
		}
	})
}

package timeline

import (
	"math"
	"strings"
	"testing"

	"heddle/internal/timeline/timelinetest"
)

// Containers are counted for the part of a step that they do something.
func TestContainersOverTime(t *testing.T) {
	l := Line{Spans: []Span{{Maps, 0, 300, 0}, {Maps, 0.5, 2, 0}, {Copies, 299, 400, 0}, {Reducing, 10, 10, 0}, {Fetching, 7, 8, 5}}}
	out, slots := l.counts(int(kinds), 300)
	for _, c := range []struct {
		kind Kind
		step int
		want float64
	}{{Maps, 0, 1.5}, {Maps, 1, 2}, {Maps, 2, 1}, {Maps, 299, 1}, {Copies, 298, 0}, {Copies, 299, 1}, {Reducing, 10, 0}, {Fetching, 0, 0}, {Fetching, 7, 5}} {
		if got := out[c.kind][c.step]; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of kind %d in step %d instead of %v", got, c.kind, c.step, c.want)
		}
	}
	if slots != 6 || l.end() != 400 {
		t.Errorf("%v at most, and the end is %v", slots, l.end())
	}
	l.Slots, l.End = 7, 3
	if _, slots := l.counts(int(kinds), 300); slots != 7 || l.end() != 3 {
		t.Errorf("%v at most, and the end is %v", slots, l.end())
	}
}

func TestPictureIsXML(t *testing.T) {
	for name, lines := range map[string][]Line{
		"no run": nil, "nothing has happened yet": {{Title: "a < b"}}, "two": {{Title: "a", Spans: []Span{{Copies, 1, 2, 0}}}, {Slots: 4, Spans: []Span{{Fetching, 0, 9, 0}}}},
	} {
		var b strings.Builder
		if err := Draw(&b, lines); err != nil {
			t.Fatal(err)
		}
		if shapes := timelinetest.Shapes(t, b.String(), "polygon"); shapes != int(kinds)*len(lines) {
			t.Errorf("%s: %d shapes: %s", name, shapes, b.String())
		}
	}
}

package timeline

import (
	"math"
	"slices"
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

// An axis is marked with round numbers, however long it is.
func TestMarksAreRound(t *testing.T) {
	for end, want := range map[float64][]float64{
		0: {0}, math.NaN(): {0}, math.Inf(1): {0}, 0.01: {0, 0.002, 0.004, 0.006, 0.008, 0.01}, 1: {0, 0.2, 0.4, 0.6, 0.8, 1}, 11: {0, 2, 4, 6, 8, 10}, 14.2: {0, 5, 10},
		5.99: {0, 1, 2, 3, 4, 5}, 6: {0, 2, 4, 6}, 59: {0, 10, 20, 30, 40, 50}, 3600: {0, 1000, 2000, 3000}, 1e6: {0, 2e5, 4e5, 6e5, 8e5, 1e6},
	} {
		if got := marks(end); !slices.Equal(got, want) {
			t.Errorf("up to %v: %v", end, got)
		}
	}
	for end := 1e-3; end < 1e7; end *= 1.03 {
		if n := len(marks(end)); n < 3 || n > 6 {
			t.Errorf("%d marks up to %v", n, end)
		}
	}
}

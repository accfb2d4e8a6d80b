package javafmt

import (
	"math"
	"slices"
	"testing"
	"time"
)

// The expected texts are what Java 17 prints.
func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Percent(0), "0%"},
		{Percent(1), "100%"},
		{Percent(0.5), "50%"},
		{Percent(0.05), "5%"},
		{Percent(0.005), "0.5%"},
		{Percent(1.0 / 3), "33.33%"},
		{Percent(0.00001), "0%"},
		{Percent(0.7), "70%"},
		{Hundredths(0), ".00"},
		{Hundredths(100), "100.00"},
		{Hundredths(-1), "-1.00"},
		{Hundredths(0.25), ".25"},
		{Hundredths(-0.25), "-.25"},
		{Hundredths(12.345), "12.35"},
		{Hundredths(float32(math.NaN())), "NaN"},
		{Float(0), "0.0"},
		{Float(1), "1.0"},
		{Float(1.3562146425247192), "1.3562146"},
		{Float(0.678), "0.678"},
		{Float(0.001), "0.001"},
		{Float(0.0005), "5.0E-4"},
		{Float(1.25e7), "1.25E7"},
		{Float(9999999), "9999999.0"},
		{Float(float32(math.Inf(1))), "Infinity"},
		{Float(float32(math.Inf(-1))), "-Infinity"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, c := range []struct{ got, want string }{
		{Time(0, time.UTC), "N/A"},
		{Time(1795272305439, time.UTC), "Sat Nov 21 14:45:05 +0000 2026"},
		{Time(1795272305439, berlin), "Sat Nov 21 15:45:05 +0100 2026"},
		{HealthTime(1795272296343, time.UTC), "Sat 21/Nov/26 02:44:56:343UTC"},
		{HealthTime(1795272296003, time.UTC), "Sat 21/Nov/26 02:44:56:03UTC"},
		{ISO8601(time.UnixMilli(1795272305439).In(berlin)), "2026-11-21T15:45:05.439+0100"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestBox(t *testing.T) {
	const want = "" +
		"+-------------+\n" +
		"|  3 queues   |\n" +
		"+------+------+\n" +
		"| Name |  W   |\n" +
		"+------+------+\n" +
		"|  a   | 1.00 |\n" +
		"| bcd  | .50  |\n" +
		"+------+------+\n"
	if got := Box("3 queues", []string{"Name", "W"}, [][]string{{"a", "1.00"}, {"bcd", ".50"}}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const empty = "" +
		"+----------+\n" +
		"| a long t |\n" +
		"+------+---+\n" +
		"| Name | W |\n" +
		"+------+---+\n"
	if got := Box("a long title", []string{"Name", "W"}, nil); got != empty {
		t.Errorf("got\n%swant\n%s", got, empty)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ words, want []string }{
		{nil, nil},
		{[]string{"MAPREDUCE", "SPARK"}, []string{"SPARK", "MAPREDUCE"}},
		{[]string{"SPARK", "MAPREDUCE", "SPARK"}, []string{"SPARK", "MAPREDUCE"}},
		{[]string{"FOO", "MAPREDUCE"}, []string{"FOO", "MAPREDUCE"}},
		{[]string{"b", "A"}, []string{"A", "b"}},
		{[]string{"Aa", "BB"}, []string{"Aa", "BB"}}, // one hash code: as they came
		{[]string{"BB", "Aa"}, []string{"BB", "Aa"}},
		{[]string{"größer", "TEZ", "YARN"}, []string{"TEZ", "größer", "YARN"}},
	} {
		if got := Set(c.words); !slices.Equal(got, c.want) {
			t.Errorf("Set(%q) = %q, want %q", c.words, got, c.want)
		}
	}
}

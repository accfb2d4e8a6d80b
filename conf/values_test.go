package conf

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The tables say what Hadoop 3.4.2's Configuration makes of the same texts; bad stands for an exception there.

const bad = math.MinInt64 + 7

func TestParseInt(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"10", 10},
		{" 10 ", 10},
		{"0x10", 16},
		{"-0x10", -16},
		{"0X1F", 31},
		{"+5", 5},
		{"-1", -1},
		{"010", 10},
		{"9223372036854775807", math.MaxInt64},
		{"-9223372036854775808", math.MinInt64},
		{"1_0", bad},
		{"1.0", bad},
		{"", bad},
		{"0x", bad},
		{"0x-1", bad},
		{"0x+1", bad},
		{"-+1", bad},
		{"--1", bad},
		{"9223372036854775808", bad},
		{"ten", bad},
	} {
		expect(t, "int", c.in, c.want)(ParseInt(c.in))
	}
}

func TestParseDuration(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"10", 10 * ms},
		{"10s", 10_000 * ms},
		{" 10s ", 10_000 * ms},
		{"10S", 10_000 * ms},
		{"5m", 300_000 * ms},
		{"2h", 7_200_000 * ms},
		{"1d", 86_400_000 * ms},
		{"100ms", 100 * ms},
		{"7us", 7000},
		{"7ns", 7},
		{"-1", -1 * ms},
		{"-1s", -1000 * ms},
		{"+5", 5 * ms},
		{"9223372036854775807d", math.MaxInt64},
		{"-9223372036854775807d", math.MinInt64},
		{"10 s", bad},
		{"0x10", bad},
		{"1.5s", bad},
		{"", bad},
		{"s", bad},
		{"10ss", bad},
		{"1e3", bad},
		{"92233720368547758070", bad},
	} {
		d, err := ParseDuration(c.in, time.Millisecond)
		expect(t, "duration", c.in, c.want)(int64(d), err)
	}
}

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"10", 10},
		{"10k", 10240},
		{"10K", 10240},
		{"10m", 10485760},
		{"1g", 1073741824},
		{"1t", 1099511627776},
		{"1p", 1125899906842624},
		{"1e", 1152921504606846976},
		{"-1k", -1024},
		{"+1k", 1024},
		{"1 g", bad},
		{"10kb", bad},
		{"0x10", bad},
		{"", bad},
		{"k", bad},
		{"1.5g", bad},
		{"16e", bad},
		{"1MB", bad},
	} {
		expect(t, "size", c.in, c.want)(ParseSize(c.in))
	}
}

func expect(t *testing.T, what, in string, want int64) func(int64, error) {
	t.Helper()
	return func(got int64, err error) {
		t.Helper()
		switch {
		case want == bad && err == nil:
			t.Errorf("%s %q was read as %d", what, in, got)
		case want != bad && (err != nil || got != want):
			t.Errorf("%s %q: got %d, %v; want %d", what, in, got, err, want)
		}
	}
}

func TestParseFloat(t *testing.T) {
	for in, want := range map[string]float64{
		"1": 1, "1.0f": 1, "1d": 1, "1e3": 1000, "0x1p3": 8, ".5": .5, "5.": 5, "-1": -1, " 1 ": 1,
	} {
		if got, err := ParseFloat(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "1,5", "1f f", "f", "NaN", "Infinity", "-inf", "1_0", "0x1_0p0", "1ff"} {
		if got, err := ParseFloat(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestParseBool(t *testing.T) {
	for in, want := range map[string]bool{"true": true, " TRUE ": true, "False": false} {
		if got, err := ParseBool(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yes", "1", "on", "truee"} {
		if _, err := ParseBool(in); err == nil {
			t.Errorf("%q was taken for a truth value", in)
		}
	}
}

func TestParseList(t *testing.T) {
	for in, want := range map[string][]string{
		"a,b": {"a", "b"}, " a , b ": {"a", "b"}, "a,,b": {"a", "b"}, ",": nil, "a\nb": {"a", "b"}, "a b": {"a b"}, "": nil,
		"a\n,\nb,": {"a", "b"},
	} {
		if got := ParseList(in); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]Address{
		"h:1":         {"h", 1},
		"h":           {"h", 99},
		"h:":          {"h", 99},
		"1.2.3.4:5":   {"1.2.3.4", 5},
		" h:7 ":       {"h", 7},
		"[::1]:8":     {"::1", 8},
		"[::1]":       {"::1", 99},
		"http://h:9/": {"h", 9},
		"http://h":    {"h", 99},
		"h:0":         {"h", 0},
		"a_b:3":       {"a_b", 3}, // Hadoop can't, but container networks have such names
	} {
		if got, err := ParseAddress(in, 99); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "h:x", ":1", "::1", "h:70000", "h:-1", "h:+1", "h:1:2", "h:1/x", "[::1", "[::1]x", "[]:1", "[h]:1", "h h:1", "-h:1", "hdfs://",
	} {
		if got, err := ParseAddress(in, 99); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
	if got, err := ParseAddress("h", -1); err == nil {
		t.Errorf("h without a default port was read as %v", got)
	}
}

func TestAddressesSurviveText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Address{
			Host: rapid.OneOf(
				rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?`),
				rapid.StringMatching(`[0-9a-f]{1,4}::[0-9a-f]{1,4}`),
			).Draw(t, "host"),
			Port: rapid.IntRange(0, 65535).Draw(t, "port"),
		}
		if got, err := ParseAddress(a.String(), -1); err != nil || got != a {
			t.Fatalf("%v came back as %v, %v", a, got, err)
		}
	})
}

package nearness

import (
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"abc", "acb", 2}} {
		if got := distance(c.a, c.b, 10); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"lst": "list", "stat": "status", "list": "list", "x": "", "ki": "", "nonsense": "", "refreshQueus": "refreshQueues"} {
		if got := Nearest(name, slices.Values([]string{"status", "list", "kill", "kilt", "refreshQueues", "refreshNodes"})); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

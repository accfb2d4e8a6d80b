package handle_test

import (
	"testing"

	"heddle/rm/scheduler/handle"
)

func TestTakeReusesWhatWasReleasedLast(t *testing.T) {
	var all []string
	var free []handle.App
	a, b := handle.Take(&all, &free), handle.Take(&all, &free)
	if a != 0 || b != 1 {
		t.Fatalf("the first two are %d and %d", a, b)
	}
	all[a], all[b] = "a", "b"
	free = append(free, a, b)
	if c := handle.Take(&all, &free); c != b || all[c] != "b" {
		t.Errorf("got %d, which is %q", c, all[c])
	}
	if c := handle.Take(&all, &free); c != a || len(all) != 2 || len(free) != 0 {
		t.Errorf("got %d of %d, %d are free", c, len(all), len(free))
	}
}

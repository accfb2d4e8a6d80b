package service

import (
	"testing"

	"heddle/rm/leader/level"
)

// Somebody's wish comes first, then what the framework needs.
func TestTimeBetweenBreaths(t *testing.T) {
	for _, c := range []struct {
		order level.Order
		want  int64
	}{
		{level.Order{Type: "SPARK"}, 45_000},
		{level.Order{Type: "Apache Flink"}, 20_000},
		{level.Order{Type: "TEZ"}, 20_000},
		{level.Order{Type: "Apache Flink", BreathEvery: 90_000}, 90_000},
		{level.Order{Type: "Apache Flink", BreathEvery: -1}, 0},
		{level.Order{BreathEvery: -1}, 0},
	} {
		if got := breathPeriod(c.order); got != c.want {
			t.Errorf("%+v: %d, want %d", c.order, got, c.want)
		}
	}
}

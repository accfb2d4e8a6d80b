package job

import (
	"math"
	"testing"
)

func TestSumsStayWithin64Bits(t *testing.T) {
	for _, x := range []struct {
		a, b, want int64
		fits       bool
	}{
		{1, 2, 3, true},
		{1, 0, 1, true},
		{1, -2, -1, true},
		{math.MaxInt64 - 1, 1, math.MaxInt64, true},
		{math.MaxInt64, 1, math.MaxInt64, false},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, false},
		{math.MinInt64 + 1, -1, math.MinInt64, true},
		{math.MinInt64, -1, math.MinInt64, false},
		{math.MinInt64, math.MinInt64, math.MinInt64, false},
		{math.MinInt64, math.MaxInt64, -1, true},
	} {
		c := Counters{"g": {"n": x.a}}
		if fits := c.Add("g", "n", x.b); fits != x.fits || c.Get("g", "n") != x.want {
			t.Errorf("%d + %d = %d, %v", x.a, x.b, c.Get("g", "n"), fits)
		}
	}
	c := Counters{}
	c.AddAll(Counters{"g": {"n": 5, "least": math.MinInt64}})
	c.Sub(Counters{"g": {"n": 7, "least": math.MinInt64}})
	if c.Get("g", "n") != -2 || c.Get("g", "least") != -1 {
		t.Errorf("%v: a worker may send any number, and none may become one of the other sign", c)
	}
}

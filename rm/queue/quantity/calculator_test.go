package quantity

import (
	"testing"

	"heddle/yarn/records"
)

// Limits on ApplicationMasters were one step too high where a share such as 0.1 isn't exact, and counted vcores where YARN
// measures memory alone. Values of a stock 3.4.2.
func TestLimitsAreRoundedAsYARNsCalculatorsDo(t *testing.T) {
	step := records.NewResource(1024, 1)
	for _, c := range []struct {
		dominant bool
		factor   float32
		r        records.Resource
		up, down records.Resource
	}{
		{true, 0.1, records.NewResource(10240, 10), records.NewResource(1024, 1), records.NewResource(1024, 1)},
		{true, 0.1, records.NewResource(10241, 11), records.NewResource(2048, 2), records.NewResource(1024, 1)},
		{true, 0.5, records.NewResource(6553, 9), records.NewResource(4096, 5), records.NewResource(3072, 4)},
		{false, 0.1, records.NewResource(10240, 100), records.NewResource(1024, 1), records.NewResource(1024, 1)},
		{false, 0.5, records.NewResource(6553, 9), records.NewResource(4096, 1), records.NewResource(3072, 1)},
		{false, 0.5, records.NewResource(0, 9), records.Resource{}, records.Resource{}},
	} {
		calc := Calculator{Dominant: c.dominant}
		if got := calc.TimesUp(c.r, float64(c.factor), step); got != c.up {
			t.Errorf("%v × %v up: %v, want %v", c.r, c.factor, got, c.up)
		}
		if got := calc.TimesDown(c.r, float64(c.factor), step); got != c.down {
			t.Errorf("%v × %v down: %v, want %v", c.r, c.factor, got, c.down)
		}
	}
}

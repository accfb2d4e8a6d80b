package queue

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
		tree := &Tree{Dominant: c.dominant}
		if got := tree.TimesUp(c.r, float64(c.factor), step); got != c.up {
			t.Errorf("%v × %v up: %v, want %v", c.r, c.factor, got, c.up)
		}
		if got := tree.TimesDown(c.r, float64(c.factor), step); got != c.down {
			t.Errorf("%v × %v down: %v, want %v", c.r, c.factor, got, c.down)
		}
	}
}

// Queues were said to have available what the whole cluster had free.
func TestAQueueHasTheRestOfItsGuaranteeAvailable(t *testing.T) {
	cluster := records.NewResource(8192, 12)
	for _, c := range []struct {
		dominant        bool
		guarantee, used records.Resource
		want            records.Resource
		name            string
	}{
		{true, records.NewResource(3276, 4), records.NewResource(1024, 2), records.NewResource(2252, 2), "below"},
		{true, records.NewResource(3276, 4), records.NewResource(512, 6), records.Resource{}, "above by vcores"},
		{false, records.NewResource(3276, 4), records.NewResource(512, 6), records.NewResource(2764, 0), "vcores don't count"},
		{false, records.NewResource(3276, 4), records.NewResource(3276, 1), records.Resource{}, "all of it"},
	} {
		if got := (&Tree{Dominant: c.dominant}).Left(c.guarantee, c.used, cluster); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

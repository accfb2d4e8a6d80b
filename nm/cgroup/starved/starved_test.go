package starved

import (
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	const psi = "some avg10=12.50 avg60=1.00 avg300=0.00 total=2644835\nfull avg10=3.25 avg60=0.00 avg300=0.00 total=2000000\n"
	for name, c := range map[string]struct {
		pressure, stat string
		want           time.Duration
	}{
		"no limit":                    {psi, "usage_usec 7\n", 2 * time.Second},
		"version 2":                   {psi, "usage_usec 7\nnr_throttled 3\nthrottled_usec 500000\n", 1500 * time.Millisecond},
		"version 1":                   {psi, "nr_periods 9\nthrottled_time 1900000000\n", 100 * time.Millisecond},
		"its limit alone":             {psi, "throttled_usec 5000000\n", 0},
		"before Linux 5.13":           {"some avg10=12.50 avg60=1.00 avg300=0.00 total=2644835\n", "", -1},
		"nothing":                     {"", "", -1},
		"no number":                   {"full avg10=3.25 avg60=0.00 avg300=0.00 total=x\n", "", -1},
		"below 0":                     {"full avg10=3.25 avg60=0.00 avg300=0.00 total=-5\n", "", -1},
		"more than can be":            {"full avg10=3.25 avg60=0.00 avg300=0.00 total=9223372036854775807\n", "", -1},
		"no total":                    {"full avg10=3.25 avg60=0.00 avg300=0.00\n", "", -1},
		"no means":                    {"full total=5\n", "", -1},
		"a limit that makes no sense": {psi, "throttled_usec 9223372036854775807\nthrottled_usec\n", 2 * time.Second},
	} {
		if got := Of(c.pressure, c.stat); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

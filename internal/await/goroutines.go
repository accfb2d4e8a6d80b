package await

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// leakPatience is how long goroutines have to end after the last test. It is long for machines that are short of time, and short compared with
// the life of unclosed connections.
const leakPatience = 20 * time.Second

// NoGoroutines is for the end of TestMain: it returns code, what the tests have come to, or 1 if they passed but left goroutines that don't end.
func NoGoroutines(code int, options ...goleak.Option) int {
	return noGoroutines(leakPatience, code, options...)
}

func noGoroutines(patience time.Duration, code int, options ...goleak.Option) int {
	if code != 0 {
		return code
	}
	for begin := time.Now(); ; {
		err := goleak.Find(options...)
		if err == nil {
			return 0
		}
		if time.Since(begin) > patience {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

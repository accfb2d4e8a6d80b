package loop

import "time"

// A question about many things is answered in several operations, so that other operations run in between.
const (
	sliceTime = 2 * time.Millisecond
	sliceSize = 1000
)

// InSlices goes through n things in several operations of the loop, of a few milliseconds each. f begins with the thing from,
// continues before to for as long as more says so, and returns the number of the next thing: at least one further than from.
func (l *Loop) InSlices(n int, f func(from, to int, more func() bool) (next int)) error {
	for at := 0; at < n; {
		err := l.Do(func() error {
			end := l.Now().Add(sliceTime)
			at = f(at, min(at+sliceSize, n), func() bool { return l.Now().Before(end) })
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

package leader

import "time"

// A question about many applications is answered in several operations, between which the loop gets on with its work.
const (
	sliceTime = 2 * time.Millisecond
	sliceSize = 1000
)

// inSlices has the loop go through n things, so many at a time as take it a few milliseconds. f goes through those from one to another
// one, for as long as again says so, and returns how far it came, which is always some way.
func (l *Leader) inSlices(n int, f func(t *turn, from, to int, again func() bool) (done int)) error {
	for at := 0; at < n; {
		err := l.do(func(t *turn) error {
			end := t.Now().Add(sliceTime)
			at = f(t, at, min(at+sliceSize, n), func() bool { return t.Now().Before(end) })
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

package wire

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A hasty connection takes its peer for lost when nothing was acknowledged for a while and a further ping isn't either: within 100 ms of the last word. It doesn't where the peer
// answers, where it stands still, or where this process had no time itself.
func TestHastyConnections(t *testing.T) {
	for name, test := range map[string]struct {
		hasty, still bool
		age          func(looks int) (time.Duration, bool)
		lost         bool
	}{
		"nothing comes":           {hasty: true, lost: true, age: func(n int) (time.Duration, bool) { return time.Duration(n) * hastyAfter, true }},
		"the next ping is heard":  {hasty: true, age: func(n int) (time.Duration, bool) { return hastyAfter, n%2 == 0 }},
		"it is late":              {hasty: true, age: func(int) (time.Duration, bool) { return hastyAfter - 1, true }},
		"it stands still":         {hasty: true, still: true, age: func(int) (time.Duration, bool) { return time.Hour, true }},
		"one that has more time":  {age: func(int) (time.Duration, bool) { return time.Hour, true }},
		"nothing is under way":    {hasty: true, age: func(int) (time.Duration, bool) { return time.Hour, false }},
		"it is heard at the last": {hasty: true, age: func(n int) (time.Duration, bool) { return time.Hour, n%2 == 1 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, far := net.Pipe()
			go func() {
				for b := make([]byte, 1<<10); ; {
					if _, err := far.Read(b); err != nil {
						return
					}
				}
			}()
			c := NewConn(ours)
			looks := 0
			c.unheard = func(net.Conn) (time.Duration, bool) { looks++; return test.age(looks) }
			if test.hasty {
				c.Hasty()
			}
			c.Standstill(test.still)
			received := make(chan error, 1)
			go func() {
				_, err := c.Receive()
				received <- err
			}()
			time.Sleep(pingEvery + hastyEvery + hastyAgain + time.Millisecond) // the first look is before it is hasty
			select {
			case err := <-received:
				if !test.lost || !errors.Is(err, ErrLost) {
					t.Errorf("%s: %v", name, err)
				}
			default:
				if test.lost {
					t.Errorf("%s: it isn't noticed", name)
				}
			}
			far.Close()
			c.Close()
		})
	}
}

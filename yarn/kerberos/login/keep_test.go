package login

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A login is replaced before 80 % of its life is over; a KDC that is away is asked at most once a minute, its error is told, and the old login holds meanwhile.
func TestLoginsAreKept(t *testing.T) {
	for _, life := range []time.Duration{30 * time.Second, 4 * time.Minute, 10 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var times []time.Time
			away := false
			l := &Login{principal: "nm/h@A.TEST", now: time.Now}
			l.begin = func() (*session, error) {
				times = append(times, time.Now())
				if away {
					return nil, errors.New("the KDC is away")
				}
				return &session{start: time.Now(), end: time.Now().Add(life)}, nil
			}
			if err := l.login(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var failures []time.Time
			done := make(chan struct{})
			go func() {
				defer close(done)
				l.Keep(ctx, func(_ error, until time.Time) { failures = append(failures, until) })
			}()
			time.Sleep(5 * max(life, leastPause))
			synctest.Wait()
			for i := 1; i < len(times); i++ {
				if d := times[i].Sub(times[i-1]); d > max(life*8/10, leastPause) || d < max(life*7/10, leastPause) {
					t.Errorf("a life of %v: logged in after %v", life, d)
				}
			}
			if len(times) < 5 {
				t.Errorf("a life of %v: %d logins", life, len(times))
			}
			away = true
			before, end := len(times), l.session.end
			time.Sleep(max(life, leastPause) * 3)
			synctest.Wait()
			if len(failures) == 0 || failures[0] != end {
				t.Errorf("a life of %v: failures %v, and the login holds until %v", life, failures, end)
			}
			for i := before + 1; i < len(times); i++ {
				if d := times[i].Sub(times[i-1]); d < leastPause || d > 2*leastPause {
					t.Errorf("a life of %v: tried again after %v", life, d)
				}
			}
			away = false
			time.Sleep(3 * leastPause)
			synctest.Wait()
			if !l.session.end.After(time.Now()) && life > leastPause {
				t.Errorf("a life of %v: the KDC is back, and the login ended at %v", life, l.session.end)
			}
			cancel()
			<-done
		})
	}
}

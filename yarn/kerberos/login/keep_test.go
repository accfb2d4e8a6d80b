package login

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A login is replaced before 80 % of its life is over; a KDC that is away is asked at most once a minute, its error is told, and the old login holds meanwhile.
func TestLoginsAreKept(t *testing.T) {
	for _, life := range []time.Duration{30 * time.Second, 4 * time.Minute, 10 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l := &Login{principal: "nm/h@A.TEST", now: time.Now}
			var mu sync.Mutex // of times, away and failures: what a test does after synctest.Wait isn't ordered before what wakes later
			var times, failures []time.Time
			away := false
			set := func(is bool) {
				mu.Lock()
				defer mu.Unlock()
				away = is
			}
			seen := func() (logins, failed []time.Time, end time.Time) {
				l.mu.Lock()
				defer l.mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(times), slices.Clone(failures), l.session.end
			}
			l.begin = func() (*session, error) {
				mu.Lock()
				defer mu.Unlock()
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
			done := make(chan struct{})
			go func() {
				defer close(done)
				l.Keep(ctx, func(_ error, until time.Time) {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, until)
				})
			}()
			time.Sleep(5 * max(life, leastPause))
			synctest.Wait()
			logins, _, end := seen()
			for i := 1; i < len(logins); i++ {
				if d := logins[i].Sub(logins[i-1]); d > max(life*8/10, leastPause) || d < max(life*7/10, leastPause) {
					t.Errorf("a life of %v: logged in after %v", life, d)
				}
			}
			if len(logins) < 5 {
				t.Errorf("a life of %v: %d logins", life, len(logins))
			}
			set(true)
			before := len(logins)
			time.Sleep(max(life, leastPause) * 3)
			synctest.Wait()
			logins, failed, _ := seen()
			if len(failed) == 0 || failed[0] != end {
				t.Errorf("a life of %v: failures %v, and the login holds until %v", life, failed, end)
			}
			for i := before + 1; i < len(logins); i++ {
				if d := logins[i].Sub(logins[i-1]); d < leastPause || d > 2*leastPause {
					t.Errorf("a life of %v: tried again after %v", life, d)
				}
			}
			set(false)
			time.Sleep(3 * leastPause)
			synctest.Wait()
			if _, _, end = seen(); !end.After(time.Now()) && life > leastPause {
				t.Errorf("a life of %v: the KDC is back, and the login ended at %v", life, end)
			}
			cancel()
			<-done
		})
	}
}

package login

import (
	"context"
	"math/rand/v2"
	"time"
)

// keepFrom is the part of a login's life after which Keep begins a new one. The rest up to renewAt is chance, so that machines that started together
// don't all ask the KDC at once.
const keepFrom = 0.7

// Keep logs in again before 80 % of each login's life is over, until ctx ends. So no connection waits for the KDC, and one that is away for a while is no
// trouble. failed learns why a new login couldn't be had, and until when the old one holds; Keep then tries again every one to two minutes.
// It does nothing for the login of a ticket cache.
func (l *Login) Keep(ctx context.Context, failed func(err error, until time.Time)) {
	for pause := l.untilNext(); pause > 0; {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		end, err := l.again()
		if pause = l.untilNext(); err != nil {
			failed(err, end)
			pause = leastPause + rand.N(leastPause)
		}
	}
}

// again logs in, and returns when the login that holds then ends.
func (l *Login) again() (end time.Time, err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	err = l.login()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.end, err
}

// untilNext returns how long the login can stay; 0: it can't be replaced.
func (l *Login) untilNext() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session
	if s == nil || s.unrenewable {
		return 0
	}
	part := keepFrom + (renewAt-keepFrom)*rand.Float64()
	due := s.start.Add(time.Duration(part * float64(s.end.Sub(s.start))))
	if least := l.tried.Add(leastPause); due.Before(least) {
		due = least
	}
	return max(due.Sub(l.now()), time.Millisecond)
}

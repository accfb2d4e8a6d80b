package timelineservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/view"
	"heddle/yarn/kerberos/negotiate"
)

// Bounds of what waits for the server, and of one call.
const (
	maxWaiting = 64 << 20 // bytes of entities; what comes beyond is left out
	maxCall    = 1 << 20  // bytes
	maxAnswer  = 1 << 20  // bytes
)

// Pauses before a call that failed is repeated: the first, and the longest. A call that the server fails to process is repeated maxTries times.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	maxTries     = 5
)

// lastCall is how long what waits may take to be sent when the ResourceManager ends.
const lastCall = 2 * time.Second

// Publisher sends entities to a timeline server, in order. It is safe for concurrent use.
type Publisher struct {
	settings *Settings
	client   *http.Client
	post     string
	log      *logrus.Entry
	wake     chan struct{} // has room for one
	most     int           // bytes that may wait
	quit     chan struct{} // closed by Close
	ended    chan struct{}

	mu      sync.Mutex
	waiting [][]byte
	bytes   int
	lost    int // entities that were left out since the server answered last
	stopped bool
}

// Start starts a publisher that calls the server as a user, or with the tickets of an account.
func Start(s *Settings, user string, tickets func() (negotiate.Tickets, error), log *logrus.Entry) *Publisher {
	p := &Publisher{settings: s, most: maxWaiting, log: log.WithField("timeline server", s.endpoint), wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	p.client, p.post = s.client(user, tickets)
	go p.run()
	return p
}

// Follower returns what makes entities of a ledger's batches, and has them published.
func (p *Publisher) Follower(v *view.Viewer) *Follower { return &Follower{v, p.settings, p.add} }

// add has entities sent. It never waits.
func (p *Publisher) add(entities []entity) {
	encoded := make([][]byte, 0, len(entities))
	for _, e := range entities {
		b, err := e.encode()
		if err != nil {
			p.log.WithError(err).Errorf("%s can't be published", e.ID)
			continue
		}
		encoded = append(encoded, b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range encoded {
		if p.bytes+len(b) > p.most || p.stopped {
			p.lost++
			continue
		}
		p.waiting = append(p.waiting, b)
		p.bytes += len(b)
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns entities for one call, nil if none waits.
func (p *Publisher) take() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, size := 0, 0
	for n < len(p.waiting) && (n == 0 || size+len(p.waiting[n]) <= maxCall) {
		size += len(p.waiting[n])
		n++
	}
	out := p.waiting[:n:n]
	p.waiting, p.bytes = p.waiting[n:], p.bytes-size
	if len(p.waiting) == 0 {
		p.waiting = nil
	}
	return out
}

// Close sends what waits, for two seconds at most, and ends.
func (p *Publisher) Close() {
	p.mu.Lock()
	first := !p.stopped
	p.stopped = true
	p.mu.Unlock()
	if first {
		close(p.quit)
	}
	<-p.ended
	p.client.CloseIdleConnections()
}

// run sends entities until Close.
func (p *Publisher) run() {
	defer close(p.ended)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.quit:
			t := time.NewTimer(lastCall)
			defer t.Stop()
			select {
			case <-t.C:
				cancel()
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	for {
		if batch := p.take(); batch != nil {
			if !p.deliver(ctx, batch) {
				return
			}
			continue
		}
		select {
		case <-p.wake:
		case <-p.quit:
			return
		}
	}
}

// deliver sends a batch until the server has answered. It reports false if the ResourceManager ends before.
func (p *Publisher) deliver(ctx context.Context, batch [][]byte) bool {
	away := false
	pause := firstPause
	for try := 1; ; try++ {
		err := p.send(ctx, batch)
		var refused *refusedError
		switch {
		case err == nil:
			p.back(away)
			return true
		case errors.As(err, &refused) && (!refused.again() || try == maxTries):
			p.log.WithError(err).Errorf("the timeline server refuses %d entities, which are left out", len(batch))
			return true
		case ctx.Err() != nil:
			return false
		case !away:
			away = true
			p.log.WithError(err).Warnf("the timeline server can't be reached; up to %d MB of entities wait for it", p.most>>20)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-p.quit:
			t.Stop()
			return false
		}
		pause = min(2*pause, longestPause)
	}
}

// back says that the server answers again, and what was left out meanwhile.
func (p *Publisher) back(away bool) {
	p.mu.Lock()
	lost := p.lost
	p.lost = 0
	p.mu.Unlock()
	switch {
	case lost > 0:
		p.log.Warnf("the timeline server answers; %d entities were left out, as too many waited", lost)
	case away:
		p.log.Info("the timeline server answers again; nothing was left out")
	}
}

// refusedError is an answer that isn't a success.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("it answers %d (%s): %s", e.status, http.StatusText(e.status), e.text)
}

// again reports whether the same call may succeed later.
func (e *refusedError) again() bool { return e.status >= 500 || e.status == http.StatusTooManyRequests }

// send makes one call.
func (p *Publisher) send(ctx context.Context, batch [][]byte) error {
	body := append(append([]byte(`{"entities":[`), bytes.Join(batch, []byte{','})...), `]}`...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.post, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &refusedError{resp.StatusCode, strings.ToValidUTF8(string(answer[:min(len(answer), 500)]), "")}
	}
	if first, n := refusals(answer); n > 0 {
		p.log.Warnf("the timeline server has not stored %d of %d entities, such as %s", n, len(batch), first)
	}
	return nil
}

// refusals returns how many entities the server has not stored by its answer (Hadoop: TimelinePutResponse), and the first one with the error's number.
func refusals(answer []byte) (first string, n int) {
	var a struct {
		Errors []struct {
			Entity    string
			ErrorCode int
		}
	}
	if json.Unmarshal(answer, &a) != nil || len(a.Errors) == 0 {
		return "", 0
	}
	return fmt.Sprintf("%.100q (error %d)", a.Errors[0].Entity, a.Errors[0].ErrorCode), len(a.Errors)
}

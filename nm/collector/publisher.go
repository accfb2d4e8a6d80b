package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/internal/bounded"
	"heddle/yarn/flow"
	"heddle/yarn/kerberos/negotiate"
	"heddle/yarn/records"
)

// Bounds of what waits for collectors: bytes of all applications', entities of one, and entities in a call.
const (
	maxWaiting  = 16 << 20
	maxEntities = 2000
	maxTogether = 50
	maxAnswer   = 64 << 10 // bytes
)

// How calls that fail are repeated, as Hadoop's clients do by default (yarn.timeline-service.client.max-retries, …retry-interval-ms).
const (
	retries     = 30
	retryPause  = time.Second
	callLimit   = 30 * time.Second
	lastCall    = time.Second // how long the node's end waits for calls
	maxTrouble  = 500         // bytes of an answer in the log
	saidSeldom  = time.Minute // between two words about collectors that are away
	endingGrace = time.Minute // how long an ended application is kept: the ends of its last containers come after its own
)

// Publisher sends entities to the collectors of applications. What it can't send it leaves out: it never holds anything up. It is safe for concurrent use.
type Publisher struct {
	client *http.Client
	scheme string
	user   string // for servers that believe it; "": tickets prove it
	log    *logrus.Entry
	pause  time.Duration
	grace  time.Duration
	ctx    context.Context
	cancel context.CancelFunc
	lives  sync.WaitGroup

	mu     sync.Mutex
	apps   map[records.ApplicationID]*queue
	bytes  int
	warned time.Time // the last word about trouble
	lost   int       // entities that were left out since then
}

// queue are the entities that wait for the collector of an application.
type queue struct {
	address string // "": not known yet
	since   time.Time
	waiting [][]byte
	sending bool
	over    bool // the application has ended a while ago
}

// NewPublisher returns a publisher that calls collectors with tickets, or, if there are none, in the name of a user.
func NewPublisher(c *conf.Config, user string, tickets negotiate.Tickets, log *logrus.Entry) (*Publisher, error) {
	trust, err := ssl.Client(c)
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		scheme: ssl.Scheme(c), user: user, log: log, pause: retryPause, grace: endingGrace,
		apps: map[records.ApplicationID]*queue{},
	}
	p.client = &http.Client{
		Timeout: callLimit, Transport: trust.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if tickets != nil {
		p.user = ""
		p.client.Transport = &negotiate.Transport{
			Next:    p.client.Transport,
			Tickets: func() (negotiate.Tickets, error) { return tickets, nil },
		}
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Close gives up what waits. The containers go on without it.
func (p *Publisher) Close() {
	p.mu.Lock()
	p.apps = map[records.ApplicationID]*queue{}
	p.mu.Unlock()
	t := time.AfterFunc(lastCall, p.cancel)
	defer t.Stop()
	p.lives.Wait()
	p.cancel()
	p.client.CloseIdleConnections()
}

// At says where the collector of an application is.
func (p *Publisher) At(app records.ApplicationID, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.of(app)
	q.address = address
	p.send(app, q)
}

// of returns the queue of an application. Those go for which no collector has come, such as of applications that ended long ago. The lock is held.
func (p *Publisher) of(app records.ApplicationID) *queue {
	q := p.apps[app]
	if q == nil {
		for id, old := range p.apps {
			if old.address == "" && time.Since(old.since) > p.grace {
				p.drop(id, old)
			}
		}
		q = &queue{since: time.Now()}
		p.apps[app] = q
	}
	return q
}

// Add has an entity sent.
func (p *Publisher) Add(app records.ApplicationID, e flow.Entity) {
	b, err := json.Marshal(e)
	if err != nil {
		p.log.WithError(err).Errorf("%s can't be published", e.ID)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.of(app)
	if q.over || p.bytes+len(b) > maxWaiting || len(q.waiting) >= maxEntities {
		p.leaveOut(1, nil)
		return
	}
	q.waiting = append(q.waiting, b)
	p.bytes += len(b)
	p.send(app, q)
}

// leaveOut counts entities that aren't sent, and says so once a minute. The lock is held.
func (p *Publisher) leaveOut(n int, err error) {
	p.lost += n
	if time.Since(p.warned) < saidSeldom {
		return
	}
	p.log.WithError(err).Warnf("%d entities of containers were left out: collectors of timeline version 2 don't take them", p.lost)
	p.warned, p.lost = time.Now(), 0
}

// Ended says that an application is over. It is forgotten after a minute, with what waits for its collector.
func (p *Publisher) Ended(app records.ApplicationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.apps[app]
	if q == nil {
		return
	}
	time.AfterFunc(p.grace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if q.over = true; p.apps[app] == q && !q.sending {
			p.drop(app, q)
		}
	})
}

// drop forgets an application with what waits for it. The lock is held.
func (p *Publisher) drop(app records.ApplicationID, q *queue) {
	for _, b := range q.waiting {
		p.bytes -= len(b)
	}
	if n := len(q.waiting); n > 0 {
		p.leaveOut(n, nil)
	}
	q.waiting = nil
	if p.apps[app] == q {
		delete(p.apps, app)
	}
}

// send has what waits sent, if the collector is known and nothing is under way. The lock is held.
func (p *Publisher) send(app records.ApplicationID, q *queue) {
	if q.sending || q.address == "" || len(q.waiting) == 0 || p.ctx.Err() != nil {
		return
	}
	q.sending = true
	p.lives.Go(func() { p.run(app, q) })
}

// run sends until nothing waits.
func (p *Publisher) run(app records.ApplicationID, q *queue) {
	for {
		p.mu.Lock()
		n := min(len(q.waiting), maxTogether)
		if n == 0 || p.ctx.Err() != nil {
			q.sending = false
			if q.over {
				p.drop(app, q)
			}
			p.mu.Unlock()
			return
		}
		batch := q.waiting[:n:n]
		q.waiting = q.waiting[n:]
		for _, b := range batch {
			p.bytes -= len(b)
		}
		p.mu.Unlock()
		if err := p.deliver(app, q, batch); err != nil {
			p.mu.Lock()
			p.leaveOut(n, err)
			p.mu.Unlock()
		}
	}
}

// deliver sends entities, again and again for a while. The address may change meanwhile.
func (p *Publisher) deliver(app records.ApplicationID, q *queue, batch [][]byte) error {
	for try := 1; ; try++ {
		p.mu.Lock()
		at, over := q.address, q.over
		p.mu.Unlock()
		err := p.call(at, app, batch)
		if err == nil {
			return nil
		}
		if try == retries || over {
			return fmt.Errorf("the collector of %v at %s: %w", app, at, err)
		}
		t := time.NewTimer(p.pause)
		select {
		case <-t.C:
		case <-p.ctx.Done():
			t.Stop()
			return p.ctx.Err()
		}
	}
}

// call sends entities once.
func (p *Publisher) call(address string, app records.ApplicationID, batch [][]byte) error {
	q := url.Values{"appid": {app.String()}, "async": {"true"}, "subappwrite": {"false"}}
	if p.user != "" {
		q.Set("user.name", p.user)
	}
	at := url.URL{Scheme: p.scheme, Host: address, Path: "/ws/v2/timeline/entities", RawQuery: q.Encode()}
	body := append(append([]byte(`{"entities":[`), bytes.Join(batch, []byte{','})...), `]}`...)
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPut, at.String(), bytes.NewReader(body))
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
	answer, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s: %s", resp.Status, strings.ToValidUTF8(string(answer[:min(len(answer), maxTrouble)]), ""))
	}
	return nil
}

package timelineservice

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/rm/ledger"
	"heddle/rm/timelineservice/writer"
	"heddle/rm/view"
	"heddle/yarn/kerberos/negotiate"
)

// Bounds of what waits for the server, and of one call.
const (
	maxWaiting = 64 << 20 // bytes of entities; what comes beyond is left out
	maxCall    = 1 << 20  // bytes
)

// Pauses before a call that failed is repeated: the first, and the longest. A call that the server fails to process is repeated maxTries times.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	maxTries     = 5
)

// lastCall is how long what waits may take to be sent when the ResourceManager ends.
const lastCall = 2 * time.Second

// Publishers publish to the versions of the timeline service that are on. They are safe for concurrent use.
type Publishers struct {
	settings *Settings
	v1, v2   *Publisher // nil: that version is off
	server   *server    // of version 1
}

// Start starts publishers. A server of version 1 is called as a user, or with the tickets of an account; version 2 is written by a JVM of this host's.
func Start(s *Settings, user string, tickets func() (negotiate.Tickets, error), v2 func() (ondemand.Daemon, error), v *view.Viewer, log *logrus.Entry) *Publishers {
	all := &Publishers{settings: s}
	if s.v1 {
		all.server = &server{log: log.WithField("timeline server", s.endpoint)}
		all.server.client, all.server.post = s.client(user, tickets)
		all.v1 = &Publisher{encode: s.first, send: all.server.send, end: all.server.client.CloseIdleConnections, log: all.server.log}
		all.v1.start()
	}
	if s.v2 {
		cfg, err := v2()
		if err != nil {
			log.WithError(err).Warn("nothing is published to timeline version 2")
			return all
		}
		all.v2 = second(s, v, writer.New(cfg), log)
		all.v2.start()
	}
	return all
}

// Follower returns what makes entities of a ledger's batches, and has them published.
func (all *Publishers) Follower(v *view.Viewer) *Follower {
	return &Follower{v, all.settings, func(entities []entity, s *ledger.State) {
		for _, p := range []*Publisher{all.v1, all.v2} {
			if p != nil {
				p.add(entities, s)
			}
		}
	}}
}

// Close has publishers send what waits, for two seconds at most, and ends them.
func (all *Publishers) Close() {
	for _, p := range []*Publisher{all.v1, all.v2} {
		if p != nil {
			p.Close()
		}
	}
}

// Publisher sends entities to a timeline service, in order. It is safe for concurrent use.
type Publisher struct {
	// encode returns an entity as send takes it; nil: the service has no such.
	encode func(entity, *ledger.State) ([]byte, error)
	// send sends some, and returns how many of them don't need to be sent again.
	send func(ctx context.Context, batch [][]byte) (sent int, err error)
	end  func() // releases what send has used

	log   *logrus.Entry
	wake  chan struct{} // has room for one
	most  int           // bytes that may wait
	quit  chan struct{} // closed by Close
	ended chan struct{}

	mu      sync.Mutex
	waiting [][]byte
	bytes   int
	lost    int // entities that were left out since the server answered last
	stopped bool
}

// start starts a publisher of which all but the functions is set.
func (p *Publisher) start() {
	p.most, p.wake, p.quit, p.ended = maxWaiting, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go p.run()
}

// add has entities sent. It never waits.
func (p *Publisher) add(entities []entity, s *ledger.State) {
	encoded := make([][]byte, 0, len(entities))
	for _, e := range entities {
		b, err := p.encode(e, s)
		if err != nil {
			p.log.WithError(err).Errorf("%s can't be published", e.ID)
			continue
		}
		if b != nil {
			encoded = append(encoded, b)
		}
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
	p.end()
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
		sent, err := p.send(ctx, batch)
		if batch = batch[sent:]; sent > 0 {
			try = 1
		}
		switch tryAgain, refused := refusal(err); {
		case err == nil:
			p.back(away)
			return true
		case refused && (!tryAgain || try == maxTries):
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

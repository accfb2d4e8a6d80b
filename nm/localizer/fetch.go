package localizer

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/localizer/turns"
)

// start begins the download of e for c. The caller has the lock.
func (l *Localizer) start(e *entry, c *call) {
	var ctx context.Context
	ctx, e.cancel = context.WithCancel(l.ctx)
	d := &download{
		source: l.cfg.Source,
		res:    e.res,
		by:     Reader{User: c.req.User, Tokens: l.credentials(c.req), Public: e.cache.visibility == Public},
		seen:   c.seen,
		now:    l.cfg.Now,
		log:    l.cfg.Log,
	}
	pool := "" // of PUBLIC resources
	if !d.by.Public {
		pool, d.owner = c.req.User, c.owner
	}
	t := l.pools[pool]
	if t == nil {
		t = turns.New(l.cfg.Threads)
		l.pools[pool] = t
	}
	begun := make(chan struct{})
	e.turns, e.ticket = t, t.Enter(c.req.User, func() { close(begun) })
	e.cache.running.Add(1)
	l.wg.Go(func() {
		defer e.cancel()
		err := func() error {
			defer l.leave(pool, e)
			select {
			case <-begun:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return l.fetch(ctx, e, d)
		}()
		l.finish(e, err)
	})
}

func (l *Localizer) credentials(r Request) []byte {
	if l.cfg.Credentials == nil {
		return r.Tokens
	}
	return l.cfg.Credentials(r.Container.Attempt.App, r.Tokens)
}

// leave gives back the place of e's download.
func (l *Localizer) leave(pool string, e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.turns.Leave(e.ticket)
	if e.turns.Idle() && l.pools[pool] == e.turns {
		delete(l.pools, pool)
	}
}

// fetch downloads e into a slot of its cache.
func (l *Localizer) fetch(ctx context.Context, e *entry, d *download) error {
	began := time.Now()
	dir, err := chooseDir(l.usable(l.cfg.Dirs.Writable()), e.res.estimate(), uint64(l.cfg.Reserve), l.cfg.Space, l.cfg.Random)
	if err != nil {
		return err
	}
	l.mu.Lock()
	e.place = e.cache.place(dir, l.cfg.MaxFiles)
	l.mu.Unlock()
	e.path = e.place.file(e.cache.scope, e.res)
	l.record(e, false)
	d.meter = &meter{ctx: ctx, dir: dir, reserve: uint64(l.cfg.Reserve), space: l.cfg.Space}
	parent, err := descend(dir, e.cache.slotSteps(e.sub), d.owner)
	if err != nil {
		return d.meter.full(err)
	}
	defer parent.Close()
	if e.size, err = d.into(ctx, parent, e.slot()); err != nil {
		return err
	}
	l.record(e, true)
	l.metrics.fetched(e.size, time.Since(began))
	l.cfg.Log.WithFields(logrus.Fields{"resource": e.res.Location.String(), "path": e.path, "bytes": e.size}).Info("resource localized")
	return nil
}

// finish tells waiting calls that the download of e has ended.
func (l *Localizer) finish(e *entry, err error) {
	defer e.cache.running.Done()
	l.mu.Lock()
	if err == nil && e.cache.entries[e.res.Key()] == e {
		e.ready = true
		l.tell(e)
		l.mu.Unlock()
		return
	}
	l.unmap(e)
	l.mu.Unlock()
	switch {
	case err == nil: // it was no longer wanted when it was complete
		err = context.Canceled
		l.remove(e)
	case e.dir != "":
		l.forget(e)
		l.mu.Lock()
		e.cache.vacate(e.place)
		l.mu.Unlock()
	}
	if !errors.Is(err, context.Canceled) {
		l.metrics.failures.Inc()
		l.cfg.Log.WithFields(logrus.Fields{"resource": e.res.Location.String(), logrus.ErrorKey: err}).Warn("resource not localized")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.err = err
	l.tell(e)
}

func (l *Localizer) tell(e *entry) {
	e.used = l.cfg.Now()
	for _, w := range e.waiters {
		w <- e // its buffer has room for every entry that it waits for
	}
	e.waiters = nil
}

// unmap hides e from further requests.
func (l *Localizer) unmap(e *entry) {
	if e.cache.entries[e.res.Key()] == e {
		delete(e.cache.entries, e.res.Key())
	}
}

func (l *Localizer) cache(s scope) *cache {
	ca := l.caches[s]
	if ca == nil {
		ca = newCache(s)
		l.caches[s] = ca
	}
	return ca
}

package localizer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// Request lists the resources that one container needs.
type Request struct {
	Container records.ContainerID
	User      string              // user who submitted the application
	Tokens    []byte              // the container's credentials, as its launch context has them
	Resources map[string]Resource // by the names of their links in the working directory
}

// Result has the paths of a container's resources.
type Result struct {
	Paths    map[string]string // by the same names
	Counters Counters
}

// Counters are a container's LOCALIZATION_COUNTERS in YARN.
type Counters struct {
	BytesFetched, BytesCached int64 // size on this node's disk, unpacked
	FilesFetched, FilesCached int
	Elapsed                   time.Duration
}

// String returns the environment variable's value.
func (c Counters) String() string {
	return fmt.Sprintf("%d,%d,%d,%d,%d", c.BytesFetched, c.BytesCached, c.FilesFetched, c.FilesCached, c.Elapsed.Milliseconds())
}

// Localize blocks until all resources of the request are on this node, and holds them for the container until Release.
// It may be called several times for a container. If one resource fails, or ctx ends, it gives back those that this
// call took. A download that is no longer waited for is cancelled. Errors are of type *Error, except for the end of
// ctx and invalid requests.
func (l *Localizer) Localize(ctx context.Context, req Request) (Result, error) {
	began := l.cfg.Now()
	owner, err := l.check(req)
	if err != nil {
		return Result{}, fmt.Errorf("container %s: %w", req.Container, err)
	}
	call := &call{req: req, owner: owner, seen: new(ancestors), finished: make(chan *entry, 2*len(req.Resources))}
	if err := l.acquireAll(call); err != nil {
		return Result{}, fmt.Errorf("container %s: %w", req.Container, err)
	}
	for range call.waiting {
		select {
		case e := <-call.finished:
			if e.err != nil {
				l.giveBack(call)
				return Result{}, call.failure(e)
			}
		case <-ctx.Done():
			l.giveBack(call)
			return Result{}, context.Cause(ctx)
		}
	}
	r := Result{Paths: make(map[string]string, len(call.got))}
	for link, g := range call.got {
		r.Paths[link] = g.path
		if g.cached {
			r.Counters.BytesCached += g.size
			r.Counters.FilesCached++
		} else {
			r.Counters.BytesFetched += g.size
			r.Counters.FilesFetched++
		}
	}
	r.Counters.Elapsed = l.cfg.Now().Sub(began)
	return r, nil
}

func (l *Localizer) check(req Request) (*userfiles.User, error) {
	if err := validName(req.User); err != nil {
		return nil, fmt.Errorf("user: %w", err)
	}
	for link, r := range req.Resources {
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", link, err)
		}
	}
	return l.owner(req.User)
}

func (l *Localizer) owner(user string) (*userfiles.User, error) {
	if l.cfg.Owner == nil {
		return nil, nil
	}
	o, err := l.cfg.Owner(user)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", user, err)
	}
	return o, nil
}

// call is one call of Localize.
type call struct {
	req      Request
	owner    *userfiles.User
	seen     *ancestors
	got      map[string]grant // by link
	took     []*entry         // references that the container did not hold before
	waiting  int              // number of entries still expected on finished
	finished chan *entry
}

type grant struct {
	*entry
	cached bool
}

func (c *call) failure(e *entry) error {
	for link, g := range c.got {
		if g.entry == e {
			return &Error{Container: c.req.Container, Link: link, Resource: e.res, Err: explain(e.res.Location, e.err)}
		}
	}
	return explain(e.res.Location, e.err)
}

// acquireAll takes a reference on every resource, and starts the necessary downloads.
func (l *Localizer) acquireAll(c *call) error {
	c.got = make(map[string]grant, len(c.req.Resources))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	links := slices.Sorted(maps.Keys(c.req.Resources))
	for _, link := range links {
		l.acquire(c, link)
	}
	// Checking the files may take long on a bad disk.
	l.mu.Unlock()
	readable := l.cfg.Dirs.Readable()
	var gone []string
	for _, link := range links {
		if g := c.got[link]; g.cached && !present(g.entry, readable) {
			gone = append(gone, link)
		}
	}
	l.mu.Lock()
	if l.closed {
		return ErrClosed
	}
	for _, link := range gone {
		e := c.got[link].entry
		l.cfg.Log.WithField("path", e.path).Warn("localized resource is missing, localizing it again")
		l.unmap(e)
		l.drop(c.req.Container, e)
		c.took = slices.DeleteFunc(c.took, func(t *entry) bool { return t == e })
		l.acquire(c, link)
	}
	return nil
}

func present(e *entry, readable []string) bool {
	if !slices.Contains(readable, e.dir) {
		return false
	}
	_, err := userfiles.Stat(e.dir, append(stepNames(e.cache.slotSteps(e.sub)), e.slot(), e.res.Location.Name())...)
	return err == nil
}

// acquire takes a reference on the resource of a link. The caller has the lock.
func (l *Localizer) acquire(c *call, link string) {
	res := c.req.Resources[link]
	ca := l.cache(scopeOf(res.Visibility, c.req.User, c.req.Container.Attempt.App))
	e := ca.entries[res.Key()]
	if e == nil {
		e = &entry{cache: ca, res: res}
		ca.entries[res.Key()] = e
		l.start(e, c)
	}
	c.got[link] = grant{entry: e, cached: e.ready}
	if e.ready {
		l.metrics.hits.Inc()
	} else if !slices.Contains(e.waiters, c.finished) {
		e.waiters = append(e.waiters, c.finished)
		c.waiting++
		e.turns.Join(e.ticket, c.req.User) // else it would wait behind what another wants as well
	}
	if l.hold(c.req.Container, e) {
		c.took = append(c.took, e)
	}
}

// hold takes a container's reference on e, unless the container has it already.
func (l *Localizer) hold(id records.ContainerID, e *entry) bool {
	h := l.held[id]
	if h == nil {
		h = map[*entry]struct{}{}
		l.held[id] = h
	}
	if _, ok := h[e]; ok {
		return false
	}
	h[e] = struct{}{}
	e.refs++
	return true
}

// drop gives back a container's reference on e.
func (l *Localizer) drop(id records.ContainerID, e *entry) {
	h := l.held[id]
	if _, ok := h[e]; !ok {
		return
	}
	delete(h, e)
	if len(h) == 0 {
		delete(l.held, id)
	}
	e.refs--
	e.used = l.cfg.Now()
	if e.refs == 0 && !e.ready {
		l.unmap(e)
		e.cancel()
	}
}

func (l *Localizer) giveBack(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range c.took {
		l.drop(c.req.Container, e)
	}
}

// Release gives back everything that a container holds.
func (l *Localizer) Release(id records.ContainerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range maps.Clone(l.held[id]) {
		l.drop(id, e)
	}
}

// Retain takes references for a container that survived a restart of the NodeManager, on those of its resources that
// are localized, and returns their paths. It downloads nothing.
func (l *Localizer) Retain(req Request) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths := make(map[string]string, len(req.Resources))
	for link, res := range req.Resources {
		ca := l.caches[scopeOf(res.Visibility, req.User, req.Container.Attempt.App)]
		if ca == nil {
			continue
		}
		if e := ca.entries[res.Key()]; e != nil && e.ready {
			l.hold(req.Container, e)
			paths[link] = e.path
		}
	}
	return paths
}

package warming

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter"
	"heddle/yarn/records"
)

// NameNode keeps files in the memory of DataNodes.
type NameNode interface {
	// Blocks returns those of a file, if a user may read it.
	Blocks(ctx context.Context, user, file string) ([]hdfsadapter.Block, error)
	// Cache has a file kept for a time, unless Keep gives it more, and returns the id of its directive. Uncache ends that.
	Cache(ctx context.Context, file string) (id int64, err error)
	Keep(ctx context.Context, id int64) error
	Uncache(ctx context.Context, id int64) error
	// Directives returns all of the pool, from all users.
	Directives(ctx context.Context) ([]hdfsadapter.Directive, error)
}

const (
	maxDirectives = 100 // of a job: its further files are read ahead by nodes
	// cacheLook is how often the NameNode is asked where files are cached by now.
	cacheLook = 3 * time.Second
	// emptyLook is the interval between two searches for directives that were left behind, while there were none.
	emptyLook = 10 * time.Minute
	// cacheCall bounds what waits for the NameNode: a job's files are read ahead by nodes then.
	cacheCall = 20 * time.Second
	// cacheLeave bounds how long the last directives are removed for.
	cacheLeave = 5 * time.Second
)

// cache makes the NameNode keep input of jobs.
type cache struct {
	nn    NameNode
	most  int64         // bytes of files
	lease time.Duration // for which directives hold
	log   *logrus.Entry
	wake  chan struct{}

	mu    sync.Mutex
	bytes int64
	jobs  map[records.ApplicationID]*cachedJob
	gone  []int64 // directives that are to be removed
}

type cachedJob struct {
	user  string
	files []*cachedFile
}

type cachedFile struct {
	name    string
	id      int64
	bytes   int64
	splits  []Split
	settled bool // all of it is cached, or that is unknown
	on      map[string]int
}

func newCache(nn NameNode, most int64, lease time.Duration, log *logrus.Entry) *cache {
	return &cache{
		nn: nn, most: most, lease: lease, log: log, wake: make(chan struct{}, 1),
		jobs: map[records.ApplicationID]*cachedJob{},
	}
}

// begin says that a job has begun, and its input may be cached until end.
func (c *cache) begin(app records.ApplicationID, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(app)
	c.jobs[app] = &cachedJob{user: user}
}

// end says that none of a job's maps waits any more.
func (c *cache) end(app records.ApplicationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(app)
}

// drop has a job's directives removed. The lock is held.
func (c *cache) drop(app records.ApplicationID) {
	j := c.jobs[app]
	if j == nil {
		return
	}
	delete(c.jobs, app)
	for _, f := range j.files {
		c.bytes -= f.bytes
		c.gone = append(c.gone, f.id)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take has the NameNode cache files that a job reads whole, in the order of its maps, as many as there is room for, and returns the input whose splits of these files name no file.
func (c *cache) take(ctx context.Context, in *Input) *Input {
	c.mu.Lock()
	j := c.jobs[in.App]
	c.mu.Unlock()
	if j == nil {
		return in
	}
	ctx, cancel := context.WithTimeout(ctx, cacheCall)
	defer cancel()
	var order []string
	of := map[string][]Split{}
	for _, s := range in.Splits {
		if s.File != "" && of[s.File] == nil {
			order = append(order, s.File)
		}
		of[s.File] = append(of[s.File], s)
	}
	cached := map[string]bool{}
	for _, file := range order[:min(len(order), maxDirectives)] {
		done, more := c.file(ctx, in.App, j, file, of[file])
		if !more {
			break
		}
		cached[file] = done
	}
	out := &Input{App: in.App, Splits: slices.Clone(in.Splits)}
	for i := range out.Splits {
		if s := &out.Splits[i]; cached[s.File] {
			s.File, s.Offset, s.Length = "", 0, 0
		}
	}
	return out
}

// file has the NameNode cache a file of a job. It reports whether that is done, and whether further files are worth a try.
func (c *cache) file(ctx context.Context, app records.ApplicationID, j *cachedJob, name string, splits []Split) (done, more bool) {
	blocks, err := c.nn.Blocks(ctx, j.user, name)
	if err != nil {
		c.log.WithError(err).WithField("application", app.String()).Info("the NameNode is not asked to cache the input of the job")
		return false, false
	}
	var size, read int64
	room := true
	for _, b := range blocks {
		size += b.Length
		room = room && b.CacheRoom >= b.Length
	}
	for _, s := range splits {
		read += s.Length
	}
	if size == 0 || read < size { // a directive is for a whole file
		return false, true
	}
	c.mu.Lock()
	room = room && c.bytes+size <= c.most
	if room {
		c.bytes += size
	}
	c.mu.Unlock()
	if !room {
		return false, false
	}
	id, err := c.nn.Cache(ctx, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.bytes -= size
		c.log.WithError(err).WithField("application", app.String()).Info("the NameNode does not cache the input of the job: nodes read it ahead")
		return false, false
	case c.jobs[app] != j: // it is over
		c.bytes -= size
		c.gone = append(c.gone, id)
		return false, false
	}
	j.files = append(j.files, &cachedFile{name: name, id: id, bytes: size, splits: splits})
	return true, true
}

// run looks after directives until ctx ends, and removes them.
func (c *cache) run(ctx context.Context) {
	look := time.NewTicker(cacheLook)
	defer look.Stop()
	var renewed, swept time.Time
	clean := false // no other has directives
	for {
		now := time.Now()
		if now.Sub(swept) >= c.lease && (!clean || now.Sub(swept) >= emptyLook) {
			swept, clean = now, c.sweep(ctx)
		}
		if now.Sub(renewed) >= c.lease/3 {
			renewed = now
			c.renew(ctx)
		}
		c.remove(ctx)
		c.look(ctx)
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheLeave)
			defer cancel()
			c.mu.Lock()
			for app := range c.jobs {
				c.drop(app)
			}
			c.mu.Unlock()
			c.remove(last)
			return
		case <-look.C:
		case <-c.wake:
		}
	}
}

// remove removes directives that are no longer needed. One that can't be removed expires.
func (c *cache) remove(ctx context.Context) {
	c.mu.Lock()
	gone := c.gone
	c.gone = nil
	c.mu.Unlock()
	for _, id := range gone {
		c.uncache(ctx, id)
	}
}

func (c *cache) uncache(ctx context.Context, id int64) {
	ctx, cancel := context.WithTimeout(ctx, cacheCall)
	defer cancel()
	if err := c.nn.Uncache(ctx, id); err != nil {
		c.log.WithError(err).Info("a cache directive stays until it expires")
	}
}

// sweep removes the pool's directives that have expired: those of nodes that were killed. It reports whether there are no others than this node's.
func (c *cache) sweep(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, cacheCall)
	all, err := c.nn.Directives(call)
	cancel()
	if err != nil {
		c.log.WithError(err).Info("the NameNode does not list the cache directives")
		return false
	}
	own := map[int64]bool{}
	c.mu.Lock()
	for _, j := range c.jobs {
		for _, f := range j.files {
			own[f.id] = true
		}
	}
	c.mu.Unlock()
	clean := true
	for _, d := range all {
		switch {
		case own[d.ID]:
		case d.Expired:
			c.uncache(ctx, d.ID)
		default:
			clean = false
		}
	}
	return clean
}

// files returns those that are cached now, with the names of their jobs' users.
func (c *cache) files() map[*cachedFile]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[*cachedFile]string{}
	for _, j := range c.jobs {
		for _, f := range j.files {
			out[f] = j.user
		}
	}
	return out
}

// renew extends directives. If one is gone, the file is read from disk.
func (c *cache) renew(ctx context.Context) {
	for f := range c.files() {
		call, cancel := context.WithTimeout(ctx, cacheCall)
		err := c.nn.Keep(call, f.id)
		cancel()
		if err != nil && ctx.Err() == nil {
			c.log.WithError(err).Infof("%s may not be cached any more", f.name)
		}
	}
}

// look finds out where files are cached by now.
func (c *cache) look(ctx context.Context) {
	asked := false
	for f, user := range c.files() {
		if f.settled { // only this goroutine reads and sets it
			continue
		}
		call, cancel := context.WithTimeout(ctx, cacheCall)
		if !asked {
			asked = true
			_, _ = c.nn.Directives(call) // makes the NameNode begin with new ones
		}
		blocks, err := c.nn.Blocks(call, user, f.name)
		cancel()
		on := map[string]int{}
		f.settled = true
		for _, b := range blocks {
			f.settled = f.settled && len(b.Cached) > 0
			for _, s := range f.splits {
				if s.Offset < b.Offset || s.Offset >= b.Offset+b.Length {
					continue
				}
				for _, host := range b.Cached {
					on[host]++
				}
			}
		}
		if err != nil {
			on = nil // it has changed, or its reader has lost the right
		}
		c.mu.Lock()
		f.on = on
		c.mu.Unlock()
	}
}

// staged adds for how many maps input is cached, by job and host.
func (c *cache) staged(is map[place]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for app, j := range c.jobs {
		for _, f := range j.files {
			for host, n := range f.on {
				is[place{app, host}] += n
			}
		}
	}
}

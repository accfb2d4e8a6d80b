package localizer

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/localizer/turns"
)

// firstSlot precedes the number of the first slot: 0 to 9 are names of sub-directories.
const firstSlot = 9

// lastSlot is the largest number of a slot. A user may have made a directory with any name, and the next slot has the next number.
const lastSlot = 1 << 53

// cache has the resources of one scope. The Localizer's lock guards it.
type cache struct {
	scope
	entries map[Key]*entry      // wanted or localized entries, no failed or abandoned ones
	last    int64               // number of the newest slot
	spread  map[string]*subdirs // by local directory
	running sync.WaitGroup      // downloads, including those that are no longer waited for
}

// entry is one resource of a cache.
type entry struct {
	cache *cache
	res   Resource // as in the first request

	refs    int
	used    time.Time    // when it was last given back
	cancel  func()       // cancels the download
	turns   *turns.Turns // of the download
	ticket  *turns.Ticket
	waiters []chan<- *entry

	// The downloading goroutine sets these. Others read them once ready is set, or after receiving the entry from a
	// channel.
	ready bool
	err   error
	place
	path string // path of the localized file or directory
	size int64  // size on disk, in bytes
}

// place is the place of a slot.
type place struct {
	dir    string // local directory; empty before one is chosen
	sub    string // sub-directory of the cache, "" for the cache itself
	number int64
}

// slotName returns the name of slot n's directory.
func slotName(n int64) string { return strconv.FormatInt(n, 10) }

// slotNumber parses the name of a slot, or of an unfinished download.
func slotNumber(name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(name, tmpSuffix), 10, 64)
	return n, err == nil && n > firstSlot && n <= lastSlot && slotName(n) == strings.TrimSuffix(name, tmpSuffix)
}

func (p place) slot() string { return slotName(p.number) }

// file returns the path of the resource in the slot.
func (p place) file(s scope, r Resource) string {
	return filepath.Join(s.cacheDir(p.dir), p.sub, p.slot(), r.Location.Name())
}

func newCache(s scope) *cache {
	return &cache{scope: s, entries: map[Key]*entry{}, last: firstSlot, spread: map[string]*subdirs{}}
}

// place reserves a slot. Only caches that outlive an application have sub-directories.
func (c *cache) place(dir string, maxFiles int) place {
	c.last++
	p := place{dir: dir, number: c.last}
	if c.visibility != Application {
		p.sub = subdirPath(c.subdirs(dir, maxFiles).take())
	}
	return p
}

func (c *cache) subdirs(dir string, maxFiles int) *subdirs {
	s := c.spread[dir]
	if s == nil {
		s = newSubdirs(maxFiles)
		c.spread[dir] = s
	}
	return s
}

// vacate gives up a slot.
func (c *cache) vacate(p place) {
	if s := c.spread[p.dir]; s != nil {
		if n, err := subdirNumber(p.sub); err == nil {
			s.give(n)
		}
	}
}

// remove deletes a slot that can't be requested any more.
func (l *Localizer) remove(e *entry) {
	if err := removeBelow(e.dir, e.cache.slotSteps(e.sub), e.slot()); err != nil {
		// The sweep after the next start removes it.
		l.cfg.Log.WithFields(logrus.Fields{"path": e.path, logrus.ErrorKey: err}).Warn("cannot remove a localized resource")
	}
	l.forget(e)
	l.mu.Lock()
	e.cache.vacate(e.place)
	l.mu.Unlock()
}

// Run keeps the caches within their target size until ctx ends.
func (l *Localizer) Run(ctx context.Context) {
	t := time.NewTicker(l.cfg.Interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.Clean()
		case <-ctx.Done():
			return
		}
	}
}

// Clean removes the least recently used PUBLIC and PRIVATE resources that no container holds, until the others fit
// within the target size. It returns the number of removed bytes.
func (l *Localizer) Clean() int64 {
	l.mu.Lock()
	var total int64
	var idle []*entry
	for _, ca := range l.caches {
		if ca.visibility == Application {
			continue
		}
		for _, e := range ca.entries {
			if !e.ready {
				continue
			}
			total += e.size
			if e.refs == 0 {
				idle = append(idle, e)
			}
		}
	}
	slices.SortFunc(idle, func(a, b *entry) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	n := 0
	left := total
	for ; n < len(idle) && left > l.cfg.TargetSize; n++ {
		left -= idle[n].size
		l.unmap(idle[n])
	}
	l.mu.Unlock()
	for _, e := range idle[:n] {
		l.remove(e)
		l.metrics.evicted.Inc()
	}
	if n > 0 {
		l.cfg.Log.WithFields(logrus.Fields{"removed": n, "bytes": total - left, "left": left, "target": l.cfg.TargetSize}).
			Info("localized resources removed from the cache")
	}
	return total - left
}

// Usage is the state of the caches.
type Usage struct {
	Resources  int   // localized resources
	Bytes      int64 // bytes that they take
	Referenced int   // resources that containers hold
	Fetching   int   // downloads under way or waiting
}

// Usage returns the present state of all caches together.
func (l *Localizer) Usage() Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	var u Usage
	for _, ca := range l.caches {
		for _, e := range ca.entries {
			if !e.ready {
				u.Fetching++
				continue
			}
			u.Resources++
			u.Bytes += e.size
			if e.refs > 0 {
				u.Referenced++
			}
		}
	}
	return u
}

func (u Usage) String() string {
	return fmt.Sprintf("%d resources of %d bytes, %d in use, %d being fetched", u.Resources, u.Bytes, u.Referenced, u.Fetching)
}

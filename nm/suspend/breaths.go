package suspend

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Breaths lets a node's suspended containers breathe one after the other. Its methods may be called from several goroutines.
type Breaths struct {
	allowance int64
	changed   chan struct{}

	mu  sync.Mutex
	all map[string]*breather
}

// breather is a container that breathes.
type breather struct {
	name    string
	every   time.Duration
	due     time.Time
	breathe func(ctx context.Context, allowance int64)
}

// NewBreaths returns breaths for which the node keeps so many bytes of memory in hand. Run takes them.
func NewBreaths(allowance int64) *Breaths {
	return &Breaths{allowance: allowance, changed: make(chan struct{}, 1), all: make(map[string]*breather)}
}

// Set has a container breathe at a period from now on; 0 means never again. A breath that is under way goes on.
func (b *Breaths) Set(name string, every time.Duration, breathe func(ctx context.Context, allowance int64)) {
	b.mu.Lock()
	if every <= 0 {
		delete(b.all, name)
	} else {
		b.all[name] = &breather{name, every, time.Now().Add(every), breathe}
	}
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Retry is when a container breathes again whose breath was too short (State.Again), if its period isn't shorter.
const Retry = 10 * time.Second

// Again has a container breathe again soon (Retry).
func (b *Breaths) Again(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.all[name]; x != nil {
		if soon := time.Now().Add(Retry); soon.Before(x.due) {
			x.due = soon
		}
	}
}

// Due reports whether a container waits for its breath.
func (b *Breaths) Due() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, x := range b.all {
		if !x.due.After(now) {
			return true
		}
	}
	return false
}

// Run lets containers breathe until ctx ends. Where more are due than there is time for, the one that has waited longest is next.
func (b *Breaths) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, wait := b.next()
		if next != nil && wait <= 0 {
			if ctx.Err() != nil {
				return
			}
			next.breathe(ctx, b.allowance)
			continue
		}
		var due <-chan time.Time
		if next != nil {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-b.changed:
		case <-due:
		}
	}
}

// next returns the container that is due first, and in how long. If that is now its next breath is counted from now.
func (b *Breaths) next() (*breather, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var first *breather
	for _, x := range b.all {
		if first == nil || x.due.Before(first.due) || x.due.Equal(first.due) && strings.Compare(x.name, first.name) < 0 {
			first = x
		}
	}
	if first == nil {
		return nil, 0
	}
	now := time.Now()
	wait := first.due.Sub(now)
	if wait <= 0 {
		first.due = now.Add(first.every)
	}
	return first, wait
}

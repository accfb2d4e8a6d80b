package suspend

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Breaths lets a node's suspended containers breathe, as far as possible one after the other. Its methods may be called from several goroutines.
type Breaths struct {
	allowance int64
	spare     func(bytes int64) bool
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
	// breathes is true if it does so now.
	breathes bool
}

// NewBreaths returns breaths for which the node keeps so many bytes of memory in hand. spare reports whether the machine has so many bytes more; nil:
// never. Run takes the breaths.
func NewBreaths(allowance int64, spare func(bytes int64) bool) *Breaths {
	return &Breaths{allowance: allowance, spare: spare, changed: make(chan struct{}, 1), all: make(map[string]*breather)}
}

// Set makes a container breathe at a period from now on; 0 means never again. A breath that is under way resumes.
func (b *Breaths) Set(name string, every time.Duration, breathe func(ctx context.Context, allowance int64)) {
	b.mu.Lock()
	if every <= 0 {
		delete(b.all, name)
	} else {
		b.all[name] = &breather{name: name, every: every, due: time.Now().Add(every), breathe: breathe}
	}
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Retry is when a container breathes again whose breath was too short (State.Again), if its period isn't shorter.
const Retry = 10 * time.Second

// Again makes a container breathe again soon (Retry).
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

// atOnce is how many containers breathe at once at most, where breaths are late.
const atOnce = 4

// spareLook is the time between two looks at whether the machine has memory for one more that is late.
const spareLook = time.Second

// Run lets containers breathe until ctx ends. Where several are due, the one that has waited longest is next. One that is late by a quarter of its period
// breathes beside others, up to atOnce, if the machine has memory to spare: on a busy machine slow breaths would take longer together than frameworks
// wait.
func (b *Breaths) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	over, running := make(chan struct{}), 0
	defer func() {
		for range running {
			<-over
		}
	}()
	for {
		next, wait := b.next(running)
		if next != nil && wait <= 0 {
			if ctx.Err() != nil {
				b.exhale(next)
				return
			}
			running++
			go func() {
				next.breathe(ctx, b.allowance)
				b.exhale(next)
				over <- struct{}{}
			}()
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
		case <-over:
			running--
		case <-due:
		}
	}
}

// exhale notes that a breath is over.
func (b *Breaths) exhale(x *breather) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.breathes = false
}

// next returns the container that is due first of those that don't breathe, while so many breathe, and in how long that is to be looked at again. If that
// is now, its next breath is counted from now.
func (b *Breaths) next(running int) (*breather, time.Duration) {
	if running >= atOnce {
		return nil, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var first *breather
	for _, x := range b.all {
		if !x.breathes && (first == nil || x.due.Before(first.due) || x.due.Equal(first.due) && strings.Compare(x.name, first.name) < 0) {
			first = x
		}
	}
	if first == nil {
		return nil, 0
	}
	now := time.Now()
	wait := first.due.Sub(now)
	if running > 0 {
		wait += first.every / 4
		if wait <= 0 && (b.spare == nil || !b.spare(int64(running+1)*b.allowance)) {
			return first, spareLook
		}
	}
	if wait <= 0 {
		first.due, first.breathes = now.Add(first.every), true
	}
	return first, wait
}

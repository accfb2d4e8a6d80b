package suspend

import (
	"context"
	"sync"
	"time"

	"heddle/internal/pause"
	"heddle/yarn/records"
)

// VigilPause is the time between two looks of a Vigil. Each look at a container reads a few small files of the kernel.
const VigilPause = 2 * time.Second

// Vigil looks at a node's suspended containers again and again, as long as there are any. The zero value is for use, by several goroutines.
type Vigil struct {
	mu          sync.Mutex
	keeps, anew bool // again: it was to begin since the last look began
}

// Begin has look called every VigilPause until it returns false, as nothing is left to look at, or ctx ends. A vigil that is under way resumes.
// background runs a function beside the caller.
func (v *Vigil) Begin(ctx context.Context, background func(func()), look func() bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.anew = true; v.keeps {
		return
	}
	v.keeps = true
	background(func() {
		for v.pause(ctx) && (look() || v.goesOn()) {
		}
	})
}

// pause waits for the next look, and reports whether there is to be one.
func (v *Vigil) pause(ctx context.Context) bool {
	if pause.For(ctx, VigilPause) != nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.anew = false
	return true
}

// goesOn reports whether the vigil was to begin during a look that has found nothing.
func (v *Vigil) goesOn() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keeps = v.anew
	return v.keeps
}

// Findings of Watch.
const (
	foundThawed = "its processes ran, as its group was thawed past the NodeManager; they are suspended again"
	foundGrown  = "memory that was paged out came back, as it does when swap is removed"
)

// Watch sees to it that a container that is suspended is as it was left. Root may have thawed its group, or removed the swap in which its memory lay.
// Watch suspends the processes again, and the state and the node's room say what they hold now; Settle takes that from them. found is what it has
// found, for people.
func (l *Ladder) Watch(ctx context.Context) (found []string, err error) {
	s := l.State()
	if !s.Have.Still() || !s.Level.Still() {
		return nil, nil
	}
	frozen, err := l.p.Frozen()
	if err != nil {
		return nil, err
	}
	if !frozen {
		if err := l.p.Freeze(ctx); err != nil {
			return nil, err
		}
		found = append(found, foundThawed)
	}
	m, err := l.p.Memory()
	if err != nil {
		return found, err
	}
	used := min(megabytes(m.Used()), l.p.Size().MemoryMB())
	if held := s.Holds.MemoryMB(); used > held+held/16 { // the kernel counts a little late
		l.mu.Lock()
		l.state.Holds[records.Memory], l.state.Reason = used, foundGrown
		now := l.state.Holds
		l.mu.Unlock()
		l.p.Holds(now)
		found = append(found, foundGrown)
	}
	return found, nil
}

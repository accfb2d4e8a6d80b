package suspend

import (
	"context"

	"heddle/yarn/records"
)

// What Watch finds.
const (
	foundThawed = "its processes ran, as its group was thawed past the NodeManager; they stand still again"
	foundGrown  = "memory that was paged out came back, as it does when swap is removed"
)

// Watch sees to it that a container that stands still is as it was left. Others with the rights of root may have thawed its group, or removed the swap in which its
// memory lay. It has the processes stand still again, and the state says what they hold now; Settle takes that from them again. found is what it has
// found, as people are told it.
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
		l.mu.Unlock()
		found = append(found, foundGrown)
	}
	return found, nil
}

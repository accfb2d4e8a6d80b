// Package lives remembers what nodes tell of containers that run: when they accepted them, had their files, and started their processes. It is soft
// state, as the ledger has these times of containers that have ended: after a change of leaders nodes tell them again.
package lives

import (
	"sync"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// Lives are those of live containers. Its methods may be called from several goroutines.
type Lives struct {
	mu sync.RWMutex
	of map[records.ContainerID]ledger.Times
}

// Note takes what a node tells of a live container into account, at a time in ms since 1970; nil is nothing.
func (l *Lives) Note(c *ledger.Container, t *ledgerpb.ContainerTimes, now int64) {
	if t == nil {
		return
	}
	times := ledger.TimesOf(c, t, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[records.ContainerID]ledger.Times{}
	}
	l.of[c.ID] = times
}

// Forget is for a container that lives no more.
func (l *Lives) Forget(id records.ContainerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
}

// Of returns what is known of a container's life; all is 0 if nothing is.
func (l *Lives) Of(id records.ContainerID) ledger.Times {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.of[id]
}

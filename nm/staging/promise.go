package staging

import (
	"time"

	"heddle/internal/quotes"
)

// Soon is after how long a copy would be made that was asked for now, if each takes so long; false: there is no room for it without evicting others.
func (m *Manager) Soon(bytes int64, each time.Duration) (time.Duration, bool) {
	return each * time.Duration(1+(m.slow+m.waits)/m.atATime()), m.room(bytes + m.waiting)
}

// Promises size staging by quotes: that an input would be in memory when the task that reads it was expected to start. The zero value has none.
type Promises struct {
	Made, Broken int64 // of which it is known whether they were kept
	ends         time.Duration
	made, broken int64 // in this window
}

// promiseWindow is how long promises are counted before the number of copies follows from them, as Dice's windows.
const promiseWindow = time.Minute

// Due says whether a promise was kept whose time has come.
func (p *Promises) Due(kept bool) {
	p.Made++
	p.made++
	if !kept {
		p.Broken++
		p.broken++
	}
}

// Size makes a Manager make up to twice as many copies at a time in the next window as Config says, by how many promises of this one were broken.
// Copies come too late then, and a task that reads its file itself costs the disk as much. Size reports whether a window has begun.
func (p *Promises) Size(now time.Duration, m *Manager) bool {
	if now < p.ends {
		return false
	}
	m.copies = m.cfg.Concurrent + int(quotes.Broken(p.made, p.broken)*float64(m.cfg.Concurrent))
	p.ends, p.made, p.broken = now+promiseWindow, 0, 0
	return true
}

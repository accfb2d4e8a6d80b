package suspend

import (
	"sync"
	"time"
)

// Rates are how quickly a node pages containers out and in, as measured. The zero value has measured nothing.
type Rates struct {
	mu      sync.Mutex
	out, in float64 // bytes a second; 0: not known yet
}

// least is how many bytes a measurement must be of to mean anything.
const least = 4 << 20

// Get returns the rates, in bytes a second. 0 means that nothing was measured yet.
func (r *Rates) Get() (out, in int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.out), int64(r.in)
}

func (r *Rates) pagedOut(bytes int64, took time.Duration) { r.note(&r.out, bytes, took) }
func (r *Rates) pagedIn(bytes int64, took time.Duration)  { r.note(&r.in, bytes, took) }

// note lets a measurement count for a quarter, so that one page-out beside others doesn't change much.
func (r *Rates) note(rate *float64, bytes int64, took time.Duration) {
	if bytes < least || took <= 0 {
		return
	}
	now := float64(bytes) / took.Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	if *rate == 0 {
		*rate = now
		return
	}
	*rate += (now - *rate) / 4
}

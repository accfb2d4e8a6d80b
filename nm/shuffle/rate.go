package shuffle

import (
	"math"
	"sync"
	"time"
)

// Settings of the rate.
const (
	leastSample = 1 << 20         // bytes of a response: smaller ones are in the kernel's buffers before the reducer has any
	halfLife    = 5 * time.Minute // after which a response counts half
	noRate      = 64 << 10        // bytes that must be left of them: less means nothing
)

// rate is at which pace a reducer takes outputs of maps, over one connection, in bytes per second. Responses weigh by their bytes: a reducer
// that is suspended for minutes takes little then, and says nothing of the network.
type rate struct {
	mu     sync.Mutex
	at     time.Time
	weight float64 // bytes
	sum    float64 // bytes times bytes per second
}

// add records a response. took is how long it was under way.
func (r *rate) add(now time.Time, bytes int64, took time.Duration) {
	if bytes < leastSample || took <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); !r.at.IsZero() && age > 0 {
		fade := math.Exp2(-age.Seconds() / halfLife.Seconds())
		r.weight, r.sum = r.weight*fade, r.sum*fade
	}
	if r.at.Before(now) {
		r.at = now
	}
	b := float64(bytes)
	r.weight, r.sum = r.weight+b, r.sum+b*b/took.Seconds()
}

// FetchRate returns how fast a reducer fetches outputs of maps from here over one connection, in bytes per second; 0 if none has fetched enough
// yet.
func (s *Service) FetchRate() int64 {
	r := &s.fetched
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.weight < noRate {
		return 0
	}
	return max(1, int64(min(r.sum/r.weight, math.MaxInt64/2)))
}

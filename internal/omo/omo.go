// Package omo has the estimates of OMO (Wang et al., chapter 4) that ApplicationMasters (am/slowstart) and the ResourceManager
// (rm/scheduler/policy/omo) both make: how often slots are released, how long a shuffle takes, and when it would end if reduces began
// now. Slots may be counted, or measured as shares of a cluster, where containers have different sizes. Times are in seconds.
package omo

import (
	"math"
	"time"
)

// Window is T_w, in which released slots are counted (section 4.4.2.3).
const Window = 10 * time.Second

// Settings that the paper doesn't tell.
const (
	Bandwidth = 64 << 20 // B where it wasn't measured: bytes per second at which a reduce fetches
	smoothing = 0.5      // of the moving averages
)

// Shuffle is T_s, how long the shuffle of a reduce takes: d·m/(B·r). perMap is d, in bytes, and bandwidth B, in bytes per second; where
// that isn't above 0, it is Bandwidth.
func Shuffle(perMap, maps, bandwidth, reduces float64) float64 {
	if !(bandwidth > 0) {
		bandwidth = Bandwidth
	}
	return perMap * maps / (bandwidth * max(1, reduces))
}

// Maps returns how long pending maps still take if the reduces of their job get slots now: x·A_o·K/(F_o·(A_o − r)) + T_m, the second part of
// equation 4.3. It is infinite if no slot would be released any more with the reduces there.
func Maps(pending float64, r Rate, jobs, reduces, mean float64) float64 {
	left := r.Available - reduces // A_e
	if !(r.Frequency > 0) || !(left > 0) {
		return math.Inf(1)
	}
	return pending*r.Available*max(1, jobs)/(r.Frequency*left) + mean
}

// Batch returns how long the maps of a job take if it has its turn only as often as others, and how long until the others have got as many
// slots as meanwhile if its maps come first (equations 4.4 and 4.5). They should, if batch is less than fair.
func Batch(pending float64, r Rate, jobs, reduces, mean float64) (fair, batch float64) {
	if !(r.Frequency > 0) || !(r.Available > 0) {
		return 0, 0
	}
	fair = jobs*pending/r.Frequency + mean
	s := (jobs-1)*pending + r.Frequency*(jobs-1)*mean/jobs
	return fair, s * r.Available / (r.Frequency * (r.Available + reduces))
}

// Rate is how often slots are released.
type Rate struct {
	Frequency float64 // F_o: slots per second
	Available float64 // A_o: slots that may be released
}

// Expect is F_e, the frequency at which slots will be released when so many are available (equation 4.1).
func (r *Rate) Expect(available float64) float64 {
	if !(r.Available > 0) {
		return 0
	}
	return r.Frequency * available / r.Available
}

// Release measures how often slots are released (section 4.3.1). Its zero value is ready.
type Release struct {
	Rate
	Known bool // a window has passed

	began     time.Duration
	opened    bool
	released  float64 // in all, when the window began
	since     float64 // slot-seconds available in this window
	at        time.Duration
	available float64
}

// Observe says how many slots have been released in all by now, and how many are available. Windows without an observation in
// them count as one.
func (r *Release) Observe(now time.Duration, released, available float64) {
	if !r.opened {
		r.opened, r.began, r.at, r.released, r.available = true, now, now, released, available
		return
	}
	if now < r.at {
		return
	}
	r.since += r.available * (now - r.at).Seconds()
	r.at, r.available = now, available
	length := now - r.began
	if length < Window {
		return
	}
	f := max(0, released-r.released) / length.Seconds()
	a := r.since / length.Seconds()
	if r.Known {
		f, a = smoothing*f+(1-smoothing)*r.Frequency, smoothing*a+(1-smoothing)*r.Available
	}
	r.Rate, r.Known = Rate{f, a}, true
	r.began, r.released, r.since = now, released, 0
}

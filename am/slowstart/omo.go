package slowstart

import (
	"math"
	"time"

	"heddle/am/stage"
)

// Settings of OMO.
const (
	Window    = 10 * time.Second // T_w, in which released slots are counted (section 4.4.2.3)
	smoothing = 0.5              // of the moving averages; the paper doesn't say which it used
	bandwidth = 64 << 20         // B where nobody has measured it: bytes per second at which a reduce fetches
)

// OMO starts reduces as late as possible, so that their shuffle still ends with the maps (Wang et al., OMO, section 4.3.2). Once
// they have begun they all go on, in a row (principle 4.3.1). Its zero value is ready, for one job.
//
// The paper starts at the pending count for which the gap α is least (algorithm 4.3.1). α only decreases in that count, so
// that the condition is never met before the last map is launched. What it means is built here: the gap is as small as can be
// without being negative, which is when the time that the maps still take is no longer than the shuffle.
type OMO struct {
	Release Release
	begun   bool
	last    time.Duration // when no map waited any more
	none    bool          // waits
}

// Due implements stage.Starter.
func (o *OMO) Due(f *stage.Facts) bool {
	o.Release.Observe(f.Now, f.Released, f.Available)
	if f.Maps.Waiting > 0 {
		o.none = false
	} else if !o.none {
		o.none, o.last = true, f.Now
	}
	if !o.begun {
		o.begun = f.Maps.Done == f.Maps.Tasks || o.Gap(f) >= 0
	}
	return o.begun
}

// Gap is α: how much longer the shuffle takes than the maps, if reduces begin now, in seconds (equation 4.3). It is −Inf as
// long as nothing is known.
func (o *OMO) Gap(f *stage.Facts) float64 {
	if f.Maps.Done == 0 || f.Reduces.Tasks == 0 {
		return math.Inf(-1)
	}
	return Shuffle(f) - o.maps(f)
}

// Shuffle is T_s, how long the shuffle of a reduce takes, in seconds: d·m/(B·r).
func Shuffle(f *stage.Facts) float64 {
	b := f.Hints.Bandwidth
	if !(b > 0) {
		b = bandwidth
	}
	d := float64(max(0, f.Maps.OutBytes)) / float64(max(1, f.Maps.Done))
	return d * float64(f.Maps.Tasks) / (b * float64(max(1, f.Reduces.Tasks)))
}

// maps is how long the maps still take if all reduces have slots, in seconds: x·A_o·K/(F_o·(A_o − r)) + T_m. When no map waits
// that is what is left of T_m since the last one was launched.
func (o *OMO) maps(f *stage.Facts) float64 {
	mean := f.Maps.Mean.Seconds()
	if f.Maps.Waiting == 0 {
		return max(0, mean-(f.Now-o.last).Seconds())
	}
	frequency, available := o.Release.Frequency, o.Release.Available
	if !o.Release.Known {
		// Slots that are all busy with maps are released at this rate.
		available = float64(f.Available)
		frequency = available / max(mean, 1e-3)
	}
	if f.Hints.Frequency > 0 && f.Hints.Available > 0 {
		frequency, available = f.Hints.Frequency, f.Hints.Available
	}
	left := available - float64(f.Reduces.Tasks) // A_e
	if !(frequency > 0) || !(left > 0) {
		return math.Inf(1) // with the reduces there, no slot would be released any more
	}
	return float64(f.Maps.Waiting)*available*float64(max(1, f.Hints.Jobs))/(frequency*left) + mean
}

// Release measures how often slots are released (section 4.3.1).
type Release struct {
	Frequency float64 // F_o: per second
	Available float64 // A_o: slots that may be released
	Known     bool    // a window has passed

	began     time.Duration
	opened    bool
	released  int     // in all, when the window began
	since     float64 // slot-seconds available in this window
	at        time.Duration
	available int
}

// Observe says how many slots have been released in all by now, and how many are available. Windows without an observation in
// them count as one.
func (r *Release) Observe(now time.Duration, released, available int) {
	if !r.opened {
		r.opened, r.began, r.at, r.released, r.available = true, now, now, released, available
		return
	}
	if now < r.at {
		return
	}
	r.since += float64(r.available) * (now - r.at).Seconds()
	r.at, r.available = now, available
	length := now - r.began
	if length < Window {
		return
	}
	f := float64(max(0, released-r.released)) / length.Seconds()
	a := r.since / length.Seconds()
	if r.Known {
		f, a = smoothing*f+(1-smoothing)*r.Frequency, smoothing*a+(1-smoothing)*r.Available
	}
	r.Frequency, r.Available, r.Known = f, a, true
	r.began, r.released, r.since = now, released, 0
}

// Expect is F_e, the frequency at which slots will be released when so many are available (equation 4.1).
func (r *Release) Expect(available float64) float64 {
	if !(r.Available > 0) {
		return 0
	}
	return r.Frequency * available / r.Available
}

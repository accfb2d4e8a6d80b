package slowstart

import (
	"math"
	"time"

	"heddle/am/stage"
	"heddle/internal/omo"
)

// OMO starts reduces as late as possible, so that their shuffle still ends with the maps (Wang et al., OMO, section 4.3.2). Once
// they have begun they all continue, in a row (principle 4.3.1). Its zero value is ready, for one job.
//
// The paper starts at the pending count for which the gap α is least (algorithm 4.3.1). α only decreases in that count, so
// that the condition is never met before the last map is launched. This code implements its intent: the gap is as small as
// can be without being negative, which is when the time that the maps still take is no longer than the shuffle.
//
// The paper's slots are there. A container must start first, so its shuffle begins later by that time. To end with the maps, it is asked for
// earlier by as much.
type OMO struct {
	Release omo.Release
	begun   bool
	last    time.Duration // when no map waited any more
	none    bool          // waits
}

// Due implements stage.Starter.
func (o *OMO) Due(f *stage.Facts) bool {
	o.Release.Observe(f.Now, float64(f.Released), float64(f.Available))
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

// Gap is α: how much longer the shuffle takes than the maps, if reduces begin now, in seconds (equation 4.3), with the start of their containers.
// It is −Inf as long as nothing is known.
func (o *OMO) Gap(f *stage.Facts) float64 {
	if f.Maps.Done == 0 || f.Reduces.Tasks == 0 {
		return math.Inf(-1)
	}
	return f.Start.Seconds() + Shuffle(f) - o.maps(f)
}

// Shuffle is T_s, how long the shuffle of a reduce takes, in seconds: d·m/(B·r).
func Shuffle(f *stage.Facts) float64 {
	d := float64(max(0, f.Maps.OutBytes)) / float64(max(1, f.Maps.Done))
	return omo.Shuffle(d, float64(f.Maps.Tasks), f.Hints.Bandwidth, float64(f.Reduces.Tasks))
}

// maps returns how long the maps still take if all reduces have slots, in seconds: x·A_o·K/(F_o·(A_o − r)) + T_m. When no map waits
// that is the rest of T_m since the last one was launched.
func (o *OMO) maps(f *stage.Facts) float64 {
	mean := f.Maps.Mean.Seconds()
	if f.Maps.Waiting == 0 {
		return max(0, mean-(f.Now-o.last).Seconds())
	}
	r := o.Release.Rate
	if !o.Release.Known {
		// Slots that are all busy with maps are released at this rate.
		r.Available = float64(f.Available)
		r.Frequency = r.Available / max(mean, 1e-3)
	}
	if f.Hints.Frequency > 0 && f.Hints.Available > 0 {
		r = omo.Rate{Frequency: f.Hints.Frequency, Available: f.Hints.Available}
	}
	return omo.Maps(float64(f.Maps.Waiting), r, float64(f.Hints.Jobs), float64(f.Reduces.Tasks), mean)
}

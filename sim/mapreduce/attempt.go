package mapreduce

import (
	"math"
	"slices"

	"heddle/am/stage"
	"heddle/sim"
)

// attempt is an attempt at a task that runs, or has run.
type attempt struct {
	job        *master
	id         stage.AttemptID
	slot       stage.SlotID
	node       *node
	copy       bool
	began      sim.Time
	index      int64 // among all
	generation int32 // of plans
	over       bool
	moves      bool // something is to end by itself
	still      bool
	stop       stage.Stop

	fetches bool
	fetched float64  // MB
	ready   sim.Time // when it had all
	total   float64  // of work, in seconds
	left    float64
	at      sim.Time // to which this is
}

// settle brings an attempt to the present.
func (a *attempt) settle() {
	now := a.job.c.engine.Now()
	passed := (now - a.at).Seconds()
	a.at = now
	if a.fetches {
		a.fetched = max(a.fetched, min(a.job.offered(), a.fetched+a.rate()*passed))
		return
	}
	a.left = max(0, a.left-a.speed()*passed)
}

// works reports whether it does what its node has a speed for.
func (a *attempt) works() bool { return !a.fetches && !a.still }

func (a *attempt) speed() float64 {
	if a.still {
		return 0
	}
	return a.node.speed(a.job.is.Type, a.id.Stage.String())
}

// rate returns how fast a reduce fetches, in MB/s.
func (a *attempt) rate() float64 {
	if a.still {
		return 0
	}
	return a.job.c.setting(a.job.c.s.Settings.Bandwidth, defaultBandwidth) * a.node.fetches()
}

// plan enters when what the attempt does now ends, if nothing changes.
func (a *attempt) plan() {
	a.generation++
	a.moves = false
	left, speed := a.left, a.speed()
	if a.fetches {
		left, speed = max(0, a.job.offered()-a.fetched), a.rate()
		if !a.job.complete() {
			return
		}
	}
	if left > 0 && speed <= 0 {
		return
	}
	a.moves = true
	wait := 0.
	if left > 0 {
		wait = left / speed
	}
	c := a.job.c
	c.engine.At(c.engine.Now()+sim.Time(math.Ceil(wait*float64(second))), passed{c}, int64(a.generation)<<32|a.index)
}

// passed is the end of what an attempt did.
type passed struct{ *cluster }

func (c passed) Handle(arg int64) {
	a := c.attempts[arg&math.MaxUint32]
	if a.over || a.generation != int32(arg>>32) {
		return
	}
	a.settle()
	if a.fetches {
		a.node.share(func() { a.fetches, a.ready = false, c.engine.Now() })
		a.tell()
		a.plan()
		return
	}
	a.job.finished(a)
}

// progress returns how far the attempt is, as a worker of heddle mr tells it: a third of a reduce is that it fetches.
func (a *attempt) progress() (stage.Phase, float64) {
	done := 1.
	if a.total > 0 {
		done = 1 - a.left/a.total
	}
	switch {
	case a.id.Stage == stage.Map:
		return stage.Mapping, done
	case a.fetches:
		all := a.job.all()
		if all <= 0 {
			return stage.Shuffling, 0
		}
		return stage.Shuffling, a.fetched / all / 3
	}
	return stage.Reducing, 1./3 + done*2/3
}

// tell reports to the ApplicationMaster.
func (a *attempt) tell() {
	phase, p := a.progress()
	a.job.step(stage.Progressed{Slot: a.slot, Attempt: a.id, Phase: phase, Done: int64(p * ofProgress), Total: ofProgress})
}

const ofProgress = 1_000_000

// end takes an attempt off its node.
func (a *attempt) end() {
	a.node.share(func() {
		a.over, a.moves = true, false
		a.generation++
		if i := slices.Index(a.node.attempts, a); i >= 0 {
			a.node.attempts = slices.Delete(a.node.attempts, i, i+1)
		}
	})
	if i := slices.Index(a.job.running, a); i >= 0 {
		a.job.running = slices.Delete(a.job.running, i, i+1)
	}
}

// work draws how much work an attempt is.
func (c *cluster) work(mean float64) float64 {
	set := &c.s.Settings
	w := mean
	if set.Noise > 0 {
		w *= math.Exp(c.random.NormFloat64()*set.Noise - set.Noise*set.Noise/2) // its mean is 1
	}
	if set.Stragglers.Share > 0 && c.random.Float64() < set.Stragglers.Share {
		w *= set.Stragglers.Factor
	}
	return w
}

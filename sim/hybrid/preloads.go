package hybrid

import (
	"math/rand/v2"

	"heddle/nm/staging"
	"heddle/sim"
)

// preload has the preloaded inputs of a worker in a simulation.
type preload struct {
	staging.Manager
	of     int32  // its worker
	use    uint32 // grows with each probe that comes
	rested uint32 // use when it was last found without any other
	waits  bool   // an event is on the agenda for the first copy: another one waits for its end
	head   int
	copies []copying // under way, of which the first ones have ended
	few    [6]copying
}

// copying is a copy under way, and when it ends.
type copying struct {
	at        sim.Time
	seq       uint64
	job, task int32
}

// before reports whether a copy has ended before an event.
func (x *copying) before(e *event) bool { return x.at < e.at || x.at == e.at && x.seq < e.seq }

// first returns the copy that ends first; nil: none is under way.
func (x *preload) first() *copying {
	if x.head == len(x.copies) {
		return nil
	}
	return &x.copies[x.head]
}

// over reports whether all copies have ended before an event.
func (x *preload) over(e *event) bool {
	return x.first() == nil || x.copies[len(x.copies)-1].before(e)
}

func (x *preload) push(c copying) {
	if len(x.copies) == cap(x.copies) && 2*x.head >= len(x.copies) {
		x.copies, x.head = x.copies[:copy(x.copies, x.copies[x.head:])], 0
	}
	x.copies = append(x.copies, c)
}

// made ends the first copy.
func (x *preload) made() {
	c := &x.copies[x.head]
	x.Copied(staging.Job(c.job), c.task, true)
	if x.head++; x.head == len(x.copies) {
		x.copies, x.head = x.copies[:0], 0
	}
}

// preloads are those of the workers that have short work. Others' would only take memory, and a simulation waits for memory most of the time: so one that has nothing
// more goes to the next worker that needs one, while processors' caches still have it.
type preloads struct {
	spare  []*preload
	ends   []rest // of which copies are under way that no task reads
	head   int
	unused []preload
	made   int
	kept   bool // each worker keeps its own, for a test
}

// rest is a preload that has nothing but such copies, unless it was used since.
type rest struct {
	preload *preload
	use     uint32
}

// madeAtOnce is how many preloads are made at a time.
const madeAtOnce = 64

// staged returns what a worker has staged; nil: nothing.
func (w *worker) staged(n int32) *preload {
	if x := w.preload; x != nil && x.of == n {
		return x
	}
	return nil
}

// take returns a preload for a worker.
func (s *preloads) take(n int32, cfg staging.Config, rng *rand.Rand) (x *preload) {
	if k := len(s.spare); k > 0 {
		x, s.spare = s.spare[k-1], s.spare[:k-1]
	} else {
		if len(s.unused) == 0 {
			s.unused = make([]preload, madeAtOnce)
			s.made += madeAtOnce
		}
		x, s.unused = &s.unused[0], s.unused[1:]
		x.Init(cfg, rng)
		x.copies = x.few[:0]
	}
	x.of = n
	return x
}

// rest takes a preload back that has nothing more, at once or when its last copy has ended.
func (s *preloads) rest(x *preload, now *event) {
	if x.waits || x.rested == x.use || s.kept || !x.Unused() {
		return
	}
	x.rested = x.use
	if x.first() == nil {
		s.put(x)
		return
	}
	if s.head > 32 && 2*s.head > len(s.ends) {
		s.ends, s.head = s.ends[:copy(s.ends, s.ends[s.head:])], 0
	}
	s.ends = append(s.ends, rest{x, x.use})
	for ; s.head < len(s.ends); s.head++ {
		switch r := s.ends[s.head]; {
		case r.preload.use != r.use:
		case !r.preload.over(now):
			return
		default:
			r.preload.enter(now)
			s.put(r.preload)
		}
	}
}

func (s *preloads) put(x *preload) {
	x.of = -1
	x.use++ // what was noted of it counts no more
	s.spare = append(s.spare, x)
}

// enter returns a preload with what is in memory now: copies that have ended since it was looked at are entered first. Most copies end while nothing
// else happens at their worker, and an event for each would fetch the worker from memory in vain.
func (x *preload) enter(now *event) *preload {
	for e := x.first(); e != nil && e.before(now); e = x.first() {
		x.made()
	}
	return x
}

package probe

// Ranking is the order of the probes of one user.
type Ranking uint8

// Rankings of probes.
const (
	FIFO     Ranking = iota // as they arrive
	Shortest                // least remaining work first (SRPT), within the starvation bound
)

// Config is how a node treats probes. It doesn't change while a Worker uses it.
type Config struct {
	Ranking   Ranking
	Bound     float64 // a probe may be overtaken until the estimates that passed it add up to so many times its own (Eagle: 5)
	Strict    bool    // the bound must not be used up: a probe that would do so doesn't overtake
	Sticky    bool    // after a task of a short job its probe asks again (sticky batch probing)
	AvoidLong bool    // short probes aren't accepted while long work runs or waits here
	Probes    int     // most probes in the queue; 0: no limit
	PerUser   int     // most probes of one user; 0: no limit
	Reserved  int     // so many probes of a user are accepted although others have filled the queue
	// Late has the probes of jobs without waiting tasks ask when nothing else waits, instead of being dropped by the order Shortest: their
	// schedulers may have clones for them.
	Late bool
	// Fitting has probes accepted only if a task fits in what is lent now. Without it they wait until more is lent.
	Fitting bool
	// Suspensions is how often a long task may be suspended for short ones (Dice: 2).
	Suspensions int
	// Looked is how many probes of a user the order Shortest compares at most, the oldest first: more are looked at only to find one at all. 0: all.
	Looked int
	// Counted keeps sums, so that Quote, Others and Offer don't look at all probes. No other may use the Jobs then.
	Counted bool
	// Least is the smallest amount that a task takes: while that isn't free, Next doesn't look for the probe that is next.
	Least Amount
}

// Verdict tells whether a probe that arrives is accepted.
type Verdict uint8

// Verdicts on probes.
const (
	Accepted Verdict = iota
	HasLong
	Full
	UserIsFull
	TooLarge
)

// String says it in words.
func (v Verdict) String() string {
	return [...]string{
		"accepted", "long work runs or waits here", "the queue is full", "the user's queue is full",
		"a task takes more than the node may use for short tasks",
	}[v]
}

// Worker is the queue of a node and what runs there. It isn't safe for concurrent use.
//
// It has many methods because probes that wait, asks ahead of room, claims and tasks draw on one amount, in one order of users.
type Worker struct {
	cfg  *Config
	jobs *Jobs
	counts
	numbers uint32 // of probes, so far
	revived uint32 // that of the jobs, when recall looked last
	outside bool
	pause   pause
	classes []class // the highest priority first
	slots   slots
	lent    Amount
	used    Amount
	dropped []Handle
	ahead
	claims
	bound int64   // vcores of tasks
	noOps float64 // part of the asks lately that got no task

	first room
}

// counts are of probes, and of what runs.
type counts struct {
	queued   int32 // probes, with those that slots have
	held     int32 // probes that slots have
	longs    int32 // probes of long jobs that wait
	longRuns int32 // slots with long jobs
	clones   int32 // slots with clones
}

// shortWaits reports whether a probe of a short job waits. Most nodes of which others want to steal have none.
func (c *counts) shortWaits() bool { return c.queued-c.held-c.longs > 0 }

// room has the state of a node with one slot and one user. It lies beside the rest, as simulations of many nodes wait for memory most of the time.
type room struct {
	class   [1]class
	user    [1]user
	run     [1]run
	vacant  [1]Slot
	entries [4]entry
	more    [1]more
	late    [4]entry
	hasMore bool // some queue has more
}

// New returns the queue of a node that was lent an amount. Workers may share a Config and, in simulations, Jobs.
func New(cfg *Config, jobs *Jobs, lent Amount) *Worker {
	w := &Worker{}
	w.Init(cfg, jobs, lent)
	return w
}

// Init makes a Worker what New returns. It must not be copied then.
func (w *Worker) Init(cfg *Config, jobs *Jobs, lent Amount) {
	*w = Worker{cfg: cfg, jobs: jobs, lent: lent}
	if cfg.Counted {
		jobs.tally = &tally{waits: map[int32]*load{}, users: map[int32]int{}}
	}
	w.classes = w.first.class[:0]
	w.slots = slots{runs: w.first.run[:0], vacant: w.first.vacant[:0]}
}

// Lend sets what the node may use for short tasks. Running tasks continue, even if they use more than that. A caller who lends less calls Evict.
func (w *Worker) Lend(a Amount) { w.lent = a }

// Evict removes the probes that wait for tasks larger than all that is lent, which would let no other probe pass. It appends their jobs
// to dst.
func (w *Worker) Evict(dst []Handle) []Handle {
	for c := range w.classes {
		for i := range w.classes[c].users {
			u := &w.classes[c].users[i]
			u.recall(func(h Handle) bool { return !w.jobs.rest[h].Size.Fits(w.lent) })
			for i := u.len() - 1; i >= 0; i-- {
				if e := u.all()[i]; !e.held && !w.jobs.rest[e.job].Size.Fits(w.lent) {
					for range w.dropAll(u, i) {
						dst = append(dst, e.job)
					}
				}
			}
		}
	}
	return dst
}

// Use returns what the node may use, and what asks and tasks use of it. Tasks that share the processors use the remaining vcores, as far as they can.
func (w *Worker) Use() (lent, used Amount) {
	used = w.used
	used.VCores = max(used.VCores, min(w.bound, w.lent.VCores))
	return w.lent, used
}

// SetLongOutside says whether long work runs on the node that no probe brought, such as containers of the ResourceManager.
func (w *Worker) SetLongOutside(has bool) { w.outside = has }

// Queued returns how many probes are queued, and how many of them wait. The others are asked for, or their tasks run.
func (w *Worker) Queued() (all, waiting int) { return int(w.queued), int(w.queued - w.held) }

// Others returns how many probes wait whose jobs have waiting tasks, as far as known.
func (w *Worker) Others() (n int) {
	if w.jobs.tally != nil {
		return w.jobs.tally.all
	}
	w.recall()
	for c := range w.classes {
		for u := range w.classes[c].users {
			for _, e := range w.classes[c].users[u].all() {
				if !e.held && w.jobs.hot[e.job].remaining >= 0 {
					n += 1 + int(e.more)
				}
			}
		}
	}
	return n
}

// Dropped returns the jobs of the probes that the last Next, and Crowding since, have dropped because all tasks of these jobs were launched. It
// returns each probe once; the slice is good until the next call of either.
func (w *Worker) Dropped() []Handle {
	d := w.dropped
	w.dropped = w.dropped[:0]
	return d
}

// Running returns how many slots are taken, by asks or by tasks.
func (w *Worker) Running() int { return len(w.slots.runs) - len(w.slots.vacant) }

// HasLong reports whether long work runs, is suspended or waits here.
func (w *Worker) HasLong() bool { return w.longRuns > 0 || w.longs > 0 || w.outside || w.pause.is }

// Offer says whether a probe of a job would be accepted now. It changes nothing.
func (w *Worker) Offer(h Handle) Verdict {
	j := &w.jobs.rest[h]
	switch {
	case w.cfg.AvoidLong && !j.Long && w.HasLong():
		return HasLong
	case w.cfg.Probes > 0 && int(w.queued)+len(w.roomless)+w.claimed >= w.cfg.Probes && w.ofUser(j.User) >= w.cfg.Reserved:
		return Full
	case w.cfg.PerUser > 0 && w.ofUser(j.User) >= w.cfg.PerUser:
		return UserIsFull
	case w.cfg.Fitting && !j.Size.Fits(w.lent):
		return TooLarge
	}
	return Accepted
}

// Add puts a probe of a job into the queue, whatever Offer says. Next may have an ask afterwards.
func (w *Worker) Add(h Handle) {
	w.numbers++
	u := w.userOf(&w.jobs.rest[h])
	if u.push(h, w.numbers); w.cfg.Ranking == Shortest {
		u.note(w, h)
	}
	w.queued++
	w.jobs.refs[h]++
	w.jobs.wait(h, 1)
	w.jobs.owns(u.id, 1)
	if w.jobs.hot[h].long {
		w.longs++
	}
}

// dropAll takes all probes of the entry at a place out of a user's queue, and returns how many there were.
func (w *Worker) dropAll(u *user, place int) int {
	n := 1 + int(u.all()[place].more)
	for range n {
		w.drop(u, place)
	}
	return n
}

// drop takes the first probe of the entry at a place out of a user's queue.
func (w *Worker) drop(u *user, place int) {
	w.leaves(u, &u.all()[place], 1)
	u.remove(place)
}

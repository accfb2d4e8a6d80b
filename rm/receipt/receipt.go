package receipt

import (
	"cmp"
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// Kind is what an application does in a step, or waits for.
type Kind string

// Kinds of steps.
const (
	Accepting    Kind = "accepting"          // the submission, until the application's first container is asked for
	FailedBefore Kind = "failed attempt"     // from the ask of an ApplicationMaster that was followed by another one, to its end
	AwaitsMaster Kind = "waiting for master" // from the ask for the ApplicationMaster's container to its grant
	Awaits       Kind = "waiting"            // from the ask for a container to its grant
	Handing      Kind = "handing over"       // from a container's grant until its node has it: its ApplicationMaster starts it
	Localizing   Kind = "localizing"         // a container's files
	Starting     Kind = "starting"           // a container's process
	Idle         Kind = "waiting for a task" // from the start of a worker's process until its ApplicationMaster has given it the first task
	Registering  Kind = "master starts"      // from the start of the ApplicationMaster's process to its registration
	Master       Kind = "master alone"       // no container of the chain runs or is asked for
	Work         Kind = "work"               // in a container
	Maps         Kind = "maps"               // a map, as its ApplicationMaster tells
	Shuffle      Kind = "shuffle"            // a reduce fetches its input after the last map that it waited for, likewise
	Reduces      Kind = "reduces"            // a reduce after that, likewise
	Straggling   Kind = "straggling"         // work beyond the median of containers of the same priority, or of the stage's tasks
	SlowNode     Kind = "slow node"          // the same on a node on which the others took longer, too, than those elsewhere, or that had no processor for it
	RemoteInput  Kind = "remote input"       // the same where the input was on other hosts, beyond the median of those that had theirs near
	Lost         Kind = "lost work"          // in a container that failed or was taken away
	FailedStart  Kind = "failed start"       // of a container that ended by itself, or by its node, before its process ran
	Suspended    Kind = "suspended"          // a container of the chain is suspended, or has less than it asked for
	Unknown      Kind = "no longer known"    // too many containers have ended since
)

// Application is what a receipt is made of.
type Application struct {
	Submitted, Finished int64 // Finished: 0 while it lives
	Attempts            []view.AttemptTimes
	Containers          []view.ContainerTimes
	Forgotten           int64 // ended containers that aren't among Containers
	// Waits is what it waits for now, for people; "": for no container.
	Waits string
	// Course has the limits that held its requests, and the tasks that its ApplicationMaster tells of; nil: nothing is known.
	Course *course.Course
}

// Step is a part of the chain.
type Step struct {
	Kind      Kind
	From, To  int64               // ms since 1970
	Container records.ContainerID // of which it is a step; zero: of none
	Node      records.NodeID
	For       ledger.Cause // who a container is suspended for
	Why       string       // of a wait until now: what holds it
	// Detail says more of the kind: of a wait, the limit (explain.Limit), as far as it is known; of a suspension, for which queue, or by whom; Cold; ByCopy; NoProcessor.
	Detail string
}

// Details of steps.
const (
	Cold   = "cold"   // the node had to fetch some of the files
	ByCopy = "a copy" // of a task, which was faster than the one that began first
	// NoProcessor: its node tells that it could have run for that long, and had no processor.
	NoProcessor = "no processor"
)

// Sum is the time of all steps of a kind.
type Sum struct {
	Kind   Kind
	Detail string // as in Step
	MS     int64
}

// Of returns the chain of an application until now (ms since 1970), in the order of time, without a gap and without steps of no length.
func Of(a *Application, now int64) []Step {
	end := cmp.Or(a.Finished, now)
	c := chain{of: a, at: end, end: end}
	c.attempt(len(a.Attempts) - 1)
	slices.Reverse(c.steps)
	return c.steps
}

// Sums returns the times of each kind and detail, the largest first.
func Sums(steps []Step) (all []Sum) {
	for _, s := range steps {
		i := slices.IndexFunc(all, func(x Sum) bool { return x.Kind == s.Kind && x.Detail == s.Detail })
		if i < 0 {
			i, all = len(all), append(all, Sum{Kind: s.Kind, Detail: s.Detail})
		}
		all[i].MS += s.To - s.From
	}
	slices.SortStableFunc(all, func(a, b Sum) int { return cmp.Compare(b.MS, a.MS) })
	return all
}

// chain is a search under way, from the end to the beginning.
type chain struct {
	of    *Application
	at    int64  // before this nothing is known yet
	end   int64  // of the application
	steps []Step // the last one first
	byID  map[records.ContainerID]*view.ContainerTimes
	kin   map[int32]*kin // containers, by priority

	chosen []*view.ContainerTimes // see candidates; nil: they weren't looked for
	tried  [2]*kin                // tries of maps and of reduces that succeeded, of one attempt
}

// back adds the step that began at a time, or nothing if that isn't before what is known.
func (c *chain) back(kind Kind, from int64, of *view.ContainerTimes) {
	if from = max(from, c.of.Submitted); from >= c.at {
		return
	}
	c.stepOf(Step{Kind: kind, From: from, To: c.at}, of)
}

// stepOf adds a step that ends where what is known begins.
func (c *chain) stepOf(s Step, of *view.ContainerTimes) {
	if of != nil {
		s.Container, s.Node = of.ID, of.Node
		c.stands(s, of)
		return
	}
	c.steps, c.at = append(c.steps, s), s.From
}

// stands adds a step of a container, divided by the times in which it was suspended.
func (c *chain) stands(s Step, of *view.ContainerTimes) {
	for i := len(of.Suspended) - 1; i >= 0; i-- {
		x := of.Suspended[i]
		from, to := max(x.From, s.From), min(cmp.Or(x.To, c.end), c.at)
		if from >= to {
			continue
		}
		if to < c.at {
			rest := s
			rest.From, rest.To = to, c.at
			c.steps = append(c.steps, rest)
		}
		c.steps = append(c.steps, Step{Kind: Suspended, From: from, To: to, Container: s.Container, Node: s.Node, For: x.Cause, Detail: cmp.Or(x.Cause.Queue, x.Cause.User)})
		c.at = from
	}
	if s.From < c.at {
		s.To = c.at
		c.steps, c.at = append(c.steps, s), s.From
	}
}

// attempt adds the steps of an attempt and of those before it.
func (c *chain) attempt(i int) {
	if i < 0 {
		c.back(Accepting, c.of.Submitted, nil)
		return
	}
	a := c.of.Attempts[i]
	if i < len(c.of.Attempts)-1 {
		c.back(FailedBefore, a.Asked, nil)
		c.attempt(i - 1)
		return
	}
	master := c.master(a)
	if a.Registered > 0 {
		if c.of.Finished == 0 && c.of.Waits != "" {
			c.pending(a)
		}
		c.told(a, master)
		c.tasks(a, master)
		if c.of.Forgotten > 0 {
			c.back(Unknown, a.Registered, nil)
		}
		c.back(Master, a.Registered, master)
	}
	if master != nil {
		c.start(master, Registering)
		c.awaited(AwaitsMaster, a.Asked, anyPriority)
	} else if a.Registered > 0 {
		c.back(Registering, a.Asked, nil) // it is unmanaged: its user starts it
	} else {
		c.wait(AwaitsMaster, a.Asked)
	}
	c.attempt(i - 1)
}

// master returns the container of an attempt's ApplicationMaster, or nil.
func (c *chain) master(a view.AttemptTimes) *view.ContainerTimes {
	for i := range c.of.Containers {
		if x := &c.of.Containers[i]; x.AM && x.Granted >= a.Asked {
			return x
		}
	}
	return nil
}

// pending adds the wait for a container until now, if nothing runs meanwhile.
func (c *chain) pending(a view.AttemptTimes) {
	since := a.Registered
	for i := range c.of.Containers {
		x := &c.of.Containers[i]
		if !x.AM && x.Granted >= a.Registered && x.Ended == 0 {
			return
		}
		since = max(since, x.Ended)
	}
	c.wait(Awaits, since)
}

// wait adds a wait that lasts until now.
func (c *chain) wait(kind Kind, since int64) {
	n := len(c.steps)
	if c.awaited(kind, since, anyPriority); len(c.steps) > n {
		c.steps[n].Why = c.of.Waits
	}
}

// tasks adds the steps of the containers of the chain, from the last one back to the registration.
func (c *chain) tasks(a view.AttemptTimes, master *view.ContainerTimes) {
	for c.at > max(a.Registered, c.of.Submitted) {
		x := c.before(a)
		if x == nil {
			return
		}
		if x.Ended > 0 {
			c.back(Master, x.Ended, master)
		}
		c.work(x)
		c.start(x, "")
		c.awaited(Awaits, max(x.Asked, a.Registered), x.Priority)
	}
}

// before returns the container that ended last before what is known, or lives; nil: there is none. One that was ended as the application was over or
// needed it no more isn't waited for; where there are no others, the application's work is in those, from the first one's start.
func (c *chain) before(a view.AttemptTimes) *view.ContainerTimes {
	var last, served *view.ContainerTimes
	for _, x := range c.candidates(a) {
		if x.Granted >= c.at {
			continue
		}
		if x.Ended == 0 || x.Ended > c.at || unneeded(x) {
			if (x.Started > 0 || prepares(x)) && began(x) < c.at && (x.Ended == 0 || x.Ended >= c.at) && (served == nil || began(x) < began(served)) {
				served = x
			}
			continue
		}
		if last == nil || x.Ended > last.Ended || x.Ended == last.Ended && x.Granted < last.Granted {
			last = x
		}
	}
	if last == nil || served != nil && c.at == c.end && began(served) < last.Granted {
		return served
	}
	return last
}

// candidates are the containers of an attempt that before chooses from: of those that live, of which there may be very many, the one that began first.
func (c *chain) candidates(a view.AttemptTimes) []*view.ContainerTimes {
	if c.chosen != nil {
		return c.chosen
	}
	var first *view.ContainerTimes
	c.chosen = []*view.ContainerTimes{}
	for i := range c.of.Containers {
		switch x := &c.of.Containers[i]; {
		case x.AM || x.Granted < a.Registered:
		case x.Ended > 0:
			c.chosen = append(c.chosen, x)
		case (x.Started > 0 || prepares(x)) && (first == nil || began(x) < began(first)):
			first = x
		}
	}
	if first != nil {
		c.chosen = append(c.chosen, first)
	}
	return c.chosen
}

// unneeded reports whether a container has ended because its work was not needed any more.
func unneeded(x *view.ContainerTimes) bool {
	return x.GivenBack || x.Exit == records.ExitKilledByAppMaster || x.Exit == records.ExitKilledByResourceManager || x.Exit == records.ExitKilledAfterAppCompletion
}

// prepares reports whether a container lives that its node has accepted and whose process it hasn't started, as far as that is known.
func prepares(x *view.ContainerTimes) bool { return x.Ended == 0 && x.Started == 0 && x.Accepted > 0 }

// began returns when the process of a container began, as far as that is known.
func began(x *view.ContainerTimes) int64 {
	return cmp.Or(x.Started, x.Localized, x.Accepted, x.Granted)
}

// work adds the time in which the process of a container ran.
func (c *chain) work(x *view.ContainerTimes) {
	kind := Work
	if prepares(x) {
		return
	}
	if x.Ended > 0 && x.Exit != 0 && !unneeded(x) {
		if kind = Lost; x.Started == 0 && x.Accepted > 0 {
			c.back(FailedStart, x.Granted, x)
			return
		}
	}
	from := began(x)
	if kind == Work {
		c.longer(x, from)
	}
	c.back(kind, from, x)
}

// longer adds what a container's process, which began at a time, took beyond what is usual. What its node had no processor for is no work of the container's,
// whatever others took.
func (c *chain) longer(x *view.ContainerTimes, from int64) {
	why, usual := c.late(x)
	detail := ""
	if x.Ended > 0 && x.Started > 0 {
		ms := run(x)
		alone := ms - min(x.Starved, ms)
		switch {
		case why == "" && ms > alone+alone/2:
			why, usual, detail = SlowNode, alone, NoProcessor
		case (why == SlowNode || why == Straggling) && 2*x.Starved >= ms-usual:
			why, detail = SlowNode, NoProcessor
		}
	}
	if from = max(after(x, from, usual), c.of.Submitted); why != "" && from < c.at {
		c.stepOf(Step{Kind: why, From: from, To: c.at, Detail: detail}, x)
	}
}

// late says why a container ran for half as long again as usual, and what is usual, in ms; "": it didn't.
func (c *chain) late(of *view.ContainerTimes) (why Kind, usual int64) {
	if of.Ended == 0 || of.Started == 0 {
		return "", 0
	}
	k := c.kin[of.Priority]
	if k == nil {
		var all []ran
		for i := range c.of.Containers {
			if x := &c.of.Containers[i]; x.Priority == of.Priority && counts(x) {
				all = append(all, ran{x.Node, x.Far, run(x)})
			}
		}
		k = kinOf(all)
		if c.kin == nil {
			c.kin = map[int32]*kin{}
		}
		c.kin[of.Priority] = k
	}
	return k.late(ran{of.Node, of.Far, run(of)}, counts(of))
}

// counts reports whether others are compared with a container.
func counts(x *view.ContainerTimes) bool {
	return !x.AM && x.Exit == 0 && x.Started > 0 && x.Ended > 0
}

// run returns how long a container's process ran, in ms, without the times in which it was suspended.
func run(x *view.ContainerTimes) int64 { return unsuspended(x, x.Started, x.Ended) }

// unsuspended returns how long of a time a container wasn't suspended, in ms.
func unsuspended(x *view.ContainerTimes, from, to int64) int64 {
	ms := to - from
	for _, s := range x.Suspended {
		ms -= max(0, min(cmp.Or(s.To, to), to)-max(s.From, from))
	}
	return ms
}

// after returns when a container has run for so many ms since a time, if it was suspended in between.
func after(x *view.ContainerTimes, at, ms int64) int64 {
	for _, s := range x.Suspended {
		if s.From >= at+ms {
			break
		}
		if s.To > at {
			ms -= max(s.From, at) - at
			at = s.To
		}
	}
	return at + ms
}

// coldness is the detail of a container's localization.
func coldness(x *view.ContainerTimes) string {
	if x.Cold {
		return Cold
	}
	return ""
}

// start adds the steps from the grant of a container to the start of its process. An ApplicationMaster's has more to do until it registers.
func (c *chain) start(x *view.ContainerTimes, then Kind) {
	if then != "" && !prepares(x) {
		c.back(then, began(x), x)
	}
	if x.Localized > 0 || prepares(x) {
		if x.Localized > 0 {
			c.back(Starting, x.Localized, x)
		}
		if from := max(cmp.Or(x.Accepted, x.Granted), c.of.Submitted); from < c.at {
			c.stepOf(Step{Kind: Localizing, From: from, To: c.at, Detail: coldness(x)}, x)
		}
	} else {
		c.back(Starting, cmp.Or(x.Accepted, x.Granted), x)
	}
	c.back(Handing, x.Granted, x)
}
